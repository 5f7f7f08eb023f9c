import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { commitFiles, createRepository } from '../../sandbox/git-server/git-repository.ts';
import { type KubernetesObject, partOfLabel } from '../../src/api/kubernetes.ts';
import { applySetIdOf } from '../../src/engine/apply-set.ts';
import { replicasOf } from '../objects.ts';
import {
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  follow,
  notesOf,
  sourceFor,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { configMap, sources, watchPruning } from './pruned-objects.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

const { isThere, untilGone, untilApplied, untilPruned } = watchPruning(() => bed);

const uidOf = async () => (await bed.get('v1', 'ConfigMap', 'moved'))?.metadata.uid;

function otherSource(spec: Record<string, unknown>): KubernetesObject {
  return { ...sourceFor(bed, spec), metadata: { name: 'other', namespace: 'shop' } };
}

function untilMoved(): Promise<boolean> {
  return eventually('it is of the other Source', async () => {
    const { labels } = (await bed.get('v1', 'ConfigMap', 'moved'))?.metadata ?? {};
    return labels?.[partOfLabel] === applySetIdOf('shop/other');
  });
}

describe('what left one Source of a repository', () => {
  test.each([
    ['another Source', {}],
    ['a Source that treats a rewritten history otherwise', { ref: { branch: 'main', rewrite: 'allow' } }],
  ])('stays where the same commit moves it to %s, also when that one looks at it later', async (_, more) => {
    await bed.commit('first', {
      'here/moved.json': configMap('moved'),
      'here/a.json': configMap('a'),
      'there/b.json': configMap('b'),
    });
    await createSource(bed, { path: 'here', prune: true, interval: '1h' });
    const substitute = { from: [{ kind: 'ConfigMap', name: 'a' }] };
    const other = otherSource({ path: 'there', prune: true, substitute, ...more });
    await bed.send('POST', sources, other);
    await bed.start();
    await eventually('all is there', async () => (await isThere('b')) && uidOf());
    const uid = await uidOf();
    let answer = () => {};
    const until = new Promise<void>((resolve) => {
      answer = resolve;
    });
    let isSlow = true;
    bed.sandbox.fault(({ method, path }) =>
      isSlow && method === 'GET' && path.endsWith('/configmaps/a') ? { until } : undefined,
    );

    const moved = await bed.commit('moved', {
      'here/moved.json': null,
      'there/moved.json': configMap('moved', { 'holdfast.dev/adopt': 'true' }),
    });

    await untilApplied(moved);
    await bed.pass(5_000);
    isSlow = false;
    answer();
    await untilMoved();
    await untilPruned('Pruned');
    expect(await uidOf()).toBe(uid);
  });

  test.each([
    [403, 'Forbidden'],
    [409, 'Conflict'],
    [422, 'Invalid'],
    [429, 'TooManyRequests'],
  ])(
    'stays where the same commit moves it to a Source that may write nothing on itself (%i)',
    async (code, reason) => {
      const account = {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: 'b', namespace: 'shop' },
      };
      await bed.commit('first', {
        'here/moved.json': configMap('moved'),
        'here/a.json': configMap('a'),
        'there/b.json': JSON.stringify(account),
      });
      await createSource(bed, { path: 'here', prune: true });
      await bed.send('POST', sources, otherSource({ path: 'there', prune: true }));
      await bed.start();
      await eventually('all is there', async () => (await bed.get('v1', 'ServiceAccount', 'b')) && uidOf());
      const uid = await uidOf();
      let isRefused = true;
      bed.sandbox.fault(({ method, path }) =>
        isRefused && method === 'PATCH' && path.endsWith('/sources/other')
          ? { code, reason, message: 'not now' }
          : undefined,
      );

      const moved = await bed.commit('moved', {
        'here/moved.json': null,
        'there/moved.json': configMap('moved', { 'holdfast.dev/adopt': 'true' }),
      });

      await untilApplied(moved);
      await bed.pass(15_000);
      isRefused = false;
      await untilMoved();
      await untilPruned('Pruned');
      expect(await uidOf()).toBe(uid);
    },
  );

  test('stays where the same commit moves it to a Source that waits for this one', async () => {
    await bed.commit('first', {
      'here/moved.json': configMap('moved'),
      'here/a.json': configMap('a'),
      'there/b.json': configMap('b'),
    });
    await createSource(bed, { path: 'here', prune: true });
    const other = otherSource({ path: 'there', prune: true, dependsOn: [{ name: 'shop' }] });
    await bed.send('POST', sources, other);
    await bed.start();
    await eventually('all is there', async () => (await isThere('b')) && uidOf());
    const uid = await uidOf();

    await bed.commit('moved', {
      'here/moved.json': null,
      'there/moved.json': configMap('moved', { 'holdfast.dev/adopt': 'true' }),
    });

    await untilMoved();
    await untilPruned('Pruned');
    expect(await uidOf()).toBe(uid);
  });

  test.each([
    ['is suspended', 'PATCH', { spec: { suspend: true } }],
    [
      'cannot be followed',
      'PATCH',
      { spec: { windows: [{ kind: 'deny', schedule: '0 0 31 2 *', duration: '1h' }] } },
    ],
    ['is deleted', 'DELETE', undefined],
  ])(
    'stays while a new Source of the repository waits with the commit, until that one %s',
    async (_, method, patch) => {
      await bed.commit('first', { 'here/b.json': configMap('b'), 'here/a.json': configMap('a') });
      await createSource(bed, { path: 'here', prune: true });
      await bed.start();
      await eventually('it is applied', () => isThere('b'));
      const other = otherSource({ path: 'there', dependsOn: [{ name: 'nowhere' }] });
      await bed.send('POST', sources, other);
      await bed.commit('without b', { 'here/b.json': null });
      await untilPruned('NotDecided', 'shop/other');
      expect(await isThere('b')).toBe(true);

      await bed.send(method, `${sources}/other`, patch);

      await untilGone('b');
      await untilPruned('Pruned');
    },
  );

  test.each([
    ['has a file that is broken', { 'there/moved.json': '{"apiVersion": "v1",' }],
    ['cannot be rendered', { 'there/kustomization.yaml': 'resources: [nowhere.yaml]' }],
  ])(
    'stays where the commit moves it to a Source whose folder %s, also after a restart, until that is mended',
    async (_, broken) => {
      await bed.commit('first', {
        'here/moved.json': configMap('moved'),
        'here/a.json': configMap('a'),
        'there/b.json': configMap('b'),
      });
      await createSource(bed, { path: 'here', prune: true });
      await bed.send('POST', sources, otherSource({ path: 'there', prune: true }));
      const app = await bed.start();
      await eventually('all is there', async () => (await isThere('b')) && uidOf());
      const uid = await uidOf();

      await bed.commit('moved', { 'here/moved.json': null, ...broken });
      await untilPruned('NotDecided', 'shop/other');
      await app.drain();
      await bed.start();
      await bed.pass(10_000);
      expect(await uidOf()).toBe(uid);

      const nothing = Object.fromEntries(Object.keys(broken).map((path) => [path, null]));
      const adopting = configMap('moved', { 'holdfast.dev/adopt': 'true' });
      await bed.commit('mended', { ...nothing, 'there/moved.json': adopting });
      await untilMoved();
      await untilPruned('Pruned');
      expect(await uidOf()).toBe(uid);
    },
  );

  test.each([
    ['whose folder the commit does not have', {}],
    ['with a Canary that is not valid', { 'there/canary.json': canary({ analysis: { iterations: 0.5 } }) }],
  ])('is deleted beside a Source %s', async (_, there) => {
    await bed.commit('first', { 'here/a.json': configMap('a'), 'here/b.json': configMap('b'), ...there });
    await createSource(bed, { path: 'here', prune: true });
    await bed.send('POST', sources, otherSource({ path: 'there', prune: true }));
    await bed.start();
    await eventually('all is there', async () => (await isThere('a')) && isThere('b'));
    await bed.commit('without b', { 'here/b.json': null });
    await untilGone('b');
    await untilPruned('Pruned');
  });

  test('stays where another Source holds it, also while a webhook denies that one to write it', async () => {
    await bed.commit('first', { 'here/moved.json': configMap('moved'), 'here/a.json': configMap('a') });
    await createSource(bed, { path: 'here', prune: true });
    const other = otherSource({ path: 'there' });
    await bed.start();
    await eventually('it is applied', () => isThere('moved'));
    await bed.send('POST', sources, other);
    bed.sandbox.fault(({ method, path, body }) =>
      method === 'PATCH' && path.endsWith('/configmaps/moved') && body.includes('holdfast.dev/adopt')
        ? { code: 403, reason: 'Forbidden', message: 'admission webhook "policy" denied the request' }
        : undefined,
    );
    await bed.commit('also there', {
      'there/moved.json': configMap('moved', { 'holdfast.dev/adopt': 'true' }),
    });
    await bed.pass(20_000);

    const last = await bed.commit('only there', { 'here/moved.json': null });

    await untilApplied(last);
    await untilPruned('Pruned', 'Source shop/other holds it');
    expect(await isThere('moved')).toBe(true);
  });

  test('is left to the Source that adopted it while both have it in their files, which the one before says', async () => {
    await bed.commit('first', { 'here/moved.json': configMap('moved'), 'there/b.json': configMap('b') });
    await createSource(bed, { path: 'here', prune: true });
    await bed.send('POST', sources, otherSource({ path: 'there', prune: true }));
    await bed.start();
    await eventually('all is there', async () => (await isThere('b')) && uidOf());
    const uid = await uidOf();
    const owners = follow(bed, ({ get }) => {
      const { labels } = get('/configmaps', 'shop', 'moved')?.metadata ?? {};
      return labels?.[partOfLabel] === applySetIdOf('shop/other') ? 'other' : 'shop';
    });

    await bed.commit('also there', {
      'there/moved.json': configMap('moved', { 'holdfast.dev/adopt': 'true' }),
    });

    const applied = async () => condition(await bed.source(), 'Applied');
    await eventually('it is told', async () => (await applied())?.reason === 'OwnedByAnotherSource', {
      seen: applied,
    });
    expect((await applied())?.message).toContain('Source shop/other applies it');
    const version = (await bed.get('v1', 'ConfigMap', 'moved'))?.metadata.resourceVersion;
    await bed.pass(30_000);
    expect((await bed.get('v1', 'ConfigMap', 'moved'))?.metadata.resourceVersion).toBe(version);
    expect([...owners]).toEqual(['shop', 'other']);
    await untilApplied(
      await bed.commit('only there', { 'here/moved.json': null, 'here/a.json': configMap('a') }),
    );
    await untilPruned('Pruned');
    expect(await uidOf()).toBe(uid);
  });

  test('moves back in one commit though it keeps the annotation by which it came', async () => {
    const adopted = configMap('moved', { 'holdfast.dev/adopt': 'true' });
    await bed.commit('first', { 'here/a.json': configMap('a'), 'there/moved.json': adopted });
    await createSource(bed, { path: 'here', prune: true, interval: '1h' });
    await bed.send('POST', sources, otherSource({ path: 'there', prune: true }));
    await bed.start();
    await eventually('all is there', async () => (await isThere('a')) && uidOf());
    const uid = await uidOf();

    const back = { 'here/moved.json': adopted, 'there/moved.json': null, 'there/b.json': configMap('b') };
    await untilApplied(await bed.commit('back', back));

    const { metadata } = (await bed.get('v1', 'ConfigMap', 'moved')) ?? {};
    expect(metadata?.labels?.[partOfLabel]).toBe(applySetIdOf('shop/shop'));
    expect(metadata?.uid).toBe(uid);
  });

  test('stays after a restart until the Source of another repository that may hold it was read', async () => {
    const repository = await createRepository(dirname(bed.repository), 'team');
    const commitThere = (subject: string, files: Record<string, string>) =>
      commitFiles(repository, { subject, files });
    await bed.commit('first', { 'moved.json': configMap('moved'), 'a.json': configMap('a') });
    await commitThere('first', { 'b.json': configMap('b') });
    await createSource(bed, { prune: true });
    await bed.send('POST', '/api/v1/namespaces/shop/configmaps', JSON.parse(configMap('variables')));
    const substitute = { from: [{ kind: 'ConfigMap', name: 'variables' }] };
    const other = otherSource({ url: `${bed.git.url}/team.git`, prune: true, substitute });
    await bed.send('POST', sources, other);
    const app = await bed.start();
    await eventually('all is there', async () => (await isThere('b')) && uidOf());
    const uid = await uidOf();
    await app.drain();
    await bed.commit('without it', { 'moved.json': null });
    await commitThere('moved', { 'moved.json': configMap('moved', { 'holdfast.dev/adopt': 'true' }) });
    let answer = () => {};
    const until = new Promise<void>((resolve) => {
      answer = resolve;
    });
    bed.sandbox.fault(({ method, path }) =>
      method === 'GET' && path.endsWith('/configmaps/variables') ? { until } : undefined,
    );

    await bed.start();

    await untilPruned('Pruning', 'Source shop/other, which may hold it, was not read yet');
    answer();
    await untilMoved();
    await untilPruned('Pruned');
    expect(await uidOf()).toBe(uid);
  });

  test('goes after a restart once the Source that may hold it, whose repository is gone, is suspended', async () => {
    const repository = await createRepository(dirname(bed.repository), 'team');
    await bed.commit('first', { 'moved.json': configMap('moved'), 'a.json': configMap('a') });
    await commitFiles(repository, { subject: 'first', files: { 'b.json': configMap('b') } });
    await createSource(bed, { prune: true });
    await bed.send('POST', sources, otherSource({ url: `${bed.git.url}/team.git`, prune: true }));
    const app = await bed.start();
    await eventually('all is there', async () => (await isThere('b')) && uidOf());
    await app.drain();
    await bed.commit('without it', { 'moved.json': null });
    await rm(repository, { recursive: true });
    await bed.start();
    await untilPruned('Pruning', 'was not read yet (suspend it if it cannot be read any more)');
    await bed.pass(60_000);
    expect(await isThere('moved')).toBe(true);

    const suspended = { spec: { suspend: true } };
    await bed.send('PATCH', `${sources}/other`, suspended);

    await untilGone('moved');
    expect(await isThere('b')).toBe(true);
  });
});

function adopted(manifest: string): string {
  const { metadata, ...object } = JSON.parse(manifest);
  const annotations = { 'holdfast.dev/adopt': 'true' };
  return JSON.stringify({ ...object, metadata: { ...metadata, annotations } });
}

const readyOf = async (name: string) =>
  condition(await bed.get('holdfast.dev/v1alpha1', 'Source', name), 'Ready');

describe('a workload, without its Canary, that moves to another Source', () => {
  /** Two Sources of two repositories, or of two folders of one, and a Canary of the first one's workload that is in neither. */
  async function startTwo(more: Record<string, unknown>): Promise<void> {
    const canaries = '/apis/flagger.app/v1beta1/namespaces/shop/canaries';
    await bed.send('POST', canaries, JSON.parse(canary()));
    await bed.commit('first', {
      'here/web.json': deployment('shop/web:1'),
      'here/a.json': configMap('a'),
      'there/b.json': configMap('b'),
    });
    await createSource(bed, { path: 'here', prune: true });
    await bed.send('POST', sources, otherSource({ prune: true, ...more }));
    await bed.start();
    await waitForPhase(bed, 'Initialized');
    await eventually('both are read', async () => (await readyOf('other'))?.status === 'True');
  }

  /** How many versions of the target, which rests between releases, asked for pods. */
  function starts(): () => number {
    let count = 0;
    bed.sandbox.store.subscribe(({ storageKey, object }) => {
      if (storageKey === 'apps/deployments' && object.metadata.name === 'web' && replicasOf(object) !== 0)
        count += 1;
    });
    return () => count;
  }

  /** The next release, which is committed there, goes out. */
  async function untilMovedWith(commit: (manifest: string) => Promise<string>): Promise<void> {
    const ready = async () => [
      await readyOf('shop'),
      await readyOf('other'),
      condition(await bed.canary(), 'Ready'),
    ];
    const isWell = async () => (await ready()).every((one) => one?.status === 'True');
    await eventually('nobody is called', isWell, { seen: ready });
    const released = await commit(adopted(deployment('shop/web:2')));
    await waitForPhase(bed, 'Succeeded');
    expect(statusOf(await bed.canary()).lastPromotedCommit).toBe(released);
  }

  test('is rolled out from there, in one commit', async () => {
    await startTwo({ path: 'there' });
    const pods = starts();
    await bed.commit('moved', {
      'here/web.json': null,
      'there/web.json': adopted(deployment('shop/web:1')),
    });
    await bed.pass(10_000);
    expect(pods()).toBe(0);
    await untilMovedWith((manifest) => bed.commit('v2', { 'there/web.json': manifest }));
  });

  test('is the first one’s until that one lets go of it, which the other one says', async () => {
    await startTwo({ path: 'there' });
    const pods = starts();
    await bed.commit('in both', { 'there/web.json': adopted(deployment('shop/web:1')) });
    await eventually('it is told', async () => (await readyOf('other'))?.reason === 'OwnedByAnotherSource');
    expect((await readyOf('other'))?.message).toContain(
      'Source shop/shop rolls it out with Canary shop/web; remove it from the files of that Source',
    );
    await bed.pass(10_000);
    await bed.commit('in one', { 'here/web.json': null });
    await bed.pass(10_000);
    expect(pods()).toBe(0);
    await untilMovedWith((manifest) => bed.commit('v2', { 'there/web.json': manifest }));
  });

  test('is rolled out from there once the Source that held it is deleted', async () => {
    await startTwo({ path: 'there' });
    await bed.commit('in both', { 'there/web.json': adopted(deployment('shop/web:1')) });
    await eventually('it is told', async () => (await readyOf('other'))?.reason === 'OwnedByAnotherSource');
    const pods = starts();
    await bed.send('DELETE', `${sources}/shop`);
    await bed.pass(10_000);
    expect(pods()).toBe(0);
    await bed.commit('v2', { 'there/web.json': adopted(deployment('shop/web:2')) });
    await waitForPhase(bed, 'Succeeded');
    expect((await readyOf('other'))?.status).toBe('True');
  });

  test('is missing where it was, whatever a Source of another namespace commits that may not write it', async () => {
    const repository = await createRepository(dirname(bed.repository), 'team');
    await commitFiles(repository, { subject: 'first', files: { 'b.json': configMap('b') } });
    await startTwo({ path: 'there' });
    const foreign = otherSource({ url: `${bed.git.url}/team.git` });
    const team = '/apis/holdfast.dev/v1alpha1/namespaces/team/sources';
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } };
    await bed.send('POST', '/api/v1/namespaces', namespace);
    await bed.send('POST', team, { ...foreign, metadata: { name: 'other', namespace: 'team' } });
    await bed.commit('without it', { 'here/web.json': null });
    const isMissing = async () => condition(await bed.canary(), 'Ready')?.reason === 'TargetMissing';
    await eventually('it is missing', isMissing);
    const files = { 'web.json': adopted(deployment('shop/web:1')) };
    const commit = await commitFiles(repository, { subject: 'theirs', files });
    const theirs = () => bed.get('holdfast.dev/v1alpha1', 'Source', 'other', 'team');
    await eventually('it is read', async () => statusOf(await theirs()).attemptedCommit === commit, {
      seen: theirs,
    });
    await bed.pass(10_000);

    expect(await isMissing()).toBe(true);
    expect((await readyOf('shop'))?.message).toContain('is in no file of this Source');
  });

  test('is rolled out from there, though it leaves the one repository before it comes to the other', async () => {
    const repository = await createRepository(dirname(bed.repository), 'team');
    const commitThere = (subject: string, files: Record<string, string>) =>
      commitFiles(repository, { subject, files });
    await commitThere('first', { 'b.json': configMap('b') });
    await startTwo({ url: `${bed.git.url}/team.git` });
    const pods = starts();
    await bed.commit('without it', { 'here/web.json': null });
    await eventually('it is missing', async () => {
      return condition(await bed.canary(), 'Ready')?.reason === 'TargetMissing';
    });
    await commitThere('with it', { 'web.json': adopted(deployment('shop/web:1')) });
    await bed.pass(10_000);
    expect(pods()).toBe(0);
    await untilMovedWith((manifest) => commitThere('v2', { 'web.json': manifest }));
  });
});

describe('a Canary that one commit moves with its workload to another Source', () => {
  test.each([
    ['the one that it leaves reads it later', { interval: '1h' }, {}],
    ['the one that it comes to reads it later', {}, { interval: '1h' }],
    ['the one that it comes to waits for the other', {}, { dependsOn: [{ name: 'shop' }] }],
  ])('is the other one’s from then on, and nobody is called, when %s', async (_, here, there) => {
    await bed.commit('first', {
      'here/web.json': deployment('shop/web:1'),
      'here/canary.json': canary(),
      'here/a.json': configMap('a'),
      'there/b.json': configMap('b'),
    });
    await createSource(bed, { path: 'here', ...here });
    await bed.send('POST', sources, otherSource({ path: 'there', ...there }));
    await bed.start();
    await waitForPhase(bed, 'Initialized');

    await bed.commit('moved', {
      'here/web.json': null,
      'here/canary.json': null,
      'there/web.json': adopted(deployment('shop/web:2')),
      'there/canary.json': adopted(canary()),
    });
    await bed.pass(90_000);
    expect(notesOf(bed, 'TargetMissing')).toEqual([]);
    // The one that looks once an hour is asked to.
    const ask = { metadata: { annotations: { 'holdfast.dev/sync': 'now' } } };
    for (const name of ['shop', 'other']) await bed.send('PATCH', `${sources}/${name}`, ask);
    await waitForPhase(bed, 'Succeeded');

    await eventually('both Sources are ready', async () => {
      return (await readyOf('shop'))?.status === 'True' && (await readyOf('other'))?.status === 'True';
    });
    expect(notesOf(bed, 'TargetMissing')).toEqual([]);
  });
});
