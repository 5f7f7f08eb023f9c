import { type Command, InvalidArgumentError, Option } from 'commander';
import { dnsLabel, objectName } from '../api/kubernetes.ts';
import { limits } from '../api/limits.ts';
import { InputError } from '../api/problems.ts';
import type { ProgramPaths } from '../render/build/programs.ts';

/** Which cluster a command talks to. */
export interface ClusterFlags {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
}

/** `--kubeconfig` of every command that talks to a cluster. An empty one, as of a variable that is not set, would be another cluster. */
export function kubeconfigOption(
  description = 'path to the kubeconfig (default: KUBECONFIG, then the service account of the pod, then ~/.kube/config)',
): Option {
  return new Option('--kubeconfig <file>', description).argParser(matching(/./, 'must name a file.'));
}

/** Adds the cluster of a person. An empty context, as of a variable that is not set, would be another cluster. */
export function withClusterFlags(command: Command): Command {
  return command
    .addOption(kubeconfigOption())
    .option(
      '--context <name>',
      'context of the kubeconfig (default: its current one)',
      matching(/./, 'must name a context of the kubeconfig.'),
    );
}

/** Adds the cluster and the namespace. */
export function withPlace(command: Command): Command {
  return withClusterFlags(command).option(
    '-n, --namespace <name>',
    'namespace (default: the one of the kubeconfig)',
    namespaceName,
  );
}

/** Adds the flags of `SubjectFlags`. Empty labels, as of a variable that is not set, would choose every object. */
export function withSubjectFlags(command: Command): Command {
  return withPlace(command)
    .option('-A, --all-namespaces', 'all namespaces')
    .option(
      '-l, --selector <labels>',
      'only objects with these labels, for example team=shop,tier!=test',
      matching(/[^\s,]/, 'must name labels, such as team=shop.'),
    );
}

/** The namespace of Holdfast itself. `flag`: `--namespace`, or `--holdfast-namespace` where `-n` has another meaning. */
export function holdfastNamespaceOption(flag: '--namespace' | '--holdfast-namespace'): Option {
  return new Option(`${flag} <name>`, 'namespace where Holdfast runs')
    .argParser(namespaceName)
    .default('holdfast-system');
}

/** References from one namespace to another. */
export function crossNamespaceRefsOption(): Option {
  return new Option(
    '--cross-namespace-refs',
    'allow Canaries and Sources to refer to MetricTemplates, AlertProviders and other objects of other namespaces',
  ).default(false);
}

/** Flagger's flag for what is the default here. */
export function noCrossNamespaceRefsOption(): Option {
  return new Option('--no-cross-namespace-refs', 'the default; accepted as in Flagger').hideHelp();
}

/** The administrator's choice to give Sources more than the role `edit` in their own namespace. */
export function trustedNamespacesOption(): Option {
  return new Option(
    '--trusted-source-namespaces <names>',
    "write Sources of these namespaces that name no service account with Holdfast's own permissions, in all namespaces but its own and kube-system (comma-separated)",
  )
    .argParser(commaList)
    .default([]);
}

/** Whose rights are checked. */
export function asUserOption(): Option {
  return new Option(
    '--as <user>',
    'check the rights of this user instead of your own, for example system:serviceaccount:holdfast-system:holdfast',
  );
}

/** The ingress class of generated routes. */
export function ingressClassOption(): Option {
  return new Option(
    '--ingress-class <name>',
    'ingress class of every HTTPProxy (default: none is written)',
  ).argParser(matching(objectName, 'must be the name of an ingress class.'));
}

/** `-o`, with a closed list of formats. */
export function outputOption(preset = 'text', formats: readonly string[] = ['text', 'json', 'yaml']): Option {
  return new Option('-o, --output <format>', 'output format').choices(formats).default(preset);
}

/** The parts between commas, each once, without empty ones. */
export function commaList(text: string): string[] {
  const parts = text.split(',').map((part) => part.trim());
  return [...new Set(parts.filter(Boolean))];
}

/** The same parser where an empty list, as of a variable that is not set, would mean everything. */
export function notEmpty<T>(parse: (text: string) => T[]): (text: string) => T[] {
  return (text) => {
    const found = parse(text);
    if (found.length > 0) return found;
    throw new InvalidArgumentError('must name at least one; without this option all are meant.');
  };
}

/** Parses a value that must match the pattern. Throws InvalidArgumentError with the message. */
export function matching(pattern: RegExp, message: string): (text: string) => string {
  return (text) => {
    if (pattern.test(text)) return text;
    throw new InvalidArgumentError(message);
  };
}

/** Name of a namespace. An empty one, as of a variable that is not set, would mean all of them. */
export const namespaceName: (text: string) => string = matching(
  dnsLabel,
  'must be a namespace name: lower-case letters, digits and dashes.',
);

/** A commit, also shortened. An empty one, as of a variable that is not set, would mean all of them. */
export const commitName: (text: string) => string = matching(
  /^[0-9a-f]{7,64}$/,
  'must be a commit, of which 7 digits or more are needed.',
);

/** A commit, or a digest as `holdfast history` prints it. */
export const revisionName: (text: string) => string = matching(
  /^(?:[0-9a-f]{7,64}|v1:[0-9a-f+]+)$/,
  'must be a commit, of which 7 digits or more are needed, or a digest.',
);

/** Name of a service account. */
export const accountName: (text: string) => string = matching(
  objectName,
  'must be the name of a service account, without a namespace.',
);

/** Name of a Secret. */
export const secretName: (text: string) => string = matching(objectName, 'must be the name of a Secret.');

/** Whether a text is an http:// or https:// URL. */
export function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** An http:// or https:// URL of the command line. Throws InvalidArgumentError. */
export function httpUrl(text: string): string {
  if (isHttpUrl(text)) return text;
  throw new InvalidArgumentError('must be an http:// or https:// URL.');
}

/** Flags about what Canaries and Sources may do and how much work is done at once; Flagger's names (flagger-behaviour 5.1). */
export interface LimitFlags extends ReleaseFlags {
  readonly kubeconfigQps: number;
  readonly kubeconfigBurst: number;
  readonly sourceQps: number;
  readonly sourceBurst: number;
  readonly threadiness: number;
  readonly gitDiskMib: number;
  readonly defaultServiceAccount?: string;
  readonly trustedSourceNamespaces: string[];
}

/** Flags about what a release is, and which Canaries are accepted. */
export interface ReleaseFlags {
  readonly crossNamespaceRefs: boolean;
  readonly enableConfigTracking: boolean;
}

/** Adds the flags. */
export function withLimitFlags(command: Command): Command {
  return command
    .option('--kubeconfig-qps <number>', 'requests per second to the API server, without watches', count, 100)
    .option('--kubeconfig-burst <number>', 'burst of these requests', count, 250)
    .option(
      '--source-qps <number>',
      'requests per second for objects that Sources apply; separate, so that rollouts do not wait',
      count,
      200,
    )
    .option('--source-burst <number>', 'burst of these requests', count, 400)
    .option(
      '--git-disk-mib <number>',
      'MiB that the repositories of all Sources may take on the disk; beyond, only namespaces below their share fetch more. The volume needs twice as much',
      count,
      limits.gitDiskBytes / 1_048_576,
    )
    .option('--threadiness <number>', 'number of Canaries to reconcile in parallel', count, 8)
    .option(
      '--default-service-account <name>',
      'service account, in the namespace of the Source, for Sources without serviceAccountName (default: holdfast-source, with the role edit in that namespace only)',
      accountName,
    )
    .addOption(trustedNamespacesOption())
    .option(
      '--enable-config-tracking <boolean>',
      'false: only pod templates and ports make a release; ConfigMaps and Secrets are applied but not copied',
      truth,
      true,
    )
    .addOption(crossNamespaceRefsOption())
    .addOption(noCrossNamespaceRefsOption());
}

/** What these flags say. */
export function releaseLimitsIn({ enableConfigTracking, crossNamespaceRefs }: ReleaseFlags): {
  readonly tracksConfig: boolean;
  readonly forbidsOtherNamespaces: boolean;
} {
  return { tracksConfig: enableConfigTracking, forbidsOtherNamespaces: !crossNamespaceRefs };
}

function truth(text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  throw new InvalidArgumentError('must be true or false.');
}

function count(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= 10_000) return value;
  throw new InvalidArgumentError('must be a whole number from 1 to 10000.');
}

/** Flags that say where the programs are that build kustomizations and charts. */
export interface ProgramFlags {
  readonly kustomize?: string;
  readonly helm?: string;
}

/** Adds the flags. */
export function withProgramFlags(command: Command): Command {
  return command
    .option('--kustomize <file>', 'path to kustomize (default: HOLDFAST_KUSTOMIZE, then PATH)')
    .option('--helm <file>', 'path to helm, version 3 (default: HOLDFAST_HELM, then PATH)');
}

/** What flags and environment say. */
export function programsIn(
  { kustomize, helm }: ProgramFlags,
  env: Readonly<Record<string, string | undefined>>,
): ProgramPaths {
  return {
    kustomize: kustomize || env.HOLDFAST_KUSTOMIZE || undefined,
    helm: helm || env.HOLDFAST_HELM || undefined,
  };
}

/** What a command is about. */
export interface ObjectArgument {
  /** Absent: Canaries and Sources. */
  readonly kind?: 'Canary' | 'Source' | undefined;
  /** Absent: all of the kind. */
  readonly name?: string | undefined;
}

/** Flags of commands about one object or several. */
export interface SubjectFlags extends ClusterFlags {
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  readonly selector?: string;
}

/** Throws InputError for a name together with -A or -l, which choose objects themselves. */
export function refuseNameWithSelector(
  name: string | undefined,
  { allNamespaces, selector }: Pick<SubjectFlags, 'allNamespaces' | 'selector'>,
): void {
  if (name === undefined) return;
  if (selector !== undefined) throw new InputError('an object cannot be named together with -l');
  if (allNamespaces) throw new InputError('an object cannot be named together with -A; use -n NAMESPACE');
}

/** `canary web`, `canary/web`, `canaries`, `web`: all as with kubectl. Throws InputError for a kind that is not ours, and for no name. */
export function parseObjectArgument(first: string | undefined, second: string | undefined): ObjectArgument {
  if (first === undefined) return {};
  const [word = '', inside, ...more] = first.split('/');
  const name = second ?? inside;
  const typed = second === undefined ? first : `${first} ${second}`;
  // Messages name objects by namespace and name, as in Canary shop/web.
  if (more.length > 0 || (inside !== undefined && second !== undefined))
    throw new InputError(`${JSON.stringify(typed)} names more than one object; use canary/NAME -n NAMESPACE`);
  // As of a variable that is not set.
  if (name === '' || word === '')
    throw new InputError(`${JSON.stringify(first)} names no object; use canary/NAME or source/NAME`);
  const kind = kindIn(word);
  if (kind) return { kind, name };
  if (name === undefined) return { kind: 'Canary', name: word };
  throw new InputError(
    `unknown kind ${JSON.stringify(word)}: must be canary or source; -n NAMESPACE names the namespace`,
  );
}

/** The kind that a word names. */
export function kindIn(word: string): ObjectArgument['kind'] {
  if (/^canar(y|ies)$/i.test(word)) return 'Canary';
  return /^sources?$/i.test(word) ? 'Source' : undefined;
}

/** The same where NAME alone is a Canary, and with -l a word alone is a kind: `source -l team=shop`. */
export function parseSubject(text: string | undefined, selector: string | undefined): ObjectArgument {
  const isParsed = selector !== undefined || text?.includes('/');
  return isParsed ? parseObjectArgument(text, undefined) : { name: text };
}
