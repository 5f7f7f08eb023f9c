import { canaryStatus } from '../../api/canary/summary.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import {
  type CommandResult,
  type DataFormat,
  formatData,
  onScreen,
  printed,
  type ReleaseChanges,
  type Screen,
} from '../../terminal/output.ts';
import type { ObjectArgument } from '../flags.ts';
import { noneFound, readKinds, readOne } from '../objects.ts';
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
  const query = { namespace, labelSelector };
  let note = '';
  const found = await readKinds(reader, kind ? [kind] : ['Canary', 'Source'], query, (error) => {
    note = `note: no Sources are shown: ${error.message}\n`;
  });
  const { Canary: canaries = [], Source: sources = [] } = found;
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
