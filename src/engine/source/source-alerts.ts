import { passes } from '../../api/alerts.ts';
import type { Incident } from '../../api/incident.ts';
import type { Source } from '../../api/source.ts';
import { type DeliveryParts, deliverAlert } from '../alerts/deliver.ts';
import type { EventSink } from '../ports/ports.ts';

/** Sends the news of Sources to the receivers of `spec.alerts`. */
export interface SourceAlerts {
  /** Never waits. The news is told once: what is not taken when the program ends is not sent again. */
  tell(source: Source, incident: Incident): void;
  /** Ends attempts under way. */
  stop(): Promise<void>;
}

const maximumUnderWay = 100;

/** Nothing under way. */
export function createSourceAlerts(parts: DeliveryParts & { readonly events: EventSink }): SourceAlerts {
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  return {
    tell(source, incident) {
      const alerts = (source.spec.alerts ?? []).filter(({ severity }) => passes(severity, incident.severity));
      for (const alert of alerts) {
        if (running.size >= maximumUnderWay || stopping.signal.aborted) return;
        const work = deliverAlert(parts, { about: source, alert, incident }, stopping.signal).then(
          (answer) => {
            running.delete(work);
            if (answer?.kind !== 'failed') return;
            const message = `alert ${alert.name} (${incident.reason}) could not be sent: ${answer.detail}`;
            parts.events.emit(source, { type: 'Warning', reason: 'AlertNotSent', message });
          },
        );
        running.add(work);
      }
    },
    async stop() {
      stopping.abort();
      await Promise.all(running);
    },
  };
}
