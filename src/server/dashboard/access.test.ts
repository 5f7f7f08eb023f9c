import { expect, test } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { localError } from '../../cluster/errors.ts';
import { createAccess, createKeyAccess, type Rights, rightsOf } from './access.ts';

const proxy = {
  secret: 'a secret of two',
  userHeader: 'x-forwarded-user',
  groupsHeader: 'x-forwarded-groups',
};
const wish = { verb: 'list', group: 'flagger.app', resource: 'canaries', namespace: 'shop' };
const alice = { user: 'alice', groups: [] };

/** An API server that knows tokens that begin with `of-`, and lets alice do everything. */
function world() {
  const state = { nowMs: 0, isDown: false, allowed: true, everybody: false, known: true };
  const asked: KubernetesObject[] = [];
  const client = {
    async create(question: KubernetesObject): Promise<KubernetesObject> {
      asked.push(question);
      if (state.isDown) throw localError('transient', 'nobody answers');
      const {
        token = '',
        audiences,
        user,
      } = question.spec as { token?: string; audiences?: string[]; user?: string };
      const authenticated = state.known && token.startsWith('of-');
      const status =
        question.kind === 'TokenReview'
          ? { authenticated, audiences, user: { username: token.slice(3), groups: ['staff'] } }
          : { allowed: state.everybody || (state.allowed && user === 'alice') };
      return { ...question, status };
    },
  };
  return { state, asked, access: createAccess({ client, nowMs: () => state.nowMs, proxy }) };
}

test('a token counts in either header, and is looked at again after half a minute', async () => {
  const { access, asked, state } = world();
  const person = { user: 'alice', groups: ['staff'] };
  expect(await access.identify({ authorization: 'Bearer of-alice' }, 'read')).toMatchObject(person);
  expect(await access.identify({ 'x-holdfast-token': 'of-alice' }, 'read')).toMatchObject(person);
  expect(asked).toHaveLength(1);
  expect(JSON.stringify(asked[0]?.spec)).toContain('"audiences":["holdfast.dev"]');
  state.nowMs = 30_001;
  state.known = false;
  expect(await access.identify({ 'x-holdfast-token': 'of-alice' }, 'read')).toBeUndefined();
});

test.each(['', 'Basic b2Y=', 'Bearer of alice', `Bearer of-${'a'.repeat(9_000)}`])(
  'what is no token costs the API server nothing: %s',
  async (authorization) => {
    const { access, asked } = world();
    expect(await access.identify({ authorization }, 'read')).toBeUndefined();
    expect(asked).toEqual([]);
  },
);

test('a token that was refused is not believed again while the API server is down', async () => {
  const { access, state } = world();
  const identify = () => access.identify({ 'x-holdfast-token': 'of-alice' }, 'read');
  expect(await identify()).toMatchObject({ user: 'alice' });
  state.nowMs = 30_001;
  state.known = false;
  expect(await identify()).toBeUndefined();
  state.isDown = true;

  await expect(identify()).rejects.toThrow('cannot be asked who you are');
});

test('invalid tokens do not evict cached answers for others', async () => {
  const { access, asked, state } = world();
  await access.identify({ 'x-holdfast-token': 'of-alice' }, 'read');
  for (let made = 0; made < 1_100; made += 1)
    await access.identify({ 'x-holdfast-token': `made-${made}` }, 'read');
  const before = asked.length;
  state.isDown = true;
  expect(await access.identify({ 'x-holdfast-token': 'of-alice' }, 'read')).toMatchObject({ user: 'alice' });
  expect(asked).toHaveLength(before);
});

test('while the API server is down, an old answer counts for reads for ten minutes and for writes not at all', async () => {
  const { access, state } = world();
  expect(await access.may(alice, wish, 'read')).toBe('yes');
  state.isDown = true;
  state.nowMs = 31_000;
  expect([await access.may(alice, wish, 'read'), await access.may(alice, wish, 'write')]).toEqual([
    'yes',
    'unknown',
  ]);
  state.nowMs = 601_000;
  expect(await access.may(alice, wish, 'read')).toBe('unknown');
  await expect(access.identify({ 'x-holdfast-token': 'of-bob' }, 'read')).rejects.toThrow(
    'cannot be asked who you are',
  );
});

test('a revoked right ends within half a minute', async () => {
  const { access, state } = world();
  expect(await access.may(alice, wish, 'read')).toBe('yes');
  state.allowed = false;
  expect(await access.may(alice, wish, 'read')).toBe('yes');
  state.nowMs = 30_001;
  expect(await access.may(alice, wish, 'read')).toBe('no');
  expect(await access.may({ user: 'bob', groups: [] }, wish, 'read')).toBe('no');
});

test('an open page asks once about each of many namespaces that a person may not read, and a page that is opened anew asks again', async () => {
  const { access, asked, state } = world();
  const namespaces = new Set(Array.from({ length: 200 }, (_, index) => `team-${index}`));
  const bob = { user: 'bob', groups: [] };
  const page = rightsOf(access, bob);
  const look = async (rights: Rights) => (await rights.readable(wish, namespaces)).size;
  await look(page);
  const atFirst = asked.length;
  for (const nowMs of [31_000, 62_000, 93_000]) {
    state.nowMs = nowMs;
    await look(page);
  }
  const later = asked.length - atFirst;
  Object.assign(state, { everybody: true, nowMs: 124_000 });

  expect([atFirst, later]).toEqual([201, 3]);
  expect(await look(rightsOf(access, bob))).toBe(200);
});

test('a login proxy names the user if it knows the secret, but no user of Kubernetes itself', async () => {
  const { access, asked } = world();
  const say = (headers: Record<string, string>) => access.identify(headers, 'read');
  const secret = { 'x-holdfast-proxy-secret': proxy.secret };
  expect(
    await say({ ...secret, 'x-forwarded-user': 'eve', 'x-forwarded-groups': 'shop, system:masters,' }),
  ).toEqual({
    user: 'eve',
    groups: ['shop', 'system:authenticated'],
  });
  expect(await say({ 'x-forwarded-user': 'eve' })).toBeUndefined();
  expect(await say({ 'x-holdfast-proxy-secret': 'another', 'x-forwarded-user': 'eve' })).toBeUndefined();
  expect(await say({ ...secret, 'x-forwarded-user': 'system:admin' })).toBeUndefined();
  expect(asked).toEqual([]);
});

test('all of some hundred groups that a login proxy names count, and people who differ in the last one have their own rights', async () => {
  const { access, asked } = world();
  const say = (groups: readonly string[]) =>
    access.identify(
      {
        'x-holdfast-proxy-secret': proxy.secret,
        'x-forwarded-user': 'eve',
        'x-forwarded-groups': groups.join(','),
      },
      'read',
    );
  const groups = Array.from({ length: 700 }, (_, index) => `group-${index}`);
  const [eve, other] = [await say(groups), await say([...groups.slice(0, -1), 'other'])];
  expect(eve?.groups).toEqual([...groups, 'system:authenticated']);

  for (const person of [eve, eve, other, await say(groups)])
    await access.may(person ?? { user: '' }, wish, 'read');

  const lastOf = ({ spec }: KubernetesObject) => (spec as { groups: string[] }).groups.at(-2);
  expect(asked.map(lastOf)).toEqual(['group-699', 'other']);
});

test('a login proxy that also passes its own token on in Authorization names the user, unless the page sends a token', async () => {
  const { access } = world();
  const headers = {
    'x-holdfast-proxy-secret': proxy.secret,
    'x-forwarded-user': 'eve',
    authorization: 'Bearer eyJ.id.token',
  };
  expect(await access.identify(headers, 'read')).toMatchObject({ user: 'eve' });
  expect(await access.identify({ ...headers, 'x-holdfast-token': 'of-alice' }, 'read')).toMatchObject({
    user: 'alice',
  });
  const wrong = { ...headers, 'x-holdfast-proxy-secret': 'another', authorization: 'Bearer of-alice' };
  expect(await access.identify(wrong, 'read')).toMatchObject({ user: 'alice' });
});

test('names of users and groups that a login proxy sends as UTF-8 are those of the roles', async () => {
  const { access } = world();
  const utf8 = (text: string) => Buffer.from(text, 'utf8').toString('latin1');
  const say = (user: string, groups: string) =>
    access.identify(
      { 'x-holdfast-proxy-secret': proxy.secret, 'x-forwarded-user': user, 'x-forwarded-groups': groups },
      'read',
    );
  expect(await say(utf8('jürgen@example.com'), utf8('Büro,Ἀθῆναι'))).toEqual({
    user: 'jürgen@example.com',
    groups: ['Büro', 'Ἀθῆναι', 'system:authenticated'],
  });
  expect(await say('jürgen', 'Büro')).toMatchObject({ user: 'jürgen', groups: ['Büro', expect.anything()] });
});

test('only the key of a demo gives access to it', async () => {
  const access = createKeyAccess('0123abcd', 'you');
  expect(await access.identify({ 'x-holdfast-token': '0123abcd' }, 'write')).toMatchObject({ user: 'you' });
  expect(await access.identify({ 'x-holdfast-token': '0123abce' }, 'write')).toBeUndefined();
  expect(await access.identify({}, 'write')).toBeUndefined();
});
