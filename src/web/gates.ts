import type { IncomingMessage } from 'node:http';
import type { BuiltInGate } from '../api/gates.ts';
import type { CanaryName, GateKeeper } from './gate-keeper.ts';
import { bearerToken, canaryIn } from './gate-request.ts';
import type { Answer, Route } from './http-server.ts';

/**
 * The gate and rollback endpoints of Flagger's load tester (flagger-behaviour 5.7). Asking needs no credentials, since webhooks have none, and
 * tells nothing but yes or no; switching needs a token of somebody who may (docs/security.md).
 */
export function gateRoutes(keeper: GateKeeper): Route[] {
  const asked: ReadonlyArray<readonly [string, BuiltInGate]> = [
    ['/gate', 'gate'],
    ['/rollback', 'rollback-gate'],
  ];
  return [
    ...both('/gate/approve', () => yes),
    ...both('/gate/halt', () => no),
    ...asked.flatMap(([path, gate]) => [
      ...both(`${path}/check`, (request) => check(keeper, gate, request)),
      ...(['open', 'close'] as const).map(
        (verb): Route => ({
          method: 'POST',
          path: `${path}/${verb}`,
          handle: (request) => change(keeper, gate, verb === 'open', request),
        }),
      ),
    ]),
  ];
}

const yes: Answer = { status: 200, body: 'Approved\n' };
const no: Answer = { status: 403, body: 'Forbidden\n' };
const notKnown: Answer = { status: 503, body: 'the state of the gate cannot be read now\n' };

/** Webhooks post; people and probes get. */
function both(path: string, handle: Route['handle']): Route[] {
  return [
    { method: 'GET', path, handle },
    { method: 'POST', path, handle },
  ];
}

async function check(keeper: GateKeeper, gate: BuiltInGate, request: IncomingMessage): Promise<Answer> {
  const canary = await canaryIn(request);
  if (typeof canary === 'string') return wrong(canary);
  try {
    return (await keeper.isOpen(canary, gate)) ? yes : no;
  } catch {
    return notKnown;
  }
}

async function change(
  keeper: GateKeeper,
  gate: BuiltInGate,
  open: boolean,
  request: IncomingMessage,
): Promise<Answer> {
  const canary = await canaryIn(request);
  if (typeof canary === 'string') return wrong(canary);
  const token = bearerToken(request);
  const permission = token ? await keeper.permission(token, canary, gate) : { kind: 'unknown' as const };
  if (permission.kind === 'unknown') return unknown(canary, gate, open);
  if (permission.kind === 'forbidden')
    return { status: 403, body: `${permission.user} may not ${gate} canaries.flagger.app ${text(canary)}\n` };
  if (permission.kind === 'unavailable') return { status: 503, body: `${permission.why}\n` };
  try {
    const isThere = await keeper.set(canary, gate, { open, user: permission.user });
    if (!isThere) return { status: 404, body: `there is no Canary ${text(canary)}\n` };
    return { status: 202, body: `${open ? 'open' : 'closed'}\n` };
  } catch {
    return { status: 503, body: 'the API server did not take the change; the gate may be as before\n' };
  }
}

function wrong(why: string): Answer {
  return { status: 400, body: `${why}\n` };
}

/** What to do instead, for those whose scripts come from Flagger. */
function unknown({ namespace, name }: CanaryName, gate: BuiltInGate, open: boolean): Answer {
  const option = gate === 'gate' ? '' : ' --rollback';
  const command = `holdfast gate ${open ? 'open' : 'close'} canary/${name} -n ${namespace}${option}`;
  const body = `needs "Authorization: Bearer" with a token for the audience holdfast.dev; or run: ${command}\n`;
  return { status: 401, body };
}

function text({ namespace, name }: CanaryName): string {
  return `${namespace}/${name}`;
}
