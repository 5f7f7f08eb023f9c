import { type Clock, sleep } from '../../api/clock.ts';
import { describe } from '../../api/kubernetes.ts';
import type { AlertAnswer, AlertNews, Alerts } from '../ports/alert-port.ts';
import type { Log } from '../ports/ports.ts';

/** What sending takes. */
export interface DeliveryParts {
  readonly alerts: Alerts;
  readonly clock: Clock;
  readonly log: Log;
}

const maximumAttempts = 10;
const firstWaitMs = 1_000;
const longestWaitMs = 300_000;

/** Tries until it is answered for good, ever later; undefined when the program stops first. Never rejects. */
export async function deliverAlert(
  { alerts, clock, log }: DeliveryParts,
  news: AlertNews,
  signal: AbortSignal,
): Promise<AlertAnswer | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await attemptOnce(alerts, news, signal);
    if (signal.aborted) return undefined;
    if (answer.kind === 'sent' || answer.final || attempt === maximumAttempts) return answer;
    const waitMs = Math.min(longestWaitMs, firstWaitMs * 2 ** (attempt - 1));
    const fields = { object: describe(news.about), alert: news.alert?.name, attempt, waitMs };
    log.warn({ ...fields, detail: answer.detail }, 'an alert was not taken');
    await sleep(clock, waitMs, signal);
    if (signal.aborted) return undefined;
  }
}

async function attemptOnce(alerts: Alerts, news: AlertNews, signal: AbortSignal): Promise<AlertAnswer> {
  try {
    return await alerts.send(news, signal);
  } catch (error) {
    const detail = error instanceof Error ? error.message : 'it could not be sent';
    return { kind: 'failed', detail: detail.slice(0, 256), final: false };
  }
}
