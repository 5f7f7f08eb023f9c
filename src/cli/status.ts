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
import { outputOption } from './install/install.ts';
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
    const stderr = `holdfast status: ${describe(reference)} does not exist; -n NAMESPACE looks elsewhere, -A everywhere\n`;
    return { stdout: '', stderr, exitCode: 1 };
  }
  const { format, screen, nowMs } = options;
  if (format === 'json' || format === 'yaml') return said(formatData(clean(object), format));
  const detail = kind === 'Canary' ? canaryDetail : sourceDetail;
  return said(joined(detail(object, screen, nowMs)));
}

async function all(reader: StatusReader, options: StatusOptions): Promise<CommandResult> {
  const { kind, namespace, format, screen, nowMs } = options;
  const canaries = kind === 'Source' ? [] : await list(reader, 'Canary', namespace);
  const sources = kind === 'Canary' ? [] : await sourcesOf(reader, options);
  if (format === 'json' || format === 'yaml') {
    const items = [...canaries, ...sources].map(clean);
    return said(formatData({ apiVersion: 'v1', kind: 'List', items }, format));
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
    const where =
      namespace === undefined ? 'in the cluster' : `in namespace ${namespace} (-A looks everywhere)`;
    const what = kind === undefined ? 'no Canary and no Source' : `no ${kind}`;
    return { stdout: '', stderr: `There is ${what} ${where}.\n`, exitCode: 0 };
  }
  return said(blocks.map(joined).join('\n'));
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

function joined(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`;
}

function said(stdout: string): CommandResult {
  return { stdout, stderr: '', exitCode: 0 };
}

interface StatusFlags {
  readonly kubeconfig?: string;
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  readonly output: StatusOptions['format'];
}

/** `holdfast status`: what is going on, for people who were just woken up. */
export const statusCommand: CliCommand = {
  register(program, context) {
    const { version } = context;
    program
      .command('status')
      .description('show Canaries and Sources, or one of them in full')
      .argument('[kind]', 'canary or source; a name alone is that of a Canary')
      .argument('[name]', 'name of the object')
      .option(
        '--kubeconfig <file>',
        'kubeconfig; default: KUBECONFIG, the service account of the pod, ~/.kube/config',
      )
      .option('-n, --namespace <name>', "namespace; default: the kubeconfig's")
      .option('-A, --all-namespaces', 'all namespaces')
      .addOption(outputOption('table', ['table', 'wide', 'json', 'yaml']))
      .action(async (kind: string | undefined, name: string | undefined, flags: StatusFlags) => {
        const subject = subjectOf(kind, name);
        if (flags.allNamespaces && subject.name !== undefined)
          throw new InputError('one object is in one namespace: give -n NAMESPACE instead of -A');
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
export function subjectOf(
  first: string | undefined,
  second: string | undefined,
): Pick<StatusOptions, 'kind' | 'name'> {
  if (first === undefined) return {};
  const [word = '', inside] = first.split('/', 2);
  const kind = kindNamed(word);
  const name = second ?? inside;
  if (kind) return { kind, name };
  if (name === undefined) return { kind: 'Canary', name: word };
  throw new InputError(`${JSON.stringify(word)} is neither canary nor source`);
}

function kindNamed(word: string): 'Canary' | 'Source' | undefined {
  if (/^canar(y|ies)$/i.test(word)) return 'Canary';
  return /^sources?$/i.test(word) ? 'Source' : undefined;
}
