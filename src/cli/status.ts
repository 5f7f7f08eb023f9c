import { apiVersionOf, type KindName } from '../api/kinds/kinds.ts';
import { describe, type KubernetesObject } from '../api/kubernetes.ts';
import { InputError } from '../api/problems.ts';
import type { ClusterClient } from '../cluster/client/client.ts';
import { isApiError } from '../cluster/errors.ts';
import {
  type CommandResult,
  type DataFormat,
  formatData,
  type Screen,
  screenOf,
} from '../terminal/output.ts';
import { type CliCommand, emit, withConnection } from './command.ts';
import { allNamespacesOption, kubeconfigOption, namespaceOption, outputOption } from './flags.ts';
import { canaryDetail, sourceDetail } from './status-detail.ts';
import { canaryRow, canaryTable, sourceRow, sourceTable, type TableOptions } from './status-rows.ts';

/** What `holdfast status` is asked for. */
export interface StatusOptions {
  /** Absent: Canaries and Sources. */
  readonly kind?: 'Canary' | 'Source' | undefined;
  /** One object in full. */
  readonly name?: string | undefined;
  /** Absent: all namespaces. */
  readonly namespace: string | undefined;
  readonly format: 'table' | 'wide' | DataFormat;
  readonly screen: Screen;
  readonly nowMs: number;
}

/** The part of the client that reading takes. */
export type StatusReader = Pick<ClusterClient, 'get' | 'list'>;

/** What Holdfast is doing, as its objects in the cluster say. Throws ApiError. */
export async function status(reader: StatusReader, options: StatusOptions): Promise<CommandResult> {
  return options.name === undefined ? all(reader, options) : one(reader, options, options.name);
}

async function one(reader: StatusReader, options: StatusOptions, name: string): Promise<CommandResult> {
  const kind = options.kind ?? 'Canary';
  const namespace = options.namespace ?? 'default';
  const reference = { apiVersion: apiVersionOf(kind), kind, namespace, name };
  const object = await reader.get(reference);
  if (!object) {
    const stderr = `error: ${describe(reference)} not found; use -n NAMESPACE for another namespace or -A for all\n`;
    return { stdout: '', stderr, exitCode: 1 };
  }
  const { format, screen, nowMs } = options;
  if (format === 'json' || format === 'yaml') return printed(formatData(clean(object), format));
  const detail = kind === 'Canary' ? canaryDetail : sourceDetail;
  return printed(textOf(detail(object, screen, nowMs)));
}

async function all(reader: StatusReader, options: StatusOptions): Promise<CommandResult> {
  const { kind, namespace, format, screen, nowMs } = options;
  const canaries = kind === 'Source' ? [] : await list(reader, 'Canary', namespace);
  const sources = kind === 'Canary' ? [] : await sourcesOf(reader, options);
  if (format === 'json' || format === 'yaml') {
    const items = [...canaries, ...sources].map(clean);
    return printed(formatData({ apiVersion: 'v1', kind: 'List', items }, format));
  }
  const table: TableOptions = { screen, wide: format === 'wide', withNamespace: namespace === undefined };
  const blocks = [
    ...(canaries.length > 0
      ? [
          canaryTable(
            canaries.map((canary) => canaryRow(canary, nowMs)),
            table,
          ),
        ]
      : []),
    ...(sources.length > 0 ? [sourceTable(sources.map(sourceRow), table)] : []),
  ];
  if (blocks.length === 0) {
    const where = namespace === undefined ? '' : ` in namespace ${namespace} (use -A for all namespaces)`;
    const what = kind === undefined ? 'Canaries or Sources' : kind === 'Canary' ? 'Canaries' : 'Sources';
    return { stdout: '', stderr: `No ${what} found${where}.\n`, exitCode: 0 };
  }
  return printed(blocks.map(textOf).join('\n'));
}

/** Where only Flagger's kinds are installed, or the reader may see Canaries alone, these are shown all the same. */
async function sourcesOf(
  reader: StatusReader,
  { kind, namespace }: StatusOptions,
): Promise<KubernetesObject[]> {
  try {
    return await list(reader, 'Source', namespace);
  } catch (error) {
    if (kind === undefined && isApiError(error, 'unknownKind', 'forbidden')) return [];
    throw error;
  }
}

async function list(
  reader: StatusReader,
  kind: KindName,
  namespace: string | undefined,
): Promise<KubernetesObject[]> {
  const { items } = await reader.list(apiVersionOf(kind), kind, namespace === undefined ? {} : { namespace });
  return [...items];
}

/** Without the bookkeeping of field managers. */
function clean(object: KubernetesObject): KubernetesObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function textOf(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`;
}

function printed(stdout: string): CommandResult {
  return { stdout, stderr: '', exitCode: 0 };
}

interface StatusFlags {
  readonly kubeconfig?: string;
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  readonly output: StatusOptions['format'];
}

/** `holdfast status`: what is going on, on one screen. */
export const statusCommand: CliCommand = {
  register(program, context) {
    const { version } = context;
    program
      .command('status')
      .description('show Canaries and Sources, or one of them in full')
      .argument('[kind]', 'canary or source; NAME alone is a Canary')
      .argument('[name]', 'name of the object')
      .addOption(kubeconfigOption())
      .addOption(namespaceOption())
      .addOption(allNamespacesOption())
      .addOption(outputOption('table', ['table', 'wide', 'json', 'yaml']))
      .action(async (kind: string | undefined, name: string | undefined, flags: StatusFlags) => {
        const subject = parseObjectArgument(kind, name);
        if (flags.allNamespaces && subject.name !== undefined)
          throw new InputError('an object cannot be named together with -A; use -n NAMESPACE');
        const { kubeconfig } = flags;
        const result = await withConnection({ kubeconfig, version }, ({ access, client }) =>
          status(client, {
            ...subject,
            namespace: flags.allNamespaces ? undefined : (flags.namespace ?? access.namespace),
            format: flags.output,
            screen: screenOf(process.stdout, process.env),
            nowMs: Date.now(),
          }),
        );
        emit(result, context);
      });
  },
};

/** `canary web`, `canary/web`, `canaries`, `web`: all as with kubectl. Throws InputError for a kind that is not ours. */
export function parseObjectArgument(
  first: string | undefined,
  second: string | undefined,
): Pick<StatusOptions, 'kind' | 'name'> {
  if (first === undefined) return {};
  const [word = '', inside] = first.split('/', 2);
  const name = second ?? inside;
  if (/^canar(y|ies)$/i.test(word)) return { kind: 'Canary', name };
  if (/^sources?$/i.test(word)) return { kind: 'Source', name };
  if (name === undefined) return { kind: 'Canary', name: word };
  throw new InputError(`unknown kind ${JSON.stringify(word)}: must be canary or source`);
}
