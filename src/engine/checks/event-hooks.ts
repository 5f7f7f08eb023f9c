import { type Canary, hooksOf, type Webhook } from '../../api/canary/canary.ts';
import type { CanaryStatus } from '../../api/canary/status.ts';
import type { Clock } from '../../api/clock.ts';
import { namespacedName } from '../../api/kubernetes.ts';
import type { EventNews, Log } from '../../contracts/cluster.ts';
import type { HookEvent, Hooks } from '../../contracts/notifications.ts';

/** What sending Events to webhooks needs. */
interface EventHookOptions {
  readonly hooks: Hooks;
  readonly clock: Clock;
  readonly log: Log;
  /** Address for Canaries without webhooks of type event; undefined: there is none. */
  readonly options: { readonly eventWebhook?: string | undefined };
}

/** Sends each Kubernetes Event of a Canary to its webhooks of type event. Their answers have no effect. */
export interface EventHooks {
  emit(canary: Canary, status: CanaryStatus, news: EventNews): void;
  /** Drops what is not sent yet. */
  stop(): void;
}

/** Events of one Canary that wait; more are dropped with a log line, since a slow receiver must not grow memory without bound. */
const maximumPending = 50;

/** Events of one Canary are sent one after another; a slow receiver delays only those of its own Canary, and no rollout. */
export function createEventHooks({ hooks, clock, log, options }: EventHookOptions): EventHooks {
  const queues = new Map<string, { last: Promise<unknown>; pending: number }>();
  const stopping = new AbortController();

  async function send(canary: Canary, status: CanaryStatus, event: HookEvent): Promise<void> {
    const { phase = '', run, lastAppliedSpec = '', lastAppliedCommit = '', canaryWeight = 0 } = status;
    const facts = {
      phase,
      digest: run?.digest ?? lastAppliedSpec,
      commit: run?.commit ?? lastAppliedCommit,
      canaryWeight,
    };
    for (const webhook of webhooksOf(canary, options)) {
      if (stopping.signal.aborted) return;
      const call = { canary, webhook, type: 'event' as const, facts, event };
      const answer = await hooks.call(call, stopping.signal).catch((error: unknown) => ({
        verdict: 'unreachable',
        detail: error instanceof Error ? error.message : 'it could not be called',
      }));
      if (answer.verdict === 'approved') continue;
      log.warn(
        { canary: namespacedName(canary), webhook: webhook.name, detail: answer.detail },
        'could not send an event to a webhook',
      );
    }
  }

  return {
    emit(canary, status, news) {
      if (webhooksOf(canary, options).length === 0) return;
      const key = namespacedName(canary);
      const queue = queues.get(key) ?? { last: Promise.resolve(), pending: 0 };
      if (queue.pending >= maximumPending) {
        log.warn({ canary: key, reason: news.reason }, 'an event was not sent: its webhooks are too slow');
        return;
      }
      const event = { ...news, timeMs: clock.nowMs() };
      queue.pending += 1;
      queues.set(key, queue);
      queue.last = queue.last
        .then(() => send(canary, status, event))
        .then(() => {
          queue.pending -= 1;
          if (queue.pending === 0) queues.delete(key);
        });
    },
    stop() {
      stopping.abort();
    },
  };
}

/** The Canary's own webhooks; without any, the one that flags name, as in Flagger. */
function webhooksOf(canary: Canary, { eventWebhook }: EventHookOptions['options']): readonly Webhook[] {
  const own = hooksOf(canary, 'event');
  if (own.length > 0 || eventWebhook === undefined) return own;
  return [{ name: 'event-webhook', type: 'event', url: eventWebhook }];
}
