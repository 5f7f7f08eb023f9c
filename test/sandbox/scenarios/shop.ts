import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll } from 'vitest';
import type { PodOutcome } from '../../../sandbox/controllers/pod-behaviour.ts';
import { commitFiles, createRepository } from '../../../sandbox/git-server/git-repository.ts';
import type { TrafficView } from '../../../sandbox/traffic/traffic.ts';
import { createVirtualClock } from '../../../sandbox/virtual-clock.ts';
import type { CanaryStatus } from '../../../src/api/canary/status.ts';
import { canaryStatus } from '../../../src/api/canary/summary.ts';
import type { KubernetesObject } from '../../../src/api/kubernetes.ts';
import { imageOf } from '../../objects.ts';
import { filesOfRelease, type ReleaseOptions, type ShopOptions } from '../../shop.ts';
import { untilCalm } from '../calm.ts';
import { type Bed, eventually, startBed, statusOf } from '../holdfast-bed.ts';

/** What users have seen of a shop so far. */
export interface LoadResult {
  readonly requests: number;
  readonly failed: number;
  /** Requests that each workload answered, well or not. */
  readonly byWorkload: Readonly<Record<string, number>>;
  /** The moments at which requests failed, and whose they were; `nobody`: no ready pod was there. */
  readonly failures: ReadonlyArray<{ readonly at: string; readonly of: string; readonly percent: number }>;
}

/** Users, ten looks a second of the shop's own time. */
export interface Load {
  current(): LoadResult;
  stop(): LoadResult;
}

/** A pod as rules about its behaviour see it. */
export interface PodOfShop {
  readonly name: string;
  readonly isPrimary: boolean;
  /** Of `app:v2`: v2. */
  readonly version: string;
}

/** One application in the sandbox: repository, namespace, Source and Canary of its own. */
export interface Shop {
  readonly namespace: string;
  /** Commits a version of the workload, and with it the Canary as `options` have it; returns the commit. */
  release(version: string, env?: Record<string, string>, options?: ReleaseOptions): Promise<string>;
  commit(subject: string, files: Readonly<Record<string, string | null>>): Promise<string>;
  startLoad(): Load;
  status(): CanaryStatus;
  /** The next status that holds, of all that were written, the one that was found last included. Time stands still until the test has gone on. */
  until(what: string, holds: (status: CanaryStatus) => boolean): Promise<CanaryStatus>;
  /** Waits until the program has applied this commit. */
  untilRead(commit: string): Promise<unknown>;
  workload(name: 'podinfo' | 'podinfo-primary'): Promise<KubernetesObject | undefined>;
  /** Its pods that are not on their way out. */
  podsOf(name: 'podinfo' | 'podinfo-primary'): KubernetesObject[];
  /** From now on the shop's pods behave so; undefined leaves one alone. The returned function ends that. */
  pods(rule: (pod: PodOfShop) => PodOutcome | undefined): () => void;
  /** A merge patch of the Canary, as somebody with kubectl makes it. */
  patchCanary(patch: Readonly<Record<string, unknown>>): Promise<unknown>;
  annotate(name: string, value: string): Promise<unknown>;
}

/** Shops in one sandbox behind one Holdfast. */
export interface Shops {
  readonly bed: () => Bed;
  open(namespace: string, options?: ShopOptions): Promise<Shop>;
  /** As `open`, with v1 released and initialized. */
  openRunning(namespace: string, options?: ShopOptions): Promise<Shop>;
  /** Resolves when so much of the shops' time has passed. */
  pass(durationMs: number): Promise<void>;
  /** Does something of the machine's time, such as a command, while the shops' time stands still. */
  meanwhile<T>(act: () => Promise<T>): Promise<T>;
}

const stepMs = 100;
/** Of real time, in which the shops of a file share what a busy machine leaves them. */
const patienceMs = 300_000;
/** Timers that are further away are reached in steps: what is under way in sockets is not seen at once. */
const longestStepMs = 300;

/**
 * A sandbox for the scenarios of a file. Its time goes on whenever everything that happened so far has been dealt with, so that no deadline
 * passes because the machine is slow.
 */
export function useShops(): Shops {
  const clock = createVirtualClock();
  let bed: Bed;
  let running: Promise<void>;
  let isOver = false;
  let stopped = 0;

  async function run(): Promise<void> {
    while (!isOver) {
      while (stopped > 0) await sleep(4);
      await untilCalm(() => bed.sandbox.requests.underWay() > 0);
      clock.advance(Math.min(Math.max(clock.nextInMs() ?? longestStepMs, stepMs), longestStepMs));
    }
  }

  beforeAll(async () => {
    bed = await startBed(clock, clock);
    running = run();
    await bed.start();
  });
  afterAll(async () => {
    await bed.close();
    isOver = true;
    await running;
  });

  async function open(namespace: string, options: ShopOptions = {}): Promise<Shop> {
    const metadata = { name: namespace };
    await bed.send('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata });
    const repository = await createRepository(dirname(bed.repository), namespace);
    await bed.send('POST', `/apis/holdfast.dev/v1alpha1/namespaces/${namespace}/sources`, {
      apiVersion: 'holdfast.dev/v1alpha1',
      kind: 'Source',
      metadata: { name: 'shop', namespace },
      spec: {
        url: `${bed.git.url}/${namespace}.git`,
        ref: { branch: 'main' },
        interval: '2s',
        defaultNamespace: namespace,
      },
    });
    return shopOf(bed, { namespace, repository, nowMs: clock.nowMs, after: clock.after }, options);
  }

  return {
    bed: () => bed,
    open,
    async openRunning(namespace, options) {
      const shop = await open(namespace, options);
      await shop.release('v1');
      await shop.until('v1 initialized', ({ phase }) => phase === 'Initialized');
      return shop;
    },
    pass: (durationMs) => new Promise((resolve) => void clock.after(durationMs, () => resolve())),
    async meanwhile(act) {
      stopped += 1;
      try {
        return await act();
      } finally {
        stopped -= 1;
      }
    },
  };
}

interface Place {
  readonly namespace: string;
  readonly repository: string;
  nowMs(): number;
  after(delayMs: number, callback: () => void): unknown;
}

function shopOf(bed: Bed, place: Place, options: ShopOptions): Shop {
  const { namespace, repository } = place;
  const commit: Shop['commit'] = (subject, files) => commitFiles(repository, { subject, files });
  const patchCanary: Shop['patchCanary'] = (patch) =>
    bed.send('PATCH', `/apis/flagger.app/v1beta1/namespaces/${namespace}/canaries/podinfo`, patch);
  const trail = followStatus(bed, namespace);
  return {
    namespace,
    commit,
    patchCanary,
    until: trail.until,
    status: trail.newest,
    release: (version, env = {}, more = {}) => {
      const files = { ...options.files, template: successRate(bed.sandbox.prometheusUrl) };
      const gateway = { name: 'gateway', namespace: 'gateways' };
      const shop = { host: `${namespace}.example.com`, gateway, rate };
      return commit(
        `Release ${version}`,
        filesOfRelease(shop, { ...options, files }, version, { env, ...more }),
      );
    },
    startLoad: () => startLoad(place, () => bed.sandbox.traffic(namespace, 'podinfo')),
    untilRead: (wanted) => {
      const source = () => bed.get('holdfast.dev/v1alpha1', 'Source', 'shop', namespace);
      return eventually(
        `${namespace}: ${wanted} is read`,
        async () => statusOf(await source()).appliedCommit === wanted,
        { seen: source, timeoutMs: patienceMs },
      );
    },
    workload: (name) => bed.get('apps/v1', options.targetKind ?? 'Deployment', name, namespace),
    podsOf: (name) =>
      bed.sandbox.store
        .list('/pods', namespace)
        .filter(({ metadata }) => metadata.labels?.app === name && !metadata.deletionTimestamp),
    pods: (rule) =>
      bed.sandbox.behaviour.rule((pod) =>
        pod.metadata.namespace === namespace
          ? rule({
              name: pod.metadata.name,
              isPrimary: pod.metadata.name.startsWith('podinfo-primary-'),
              version:
                imageOf({ spec: { template: { spec: pod.spec } } })
                  ?.split(':')
                  .at(-1) ?? '',
            })
          : undefined,
      ),
    annotate: (name, value) => patchCanary({ metadata: { annotations: { [name]: value } } }),
  };
}

/** Every status that is written of a Canary, so that none is missed that lasts a moment only. */
function followStatus(bed: Bed, namespace: string): Pick<Shop, 'until'> & { newest(): CanaryStatus } {
  const seen: CanaryStatus[] = [{}];
  const waiting = new Set<() => void>();
  let at = 0;
  bed.sandbox.store.subscribe(({ storageKey, object, type }) => {
    if (storageKey !== 'flagger.app/canaries' || object.metadata.namespace !== namespace) return;
    seen.push(type === 'DELETED' ? {} : canaryStatus(object));
    for (const look of waiting) look();
  });
  return {
    newest: () => seen.at(-1) ?? {},
    async until(what, holds) {
      let next = at;
      let found: CanaryStatus | undefined;
      const look = () => {
        for (next = Math.min(next, seen.length - 1); !found && next < seen.length; next += 1) {
          const status = seen[next];
          if (!status || !holds(status)) continue;
          at = Math.max(at, next);
          found = status;
        }
        return found;
      };
      // At the write itself, so that no time passes before the test goes on; what holds may also be about more than the status.
      let heard: (status: CanaryStatus) => void = () => undefined;
      const atWrite = new Promise<CanaryStatus>((resolve) => {
        heard = resolve;
      });
      const listener = () => {
        if (look() && found) heard(found);
      };
      waiting.add(listener);
      try {
        const atLook = eventually(`${namespace}: ${what}`, async () => look(), {
          seen: async () => seen.at(-1),
          timeoutMs: patienceMs,
        });
        return await Promise.race([atWrite, atLook]);
      } finally {
        waiting.delete(listener);
      }
    },
  };
}

const lookEveryMs = 100;
const requestsPerLook = 2.5;

function startLoad({ nowMs, after }: Place, view: () => TrafficView): Load {
  const byWorkload: Record<string, number> = {};
  const failures: Array<{ at: string; of: string; percent: number }> = [];
  let requests = 0;
  let failed = 0;
  let isOver = false;
  const look = () => {
    if (isOver) return;
    const { successShare, workloads } = view();
    requests += requestsPerLook;
    failed += requestsPerLook * (1 - successShare);
    const users = workloads.filter(({ mirrored }) => !mirrored);
    for (const { workload, share, successPercent } of users) {
      byWorkload[workload] = (byWorkload[workload] ?? 0) + share * requestsPerLook;
      if (successPercent < 100) fail(workload, (share * (100 - successPercent)) / 100);
    }
    const answered = users.reduce((sum, { share }) => sum + share, 0);
    if (answered < 0.999) fail('nobody', 1 - answered);
    after(lookEveryMs, look);
  };
  const fail = (of: string, share: number) =>
    failures.push({ at: new Date(nowMs()).toISOString(), of, percent: Math.round(share * 100) });
  const current = () => ({ requests, failed, byWorkload: { ...byWorkload }, failures: [...failures] });
  look();
  return {
    current,
    stop() {
      isOver = true;
      return current();
    },
  };
}

function successRate(address: string) {
  const query = 'sandbox_success_rate{namespace="{{ namespace }}",workload="{{ target }}"}';
  return {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'MetricTemplate',
    metadata: { name: 'success-rate' },
    spec: { provider: { type: 'prometheus', address }, query },
  };
}

/** What users of a workload see; a check without an answer waits. */
const rate = {
  name: 'success-rate',
  templateRef: { name: 'success-rate' },
  thresholdRange: { min: 99 },
  interval: '5s',
  onNoData: 'wait' as const,
};
