import type { CanaryStatus } from '../../src/api/canary/status.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import type { Caches } from '../../src/cluster/caches/caches.ts';
import type { Checked, DemoEventBody, ServingName, StateChanged, TrafficMoved } from './events.ts';

/** The Canary's status as it changes. */
export interface CanaryWatch {
  status(): CanaryStatus;
  /**
   * Resolves when the status is as wanted. Rejects with what was seen last after the deadline, and with the signal's reason when it
   * aborts.
   */
  until(wanted: (status: CanaryStatus) => boolean, limits: WaitLimits): Promise<void>;
  stop(): Promise<void>;
}

/** How long to wait, and for what. */
interface WaitLimits {
  readonly awaited: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Watches the Canary of this name and the Events about it, and tells what is news. */
export function watchCanary(
  caches: Caches,
  { namespace, name }: { namespace: string; name: string },
  tell: (happening: DemoEventBody) => void,
): CanaryWatch {
  let status: CanaryStatus = {};
  const waiting = new Set<() => void>();
  const canaries = caches.ensure({ apiVersion: 'flagger.app/v1beta1', kind: 'Canary', namespace });
  const events = caches.ensure({ apiVersion: 'events.k8s.io/v1', kind: 'Event', namespace });
  const endings = [
    canaries.store.subscribe((_type, object) => {
      if (object.metadata.name !== name) return;
      const before = status;
      status = (object.status ?? {}) as CanaryStatus;
      for (const news of changesOf(before, status, name)) tell(news);
      for (const look of waiting) look();
    }),
    events.store.subscribe((type, object) => {
      const told = type === 'added' ? eventOf(object, name) : undefined;
      if (told) tell(told);
    }),
  ];
  return {
    status: () => status,
    until: (wanted, limits) =>
      waitUntil(
        () => wanted(status),
        () => status,
        waiting,
        limits,
      ),
    async stop() {
      for (const end of endings) end();
      await Promise.all([canaries.release(), events.release()]);
    },
  };
}

function waitUntil(
  isOver: () => boolean,
  last: () => CanaryStatus,
  waiting: Set<() => void>,
  { awaited, timeoutMs, signal }: WaitLimits,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      end();
      const { phase, message } = last();
      reject(new Error(`${awaited}: not within ${timeoutMs / 1000} s; last seen: ${phase}: ${message}`));
    }, timeoutMs);
    const onAbort = () => {
      end();
      reject(signal.reason);
    };
    function end(): void {
      clearTimeout(timer);
      waiting.delete(look);
      signal.removeEventListener('abort', onAbort);
    }
    function look(): void {
      if (!isOver()) return;
      end();
      resolve();
    }
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort);
    waiting.add(look);
    look();
  });
}

function eventOf(object: KubernetesObject, name: string): DemoEventBody | undefined {
  const { regarding, type, reason, note } = object as {
    regarding?: { kind?: string; name?: string };
    type?: string;
    reason?: string;
    note?: string;
  };
  if (regarding?.kind !== 'Canary' || regarding.name !== name) return undefined;
  return {
    type: 'event',
    severity: type === 'Warning' ? 'Warning' : 'Normal',
    reason: reason ?? '',
    message: note ?? '',
  };
}

/** What is news in a Canary's status against the one before, in the order in which it should be told. Pure. */
function changesOf(before: CanaryStatus, after: CanaryStatus, application: string): DemoEventBody[] {
  const traffic = trafficOf(after, application);
  const state = stateOf(after);
  const news: DemoEventBody[] = [];
  if (differs(before.checks, after.checks) && after.checks?.length) news.push(checked(before, after));
  if ((after.iterations ?? 0) > (before.iterations ?? 0))
    news.push({ type: 'iteration', iteration: after.iterations ?? 0 });
  if (traffic.serving.length > 0 && differs(shares(trafficOf(before, application)), shares(traffic)))
    news.push(traffic);
  if (differs(stateOf(before), state)) news.push(state);
  return news;
}

function differs(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) !== JSON.stringify(right);
}

/** Verification counts from the state before: the last check ends it. */
function checked(before: CanaryStatus, after: CanaryStatus): Checked {
  const verifying = [before, after].some(({ postPromotion }) => postPromotion?.state === 'Verifying');
  return { type: 'checks', during: verifying ? 'verification' : 'analysis', results: after.checks ?? [] };
}

function trafficOf(status: CanaryStatus, application: string): TrafficMoved {
  const canaryWeight = status.canaryWeight ?? 0;
  const serving = (status.serving ?? []).map(
    ({ workload, commit, weight, ready }): ServingName => ({
      role: workload === application ? 'canary' : 'primary',
      commit,
      weight,
      ready,
    }),
  );
  return { type: 'traffic', primaryWeight: 100 - canaryWeight, canaryWeight, serving };
}

/** Pods that come and go under the same weights are no news. */
function shares({ serving }: TrafficMoved): unknown {
  return serving.map(({ role, weight }) => [role, weight]);
}

function stateOf({ phase, postPromotion, message, next }: CanaryStatus): StateChanged {
  return {
    type: 'state',
    phase: phase ?? '',
    state: postPromotion?.state ?? '',
    reason: postPromotion?.reason ?? '',
    message: message ?? '',
    next: next?.action ?? '',
    nextTime: next?.time ?? '',
  };
}
