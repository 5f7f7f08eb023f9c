import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { BuiltInGate } from '../../api/annotations.ts';
import type { NamespacedName } from '../../api/kubernetes.ts';
import type { GateChange, GatePermission, GateStore } from './gate-annotations.ts';
import { gateRoutes } from './gates.ts';
import { type HttpServer, startHttpServer } from './http-server.ts';

/** Gates in memory, with one Canary and the users of the test. */
class Gates implements GateStore {
  readonly open = new Set<BuiltInGate>();
  readonly changes: string[] = [];
  isDown = false;

  async isOpen({ namespace, name }: NamespacedName, gate: BuiltInGate): Promise<boolean> {
    if (this.isDown) throw new Error('no answer');
    return namespace === 'shop' && name === 'web' && this.open.has(gate);
  }

  async permission(token: string): Promise<GatePermission> {
    if (token === 'alice-token') return { kind: 'allowed', user: 'alice' };
    if (token === 'bob-token') return { kind: 'forbidden', user: 'bob' };
    if (token === 'late-token') return { kind: 'unavailable', why: 'the token could not be reviewed' };
    return { kind: 'unknown' };
  }

  async set(
    { name }: NamespacedName,
    gate: BuiltInGate,
    { open, user }: { open: boolean; user: string },
  ): Promise<GateChange> {
    if (this.isDown) throw new Error('no answer');
    if (name === 'from-git') return { kind: 'refused', why: 'is set by holdfast' };
    if (name !== 'web') return { kind: 'absent' };
    this.open[open ? 'add' : 'delete'](gate);
    this.changes.push(`${user} ${gate} ${open}`);
    return { kind: 'set' };
  }
}

let gates: Gates;
let server: HttpServer;
beforeEach(async () => {
  gates = new Gates();
  server = await startHttpServer({ host: '127.0.0.1', port: 0 }, gateRoutes(gates), () => undefined);
});
afterEach(() => server.close());

async function post(path: string, body: unknown = { name: 'web', namespace: 'shop' }, token?: string) {
  const headers = token ? { authorization: `Bearer ${token}` } : undefined;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const answer = await fetch(`${server.url}${path}`, {
    method: 'POST',
    body: text,
    ...(headers ? { headers } : {}),
  });
  return { status: answer.status, text: await answer.text() };
}

describe('asking', () => {
  test("approve always says yes and halt always no, as in Flagger's load tester", async () => {
    expect((await post('/gate/approve', '')).status).toBe(200);
    expect((await post('/gate/halt', '')).status).toBe(403);
    expect((await fetch(`${server.url}/gate/approve`)).status).toBe(200);
  });

  test.each([
    ['/gate/check', 'gate'],
    ['/rollback/check', 'rollback-gate'],
  ] as const)('%s says yes while the gate is open and no while it is not', async (path, gate) => {
    expect((await post(path)).status).toBe(403);
    gates.open.add(gate);
    expect(
      (await post(path, { name: 'web', namespace: 'shop', phase: 'Waiting', metadata: {} })).status,
    ).toBe(200);
    expect((await fetch(`${server.url}${path}?name=web&namespace=shop`)).status).toBe(200);
  });

  test('one gate says nothing about the other', async () => {
    gates.open.add('gate');
    expect((await post('/rollback/check')).status).toBe(403);
  });

  test('a Canary that is not there gets the answer of a closed gate', async () => {
    gates.open.add('gate');
    expect(await post('/gate/check', { name: 'other', namespace: 'shop' })).toEqual(await post('/gate/halt'));
  });

  test.each([
    '',
    'no json',
    '[]',
    '{"name":"web"}',
    '{"name":"../web","namespace":"shop"}',
    '{"name":1,"namespace":"a"}',
  ])('a body that names no Canary is refused: %s', async (body) => {
    expect((await post('/gate/check', body)).status).toBe(400);
  });

  test('a body beyond the cap is refused', async () => {
    expect((await post('/gate/check', `{"name":"${'x'.repeat(70_000)}"}`)).status).toBe(400);
  });

  test('a gate that cannot be read is not open, and not said to be closed', async () => {
    gates.open.add('gate');
    gates.isDown = true;
    expect((await post('/gate/check')).status).toBe(503);
  });
});

describe('switching', () => {
  test.each([
    ['/gate', 'gate'],
    ['/rollback', 'rollback-gate'],
  ] as const)('%s opens and closes for a user who may', async (path, gate) => {
    expect((await post(`${path}/open`, undefined, 'alice-token')).status).toBe(202);
    expect((await post(`${path}/check`)).status).toBe(200);
    expect((await post(`${path}/close`, undefined, 'alice-token')).status).toBe(202);
    expect((await post(`${path}/check`)).status).toBe(403);
    expect(gates.changes).toEqual([`alice ${gate} true`, `alice ${gate} false`]);
  });

  test('without a token nothing changes, and the answer says which command to run', async () => {
    const answer = await post('/rollback/open');
    expect(answer.status).toBe(401);
    expect(answer.text).toContain('holdfast gate open canary/web -n shop --rollback');
    expect(gates.changes).toEqual([]);
  });

  test.each([
    ['wrong', 401],
    ['bob-token', 403],
    ['late-token', 503],
  ])('with the token %s nothing changes: %i', async (token, status) => {
    const answer = await post('/gate/open', undefined, token);
    expect(answer.status).toBe(status);
    expect(answer.text).not.toContain(token);
    expect(gates.changes).toEqual([]);
  });

  test('a token that cannot be reviewed is answered with a command that needs none', async () => {
    const { text } = await post('/gate/open', undefined, 'late-token');
    expect(text).toBe('the token could not be reviewed; or run: holdfast gate open canary/web -n shop\n');
  });

  test('a gate that Git sets is refused with who sets it', async () => {
    const answer = await post('/gate/open', { name: 'from-git', namespace: 'shop' }, 'alice-token');
    expect(answer).toEqual({ status: 409, text: 'is set by holdfast\n' });
  });

  test('a Canary that does not exist is reported to users with the right', async () => {
    expect((await post('/gate/open', { name: 'other', namespace: 'shop' }, 'alice-token')).status).toBe(404);
  });

  test('a change that was not taken is no success', async () => {
    gates.isDown = true;
    expect((await post('/gate/open', undefined, 'alice-token')).status).toBe(503);
  });

  test('a link opens nothing: GET is refused', async () => {
    expect((await fetch(`${server.url}/gate/open?name=web&namespace=shop`)).status).toBe(405);
  });
});
