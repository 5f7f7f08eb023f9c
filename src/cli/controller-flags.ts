import { Command, type Option } from 'commander';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { InputError } from '../api/problems.ts';
import { ApiError, isApiError } from '../cluster/errors.ts';
import type { ListSources } from '../engine/sync/apply/apply-object.ts';
import type { Connection } from '../server/connection.ts';
import { type CommandResult, formatSpan } from '../terminal/output.ts';
import type { ReleaseFlags } from './flags.ts';
import { nameOf } from './install/program-flags.ts';
import { readAll } from './objects.ts';
import { withRunFlags } from './run-flags.ts';

/** Flags of `holdfast run` on which the answer of a command depends that looks at Canaries as the controller does. */
export interface ControllerFlags extends ReleaseFlags {
  readonly watchNamespaces: string[];
  readonly meshProvider: string;
  /** Milliseconds. */
  readonly minAnalysisInterval: number;
  readonly selectorLabels: string[];
  readonly includeLabelPrefix: string[];
  readonly ingressAnnotationsPrefix: string;
  readonly metricsServer: string;
  readonly metricsServerCredentials?: string;
  readonly cloudIdentity?: boolean;
  readonly dashboardListen?: object;
  readonly defaultServiceAccount?: string;
  readonly trustedSourceNamespaces: string[];
}

/** Their names on the command line. */
export type ControllerFlagName =
  | 'watch-namespaces'
  | 'mesh-provider'
  | 'min-analysis-interval'
  | 'selector-labels'
  | 'include-label-prefix'
  | 'ingress-annotations-prefix'
  | 'metrics-server'
  | 'default-service-account'
  | 'trusted-source-namespaces'
  | 'enable-config-tracking'
  | 'cross-namespace-refs'
  | 'no-cross-namespace-refs';

/** Adds these. What is not given is undefined: `controllerFlags` reads it from the cluster. */
export function withControllerFlags(
  command: Command,
  names: readonly ControllerFlagName[],
  preset = "the controller's",
): Command {
  for (const option of optionsNamed(names)) command.addOption(option.default(undefined, preset));
  return command;
}

function optionsNamed(names: readonly ControllerFlagName[]): Option[] {
  return controllerCommand().options.filter((option) => names.some((name) => name === nameOf(option)));
}

/** The flags that the controller of this cluster runs with. */
export interface FoundFlags {
  readonly flags: ControllerFlags;
  /** A line for standard error on what was assumed; empty: nothing was. */
  readonly note: string;
}

/** Which controller is asked for which flags. */
interface FlagsQuery {
  /** Where Holdfast runs. */
  readonly namespace: string;
  readonly names: readonly ControllerFlagName[];
  /** From the command line; nothing is read where it has all of them. */
  readonly given: Partial<ControllerFlags>;
}

/**
 * The given flags, and for the others those in the arguments of the Deployment `holdfast`, also while it is scaled to zero. Without that
 * Deployment, or the right to read it, the defaults and a note that names them. Throws InputError for arguments that `holdfast run`
 * refuses, and ApiError.
 */
export async function controllerFlags(
  { client }: Pick<Connection, 'client'>,
  { namespace, names, given }: FlagsQuery,
): Promise<FoundFlags> {
  const where = `Deployment ${namespace}/holdfast`;
  const isGiven = (option: Option) => given[option.attributeName() as keyof ControllerFlags] !== undefined;
  const missing = optionsNamed(names).filter((option) => !option.hidden && !isGiven(option));
  if (missing.length === 0) return { flags: defaultControllerFlags(given), note: '' };
  const reference = { apiVersion: 'apps/v1', kind: 'Deployment', namespace, name: 'holdfast' };
  const found = await client.get(reference).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 403) return 'forbidden' as const;
    throw error;
  });
  const isRead = found !== undefined && found !== 'forbidden';
  const flags = { ...flagsOf(isRead ? argumentsOf(found) : [], where), ...definedIn(given) };
  if (isRead) return { flags, note: '' };
  const why = found === 'forbidden' ? `you may not read ${where}` : `there is no ${where}`;
  const assumed = missing.map((option) => assumedText(option, flags)).join(' ');
  return { flags, note: `note: ${why}, which says how the controller runs; assumed: ${assumed}\n` };
}

/** Runs a command with these flags; what was assumed of them is on its standard error. Throws as `controllerFlags` does. */
export async function withFlagsOfController(
  connection: Pick<Connection, 'client'>,
  query: FlagsQuery,
  work: (flags: ControllerFlags) => Promise<CommandResult>,
): Promise<CommandResult> {
  const { flags, note } = await controllerFlags(connection, query);
  const result = await work(flags);
  return { ...result, stderr: note + result.stderr };
}

/**
 * Every Source of the cluster, read once and only when it is asked for. Undefined without the right to list them all, and where the controller
 * watches some namespaces only: it does not know of the others either.
 */
export function sourcesOfCluster(connection: Pick<Connection, 'client'>, namespace: string): ListSources {
  async function read() {
    const query = { namespace, names: ['watch-namespaces'], given: {} } as const;
    const { flags } = await controllerFlags(connection, query);
    if (flags.watchNamespaces.length > 0) return undefined;
    try {
      return await readAll(connection.client, 'Source', { metadataOnly: true });
    } catch (error) {
      if (isApiError(error, 'forbidden')) return undefined;
      throw error;
    }
  }
  let reading: ReturnType<typeof read> | undefined;
  return () => {
    reading ??= read();
    return reading;
  };
}

/** The given flags, and the defaults for the others. */
export function defaultControllerFlags(given: Partial<ControllerFlags>): ControllerFlags {
  return { ...flagsOf([], ''), ...definedIn(given) };
}

/** A flag with its default, nearly as it would be typed. */
function assumedText(option: Option, flags: ControllerFlags): string {
  const value = flags[option.attributeName() as keyof ControllerFlags];
  const text = option.long === '--min-analysis-interval' ? formatSpan(Number(value)) : String(value ?? '');
  return `${option.long}=${text || 'none'}`;
}

/** What stands behind `run`, with the variables that the Deployment itself defines filled in as the kubelet does. */
function argumentsOf({ spec }: KubernetesObject): string[] {
  const { template } = spec as { template: { spec: { containers: Container[] } } };
  for (const { command = [], args = [], env = [] } of template.spec.containers) {
    const words = [...command, ...args];
    const at = words.indexOf('run');
    if (at < 0) continue;
    const values = new Map(env.map(({ name, value }) => [name, value]));
    return words
      .slice(at + 1)
      .map((word) => word.replace(/\$\((\w+)\)/g, (text, name: string) => values.get(name) ?? text));
  }
  return [];
}

interface Container {
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: ReadonlyArray<{ readonly name: string; readonly value?: string }>;
}

function flagsOf(argv: string[], where: string): ControllerFlags {
  const run = controllerCommand();
  try {
    run.parseOptions(argv);
  } catch (error) {
    const message = (error as Error).message.replace(/^error: /, '');
    throw new InputError(`${where}: holdfast run would refuse its arguments: ${message}`);
  }
  const { namespace, ...flags } = run.opts<ControllerFlags & { readonly namespace?: string }>();
  return namespace === undefined ? flags : { ...flags, watchNamespaces: [namespace] };
}

function definedIn<T extends object>(given: T): Partial<T> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Partial<T>;
}

/** `holdfast run` with the flags that this version declares, to read arguments. */
export function controllerCommand(): Command {
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  return withRunFlags(program.command('run'));
}
