/** A Kustomization of Flux and its GitRepository as a Source. Pure. */
import { type KubernetesObject, present, recordsOf } from '../../api/kubernetes.ts';
import type { SourceRef, SourceSpec } from '../../api/source/source.ts';
import { fitsName } from '../../engine/sync/read/ignore-rules.ts';
import {
  type ConvertedSource,
  type FieldRule,
  folderIn,
  listStops,
  type Stop,
  stopsOf,
  urlStops,
} from '../field-rules.ts';

/** What the Source says, and which fields of the two stop it. Fields of the repository are named `GitRepository spec.x`. */
export function sourceOfFlux(
  kustomization: KubernetesObject,
  repository: KubernetesObject | undefined,
): ConvertedSource {
  const spec = (kustomization.spec ?? {}) as Fields;
  const git = (repository?.spec ?? {}) as Fields;
  const [decryption, substitute, ignore] = [decryptionIn(spec), substituteIn(spec), ignoreIn(git, spec.path)];
  const stops = [
    ...kustomizationStops(spec),
    ...ignore.stops,
    ...decryption.stops,
    ...substitute.stops,
    ...(repository ? repositoryStops(kustomization, repository) : []),
  ];
  const dependsOn = dependenciesIn(spec).map(({ name, namespace }) => present({ name, namespace }));
  const waits = spec.wait === true || (Array.isArray(spec.healthChecks) && spec.healthChecks.length > 0);
  return {
    stops,
    notes: notesOn(kustomization, git),
    spec: {
      url: String(git.url ?? ''),
      ref: refOf(git.ref as Fields | undefined),
      ...present({
        path: folderIn(spec.path),
        interval: text(git.interval),
        timeout: text(spec.timeout) ?? text(git.timeout),
        retryInterval: text(spec.retryInterval),
        secretRef: nameIn(git.secretRef),
        proxySecretRef: nameIn(git.proxySecretRef),
        verify: verifyIn(git),
        ignore: ignore.value,
        decryption: decryption.value,
        substitute: substitute.value,
        defaultNamespace: text(spec.targetNamespace),
        serviceAccountName: text(spec.serviceAccountName),
        dependsOn: dependsOn.length > 0 ? dependsOn : undefined,
        force: spec.force === true ? true : undefined,
        wait: waits ? true : undefined,
      }),
      prune: false,
    } as SourceSpec,
  };
}

/** The GitRepository that a Kustomization names, `namespace/name`; undefined: it names another kind. */
export function repositoryOf({
  spec,
  metadata,
}: KubernetesObject): { namespace: string; name: string } | undefined {
  const { kind, name, namespace } = ((spec ?? {}) as { sourceRef?: Record<string, string> }).sourceRef ?? {};
  return kind === 'GitRepository' && name
    ? { namespace: namespace ?? metadata.namespace ?? '', name }
    : undefined;
}

function notesOn({ metadata, ...kustomization }: KubernetesObject, git: Fields): string[] {
  const spec = (kustomization.spec ?? {}) as Fields;
  const elsewhere = dependenciesIn(spec).filter(
    ({ namespace = metadata.namespace }) => namespace !== metadata.namespace,
  );
  const found: Array<string | false> = [
    elsewhere.length > 0 &&
      `spec.dependsOn names ${elsewhere.map(({ name, namespace }) => `${namespace}/${name}`).join(', ')}: a Source is refused with references to other namespaces, unless Holdfast runs with --cross-namespace-refs`,
    Boolean(spec.targetNamespace) &&
      'spec.targetNamespace becomes defaultNamespace, which only applies to objects without a namespace',
    Array.isArray(spec.healthChecks) &&
      spec.wait !== true &&
      spec.healthChecks.length > 0 &&
      'spec.healthChecks becomes wait: true, which waits for everything that is applied',
    // The move itself suspends it once it does not prune any more.
    spec.suspend === true &&
      spec.prune !== false &&
      'spec.suspend is not carried: the Source applies what is in Git from the step on in which it takes over',
    Boolean(spec.interval) &&
      'spec.interval has no counterpart: drift is reverted within seconds; Git is polled at the interval of the GitRepository',
    patternsIn(git).length === 0
      ? "the files that Flux leaves out by .sourceignore, and by itself, as those of CI (.github/, .gitlab-ci.yml) and .json files without a kustomization.yaml, are read by a Source: where there are any below its path, name them in the GitRepository's spec.ignore first"
      : "the files that Flux leaves out by .sourceignore, and .json files without a kustomization.yaml, are read by a Source: where there are any below its path, name them in the GitRepository's spec.ignore first",
  ];
  return found.filter((note) => note !== false);
}

// Which fields of a Kustomization and of its GitRepository stop a move. Pure.

const inGit = 'move it to kustomization.yaml in the repository first; Flux and Holdfast both read that';

const kustomizationRules: Readonly<Record<string, FieldRule>> = {
  interval: 'without effect',
  path: 'carried',
  prune: 'carried',
  sourceRef: 'carried',
  force: 'carried',
  retryInterval: 'carried',
  timeout: 'carried',
  wait: 'carried',
  healthChecks: 'carried',
  dependsOn: 'carried',
  serviceAccountName: 'carried',
  targetNamespace: 'carried',
  postBuild: 'carried',
  decryption: 'carried',
  suspend: 'carried',
  deletionPolicy: 'carried',
  patches: { stop: inGit },
  patchesStrategicMerge: { stop: inGit },
  patchesJson6902: { stop: inGit },
  images: { stop: inGit },
  components: { stop: inGit },
  namePrefix: { stop: inGit },
  nameSuffix: { stop: inGit },
  commonMetadata: {
    stop: 'move it to kustomization.yaml in the repository first, as labels (commonLabels and commonAnnotations also change pod templates, which restarts pods; set annotations by a patch)',
  },
  buildMetadata: { stop: 'a Source does not add annotations; remove it first' },
  kubeConfig: { stop: 'a Source applies to its own cluster; run Holdfast in the other one' },
  healthCheckExprs: { stop: 'set holdfast.dev/healthy-when on the objects instead' },
  ignoreMissingComponents: { stop: inGit },
  ignore: { stop: 'set holdfast.dev/ignore-fields on the objects instead' },
};

const decryptionRules: Readonly<Record<string, FieldRule>> = {
  serviceAccountName: { stop: 'cloud identities are not supported; use age keys in the Secret' },
};

const repositoryRules: Readonly<Record<string, FieldRule>> = {
  url: 'carried',
  ref: 'carried',
  interval: 'carried',
  secretRef: 'carried',
  timeout: 'carried',
  verify: 'carried',
  ignore: 'carried',
  sparseCheckout: 'without effect',
  suspend: {
    stop: 'Flux does not reconcile it, so the applied revision may not be its head; resume it first',
  },
  recurseSubmodules: { stop: 'submodules are not read; copy the manifests into the repository' },
  include: { stop: 'a Source reads one repository; make one of each' },
  proxySecretRef: 'carried',
  serviceAccountName: { stop: 'cloud identities are not supported; use a token in spec.secretRef' },
};

/** Fields of the Kustomization that stop a move; those inside its fields are found where the fields are converted. */
function kustomizationStops(spec: Fields): Stop[] {
  const { kind } = (spec.sourceRef ?? {}) as { kind?: string };
  const message = `a Source reads only Git, not ${kind ?? 'nothing'}`;
  const hasExpression = dependenciesIn(spec).some(({ readyExpr }) => readyExpr);
  return [
    ...stopsOf(spec, kustomizationRules),
    ...listStops(spec.dependsOn, 'spec.dependsOn'),
    ...(kind === 'GitRepository' ? [] : [{ field: 'spec.sourceRef.kind', message }]),
    ...(hasExpression
      ? [{ field: 'spec.dependsOn', message: 'readyExpr has no counterpart; remove it first' }]
      : []),
  ];
}

function dependenciesIn({
  dependsOn,
}: Fields): Array<{ name: string; namespace?: string; readyExpr?: string }> {
  return recordsOf(dependsOn) as Array<{ name: string; namespace?: string; readyExpr?: string }>;
}

/** Of the GitRepository; its fields are named `GitRepository spec.x`. */
function repositoryStops(kustomization: KubernetesObject, repository: KubernetesObject): Stop[] {
  const git = (repository.spec ?? {}) as Fields;
  const own = (stop: Stop): Stop => ({ ...stop, field: `GitRepository ${stop.field}` });
  const { provider = 'generic', ...rest } = git;
  const { name } = (git.ref ?? {}) as Fields;
  const isElsewhere = kustomization.metadata.namespace !== repository.metadata.namespace;
  const namesSecret = [git.secretRef, git.verify, git.proxySecretRef].some(Boolean);
  const { provider: signer = 'git' } = (git.verify ?? {}) as Fields;
  const found: Array<Stop | false> = [
    name !== undefined && { field: 'spec.ref.name', message: 'use branch, tag, semver or commit' },
    provider !== 'generic' &&
      provider !== 'github' && {
        field: 'spec.provider',
        message: 'cloud identities are not supported; use a token in spec.secretRef',
      },
    isElsewhere &&
      namesSecret && {
        field: 'spec.secretRef',
        message:
          "a Source reads Secrets of its own namespace, which is the Kustomization's; copy them there, and name a GitRepository of that namespace",
      },
    signer !== 'git' && { field: 'spec.verify.provider', message: 'is not supported' },
  ];
  return [
    ...stopsOf(rest, repositoryRules),
    ...urlStops(git.url, 'spec.url'),
    ...found.filter((stop) => stop !== false),
  ].map(own);
}

// Fields of a Kustomization and of its GitRepository as fields of a Source. Pure.

/** A spec as it was read, not validated. */
type Fields = Readonly<Record<string, unknown>>;

/** What a field becomes, and what of it cannot be carried. */
interface ConvertedField<T> {
  readonly value?: T;
  readonly stops: readonly Stop[];
}

/** What is followed; without a word of it, the branch that Flux takes. */
function refOf(ref: Fields | undefined): SourceRef {
  const { commit, semver, tag, branch } = ref ?? {};
  // In this order, as Flux looks at them.
  if (typeof commit === 'string') return { commit };
  if (typeof semver === 'string') return { semver };
  if (typeof tag === 'string') return { tag };
  return { branch: typeof branch === 'string' ? branch : 'master' };
}

/** Whose signatures are asked for. */
function verifyIn({ verify }: Fields): SourceSpec['verify'] | undefined {
  if (!verify) return undefined;
  const { mode = 'HEAD', secretRef } = verify as { mode?: string; secretRef?: { name?: string } };
  const modes = { HEAD: 'HEAD', head: 'HEAD', Tag: 'Tag', TagAndHEAD: 'TagAndHEAD' } as const;
  return { mode: modes[mode as keyof typeof modes] ?? 'HEAD', secretRef: { name: secretRef?.name ?? '' } };
}

/** Patterns of files that are left out, without comments. */
function patternsIn({ ignore }: Fields): string[] {
  const lines = (text(ignore) ?? '').split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '' && !line.startsWith('#'));
}

/** The patterns begin at the root of the repository, a Source's at its path: those about other folders are left out. */
function ignoreIn(git: Fields, path: unknown): ConvertedField<string[]> {
  const folder = folderIn(path);
  const [, ...above] = folder?.split('/') ?? [];
  const patterns = patternsIn(git).map((pattern) => ({
    pattern,
    own: folder ? belowFolders(pattern, above) : [pattern],
  }));
  const unclear = patterns.filter(({ own }) => own === undefined).map(({ pattern }) => pattern);
  const message = `${unclear.join(', ')}: begins at the repository root in Flux and at spec.path in a Source; write it without ** for the folders of ${folder}`;
  const own = patterns.flatMap((one) => one.own ?? []);
  // Where one fits every file, those before it have no effect.
  const last = own.findLastIndex((pattern) => isEverything.has(pattern));
  const value = last < 0 ? own : own.slice(own[last] === '*' ? last : last + 1);
  return {
    ...(value.length > 0 ? { value } : {}),
    stops: unclear.length > 0 ? [{ field: 'GitRepository spec.ignore', message }] : [],
  };
}

const isEverything: ReadonlySet<string> = new Set(['*', '!*']);

/** A pattern as one that begins below these folders: none where it is about others, and undefined where that cannot be said. */
function belowFolders(pattern: string, above: readonly string[]): string[] | undefined {
  const [, not = '', path = '', end = ''] = /^(!?)(.*?)(\/?)$/.exec(pattern) ?? [];
  const name = path.replace(/^\*\*\//, '');
  if (!name.includes('/')) return [above.some((folder) => fitsName(name, folder)) ? `${not}*` : pattern];
  const steps = path.replace(/^\//, '').split('/');
  if (steps.slice(0, above.length).some((step) => step.includes('**'))) return undefined;
  if (above.some((folder, at) => at < steps.length && !fitsName(steps[at] ?? '', folder))) return [];
  const below = steps.slice(above.length).join('/');
  return [below === '' ? `${not}*` : `${not}/${below}${end}`];
}

/** The keys that SOPS needs. */
function decryptionIn({ decryption }: Fields): ConvertedField<SourceSpec['decryption']> {
  if (!decryption) return { stops: [] };
  const { provider, secretRef, ...rest } = decryption as {
    provider?: string;
    secretRef?: { name?: string };
  };
  const name = secretRef?.name;
  if (provider === 'sops' && name)
    return { value: { secretRef: { name } }, stops: stopsOf(rest, decryptionRules, 'spec.decryption') };
  return {
    stops: [
      { field: 'spec.decryption', message: 'only SOPS with age keys in a Secret (secretRef) is supported' },
    ],
  };
}

type Substitute = NonNullable<SourceSpec['substitute']>;

/** The variables of `postBuild`. */
function substituteIn({ postBuild }: Fields): ConvertedField<Substitute> {
  const given = (postBuild ?? {}) as {
    substitute?: Record<string, string> | null;
    substituteFrom?: unknown;
  };
  const { substitute: variables, substituteFrom, ...rest } = given;
  const substitute = variables ?? {};
  const field = 'spec.postBuild.substituteFrom';
  const stops = [...stopsOf(rest, {}, 'spec.postBuild'), ...listStops(substituteFrom, field)];
  const named = recordsOf(substituteFrom) as Array<NonNullable<Substitute['from']>[number]>;
  const from = named.map(({ kind, name, optional }) => ({
    kind,
    name,
    ...(optional ? { optional } : {}),
  }));
  if (Object.keys(substitute).length === 0 && from.length === 0) return { stops };
  return {
    stops,
    value: {
      ...(Object.keys(substitute).length > 0 ? { variables: substitute } : {}),
      ...(from.length > 0 ? { from } : {}),
    },
  };
}

/** A reference by name; undefined where there is none. */
function nameIn(reference: unknown): { name: string } | undefined {
  const { name } = (reference ?? {}) as { name?: string };
  return name ? { name } : undefined;
}

/** A text that is not empty. */
function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
