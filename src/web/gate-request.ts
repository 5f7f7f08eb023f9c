import type { IncomingMessage } from 'node:http';
import type { CanaryName } from './gate-keeper.ts';
import { readBody } from './request-body.ts';

/** Payloads of webhooks carry the user's metadata; more than this is none. */
const maximumBytes = 65_536;
const name = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/**
 * The Canary a request is about: `name` and `namespace` of its JSON body, as Flagger's webhooks send it, or of the query, for links and shells.
 * A text says what is wrong.
 */
export async function canaryIn(request: IncomingMessage): Promise<CanaryName | string> {
  const body = await readBody(request, maximumBytes);
  if (!body) return `the body is larger than ${maximumBytes} bytes`;
  const query = new URL(request.url ?? '/', 'http://localhost').searchParams;
  const said = body.length > 0 ? fieldsOf(body) : Object.fromEntries(query);
  if (isName(said?.name) && isName(said?.namespace)) return { name: said.name, namespace: said.namespace };
  return 'name and namespace of a Canary are needed, as {"name": "web", "namespace": "shop"} or ?name=web&namespace=shop';
}

/** The token of `Authorization: Bearer ...`; undefined without one. */
export function bearerToken({ headers }: IncomingMessage): string | undefined {
  return /^Bearer +(?<token>[\w.~+/-]+=*)$/i.exec(headers.authorization ?? '')?.groups?.token;
}

function fieldsOf(body: Buffer): { name?: unknown; namespace?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && name.test(value);
}
