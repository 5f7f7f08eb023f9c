import { type Clock, sleep } from '../api/clock.ts';
import { webhookTimeoutMs } from '../api/effective.ts';
import type { HookAnswer } from '../api/hooks.ts';
import { limits } from '../api/limits.ts';
import type { HttpClient } from '../http/types.ts';
import { type Attempt, attemptOf, failedAttempt } from './answer.ts';
import { type HookCall, payloadOf } from './payload.ts';

/** What calling needs: the one outbound client, and the time between attempts. */
export interface HookTools {
  readonly http: Pick<HttpClient, 'send'>;
  readonly clock: Clock;
}

/** Calls webhooks. Never rejects: an answer that did not come is an answer too (S29). */
export interface Hooks {
  call(call: HookCall, signal: AbortSignal): Promise<HookAnswer>;
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

/** The webhooks of Canaries over HTTP. */
export function createHooks(tools: HookTools): Hooks {
  return {
    async call(call, signal) {
      const { verdict, status, detail } = await attempts(call, tools, signal);
      const { name } = call.webhook;
      return { name, type: call.type, verdict, ...(status === undefined ? {} : { status }), detail };
    },
  };
}

/** The call and its retries: waits of 1 s to 30 s, doubling, on what a retry may heal, as Flagger's client does. */
async function attempts(call: HookCall, tools: HookTools, signal: AbortSignal): Promise<Attempt> {
  const retries = Math.min(limits.hookRetries, Math.max(0, Math.floor(call.webhook.retries ?? 0)));
  let waitMs = FIRST_WAIT_MS;
  for (let left = retries; ; left -= 1) {
    const attempt = await attemptOnce(call, tools, signal);
    if (!attempt.isWorthRetrying || left === 0 || signal.aborted) return attempt;
    await sleep(tools.clock, waitMs, signal);
    waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 2);
  }
}

/** The timeout is of one attempt. Nothing is followed, and a body beyond the cap makes an answer garbage. */
async function attemptOnce(call: HookCall, { http }: HookTools, signal: AbortSignal): Promise<Attempt> {
  const { webhook } = call;
  const timeoutMs = Math.min(limits.hookTimeoutMs, Math.max(1, webhookTimeoutMs(webhook.timeout)));
  try {
    const { status, body } = await http.send({
      url: webhook.url,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(payloadOf(call)),
      signal,
      ...(webhook.disableTLS ? { tls: { insecureSkipVerify: true } } : {}),
      limits: {
        idleTimeoutMs: timeoutMs,
        totalTimeoutMs: timeoutMs,
        maxBytes: limits.httpResponseBytes,
      },
    });
    return attemptOf(status, body);
  } catch (error) {
    return failedAttempt(error);
  }
}
