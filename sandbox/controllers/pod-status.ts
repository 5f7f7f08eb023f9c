import { type KubernetesObject, recordsOf } from '../../src/api/kubernetes.ts';
import { asString, at, type JsonRecord } from '../api-server/json.ts';
import { timestamp } from '../api-server/object-writer.ts';
import { withTransitions } from './controller.ts';
import type { PodOutcome } from './pod-behaviour.ts';

const CRASH_BACKOFF_MS = [0, 10_000, 30_000, 70_000, 150_000, 310_000, 610_000];

/** A pod's status at one moment, and when it has to be looked at again. */
interface PodSnapshot {
  readonly status: JsonRecord;
  readonly nextChangeMs?: number;
}

/** What a kubelet would report about a pod of this age. `address` is the pod's IP. */
export function podStatusAt(
  pod: KubernetesObject,
  outcome: PodOutcome,
  ageMs: number,
  nowMs: number,
  address: string,
): PodSnapshot {
  return snapshotOf(pod, possible(pod, atAge(outcome, ageMs)), ageMs, nowMs, address);
}

/** Until its first crash a crashing pod is like any other. */
function atAge(outcome: PodOutcome, ageMs: number): PodOutcome {
  const { failure, ...healthy } = outcome;
  const crashAfterMs = failure === 'CrashLoopBackOff' ? (outcome.crashAfterMs ?? 0) : 0;
  return ageMs < crashAfterMs ? { ...healthy, unreadyAfterMs: crashAfterMs } : outcome;
}

/** Without init containers `InitFails` does not apply. */
function possible(pod: KubernetesObject, outcome: PodOutcome): PodOutcome {
  if (outcome.failure !== 'InitFails' || initContainersOf(pod).length > 0) return outcome;
  const { failure: _, ...healthy } = outcome;
  return healthy;
}

function snapshotOf(
  pod: KubernetesObject,
  outcome: PodOutcome,
  ageMs: number,
  nowMs: number,
  address: string,
): PodSnapshot {
  const scheduled = outcome.failure !== 'Unschedulable';
  const ready = isReady(outcome, ageMs);
  const now = timestamp(nowMs);
  const conditions = withTransitions(at(pod, 'status', 'conditions'), conditionsOf(pod, outcome, ready), now);
  const running = scheduled && !isBeforeStart(outcome);
  const started = asString(at(pod, 'status', 'startTime'), now);
  const next = nextAge(outcome, ageMs);
  return {
    status: {
      phase: running ? 'Running' : 'Pending',
      conditions,
      qosClass: 'BestEffort',
      observedGeneration: pod.metadata.generation,
      ...(scheduled
        ? { startTime: started, hostIP: '10.0.0.1', podIP: address, podIPs: [{ ip: address }] }
        : {}),
      ...(scheduled
        ? {
            ...initStatuses(pod, outcome, started),
            containerStatuses: containersOf(pod).map((each) =>
              containerStatus(each, outcome, ageMs, ready, started),
            ),
          }
        : {}),
    },
    ...(next === undefined ? {} : { nextChangeMs: next - ageMs }),
  };
}

function containersOf(pod: KubernetesObject): JsonRecord[] {
  return recordsOf(at(pod, 'spec', 'containers'));
}

function initContainersOf(pod: KubernetesObject): JsonRecord[] {
  return recordsOf(at(pod, 'spec', 'initContainers'));
}

/** None of its containers was ever started. */
function isBeforeStart({ failure }: PodOutcome): boolean {
  return failure === 'ImagePullBackOff' || failure === 'InitFails' || failure === 'Waiting';
}

/** The first one fails, the others wait; without a failure they complete immediately. */
function initStatuses(pod: KubernetesObject, outcome: PodOutcome, started: string): JsonRecord {
  const containers = initContainersOf(pod);
  if (containers.length === 0) return {};
  const fails = outcome.failure === 'InitFails';
  const ended = (exitCode: number, reason: string) => ({
    terminated: { exitCode, reason, startedAt: started, finishedAt: started },
  });
  const initContainerStatuses = containers.map(({ name, image }, index) => ({
    name,
    image,
    imageID: '',
    ready: !fails,
    restartCount: fails && index === 0 ? 1 : 0,
    state: fails ? (index === 0 ? crashLoop : podInitializing) : ended(0, 'Completed'),
    lastState: fails && index === 0 ? ended(1, 'Error') : {},
  }));
  return { initContainerStatuses };
}

const crashLoop = {
  waiting: { reason: 'CrashLoopBackOff', message: 'back-off restarting failed container' },
};
const podInitializing = { waiting: { reason: 'PodInitializing' } };

function isReady(outcome: PodOutcome, ageMs: number): boolean {
  if (outcome.failure) return false;
  return ageMs >= (outcome.readyAfterMs ?? 0) && ageMs < (outcome.unreadyAfterMs ?? Number.POSITIVE_INFINITY);
}

function nextAge(outcome: PodOutcome, ageMs: number): number | undefined {
  const crashes = outcome.failure === 'CrashLoopBackOff' ? crashAges(outcome) : [];
  const probes = outcome.failure ? [] : [outcome.readyAfterMs ?? 0, outcome.unreadyAfterMs ?? 0];
  return [...crashes, ...probes].filter((age) => age > ageMs).sort((left, right) => left - right)[0];
}

function crashAges(outcome: PodOutcome): number[] {
  return CRASH_BACKOFF_MS.map((wait) => (outcome.crashAfterMs ?? 0) + wait);
}

function conditionsOf(pod: KubernetesObject, outcome: PodOutcome, ready: boolean): JsonRecord[] {
  if (outcome.failure === 'Unschedulable') {
    const message = '0/1 nodes are available: 1 Insufficient cpu.';
    return [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }];
  }
  const names = containersOf(pod).map((each) => asString(each.name));
  const unready = ready
    ? { status: 'True' }
    : {
        status: 'False',
        reason: 'ContainersNotReady',
        message: `containers with unready status: [${names.join(' ')}]`,
      };
  return [
    { type: 'PodReadyToStartContainers', status: 'True' },
    outcome.failure === 'InitFails'
      ? { type: 'Initialized', status: 'False', reason: 'ContainersNotInitialized' }
      : { type: 'Initialized', status: 'True' },
    { type: 'Ready', ...unready },
    { type: 'ContainersReady', ...unready },
    { type: 'PodScheduled', status: 'True' },
  ];
}

function containerStatus(
  container: JsonRecord,
  outcome: PodOutcome,
  ageMs: number,
  ready: boolean,
  started: string,
): JsonRecord {
  const image = asString(container.image);
  const pulled = !isBeforeStart(outcome);
  const crashing = outcome.failure === 'CrashLoopBackOff';
  const crashes = crashing ? crashAges(outcome).filter((age) => age <= ageMs).length : 0;
  const { crashReason: reason = 'Error' } = outcome;
  const exitCode = reason === 'OOMKilled' ? 137 : 1;
  const ended = { exitCode, reason, startedAt: started, finishedAt: started };
  return {
    name: container.name,
    image,
    imageID: pulled
      ? `sandbox.local/${image}@sha256:${Buffer.from(image).toString('hex').padEnd(64, '0').slice(0, 64)}`
      : '',
    ready,
    started: pulled && !crashing,
    restartCount: (outcome.restarts ?? 0) + crashes,
    state: stateOf(outcome, image, started),
    lastState: crashing ? { terminated: ended } : {},
  };
}

function stateOf({ failure, waiting }: PodOutcome, image: string, startedAt: string): JsonRecord {
  if (failure === 'Waiting') return { waiting: waiting ?? { reason: 'ContainerCreating' } };
  if (failure === 'ImagePullBackOff') {
    return { waiting: { reason: failure, message: `Back-off pulling image "${image}"` } };
  }
  if (failure === 'CrashLoopBackOff') return crashLoop;
  if (failure === 'InitFails') return podInitializing;
  return { running: { startedAt } };
}
