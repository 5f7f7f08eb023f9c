import { stripVTControlCharacters } from 'node:util';
import { limits } from '../../api/limits.ts';
import { localError } from '../../cluster/errors.ts';
import type { Transport } from '../../cluster/transport/transport.ts';
import { type ContainerStatus, containerStatuses, isReady, type Pod } from '../../workload/pods/pods.ts';
import type { CanaryPod } from './canary-pods.ts';

/** One run of one container, whose log is read. */
export interface LogSource {
  readonly namespace: string;
  readonly side: CanaryPod['side'];
  readonly pod: string;
  readonly container: string;
  /** The run before the current one. */
  readonly previous: boolean;
  /** What is wrong with the container, for people; empty when nothing is. */
  readonly problem: string;
}

/** Which runs of which containers. */
export interface LogSelection {
  /** Undefined: those that fail. */
  readonly side: 'canary' | 'primary' | undefined;
  readonly container: string | undefined;
  /** The run before the current one, of every container. */
  readonly previous: boolean;
}

/**
 * What to read of these pods. Of those that fail: containers that are not ready, or that were restarted; of one that runs again also the run that
 * ended. Pure.
 */
export function logSources(
  pods: readonly CanaryPod[],
  { side, container, previous }: LogSelection,
): LogSource[] {
  return pods
    .filter((one) => (side === undefined ? isFailing(one.pod) : one.side === side))
    .flatMap(({ side: own, pod }) => {
      const statuses = containerStatuses(pod);
      const named = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])]
        .map(({ name }) => name)
        .filter((name) => container === undefined || name === container);
      const failing = named.filter((name) =>
        problemOf(
          pod,
          statuses.find((status) => status.name === name),
        ),
      );
      // If the status names no failing container, all of them are read.
      const chosen = side === undefined && container === undefined && failing.length > 0 ? failing : named;
      return chosen.flatMap((name) => {
        const status = statuses.find((one) => one.name === name);
        const source = {
          namespace: pod.metadata.namespace ?? '',
          side: own,
          pod: pod.metadata.name,
          container: name,
          problem: problemOf(pod, status),
        };
        const endedBefore = side === undefined && (status?.restartCount ?? 0) > 0 && status?.state?.running;
        if (previous) return [{ ...source, previous }];
        return [...(endedBefore ? [{ ...source, previous: true }] : []), { ...source, previous: false }];
      });
    });
}

/** A pod that is starting counts as failing, too: its log shows how far it is. */
function isFailing(pod: Pod): boolean {
  if (pod.status?.phase === 'Succeeded') return false;
  return !isReady(pod) || containerStatuses(pod).some(({ restartCount = 0 }) => restartCount > 0);
}

function problemOf(pod: Pod, status: ContainerStatus | undefined): string {
  if (!status) return '';
  const { state, lastState, restartCount = 0, ready } = status;
  const restarts = restartCount > 0 ? `${restartCount} ${restartCount === 1 ? 'restart' : 'restarts'}` : '';
  const { exitCode, reason } = lastState?.terminated ?? {};
  const ended = exitCode === undefined ? '' : `ended with ${exitCode}${reason ? ` (${reason})` : ''}`;
  const isInit = pod.spec?.initContainers?.some(({ name }) => name === status.name) === true;
  const isDone = isInit && state?.terminated?.exitCode === 0;
  const waits = state?.waiting?.reason ?? '';
  const isUnready = ready !== true && !isDone && !isReady(pod);
  return [waits || (isUnready ? 'not ready' : ''), restarts, ended].filter(Boolean).join(', ');
}

/** How much of each log. */
export interface LogBounds {
  /** Lines from the end; undefined: all. */
  readonly tailLines: number | undefined;
  readonly sinceSeconds: number | undefined;
  /** Goes on with what is written from now on. */
  readonly follow: boolean;
}

/**
 * The lines of one log as they come, without escape sequences and other control characters but tabs. Long lines are cut in pieces, and a log that is not
 * followed ends at `limits.logBytes`. Throws ApiError.
 */
export async function* readLog(
  transport: Pick<Transport, 'stream'>,
  { namespace, pod, container, previous }: LogSource,
  { tailLines, sinceSeconds, follow }: LogBounds,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const part = encodeURIComponent;
  const { body } = await transport.stream({
    verb: 'get',
    path: `/api/v1/namespaces/${part(namespace)}/pods/${part(pod)}/log`,
    query: {
      container,
      ...(previous ? { previous: 'true' } : {}),
      ...(follow ? { follow: 'true' } : { limitBytes: String(limits.logBytes) }),
      ...(tailLines === undefined ? {} : { tailLines: String(tailLines) }),
      ...(sinceSeconds === undefined ? {} : { sinceSeconds: String(sinceSeconds) }),
    },
    accept: '*/*',
    object: `log of Pod ${namespace}/${pod} (${container})`,
    signal,
  });
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of unlessLost(body, `log of Pod ${namespace}/${pod} (${container})`)) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield clean(line);
    if (rest.length > limits.logLineCharacters) {
      yield clean(rest);
      rest = '';
    }
  }
  rest += decoder.decode();
  if (rest) yield clean(rest);
}

/** What the runtime says of a connection that is lost in the middle names neither the log nor the server. */
async function* unlessLost(body: AsyncIterable<Uint8Array>, log: string): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch {
    throw localError('transient', `${log}: the connection to the API server was lost in the middle`);
  }
}

/** What a log may do to a terminal is to fill it. */
function clean(line: string): string {
  return stripVTControlCharacters(line).replace(/[^\P{Cc}\t]/gu, '');
}
