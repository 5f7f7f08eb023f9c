import type { IncomingMessage } from 'node:http';
import type { Answer, Route } from './http-server.ts';
import { MAX_WEBHOOK_BYTES, verifyPushWebhook } from './push-webhook.ts';
import { readBody } from './request-body.ts';

/** What push webhooks may do. */
export interface PushTarget {
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

const refused: Answer = { status: 401, body: 'not accepted\n' };

async function receive(target: PushTarget, request: IncomingMessage, rest: string): Promise<Answer> {
  const [namespace, source, ...more] = rest.split('/');
  if (!namespace || !source || more.length > 0) return { status: 404, body: 'not found\n' };
  const body = await readBody(request, MAX_WEBHOOK_BYTES);
  if (!body) return { status: 413, body: 'the body is too large\n' };
  const secret = await target.secretOf(namespace, source);
  if (!secret) return refused;
  const verdict = verifyPushWebhook({ headers: request.headers, body }, secret);
  target.log({ namespace, source, provider: verdict.provider }, `push webhook: ${verdict.reason}`);
  if (!verdict.accepted) return refused;
  return target.wake(namespace, source)
    ? { status: 202, body: 'polling\n' }
    : { status: 503, body: 'not followed here\n' };
}
