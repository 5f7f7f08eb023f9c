import { webhookTimeoutMs } from '../../api/canary/canary.ts';
import { type Clock, sleep } from '../../api/clock.ts';
import { shortHash } from '../../api/kubernetes.ts';
import { limits, shorten } from '../../api/limits.ts';
import type { HookAnswer } from '../../api/observed.ts';
import type { HookCall, Hooks } from '../../contracts/notifications.ts';
import type { HttpClient } from '../../http/types.ts';

/** What calling needs: the one outbound client, and the time between attempts. */
interface HookTools {
  readonly http: Pick<HttpClient, 'send'>;
  readonly clock: Clock;
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

/** The call and its retries: waits of 1 s to 30 s, doubling, after failures that may be transient, as Flagger's client does. */
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
      tenant: `webhooks ${call.canary.metadata.namespace}`,
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
    return readHookAnswer(status, body, new URL(webhook.url));
  } catch (error) {
    return failedAttempt(error);
  }
}

/** The result of one attempt, and whether another one may have a different result. */
interface Attempt {
  readonly verdict: HookAnswer['verdict'];
  readonly status?: number;
  readonly detail: string;
  readonly isWorthRetrying: boolean;
}

const MAX_DETAIL_CHARACTERS = 200;
/** Only the beginning of a body is looked at, and only to quote it: more than is shown, since a cut may go through a secret. */
const QUOTED_BYTES = 4_096;
/** Flagger takes statuses up to this one as approval, and 203 and above as refusal. */
const LAST_GOOD_STATUS = 202;
/** Answers of a proxy or of a server that is overloaded: the hook itself did not answer. */
const NOT_REACHED = new Set([408, 429, 502, 503, 504]);

/** Reads an HTTP answer. Only 200 to 202 approves; a 4xx or 5xx of the hook itself refuses; anything else is no verdict. */
function readHookAnswer(status: number, body: Uint8Array, address: URL): Attempt {
  if (status >= 200 && status <= LAST_GOOD_STATUS) {
    return { verdict: 'approved', status, detail: `answered ${status}`, isWorthRetrying: false };
  }
  const isWorthRetrying = status === 429 || (status >= 500 && status !== 501);
  const isClear = status >= 400 && !NOT_REACHED.has(status);
  const quoted = isClear ? quote(body, address) : '';
  const said = quoted ? `: ${quoted}` : '';
  const why = status < 300 ? '; only 200, 201 and 202 approve' : said;
  return {
    verdict: isClear ? 'refused' : 'unreachable',
    status,
    detail: shorten(`answered ${status}${why}`, MAX_DETAIL_CHARACTERS),
    isWorthRetrying,
  };
}

/** Reads a failed request. The client's messages hold neither query strings nor bodies. */
function failedAttempt(error: unknown): Attempt {
  const code = (error as { code?: unknown } | null)?.code;
  const detail = error instanceof Error ? error.message : 'the request failed';
  return {
    verdict: 'unreachable',
    detail: shorten(detail, MAX_DETAIL_CHARACTERS),
    isWorthRetrying: code === 'Unreachable' || code === 'Closed' || code === 'Timeout',
  };
}

/** The beginning of an answer in one line, without control characters, and without what the address has in its query: tokens are put there (S31). */
function quote(body: Uint8Array, { search, searchParams }: URL): string {
  // Of tests that ran, the first line says only how many there are.
  const line = new TextDecoder().decode(body.subarray(0, QUOTED_BYTES)).trim().replace(/\s+/g, ' ');
  const values = search.split(/[?&]/).map((pair) => pair.slice(pair.indexOf('=') + 1));
  const hidden = [search, ...values, ...searchParams.values()].filter((value) => value.length > 3);
  // The longest first: a shorter one may be part of it.
  hidden.sort((a, b) => b.length - a.length);
  const whole = hidden.reduce((rest, value) => rest.replaceAll(value, '…'), line);
  // The end of a cut body may be the beginning of the longest.
  const shown = body.length > QUOTED_BYTES ? whole.slice(0, -(hidden[0]?.length ?? 0) || undefined) : whole;
  return shown.replace(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, ' ').trim();
}

/** Types that belong to the analysis: Flagger calls them with this phase, also while a gate keeps the Canary in WaitingPromotion. */
const analysisTypes: ReadonlySet<HookCall['type']> = new Set([
  'pre-rollout',
  'rollout',
  'confirm-traffic-increase',
  'confirm-promotion',
]);

/**
 * The body of a call: Flagger's five fields with their meaning (flagger-behaviour 2.14), and also type, digest, commit and canaryWeight, which
 * Flagger's receivers ignore. The metadata of an event is the event's own and the user's; the event's takes precedence.
 */
function payloadOf({ canary, webhook, type, facts, event }: HookCall): Record<string, unknown> {
  const eventMetadata = event && {
    eventMessage: event.message,
    eventType: event.type,
    eventReason: event.reason,
    timestamp: String(event.timeMs),
  };
  const metadata = { ...webhook.metadata, ...eventMetadata };
  return {
    name: canary.metadata.name,
    namespace: canary.metadata.namespace ?? '',
    phase: analysisTypes.has(type) ? 'Progressing' : facts.phase,
    // The same for the same release, and of no further meaning, as in Flagger.
    checksum: shortHash(facts.digest, 16),
    ...(Object.keys(metadata).length > 0 ? { metadata } : {}),
    type,
    digest: facts.digest,
    commit: facts.commit,
    canaryWeight: facts.canaryWeight,
  };
}
