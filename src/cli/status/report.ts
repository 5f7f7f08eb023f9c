import { canaryStatus } from '../../api/canary/summary.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { isApiError } from '../../cluster/errors.ts';
import {
  type CommandResult,
  type DataFormat,
  formatData,
  onScreen,
  printed,
  type Screen,
} from '../../terminal/output.ts';
import type { ReleaseChanges } from '../../terminal/schemas/output-kinds.ts';
import type { ObjectArgument } from '../flags.ts';
import { noneFound, readAll, readOne } from '../objects.ts';
import { canaryDetail, sourceDetail } from './detail.ts';
import { canaryRow, canaryTable, sourceRow, sourceTable, type TableOptions } from './rows.ts';

/** What `holdfast status` is asked for. */
export interface StatusOptions extends ObjectArgument {
  /** Absent: all namespaces. */
  readonly namespace: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly format: 'table' | 'wide' | DataFormat;
  readonly screen: Screen;
  readonly nowMs: number;
  /** Reads what the release under way of one Canary changes; absent: that is not shown. */
  readonly changesOf?: (canary: KubernetesObject) => Promise<ReleaseChanges | undefined>;
}

/** The part of the client that reading takes. */
export type StatusReader = Pick<ClusterClient, 'get' | 'list'>;

/** What Holdfast is doing, as its objects in the cluster say. Throws ApiError, and InputError where the named one is not there. */
export async function status(reader: StatusReader, options: StatusOptions): Promise<CommandResult> {
  return options.name === undefined ? all(reader, options) : one(reader, options, options.name);
}

async function one(reader: StatusReader, options: StatusOptions, name: string): Promise<CommandResult> {
  const kind = options.kind ?? 'Canary';
  const namespace = options.namespace ?? 'default';
  const object = await readOne(reader, kind, { namespace, name });
  const { format, screen, nowMs } = options;
  if (format === 'json' || format === 'yaml') return printed(formatData(clean(object), format));
  if (kind === 'Source') return printed(onScreen(screen, textOf(sourceDetail(object, screen, nowMs))));
  const underWay = await options.changesOf?.(object);
  return printed(onScreen(screen, textOf(canaryDetail(object, { screen, nowMs, underWay }))));
}

async function all(reader: StatusReader, options: StatusOptions): Promise<CommandResult> {
  const { kind, namespace, labelSelector, format, screen, nowMs } = options;
  const canaries = kind === 'Source' ? [] : await readAll(reader, 'Canary', { namespace, labelSelector });
  const { sources, note } = kind === 'Canary' ? { sources: [], note: '' } : await sourcesOf(reader, options);
  if (format === 'json' || format === 'yaml') {
    const items = [...canaries, ...sources].map(clean);
    return { ...printed(formatData({ apiVersion: 'v1', kind: 'List', items }, format)), stderr: note };
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
  const words = kind === undefined ? 'Canaries or Sources' : kind === 'Canary' ? 'Canaries' : 'Sources';
  if (blocks.length === 0)
    return {
      stdout: '',
      stderr:
        noneFound(words, { namespace, allNamespaces: namespace === undefined, selector: labelSelector }) +
        note,
      exitCode: 0,
    };
  return { ...printed(blocks.map(textOf).join('\n')), stderr: note };
}

/** Canaries are shown also where only Flagger's kinds are installed, or where the reader may not list Sources. */
async function sourcesOf(
  reader: StatusReader,
  options: StatusOptions,
): Promise<{ readonly sources: readonly KubernetesObject[]; readonly note: string }> {
  const { namespace, labelSelector } = options;
  try {
    return { sources: await readAll(reader, 'Source', { namespace, labelSelector }), note: '' };
  } catch (error) {
    if (options.kind !== undefined || !isApiError(error, 'unknownKind', 'forbidden')) throw error;
    return {
      sources: [],
      note: error.kind === 'forbidden' ? `note: no Sources are shown: ${error.message}\n` : '',
    };
  }
}

/** Without the bookkeeping of field managers; the whole status of a Canary, not as it is stored. */
export function clean(object: KubernetesObject): KubernetesObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return {
    ...object,
    metadata,
    ...(object.status && object.kind === 'Canary' ? { status: canaryStatus(object) } : {}),
  };
}

function textOf(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`;
}
