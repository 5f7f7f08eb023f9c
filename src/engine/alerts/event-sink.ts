import { randomBytes } from 'node:crypto';
import type { Clock } from '../../api/clock.ts';
import { describe, type KubernetesObject } from '../../api/kubernetes.ts';
import { limits } from '../../api/limits.ts';
import type { Cluster, EventNews, EventSink, Log } from '../../contracts/cluster.ts';
import { createPlaces } from './delivery.ts';

/** What the sink needs. `instance` names this process (host name or pod). */
interface EventSinkOptions {
  readonly cluster: Pick<Cluster, 'create'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly instance: string;
}

/** Events of one namespace waiting to be written; more are only logged, so that they never grow without bound. */
const maximumPending = 200;
const maximumRemembered = 2_000;

/** Writes Kubernetes Events one after another, and a log line each. A refused event is logged, never thrown. */
export function createEventSink({ cluster, clock, log, instance }: EventSinkOptions): EventSink {
  /** Reason and message of the last Event, by object. */
  const lastEvents = new Map<string, string>();
  const places = createPlaces(maximumPending);
  let last: Promise<unknown> = Promise.resolve();

  /** A failure is reported at each retry: the same Event right after itself is not written again. */
  function isRepeat(object: string, text: string): boolean {
    const before = lastEvents.get(object);
    lastEvents.delete(object);
    lastEvents.set(object, text);
    if (lastEvents.size > maximumRemembered) lastEvents.delete(lastEvents.keys().next().value ?? '');
    return before === text;
  }

  async function write(event: KubernetesObject, giveBack: () => void): Promise<void> {
    try {
      await cluster.create(event);
    } catch (error) {
      log.warn({ err: error }, 'could not write an Event');
    } finally {
      giveBack();
    }
  }

  return {
    emit(about, event) {
      const nowMs = clock.nowMs();
      if (isRepeat(about.metadata.uid ?? describe(about), `${event.reason} ${event.message}`)) return;
      const fields = { object: describe(about), reason: event.reason };
      if (event.type === 'Warning') log.warn(fields, event.message);
      else log.info(fields, event.message);
      const giveBack = about.metadata.uid ? places.take(about) : undefined;
      if (!giveBack) return;
      const object = eventObject(about, event, nowMs, instance);
      last = last.then(() => write(object, giveBack));
    },
  };
}

function eventObject(
  about: KubernetesObject,
  event: EventNews,
  nowMs: number,
  instance: string,
): KubernetesObject {
  const { name, uid, resourceVersion } = about.metadata;
  const namespace = about.metadata.namespace ?? 'default';
  // What does not fit is left out, never half a character.
  const bytes = Buffer.from(event.message).subarray(0, limits.eventNoteBytes);
  const note = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: `${name.slice(0, 200)}.${randomBytes(8).toString('hex')}`, namespace },
    // MicroTime: the API server refuses fewer digits than six.
    eventTime: new Date(nowMs).toISOString().replace(/Z$/, '000Z'),
    type: event.type,
    reason: event.reason.slice(0, 128),
    action: event.reason.slice(0, 128),
    note,
    regarding: { apiVersion: about.apiVersion, kind: about.kind, namespace, name, uid, resourceVersion },
    reportingController: 'holdfast.dev/holdfast',
    reportingInstance: instance.slice(0, 128),
  };
}
