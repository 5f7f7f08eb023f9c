import { alertsById, type Canary, DEFAULT_ALERT } from '../../api/canary/canary.ts';
import type { CanaryStatus } from '../../api/canary/status.ts';
import { type AlertState, type Incident, openAlerts } from '../../api/incident.ts';
import { namespacedName } from '../../api/kubernetes.ts';
import { stamp } from '../../api/time.ts';
import type { EventSink } from '../../contracts/cluster.ts';
import { createPlaces, type DeliveryParts, deliverAlert, emitNotSent } from './delivery.ts';

/**
 * Sends the alerts that a status names as waiting. The status is the queue: an alert is written there together with the state it reports
 * and leaves it with its answer, so that it is sent at least once whatever crashes, and normally once.
 */
export interface AlertOutbox {
  /** Starts the alerts that are waiting by the status as read back, unless they are under way. Never waits. */
  send(canary: Canary): void;
  /** The status with the answers that came since it was read. */
  answered(canary: Canary, status: CanaryStatus): CanaryStatus;
  /** The Canary is gone: what it was reported for ends where alerts fire until they are told so. */
  forget(canaryKey: string): void;
  /** Ends attempts under way; what is not answered is sent after the next start. */
  stop(): Promise<void>;
}

/** What the outbox needs. `onAnswer` is called when an answer is to be written. */
interface AlertOutboxOptions extends DeliveryParts {
  readonly events: EventSink;
  readonly onAnswer: (canaryKey: string) => void;
}

/** Of one namespace. */
const maximumUnderWay = 200;

interface Delivery {
  /** As read last. */
  canary: Canary;
  readonly incident: Incident;
  readonly name: string;
  answer: AlertState | undefined;
}

/** Creates an outbox with nothing under way. */
export function createAlertOutbox(options: AlertOutboxOptions): AlertOutbox {
  const { log, onAnswer } = options;
  const byCanary = new Map<string, Map<string, Delivery>>();
  /** Canaries with alerts that were told of no end, as read last. */
  const open = new Map<string, Canary>();
  const postponed = new Set<string>();
  const running = new Set<Promise<void>>();
  const places = createPlaces(maximumUnderWay);
  const stopping = new AbortController();

  /** Once it is done, what waits for a place is looked at again. */
  function track(attempt: Promise<void>, giveBack: () => void): void {
    const work = attempt.then(() => {
      running.delete(work);
      giveBack();
      for (const key of postponed) onAnswer(key);
      postponed.clear();
    });
    running.add(work);
  }

  async function start(canaryKey: string, delivery: Delivery): Promise<void> {
    const answer = await deliver(options, delivery, stopping.signal);
    if (!answer) return;
    delivery.answer = answer;
    logDelivery(options, delivery, answer);
    onAnswer(canaryKey);
  }

  function tellEnd(about: Canary, incident: Incident): void {
    for (const name of openAlerts(about.status ?? {})) {
      const alert = alertsById(about).get(name);
      if ((!alert && name !== DEFAULT_ALERT) || stopping.signal.aborted) continue;
      const failed = (why: string) => emitNotSent(options.events, { about, name, incident, why });
      const giveBack = places.take(about);
      if (!giveBack) {
        failed('too many alerts of its namespace are being sent');
        continue;
      }
      const news = () => ({ about, alert, incident, endsOnly: true });
      const attempt = deliverAlert(options, news, stopping.signal).then((answer) => {
        if (answer?.kind === 'failed') failed(answer.detail);
      });
      track(attempt, giveBack);
    }
  }

  return {
    send(canary) {
      const canaryKey = namespacedName(canary);
      if (openAlerts(canary.status ?? {}).length > 0) open.set(canaryKey, canary);
      else open.delete(canaryKey);
      const waiting = waitingOf(canary);
      const known = byCanary.get(canaryKey) ?? new Map<string, Delivery>();
      const current = new Map([...known].filter(([id]) => waiting.has(id)));
      for (const delivery of current.values()) delivery.canary = canary;
      if (current.size > 0 || waiting.size > 0) byCanary.set(canaryKey, current);
      else byCanary.delete(canaryKey);
      for (const [id, delivery] of waiting) {
        if (current.has(id) || stopping.signal.aborted) continue;
        const giveBack = places.take(canary);
        if (!giveBack) {
          const fields = { canary: canaryKey };
          log.warn(fields, 'too many alerts of the namespace are under way; this one waits in the status');
          return void postponed.add(canaryKey);
        }
        current.set(id, delivery);
        track(start(canaryKey, delivery), giveBack);
      }
    },
    answered: (canary, status) => withAnswers(status, byCanary.get(namespacedName(canary))),
    forget(canaryKey) {
      const canary = open.get(canaryKey);
      const underWay = byCanary.get(canaryKey)?.values() ?? [];
      open.delete(canaryKey);
      byCanary.delete(canaryKey);
      if (!canary) return;
      const end = deleted(canary, options.clock.nowMs());
      const { incidents = [] } = canary.status ?? {};
      const gone = { ...canary, status: { ...canary.status, incidents: [end, ...incidents] } };
      // What is still being sent comes after its end.
      for (const delivery of underWay) delivery.canary = gone;
      tellEnd(canary, end);
    },
    async stop() {
      stopping.abort();
      await Promise.all(running);
    },
  };
}

function deleted({ metadata: { uid, namespace, name } }: Canary, nowMs: number): Incident {
  return {
    key: `deleted/${uid ?? ''}`,
    time: stamp(nowMs),
    outcome: 'Succeeded',
    severity: 'info',
    reason: 'Deleted',
    message: `Canary ${namespace}/${name} was deleted`,
    commit: '',
  };
}

/** Undefined when the program stops first. */
async function deliver(
  options: AlertOutboxOptions,
  delivery: Delivery,
  signal: AbortSignal,
): Promise<AlertState | undefined> {
  const { canary, incident, name } = delivery;
  const alert = alertsById(canary).get(name);
  if (!alert && name !== DEFAULT_ALERT)
    return { name, state: 'failed', detail: 'the Canary has no such alert any more' };
  // A receiver that is corrected while the alert waits gets it.
  const news = () => ({
    about: canary,
    alert: alertsById(delivery.canary).get(name) ?? alert,
    incident,
    later: laterThan(incident, delivery.canary),
  });
  const answer = await deliverAlert(options, news, signal);
  if (!answer) return undefined;
  return answer.kind === 'sent' ? { name, state: 'sent' } : { name, state: 'failed', detail: answer.detail };
}

/** The incidents of a Canary, newest first, that came after this one. */
function laterThan({ key }: Incident, canary: Canary): Incident[] {
  const { incidents = [] } = (canary.status ?? {}) as CanaryStatus;
  const place = incidents.findIndex((one) => one.key === key);
  return incidents.slice(0, Math.max(0, place));
}

function logDelivery(
  { log, events }: AlertOutboxOptions,
  { canary, incident, name }: Delivery,
  { state, detail }: AlertState,
): void {
  const fields = { canary: namespacedName(canary), alert: name, incident: incident.key };
  if (state === 'sent') return log.info(fields, 'an alert was sent');
  emitNotSent(events, { about: canary, name, incident, why: detail ?? 'no reason is known' });
}

/** By incident and alert. */
function waitingOf(canary: Canary): Map<string, Delivery> {
  const waiting = new Map<string, Delivery>();
  for (const incident of (canary.status as CanaryStatus | undefined)?.incidents ?? []) {
    for (const { name, state } of incident.alerts ?? []) {
      if (state === 'waiting')
        waiting.set(deliveryId(incident, name), { canary, incident, name, answer: undefined });
    }
  }
  return waiting;
}

function withAnswers(
  status: CanaryStatus,
  deliveries: ReadonlyMap<string, Delivery> | undefined,
): CanaryStatus {
  if (!deliveries || !status.incidents) return status;
  const answerTo = (incident: Incident, state: AlertState) =>
    state.state === 'waiting' ? (deliveries.get(deliveryId(incident, state.name))?.answer ?? state) : state;
  const incidents = status.incidents.map((incident) =>
    incident.alerts
      ? { ...incident, alerts: incident.alerts.map((state) => answerTo(incident, state)) }
      : incident,
  );
  return { ...status, incidents };
}

function deliveryId({ key }: Incident, name: string): string {
  return `${key} ${name}`;
}
