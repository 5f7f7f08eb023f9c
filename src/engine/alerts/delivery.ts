import { passes } from '../../api/canary/canary.ts';
import { type BackoffBounds, backoffDelayMs, type Clock, sleep } from '../../api/clock.ts';
import { endsAlerts, type Incident } from '../../api/incident.ts';
import { describe, type KubernetesObject, namespacedName } from '../../api/kubernetes.ts';
import { beginningOf } from '../../api/limits.ts';
import type { Source } from '../../api/source/source.ts';
import type { EventSink, Log } from '../../contracts/cluster.ts';
import type { AlertAnswer, AlertNews, Alerts } from '../../contracts/notifications.ts';

/** What is needed to send. */
export interface DeliveryParts {
  readonly alerts: Alerts;
  readonly clock: Clock;
  readonly log: Log;
  /** In [0, 1), as Math.random. */
  readonly random: () => number;
}

const maximumAttempts = 10;
/** `maximumMs` is also the longest that a receiver may ask to wait before each attempt. */
const backoff: BackoffBounds = { firstMs: 1_000, maximumMs: 300_000 };

/**
 * Tries with growing delays until there is a final answer; undefined when the program stops first. Never rejects. `newsNow` is asked at each
 * attempt. The delays are spread: many alerts that a receiver refused at a time, since it takes few, would else be refused together again.
 */
export async function deliverAlert(
  { alerts, clock, log, random }: DeliveryParts,
  newsNow: () => AlertNews,
  signal: AbortSignal,
): Promise<AlertAnswer | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const news = newsNow();
    const answer = await attemptOnce(alerts, news, signal);
    if (signal.aborted) return undefined;
    if (answer.kind === 'sent' || answer.final || attempt === maximumAttempts) return answer;
    const askedMs = Math.min(backoff.maximumMs, answer.retryAfterMs ?? 0);
    const waitMs = askedMs + backoffDelayMs(attempt, backoff, random);
    const fields = { object: describe(news.about), alert: news.alert?.name, attempt, waitMs };
    log.warn({ ...fields, detail: answer.detail }, 'an alert was not accepted');
    await sleep(clock, waitMs, signal);
    if (signal.aborted) return undefined;
  }
}

async function attemptOnce(alerts: Alerts, news: AlertNews, signal: AbortSignal): Promise<AlertAnswer> {
  try {
    return await alerts.send(news, signal);
  } catch (error) {
    const detail = error instanceof Error ? error.message : 'it could not be sent';
    return { kind: 'failed', detail: beginningOf(detail, 256), final: false };
  }
}

/** Says that nobody got an alert. */
export function emitNotSent(
  events: EventSink,
  { about, name, incident, why }: { about: KubernetesObject; name: string; incident: Incident; why: string },
): void {
  const message = `alert ${name} (${incident.reason}) could not be sent: ${why}`;
  events.emit(about, { type: 'Warning', reason: 'AlertNotSent', message });
}

/** What may be under way at a time, of each namespace by itself: a receiver that hangs in one takes nothing from others. */
interface Places {
  /** Undefined: none is free. What it returns gives the place back. */
  take(about: KubernetesObject): (() => void) | undefined;
}

/** Creates places of which none is taken. */
export function createPlaces(perNamespace: number): Places {
  const taken = new Map<string, number>();
  return {
    take({ metadata: { namespace = '' } }) {
      const before = taken.get(namespace) ?? 0;
      if (before >= perNamespace) return undefined;
      taken.set(namespace, before + 1);
      return () => {
        const left = (taken.get(namespace) ?? 1) - 1;
        if (left > 0) taken.set(namespace, left);
        else taken.delete(namespace);
      };
    },
  };
}

/** Sends the news of Sources to the receivers of `spec.alerts`. */
export interface SourceAlerts {
  /** Never waits. Each alert is sent once: what is not accepted when the program ends is not sent again. */
  tell(source: Source, incident: Incident): void;
  /** Ends attempts under way. */
  stop(): Promise<void>;
}

/** Of one namespace. */
const maximumUnderWay = 100;

type SourceAlert = NonNullable<Source['spec']['alerts']>[number];

/** What is needed to send the alerts of Sources. */
interface SourceAlertParts extends DeliveryParts {
  readonly events: EventSink;
  /** As it is now; undefined: it is gone. */
  readonly sourceOf: (namespace: string | undefined, name: string) => KubernetesObject | undefined;
}

/** Creates a sender with nothing under way. */
export function createSourceAlerts(parts: SourceAlertParts): SourceAlerts {
  const stopping = new AbortController();
  /** With what was reported of the same Source since, the newest first. */
  const running = new Map<Promise<void>, { readonly about: string; readonly later: Incident[] }>();
  const places = createPlaces(maximumUnderWay);

  /** A receiver that is corrected while the alert waits gets it. Names need not differ. */
  function alertNow({ metadata, spec }: Source, alert: SourceAlert): SourceAlert {
    const now = parts.sourceOf(metadata.namespace, metadata.name)?.spec as Source['spec'] | undefined;
    const [before, after] = [spec, now].map((one) => one?.alerts?.filter(({ name }) => name === alert.name));
    return after?.[before?.indexOf(alert) ?? 0] ?? alert;
  }

  return {
    tell(source, incident) {
      const isEnd = endsAlerts(incident);
      const about = namespacedName(source);
      for (const one of running.values()) if (one.about === about) one.later.unshift(incident);
      const alerts = (source.spec.alerts ?? []).filter(
        ({ severity }) => isEnd || passes(severity, incident.severity),
      );
      for (const alert of alerts) {
        if (stopping.signal.aborted) return;
        const giveBack = places.take(source);
        if (!giveBack) {
          const why = 'too many alerts of its namespace are being sent';
          emitNotSent(parts.events, { about: source, name: alert.name, incident, why });
          continue;
        }
        const later: Incident[] = [];
        const news = () => ({ about: source, alert: alertNow(source, alert), incident, later });
        const work = deliverAlert(parts, news, stopping.signal).then((answer) => {
          running.delete(work);
          giveBack();
          if (answer?.kind === 'failed')
            emitNotSent(parts.events, { about: source, name: alert.name, incident, why: answer.detail });
        });
        running.set(work, { about, later });
      }
    },
    async stop() {
      stopping.abort();
      await Promise.all(running.keys());
    },
  };
}
