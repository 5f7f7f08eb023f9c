import type { CanaryStatus } from '../../src/api/canary/status.ts';
import { canaryStatus } from '../../src/api/canary/summary.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import type { Caches } from '../../src/cluster/caches/caches.ts';
import { newsOf } from '../../src/terminal/timeline/news.ts';
import type { DemoEventBody } from './events.ts';

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
      status = canaryStatus(object);
      for (const news of newsOf(before, status, name)) tell(news);
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
