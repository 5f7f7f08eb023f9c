import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { limits } from '../../api/limits.ts';
import { type Answer, type Route, readBody } from './http-server.ts';

/** What push webhooks may do. */
interface PushTarget {
  /** The `webhookSecret` of a Source; undefined when there is no such Source or no secret. */
  secretOf(namespace: string, source: string): Promise<Uint8Array | undefined>;
  /** Polls the Source soon; false when it is not followed here. */
  wake(namespace: string, source: string): boolean;
  log(fields: Record<string, unknown>, message: string): void;
}

/** `/hooks/<namespace>/<source>`. An unknown Source and a wrong signature get the same answer, so that nobody can ask what exists. */
export function pushRoute(target: PushTarget): Route {
  return {
    method: 'POST',
    path: '/hooks/',
    handle: (request, rest) => receive(target, request, rest),
  };
}

const notAccepted: Answer = { status: 401, body: 'not accepted\n' };

async function receive(target: PushTarget, request: IncomingMessage, rest: string): Promise<Answer> {
  const [namespace, source, ...more] = rest.split('/');
  if (!namespace || !source || more.length > 0) return { status: 404, body: 'not found\n' };
  const body = await readBody(request, limits.httpRequestBytes);
  if (!body) return { status: 413, body: 'the body is too large\n' };
  const secret = await target.secretOf(namespace, source);
  if (!secret) return notAccepted;
  const verdict = verifyPushWebhook({ headers: request.headers, body }, secret);
  target.log({ namespace, source, provider: verdict.provider }, `push webhook: ${verdict.reason}`);
  if (!verdict.accepted) return notAccepted;
  return target.wake(namespace, source)
    ? { status: 202, body: 'polling\n' }
    : { status: 503, body: 'not followed here\n' };
}

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
    isValid: (given, _body, secret) => sameSecret(given, secret),
  },
  { provider: 'gitea', header: 'x-forgejo-signature', isValid: hasHmac },
  { provider: 'gitea', header: 'x-gitea-signature', isValid: hasHmac },
  { provider: 'github', header: 'x-hub-signature-256', isValid: hasPrefixedHmac },
  { provider: 'bitbucket', header: 'x-hub-signature', isValid: hasPrefixedHmac },
  { provider: 'generic', header: 'x-signature', isValid: hasHmac },
];

/**
 * Checks who sent a push webhook. A valid one is only a hint to poll now: nothing of its body is believed, so a
 * replay costs one poll. An empty secret accepts nothing.
 */
export function verifyPushWebhook(delivery: WebhookDelivery, secret: Uint8Array): WebhookVerdict {
  const { body, headers } = delivery;
  if (secret.length === 0) return refused('unknown', 'the Source has no webhookSecret');
  if (body.length > limits.httpRequestBytes)
    return refused('unknown', `the body is larger than ${limits.httpRequestBytes} bytes`);
  const scheme = SCHEMES.find(({ header }) => headers[header] !== undefined);
  if (!scheme) return refused('unknown', 'no signature header that Holdfast knows');
  const provider = providerOf(scheme, headers);
  const given = headers[scheme.header];
  if (typeof given !== 'string') return refused(provider, `${scheme.header} was sent more than once`);
  if (!scheme.isValid(given.trim(), body, secret)) {
    return refused(provider, `${scheme.header} does not fit the Source's webhookSecret`);
  }
  return { accepted: true, provider, reason: 'the signature is valid' };
}

/** GitHub's and Bitbucket's header names are widely copied; their event headers tell them apart from others. */
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

/** GitLab sends the secret itself. Hashing first makes both sides equally long, so length tells nothing. */
function sameSecret(given: string, secret: Uint8Array): boolean {
  const digest = (value: string | Uint8Array) => createHash('sha256').update(value).digest();
  return timingSafeEqual(digest(given), digest(secret));
}

function refused(provider: WebhookVerdict['provider'], reason: string): WebhookVerdict {
  return { accepted: false, provider, reason };
}
