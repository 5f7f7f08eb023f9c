import type { Clock } from '../../src/api/clock.ts';
import { type KubernetesObject, recordsOf } from '../../src/api/kubernetes.ts';
import { at } from '../api-server/json.ts';
import type { Store } from '../api-server/store.ts';
import { controllerName } from '../controllers/controller.ts';
import { endpointPorts, podsOfService } from '../controllers/endpoint-slices.ts';
import { type Behaviour, errorPercentAt } from '../controllers/pod-behaviour.ts';
import { isServing, type PodAges } from '../controllers/pods.ts';
import { apexesOf, backendsOf, type RouteParts } from './backends.ts';

/** What one workload sees of an apex's traffic. */
export interface WorkloadTraffic {
  readonly workload: string;
  /** Share of the apex's requests, 0-1. */
  readonly share: number;
  readonly mirrored: boolean;
  /** Requests that succeed among those that reach it, 0-100. */
  readonly successPercent: number;
  /** Mean time a request takes. */
  readonly durationMs: number;
}

/** What would happen to requests for an apex Service at this moment. */
export interface TrafficView {
  /** Share of the requests that succeed, 0-1. Requests that meet no ready pod fail. */
  readonly successShare: number;
  readonly workloads: readonly WorkloadTraffic[];
}

/** A load of users, counted over time. */
export interface TrafficSampler {
  /** Requests so far and how many of them failed (both may be fractions). */
  totals(): { readonly requests: number; readonly failed: number };
  /** The worst moment seen. */
  worst(): { readonly successShare: number; readonly atMs: number };
  stop(): void;
}

/** What to sample. */
export interface SamplerOptions {
  readonly namespace: string;
  /** The apex Service. */
  readonly service: string;
  /** Default 100 ms. */
  readonly intervalMs?: number;
  /** Default 50. */
  readonly requestsPerSecond?: number;
}

/** The model of user traffic over the sandbox's objects. */
export interface TrafficModel {
  view(namespace: string, apexService: string): TrafficView;
  /** One workload over all apexes of its namespace; undefined when no request reaches it. */
  workload(namespace: string, name: string): WorkloadTraffic | undefined;
  sample(options: SamplerOptions): TrafficSampler;
}

const BASE_DURATION_MS = 5;

/** What the model reads. */
interface TrafficParts extends RouteParts {
  readonly clock: Clock;
  readonly behaviour: Behaviour;
  readonly ageOf: PodAges;
}

/** A model that is computed afresh from the objects each time it is asked. */
export function createTraffic(parts: TrafficParts): TrafficModel {
  const view = (namespace: string, apex: string) => viewOf(parts, namespace, apex);
  return {
    view,
    workload(namespace, name) {
      const seen = apexesOf(parts, namespace).flatMap((apex) => view(namespace, apex).workloads);
      return combine(
        name,
        seen.filter((each) => each.workload === name && each.share > 0),
      );
    },
    sample: (options) =>
      startSampler(parts.clock, () => view(options.namespace, options.service).successShare, options),
  };
}

function viewOf(parts: TrafficParts, namespace: string, apex: string): TrafficView {
  const workloads: WorkloadTraffic[] = [];
  let successShare = 0;
  for (const { service, port, share, mirrored } of backendsOf(parts, namespace, apex)) {
    const found = parts.store.get('/services', namespace, service);
    const pods = found && hasPort(found, port) ? servingPods(parts.store, found) : [];
    for (const { pod, isAnswering } of pods) {
      const traffic = podTraffic(parts, pod, { share: share / pods.length, mirrored, isAnswering });
      if (!mirrored) successShare += (traffic.share * traffic.successPercent) / 100;
      workloads.push(traffic);
    }
  }
  const names = [...new Set(workloads.map((each) => each.workload))];
  const combined = names.map((name) =>
    combine(
      name,
      workloads.filter((each) => each.workload === name),
    ),
  );
  return {
    successShare: Math.min(1, rounded(successShare)),
    workloads: combined.filter((each) => each !== undefined),
  };
}

/** A route that names a port which its Service does not have leads nowhere. */
function hasPort(service: KubernetesObject, port: number | undefined): boolean {
  const ports = recordsOf(at(service, 'spec', 'ports'));
  return port === undefined || ports.some((one) => one.port === port);
}

/** Requests go to ready pods that have every port of the Service; `isAnswering`: the pod listens there. */
function servingPods(
  store: Store,
  service: KubernetesObject,
): Array<{ readonly pod: KubernetesObject; readonly isAnswering: boolean }> {
  const wanted = recordsOf(at(service, 'spec', 'ports')).length;
  return podsOfService(store, service).flatMap((pod) => {
    const ports = endpointPorts(service, pod);
    if (!isServing(pod) || ports.length < wanted) return [];
    return [{ pod, isAnswering: ports.every(({ port }) => listensOn(pod, port)) }];
  });
}

/** A pod of the sandbox listens on the ports of its containers, and on all ports if they declare none. */
function listensOn(pod: KubernetesObject, port: unknown): boolean {
  const declared = recordsOf(at(pod, 'spec', 'containers')).flatMap(({ ports }) => recordsOf(ports));
  return declared.length === 0 || declared.some(({ containerPort }) => containerPort === port);
}

function rounded(value: number): number {
  return Math.round(value * 1e9) / 1e9;
}

function podTraffic(
  parts: TrafficParts,
  pod: KubernetesObject,
  { share, mirrored, isAnswering }: { share: number; mirrored: boolean; isAnswering: boolean },
): WorkloadTraffic {
  const outcome = parts.behaviour.outcomeOf(pod);
  return {
    workload: workloadOf(parts.store, pod),
    share,
    mirrored,
    successPercent: isAnswering ? 100 - errorPercentAt(outcome, parts.ageOf(pod)) : 0,
    durationMs: BASE_DURATION_MS + (outcome.delayMs ?? 0),
  };
}

function workloadOf(store: Store, pod: KubernetesObject): string {
  const replicaSetName = controllerName(pod, 'ReplicaSet');
  const replicaSet = replicaSetName
    ? store.get('apps/replicasets', pod.metadata.namespace, replicaSetName)
    : undefined;
  return (
    (replicaSet && controllerName(replicaSet, 'Deployment')) ??
    pod.metadata.ownerReferences?.[0]?.name ??
    pod.metadata.name
  );
}

function combine(workload: string, parts: readonly WorkloadTraffic[]): WorkloadTraffic | undefined {
  const share = parts.reduce((sum, each) => sum + each.share, 0);
  if (share === 0) return undefined;
  const mean = (value: (each: WorkloadTraffic) => number) => {
    return rounded(parts.reduce((sum, each) => sum + value(each) * each.share, 0) / share);
  };
  return {
    workload,
    share: rounded(share),
    mirrored: parts.every((each) => each.mirrored),
    successPercent: mean((each) => each.successPercent),
    durationMs: mean((each) => each.durationMs),
  };
}

function startSampler(clock: Clock, successShare: () => number, options: SamplerOptions): TrafficSampler {
  const intervalMs = options.intervalMs ?? 100;
  const requestsPerTick = ((options.requestsPerSecond ?? 50) * intervalMs) / 1000;
  let requests = 0;
  let failed = 0;
  let worst = { successShare: 1, atMs: clock.nowMs() };
  const tick = (): void => {
    const share = successShare();
    requests += requestsPerTick;
    failed += requestsPerTick * (1 - share);
    if (share < worst.successShare) worst = { successShare: share, atMs: clock.nowMs() };
    cancel = clock.after(intervalMs, tick);
  };
  let cancel = clock.after(intervalMs, tick);
  return { totals: () => ({ requests, failed }), worst: () => worst, stop: () => cancel() };
}
