import { type KubernetesObject, recordOf, recordsOf } from '../../src/api/kubernetes.ts';
import { badRequest } from '../api-server/errors.ts';
import { asString, at } from '../api-server/json.ts';
import type { Behaviour } from './pod-behaviour.ts';

/**
 * What the kubelet of a pod would answer for its log: what the outcome of the pod says, or a line for each start. Throws 400 with a real server's
 * words for containers that the pod has not, that never started, or that have no run before this one.
 */
export function podLog(behaviour: Behaviour, pod: KubernetesObject, query: URLSearchParams): string {
  const { name } = pod.metadata;
  const containers = ['initContainers', 'containers'].flatMap((list) => recordsOf(at(pod, 'spec', list)));
  const wanted = query.get('container') ?? asString(containers[0]?.name);
  const container = containers.find((one) => one.name === wanted);
  if (!container) throw badRequest(`container ${wanted} is not valid for pod ${name}`);
  const statuses = ['initContainerStatuses', 'containerStatuses'].flatMap((list) =>
    recordsOf(at(pod, 'status', list)),
  );
  const status = recordOf(statuses.find((one) => one.name === wanted));
  const ended = at(status, 'lastState', 'terminated') !== undefined || Number(status.restartCount ?? 0) > 0;
  const isPrevious = query.get('previous') === 'true';
  if (isPrevious && !ended)
    throw badRequest(`previous terminated container "${wanted}" in pod "${name}" not found`);
  const waiting = asString(at(status, 'state', 'waiting', 'reason'));
  if (!isPrevious && !ended && waiting !== '')
    throw badRequest(
      waiting === 'ImagePullBackOff'
        ? `container "${wanted}" in pod "${name}" is waiting to start: trying and failing to pull image`
        : `container "${wanted}" in pod "${name}" is waiting to start: ${waiting}`,
    );
  const { log, previousLog } = behaviour.outcomeOf(pod);
  return bounded((isPrevious ? previousLog : log) ?? [`${asString(container.image)} started`], query);
}

function bounded(lines: readonly string[], query: URLSearchParams): string {
  const tailLines = Number(query.get('tailLines') ?? lines.length);
  const text = lines
    .slice(Math.max(0, lines.length - tailLines))
    .map((line) => `${line}\n`)
    .join('');
  return text.slice(0, Number(query.get('limitBytes') ?? text.length));
}
