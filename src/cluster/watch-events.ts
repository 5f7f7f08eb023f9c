import type { KubernetesObject } from '../api/kubernetes.ts';
import type { ResourceInfo } from './discovery-format.ts';
import { localError } from './errors.ts';
import { asKind } from './list.ts';
import { errorFromStatus } from './status-error.ts';

/** One line of a watch. */
export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubernetesObject }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string; readonly endOfInitialEvents: boolean };

/** A single object cannot be larger than about 1.5 MB in etcd; its event with old-style metadata stays far below this. */
const maximumLineBytes = 16 * 1024 * 1024;

/** Splits a byte stream into lines. Throws `badAnswer` for a line beyond 16 MiB; a part line at the end is dropped. */
export async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  for await (const chunk of body) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      yield Buffer.concat([...pending, chunk.subarray(start, end)]).toString('utf8');
      pending = [];
      pendingBytes = 0;
      start = end + 1;
    }
    pending.push(chunk.subarray(start));
    pendingBytes += chunk.length - start;
    if (pendingBytes > maximumLineBytes)
      throw localError('badAnswer', `watch: a line of more than ${maximumLineBytes} bytes`);
  }
}

/** Reads one line. Throws `badAnswer` when it makes no sense (an event was lost: list again), else what an ERROR event says. */
export function parseWatchLine(info: ResourceInfo, line: string): WatchEvent {
  const event = parseJson(info, line);
  switch (event.type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type: event.type, object: asKind(info, event.object) };
    case 'BOOKMARK':
      return bookmark(info, event.object);
    case 'ERROR':
      throw errorFromStatus(subject(info), statusCode(event.object), event.object);
    default:
      throw localError('badAnswer', `watch ${info.plural}: unknown event type`);
  }
}

function parseJson(info: ResourceInfo, line: string): { type?: unknown; object?: unknown } {
  try {
    const event: unknown = JSON.parse(line);
    if (typeof event === 'object' && event !== null) return event;
  } catch {
    // Reported below, without the line: it may hold a Secret.
  }
  throw localError('badAnswer', `watch ${info.plural}: a line of ${line.length} characters is no event`);
}

function bookmark(info: ResourceInfo, object: unknown): WatchEvent {
  const metadata = (object as Partial<KubernetesObject> | null)?.metadata;
  if (typeof metadata?.resourceVersion !== 'string') {
    throw localError('badAnswer', `watch ${info.plural}: a bookmark without resourceVersion`);
  }
  return {
    type: 'BOOKMARK',
    resourceVersion: metadata.resourceVersion,
    endOfInitialEvents: metadata.annotations?.['k8s.io/initial-events-end'] === 'true',
  };
}

function subject(info: ResourceInfo): { verb: string; object: string; secret: boolean } {
  return { verb: 'watch', object: info.plural, secret: info.kind === 'Secret' };
}

function statusCode(status: unknown): number {
  const code = (status as { code?: unknown } | null)?.code;
  return typeof code === 'number' ? code : 500;
}
