import type { IncomingMessage } from 'node:http';
import type { BuiltInGate } from '../../api/annotations.ts';
import { keyOf, type NamespacedName } from '../../api/kubernetes.ts';
import type { GateStore } from './gate-annotations.ts';
import { type Answer, isName, type Route, readBody } from './http-server.ts';

/**
 * The gate and rollback endpoints of Flagger's load tester (flagger-behaviour 5.7). Asking needs no credentials, since webhooks have none, and
 * says nothing but yes or no; switching needs the token of a user with the right (docs/security.md).
 */
export function gateRoutes(store: GateStore): Route[] {
  const asked: ReadonlyArray<readonly [string, BuiltInGate]> = [
    ['/gate', 'gate'],
    ['/rollback', 'rollback-gate'],
  ];
  return [
    ...both('/gate/approve', () => yes),
    ...both('/gate/halt', () => no),
    ...asked.flatMap(([path, gate]) => [
      ...both(`${path}/check`, (request) => check(store, gate, request)),
      ...(['open', 'close'] as const).map(
        (verb): Route => ({
          method: 'POST',
          path: `${path}/${verb}`,
          handle: (request) => change(store, gate, verb === 'open', request),
        }),
      ),
    ]),
  ];
}

const yes: Answer = { status: 200, body: 'Approved\n' };
const no: Answer = { status: 403, body: 'Forbidden\n' };
const notKnown: Answer = {
  status: 503,
  body: 'the state of the gate cannot be read now\n',
  retryAfterSeconds: 1,
};

/** Webhooks use POST, people and probes GET. */
function both(path: string, handle: Route['handle']): Route[] {
  return [
    { method: 'GET', path, handle },
    { method: 'POST', path, handle },
  ];
}

async function check(store: GateStore, gate: BuiltInGate, request: IncomingMessage): Promise<Answer> {
  const canary = await canaryIn(request);
  if (typeof canary === 'string') return wrong(canary);
  try {
    return (await store.isOpen(canary, gate)) ? yes : no;
  } catch {
    return notKnown;
  }
}

async function change(
  store: GateStore,
  gate: BuiltInGate,
  open: boolean,
  request: IncomingMessage,
): Promise<Answer> {
  const canary = await canaryIn(request);
  if (typeof canary === 'string') return wrong(canary);
  const { authorization = '' } = request.headers;
  const token = /^Bearer +(?<token>[\w.~+/-]+=*)$/i.exec(authorization)?.groups?.token;
  const permission = token ? await store.permission(token, canary, gate) : { kind: 'unknown' as const };
  if (permission.kind === 'unknown') return tokenNeeded(canary, gate, open);
  const name = keyOf(canary);
  if (permission.kind === 'forbidden')
    return { status: 403, body: `${permission.user} may not ${gate} canaries.flagger.app ${name}\n` };
  if (permission.kind === 'unavailable')
    return {
      status: 503,
      body: `${permission.why}; or run: ${commandFor(canary, gate, open)}\n`,
      retryAfterSeconds: 1,
    };
  try {
    const change = await store.set(canary, gate, { open, user: permission.user });
    if (change.kind === 'absent') return { status: 404, body: `there is no Canary ${name}\n` };
    if (change.kind === 'refused') return { status: 409, body: `${change.why}\n` };
    return { status: 202, body: `${open ? 'open' : 'closed'}\n` };
  } catch {
    const body = 'the API server did not accept the change; the gate may be unchanged\n';
    return { status: 503, body, retryAfterSeconds: 1 };
  }
}

function wrong(why: string): Answer {
  return { status: 400, body: `${why}\n` };
}

/** Without a valid token: what to do instead, for scripts that were written for Flagger. */
function tokenNeeded({ namespace, name }: NamespacedName, gate: BuiltInGate, open: boolean): Answer {
  const command = commandFor({ namespace, name }, gate, open);
  const body = `needs a Canary ${namespace}/${name} and "Authorization: Bearer" with a token for the audience holdfast.dev; or run: ${command}\n`;
  return { status: 401, body };
}

/** For people, who have credentials of their own. */
function commandFor({ namespace, name }: NamespacedName, gate: BuiltInGate, open: boolean): string {
  const option = gate === 'gate' ? '' : ' --rollback';
  return `holdfast gate ${open ? 'open' : 'close'} canary/${name} -n ${namespace}${option}`;
}

/** Limit of a webhook's payload, which contains the user's metadata. */
const maximumBytes = 65_536;

/**
 * The Canary a request is about: `name` and `namespace` of its JSON body, as Flagger's webhooks send it, or of the query, for links and shells.
 * A text says what is wrong.
 */
async function canaryIn(request: IncomingMessage): Promise<NamespacedName | string> {
  const body = await readBody(request, maximumBytes);
  if (!body) return `the body is larger than ${maximumBytes} bytes`;
  const query = new URL(request.url ?? '/', 'http://localhost').searchParams;
  const said = body.length > 0 ? fieldsOf(body) : Object.fromEntries(query);
  if (isName(said?.name) && isName(said?.namespace)) return { name: said.name, namespace: said.namespace };
  return 'name and namespace of a Canary are needed, as {"name": "web", "namespace": "shop"} or ?name=web&namespace=shop';
}

function fieldsOf(body: Buffer): { name?: unknown; namespace?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
