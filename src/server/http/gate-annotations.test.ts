import { pino } from 'pino';
import { expect, test } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { localError } from '../../cluster/errors.ts';
import { createGateAnnotations } from './gate-annotations.ts';

const shop = { namespace: 'shop', name: 'web' };

function canary(gate?: string): KubernetesObject {
  const annotations = gate === undefined ? {} : { 'holdfast.dev/gate': gate };
  return {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { namespace: 'shop', name: 'web', annotations },
  };
}

/** A store over the state of the watch, the objects of the API server, and its answers to reviews. */
function store(
  world: {
    seen?: KubernetesObject;
    isSynced?: boolean;
    stored?: KubernetesObject;
    token?: object;
    allowed?: boolean;
    refusal?: Error;
  } = {},
) {
  const asked: KubernetesObject[] = [];
  let reads = 0;
  const reader = {
    async get() {
      reads += 1;
      return world.stored;
    },
  };
  const client = {
    async create(question: KubernetesObject) {
      asked.push(question);
      if (world.refusal) throw world.refusal;
      return {
        ...question,
        status: question.kind === 'TokenReview' ? world.token : { allowed: world.allowed },
      };
    },
    get: async () => world.stored,
    async patch() {
      throw localError('notFound', 'not there');
    },
  };
  const gates = createGateAnnotations({
    reader,
    client,
    canaries: () => (world.isSynced === false ? undefined : { synced: () => true, get: () => world.seen }),
    events: { emit: () => undefined },
    log: pino({ level: 'silent' }),
  });
  return { gates, asked, reads: () => reads };
}

const user = { username: 'system:serviceaccount:ops:bot', groups: ['system:authenticated'], uid: '1' };

test.each([undefined, 'closed', 'Open', 'true'])(
  'a gate that the watch shows closed (%s) costs no request',
  async (value) => {
    const { gates, reads } = store({ seen: canary(value), stored: canary('open') });
    expect(await gates.isOpen(shop, 'gate')).toBe(false);
    expect(reads()).toBe(0);
  },
);

test('a gate that the watch still shows open is not, when the API server says closed', async () => {
  const { gates } = store({ seen: canary('open'), stored: canary('closed') });
  expect(await gates.isOpen(shop, 'gate')).toBe(false);
});

test('asking for the gate of a Canary that is not there costs no request: it is closed', async () => {
  const { gates, reads, asked } = store({ stored: canary('open') });
  expect(await gates.isOpen(shop, 'gate')).toBe(false);
  expect([reads(), asked]).toEqual([0, []]);
});

test('only users who may switch a gate learn that its Canary does not exist', async () => {
  const token = { authenticated: true, audiences: ['holdfast.dev'], user };
  const nobody = store({ token: { authenticated: false, audiences: ['holdfast.dev'], user } });
  expect(await nobody.gates.permission('t', shop, 'gate')).toEqual({ kind: 'unknown' });
  expect(await store({ token }).gates.permission('t', shop, 'gate')).toMatchObject({ kind: 'forbidden' });
  const admin = store({ token, allowed: true });
  expect(await admin.gates.permission('t', shop, 'gate')).toMatchObject({ kind: 'allowed' });
  expect(await admin.gates.set(shop, 'gate', { open: true, user: 'alice' })).toEqual({ kind: 'absent' });
});

test('while the Canaries are not synced, the state of a gate is unknown', async () => {
  const { gates, reads } = store({ isSynced: false, stored: canary('open') });
  await expect(gates.isOpen(shop, 'gate')).rejects.toThrow('not known yet');
  expect(reads()).toBe(0);
});

test('an open gate is read once for all requests before the read begins, and again for later ones', async () => {
  const { gates, reads } = store({ seen: canary('open'), stored: canary('open') });
  const first = Array.from({ length: 50 }, () => gates.isOpen(shop, 'gate'));
  expect(new Set(await Promise.all(first))).toEqual(new Set([true]));
  expect(reads()).toBe(1);
  expect(await gates.isOpen(shop, 'gate')).toBe(true);
  expect(reads()).toBe(2);
});

test('a user is authorized under the name from the API server, for exactly this gate of this Canary', async () => {
  const token = { authenticated: true, audiences: ['holdfast.dev'], user };
  const { gates, asked } = store({ seen: canary(), token, allowed: true });
  expect(await gates.permission('t', shop, 'rollback-gate')).toEqual({
    kind: 'allowed',
    user: user.username,
  });
  expect(asked.map(({ spec }) => spec)).toEqual([
    { token: 't', audiences: ['holdfast.dev'] },
    {
      user: user.username,
      groups: user.groups,
      uid: '1',
      extra: undefined,
      resourceAttributes: {
        ...shop,
        verb: 'rollback-gate',
        group: 'flagger.app',
        resource: 'canaries',
      },
    },
  ]);
});

test.each([
  ['a token nobody vouches for', { authenticated: false, audiences: ['holdfast.dev'], user }],
  [
    'a token for the API server',
    { authenticated: true, audiences: ['https://kubernetes.default.svc'], user },
  ],
  ['a server that knows no audiences', { authenticated: true, user }],
  ['a user without a name', { authenticated: true, audiences: ['holdfast.dev'], user: {} }],
  ['no answer', undefined],
])('%s is nobody, and no rights are asked for', async (_what, token) => {
  const { gates, asked } = store({ seen: canary(), ...(token ? { token } : {}), allowed: true });
  expect(await gates.permission('t', shop, 'gate')).toEqual({ kind: 'unknown' });
  expect(asked).toHaveLength(1);
});

test('a known user without the right is named', async () => {
  const token = { authenticated: true, audiences: ['holdfast.dev'], user };
  expect(await store({ seen: canary(), token }).gates.permission('t', shop, 'gate')).toEqual({
    kind: 'forbidden',
    user: user.username,
  });
});

test('without the right to review, the answer says so', async () => {
  const { gates } = store({ seen: canary(), refusal: localError('forbidden', 'no') });
  expect(await gates.permission('t', shop, 'gate')).toMatchObject({
    kind: 'unavailable',
    why: 'the token could not be reviewed: Holdfast has no permission for that',
  });
});

test('a gate that was switched has an event that names who did it', async () => {
  const emitted: unknown[] = [];
  const gates = createGateAnnotations({
    reader: { get: async () => undefined },
    client: {
      create: async (question: KubernetesObject) => question,
      get: async () => canary(),
      patch: async () => canary('open'),
    },
    canaries: () => ({ synced: () => true, get: () => canary() }),
    events: { emit: (object, event) => void emitted.push([object.metadata.name, event]) },
    log: pino({ level: 'silent' }),
  });
  expect(await gates.set(shop, 'gate', { open: true, user: user.username })).toEqual({ kind: 'set' });
  const message = 'system:serviceaccount:ops:bot set holdfast.dev/gate to open';
  expect(emitted).toEqual([['web', { type: 'Normal', reason: 'GateSwitched', message }]]);
});

test('a gate that Git sets is not switched past Git, which would set it back', async () => {
  const fieldsV1 = { 'f:metadata': { 'f:annotations': { 'f:holdfast.dev/gate': {} } } };
  const stored = canary('closed');
  stored.metadata.managedFields = [{ manager: 'holdfast', operation: 'Apply', fieldsV1 }];
  const { gates } = store({ stored });

  expect(await gates.set(shop, 'gate', { open: true, user: 'alice' })).toEqual({
    kind: 'refused',
    why: 'Canary shop/web: metadata.annotations.holdfast.dev/gate is set by holdfast, which would set it back; change it there',
  });
});
