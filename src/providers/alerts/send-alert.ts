import { text } from 'node:stream/consumers';
import type { AlertProvider } from '../../api/alert-provider.ts';
import { beginningOf } from '../../api/limits.ts';
import { retryAfterMs } from '../../api/time.ts';
import type { AlertAnswer } from '../../contracts/notifications.ts';
import { HttpError } from '../../http/errors.ts';
import type { HttpClient, HttpStream } from '../../http/types.ts';
import { type AlertReceiver, isTransientStatus, type Notice, type Receiver } from './provider.ts';
import { alertReceivers } from './table.ts';

/** The part of the outbound client that alerts need. */
type AlertHttp = Pick<HttpClient, 'open'>;

/** Flagger's deadline. */
const timeoutMs = 5_000;
const maximumAnswerBytes = 65_536;

/**
 * Sends one alert. `secret` holds the decoded values of the AlertProvider's Secret, undefined when it does not exist. Never rejects, except
 * for bugs.
 */
export async function sendAlert(
  notice: Notice,
  provider: AlertProvider,
  secret: Readonly<Record<string, string>> | undefined,
  http: AlertHttp,
  signal: AbortSignal,
): Promise<AlertAnswer> {
  const kind = alertReceivers.find(({ type }) => type === provider.spec.type);
  if (notice.endsOnly && !kind?.endsAlerts) return { kind: 'sent' };
  const receiver = receiverOf(provider, secret);
  if (typeof receiver === 'string') return { kind: 'failed', detail: receiver, final: false };
  if (!kind) return failed(`spec.type ${provider.spec.type ?? ''} is not one of the supported kinds`, true);
  const request = kind.build(notice, receiver);
  if (!request) return { kind: 'sent' };
  const { url, json, bearer } = request;
  try {
    const answer = await http.open({
      url,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(json),
      ...(bearer ? { auth: { kind: 'bearer', token: bearer } } : {}),
      ...(provider.spec.proxy ? { proxy: provider.spec.proxy } : {}),
      limits: { totalTimeoutMs: timeoutMs, maxBytes: maximumAnswerBytes },
      signal,
    });
    return await judged(answer, kind, new URL(url).host);
  } catch (error) {
    if (error instanceof HttpError)
      return failed(error.message, error.code === 'InvalidUrl' || error.code === 'Refused');
    throw error;
  }
}

async function judged(answer: HttpStream, kind: AlertReceiver, host: string): Promise<AlertAnswer> {
  const { status, headers } = answer;
  const isSuccess = status >= 200 && status < 300;
  const refusal = isSuccess ? kind.refusal?.(await text(answer.body)) : undefined;
  // What the body would say has no effect: an alert that was taken is not sent again because it never ends.
  if (!isSuccess || !kind.refusal) answer.cancel();
  if (refusal) return failed(`${host} refused the alert: ${refusal.code}`, !refusal.isTransient);
  if (isSuccess) return { kind: 'sent' };
  const askedMs = retryAfterMs(headers['retry-after'], Date.now());
  return { ...failed(`${host} answered ${status}`, !isTransientStatus(status)), retryAfterMs: askedMs };
}

/** The Secret's values take precedence over the spec's, as in Flagger; a string names what is missing. */
function receiverOf(
  { metadata, spec }: AlertProvider,
  secret: Readonly<Record<string, string>> | undefined,
): Receiver | string {
  const who = `AlertProvider ${metadata.namespace ?? ''}/${metadata.name}`;
  if (spec.secretRef && !secret) return `${who}: Secret ${spec.secretRef.name} does not exist`;
  const address = (spec.secretRef ? secret?.address : spec.address)?.trim();
  if (!address)
    return `${who}: ${spec.secretRef ? `Secret ${spec.secretRef.name} has no key address` : 'spec.address is empty'}`;
  return {
    address,
    token: secret?.token?.trim() || undefined,
    channel: spec.channel || 'general',
    username: spec.username || 'flagger',
  };
}

function failed(detail: string, final: boolean): AlertAnswer & { kind: 'failed' } {
  return { kind: 'failed', detail: beginningOf(detail, 256), final };
}
