import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { limits } from '../../api/limits.ts';
import { type Answer, busy, type Route, readBody } from './http-server.ts';

/** What push webhooks may do. */
export interface PushTarget {
  /** False in a copy that does not lead, or has not read the Sources yet: it would poll nothing. */
  isFollowing(): boolean;
  /** From the watch: requests need no credentials, so they must cost no request to the API server. */
  sourceOf(namespace: string, source: string): KubernetesObject | undefined;
  /** The `webhookSecret` in a Secret; undefined: it has none. Throws when it cannot be read now, or too many wait to be read. */
  readSecret(namespace: string, name: string): Promise<Uint8Array | undefined>;
  /** Polls the Source soon; false when it is not followed here. */
  wake(namespace: string, source: string): boolean;
  log(fields: Record<string, unknown>, message: string): void;
  /** A monotonic clock. */
  nowMs(): number;
}

/** More than one address may have connections, so that nobody can take all the slots from one place. */
const maximumUnderWay = 96;

/** `/hooks/<namespace>/<source>`. An unknown Source and a wrong signature get the same answer, so that the answer does not reveal what exists. */
export function pushRoute(target: PushTarget): Route {
  const parts = { target, secrets: rememberSecrets(target), tellRefusal: createRefusalLog(target) };
  const slots = [{ maximum: maximumUnderWay, taken: 0 }];
  return {
    method: 'POST',
    path: '/hooks/',
    slots: () => slots,
    handle: (request, rest) => receive(parts, request, rest),
  };
}

interface PushParts {
  readonly target: PushTarget;
  readonly secrets: WebhookSecrets;
  readonly tellRefusal: PushTarget['log'];
}

/** A refusal is logged again after this time: who sends wrong signatures needs no credentials, and could fill the log. */
const toldMs = 60_000;

function createRefusalLog({ log, nowMs }: Pick<PushTarget, 'log' | 'nowMs'>): PushTarget['log'] {
  const told = new Map<string, number>();
  const isOld = (atMs: number) => nowMs() - atMs >= toldMs;
  return (fields, message) => {
    const key = JSON.stringify([fields, message]);
    const before = told.get(key);
    if (before !== undefined && !isOld(before)) return;
    for (const [other, atMs] of told) if (isOld(atMs)) told.delete(other);
    told.set(key, nowMs());
    log(fields, message);
  };
}

const notAccepted: Answer = { status: 401, body: 'not accepted\n' };
const notFollowed: Answer = { status: 503, body: 'not followed here\n', retryAfterSeconds: 5 };

async function receive(
  { target, secrets, tellRefusal }: PushParts,
  request: IncomingMessage,
  rest: string,
): Promise<Answer> {
  const [namespace, source, ...more] = rest.split('/');
  if (!namespace || !source || more.length > 0) return { status: 404, body: 'not found\n' };
  if (!target.isFollowing()) return notFollowed;
  if (!schemeOf(request.headers)) return notAccepted;
  const body = await readBody(request, limits.httpRequestBytes);
  if (!body) return { status: 413, body: 'the body is too large\n' };
  const { secretRef } = (target.sourceOf(namespace, source)?.spec ?? {}) as { secretRef?: { name?: string } };
  if (!secretRef?.name) return notAccepted;
  try {
    const delivery = { headers: request.headers, body };
    const verdict = await secrets.verify(namespace, secretRef.name, delivery);
    const { provider, reason } = verdict;
    const tell = verdict.accepted ? target.log : tellRefusal;
    tell({ namespace, source, provider }, `push webhook: ${reason}`);
    if (!verdict.accepted) return notAccepted;
  } catch {
    return busy;
  }
  return target.wake(namespace, source) ? { status: 202, body: 'polling\n' } : notFollowed;
}

/** The secrets of webhooks, cached, so that deliveries cost few requests. */
interface WebhookSecrets {
  verify(namespace: string, name: string, delivery: WebhookDelivery): Promise<WebhookVerdict>;
}

/** A removed secret is valid for this long at most. */
const freshMs = 60_000;
/** A delivery with a wrong signature may be signed with a newer secret, which is read at most this often. */
const changedMs = 5_000;

function rememberSecrets({ readSecret, nowMs }: Pick<PushTarget, 'readSecret' | 'nowMs'>): WebhookSecrets {
  const known = new Map<
    string,
    { readonly readAtMs: number; readonly value: Promise<Uint8Array | undefined> }
  >();

  /** One read for all concurrent deliveries. */
  function secretOf(namespace: string, name: string, maximumAgeMs: number): Promise<Uint8Array | undefined> {
    const key = `${namespace}/${name}`;
    const found = known.get(key);
    if (found && nowMs() - found.readAtMs < maximumAgeMs) return found.value;
    for (const [other, { readAtMs }] of known) if (nowMs() - readAtMs >= freshMs) known.delete(other);
    const entry = { readAtMs: nowMs(), value: readSecret(namespace, name).then(withoutLineEnds) };
    known.set(key, entry);
    entry.value.catch(() => known.delete(key));
    return entry.value;
  }

  return {
    async verify(namespace, name, delivery) {
      const secret = (await secretOf(namespace, name, freshMs)) ?? noSecret;
      const verdict = verifyPushWebhook(delivery, secret);
      if (verdict.accepted) return verdict;
      const newest = (await secretOf(namespace, name, changedMs)) ?? noSecret;
      return newest === secret ? verdict : verifyPushWebhook(delivery, newest);
    },
  };
}

/** As of the credentials in the same Secret: `echo` and files end with one, and no forge takes one. */
function withoutLineEnds(secret: Uint8Array | undefined): Uint8Array | undefined {
  const last = secret?.findLastIndex((byte) => byte !== 10 && byte !== 13);
  return last === undefined ? undefined : secret?.subarray(0, last + 1);
}

const noSecret = new Uint8Array();

/** Whose webhook it is, by its headers. */
type WebhookProvider = 'github' | 'gitlab' | 'gitea' | 'bitbucket' | 'generic';

/** One delivery as it came in. */
interface WebhookDelivery {
  /** Lower-case names, as Node gives them. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The raw bytes: a signature is about bytes, not about parsed JSON. */
  readonly body: Uint8Array;
}

/** Whether the delivery may wake a Source. `reason` is for the log and holds no secret. */
interface WebhookVerdict {
  readonly accepted: boolean;
  readonly provider: WebhookProvider | 'unknown';
  readonly reason: string;
}

interface Scheme {
  readonly provider: WebhookProvider;
  readonly header: string;
  readonly isValid: (given: string, body: Uint8Array, secret: Uint8Array) => boolean;
}

// The first scheme whose header is there decides: Gitea and Forgejo also send GitHub's header, with the same meaning.
const SCHEMES: readonly Scheme[] = [
  {
    provider: 'gitlab',
    header: 'x-gitlab-token',
    // GitLab sends the secret itself. Both sides are hashed, so that the comparison does not reveal the length.
    isValid(given, _body, secret) {
      const digest = (value: string | Uint8Array) => createHash('sha256').update(value).digest();
      return timingSafeEqual(digest(given), digest(secret));
    },
  },
  { provider: 'gitea', header: 'x-forgejo-signature', isValid: hasHmac },
  { provider: 'gitea', header: 'x-gitea-signature', isValid: hasHmac },
  { provider: 'github', header: 'x-hub-signature-256', isValid: hasPrefixedHmac },
  { provider: 'bitbucket', header: 'x-hub-signature', isValid: hasPrefixedHmac },
  { provider: 'generic', header: 'x-signature', isValid: hasHmac },
];

/**
 * Verifies the sender of a push webhook. A valid one is only a hint to poll now: its body is not used, so a
 * replay costs one poll. An empty secret accepts nothing.
 */
export function verifyPushWebhook(delivery: WebhookDelivery, secret: Uint8Array): WebhookVerdict {
  const { body, headers } = delivery;
  if (secret.length === 0) return refused('unknown', 'the Source has no webhookSecret');
  const scheme = schemeOf(headers);
  if (!scheme) return refused('unknown', 'no signature header that Holdfast knows');
  const provider = providerOf(scheme, headers);
  const given = headers[scheme.header];
  if (typeof given !== 'string') return refused(provider, `${scheme.header} was sent more than once`);
  if (!scheme.isValid(given.trim(), body, secret)) {
    return refused(provider, `${scheme.header} does not fit the Source's webhookSecret`);
  }
  return { accepted: true, provider, reason: 'the signature is valid' };
}

function schemeOf(headers: WebhookDelivery['headers']): Scheme | undefined {
  return SCHEMES.find(({ header }) => headers[header] !== undefined);
}

/** GitHub's and Bitbucket's header names are widely copied; their event headers distinguish them from others. */
function providerOf({ provider }: Scheme, headers: WebhookDelivery['headers']): WebhookProvider {
  if (provider === 'github' && headers['x-github-event'] === undefined) return 'generic';
  if (provider === 'bitbucket' && headers['x-event-key'] === undefined) return 'generic';
  return provider;
}

function hasHmac(given: string, body: Uint8Array, secret: Uint8Array): boolean {
  const hex = given.replace(/^sha256=/, '').toLowerCase();
  if (!/^[0-9a-f]{64}$/.test(hex)) return false;
  return timingSafeEqual(Buffer.from(hex, 'hex'), createHmac('sha256', secret).update(body).digest());
}

function hasPrefixedHmac(given: string, body: Uint8Array, secret: Uint8Array): boolean {
  return given.startsWith('sha256=') && hasHmac(given, body, secret);
}

function refused(provider: WebhookVerdict['provider'], reason: string): WebhookVerdict {
  return { accepted: false, provider, reason };
}
