import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { git } from '../../sandbox/git-server/git.test-support.ts';
import { readRefs } from '../../sandbox/git-server/refs.ts';
import { imageOf } from '../objects.ts';
import {
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  failPrimary,
  follow,
  notesOf,
  podUids,
  primaryImage,
  runUntilInitialized,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

const ledger = 'refs/holdfast/test/shop/web/lkg';
let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

async function refs(prefix: string): Promise<string[]> {
  const found = [...readRefs(bed.repository)].filter(([name]) => name.startsWith(prefix));
  return found.map(([name, commit]) => `${name} ${commit}`);
}

const primaryPods = () => podUids(bed, /^web-primary-/);

test('the ledger follows what proved itself, and a new cluster starts from it and canaries head', async () => {
  const v1 = await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await runUntilInitialized(bed, { write: { ledger: true } });
  await eventually('the ledger holds v1', async () => (await refs(ledger))[0] === `${ledger} ${v1}`);
  const v2 = await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Succeeded');
  await eventually('the ledger holds v2', async () => (await refs(ledger))[0] === `${ledger} ${v2}`);
  await git(bed.repository, ['update-ref', ledger, v1]);
  const other = await startQuickBed();
  try {
    const seen = follow(other, (store) => imageOf(store.get('apps/deployments', 'shop', 'web-primary')));
    await other.send('POST', '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources', {
      apiVersion: 'holdfast.dev/v1alpha1',
      kind: 'Source',
      metadata: { name: 'shop', namespace: 'shop' },
      spec: {
        url: `${bed.git.url}/shop.git`,
        ref: { branch: 'main' },
        interval: '1s',
        write: { ledger: true },
      },
    });
    await other.start();
    await waitForPhase(other, 'Succeeded');
    expect([...seen]).toEqual([undefined, 'shop/web:1', 'shop/web:2']);
    const from = `the primary starts from the ledger's ${v1.slice(0, 7)} "v1"; head follows as a canary`;
    expect(notesOf(other, 'StartedFromLedger')).toEqual([from]);
    expect([...notesOf(bed, 'StartedFromLedger'), ...notesOf(bed, 'LedgerUnavailable')]).toEqual([]);
    await eventually('the ledger moves on', async () => (await refs(ledger))[0] === `${ledger} ${v2}`);
  } finally {
    await other.close();
  }
});

// Whoever may push to the repository may move the ledger, also where the branch takes only what was reviewed.
const unusableLedgers = {
  'what its Source may not write': {
    move: async (ledgerAt: (commit: string) => Promise<unknown>) => {
      const secret = {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'token', namespace: 'shop' },
        stringData: { token: 'hunter2' },
      };
      const v1 = JSON.parse(deployment('shop/web:1'));
      v1.spec.template.spec.containers[0].envFrom = [{ secretRef: { name: 'token' } }];
      const files = { 'token.json': JSON.stringify(secret), 'web.json': JSON.stringify(v1) };
      await ledgerAt(await bed.commit('v1', { ...files, 'canary.json': canary() }));
      await bed.commit('v2', { 'token.json': null, 'web.json': deployment('shop/web:2') });
    },
    why: 'Secret',
  },
  'what its branch does not lead on from': {
    move: async (ledgerAt: (commit: string) => Promise<unknown>) => {
      const files = (image: string) => ({ 'web.json': deployment(image), 'canary.json': canary() });
      await ledgerAt(await bed.commit('on a branch that nobody reviewed', files('shop/web:1')));
      await bed.rewrite('v2', files('shop/web:2'));
    },
    why: 'does not descend from it',
  },
};

test.each(Object.entries(unusableLedgers))(
  'the ledger brings back nothing of %s',
  async (_, { move, why }) => {
    await move((commit) => git(bed.repository, ['update-ref', ledger, commit]));
    const images = follow(bed, (store) => imageOf(store.get('apps/deployments', 'shop', 'web-primary')));
    await createSource(bed, { write: { ledger: true }, allow: { kinds: ['Deployment', 'Canary'] } });
    await bed.start();

    await waitForPhase(bed, 'Initialized');

    expect([...images]).toEqual([undefined, 'shop/web:2']);
    const told = new RegExp(
      `^the ledger in Git cannot be used \\(.*${why}.*\\); the primary starts from head, which is not proven yet$`,
    );
    expect(notesOf(bed, 'LedgerUnavailable')).toEqual([expect.stringMatching(told)]);
    const names = bed.sandbox.store.list('/secrets', 'shop').map(({ metadata }) => metadata.name);
    expect(names.filter((name) => name.startsWith('token'))).toEqual([]);
  },
);

test('the ledger starts also what its branch left, where a rewritten history is allowed', async () => {
  const files = (image: string) => ({ 'web.json': deployment(image), 'canary.json': canary() });
  const left = await bed.commit('v1', files('shop/web:1'));
  await bed.rewrite('v2', files('shop/web:2'));
  await git(bed.repository, ['update-ref', ledger, left]);
  await createSource(bed, { write: { ledger: true }, ref: { branch: 'main', rewrite: 'allow' } });
  const images = follow(bed, (store) => imageOf(store.get('apps/deployments', 'shop', 'web-primary')));
  await bed.start();

  await waitForPhase(bed, 'Succeeded');

  expect([...images]).toEqual([undefined, 'shop/web:1', 'shop/web:2']);
});

test('a Canary that is deleted with all that is its own during a release starts from the ledger again', async () => {
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1'),
    'canary.json': canary({ analysis: { iterations: 100 } }),
  });
  await runUntilInitialized(bed, { write: { ledger: true } });
  await eventually('the ledger is there', async () => (await refs(ledger)).length === 1);
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Progressing');
  const images = follow(bed, (store) => imageOf(store.get('apps/deployments', 'shop', 'web-primary')));

  const former = (await bed.canary())?.metadata.uid;
  const namespace = (group: string, kind: string) => `/${group}/namespaces/shop/${kind}`;
  await bed.send('DELETE', `${namespace('apis/flagger.app/v1beta1', 'canaries')}/web`);
  for (const name of ['web', 'web-primary'])
    await bed.send('DELETE', `${namespace('apis/apps/v1', 'deployments')}/${name}`);
  for (const { metadata } of bed.sandbox.store.list('/secrets', 'shop'))
    if (metadata.name.startsWith('holdfast-web-'))
      await bed.send('DELETE', `${namespace('api/v1', 'secrets')}/${metadata.name}`);
  await eventually('head is tried as the canary of a new one', async () => {
    const anew = await bed.canary();
    return anew?.metadata.uid !== former && statusOf(anew).phase === 'Progressing';
  });

  expect([...images].filter(Boolean).at(-1)).toBe('shop/web:1');
  expect(images).not.toContain('shop/web:2');
});

test('a bad commit is taken back in Git by one commit that keeps later work, and no pod restarts for it', async () => {
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1'),
    'canary.json': canary(),
    'note.txt': 'a\n',
  });
  await runUntilInitialized(bed, { write: { revert: 'commit', ledger: true } });
  failPrimary(bed, 'shop/web:2');
  const v2 = await bed.commit('v2', { 'web.json': deployment('shop/web:2'), 'note.txt': 'b\n' });
  await eventually('it was reverted', async () => statusOf(await bed.canary()).lastAppliedCommit === v2);
  const later = await bed.commit('later', { 'other.txt': 'later\n' });
  await eventually(
    'something is on top of that',
    async () => readRefs(bed.repository).get('refs/heads/main') !== later,
    { timeoutMs: 120_000, seen: async () => statusOf(await bed.canary()) },
  );
  expect(await git(bed.repository, ['log', '-1', '--format=%s', 'main'])).toMatch(/^Revert/);
  const pods = primaryPods();
  await waitForPhase(bed, 'Succeeded');
  await bed.pass(20_000);
  expect(await git(bed.repository, ['rev-parse', 'main~1'])).toBe(later);
  expect(await git(bed.repository, ['show', 'main:web.json'])).toBe(deployment('shop/web:1'));
  expect(await git(bed.repository, ['show', 'main:note.txt'])).toBe('b');
  expect(await git(bed.repository, ['log', '-1', '--format=%B', 'main'])).toContain('ImagePullBackOff');
  expect(primaryPods()).toEqual(pods);
  expect(statusOf(await bed.canary()).phase).toBe('Succeeded');
});

test('a refused push changes nothing in the cluster, is tried three times also over restarts, and again when a person asks', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await createSource(bed, { write: { revert: 'commit' } });
  const hook = join(bed.repository, 'hooks', 'pre-receive');
  const tries = join(bed.repository, 'tries');
  await writeFile(hook, `#!/bin/sh\necho x >> ${tries}\necho "main is protected" >&2\nexit 1\n`);
  await chmod(hook, 0o755);
  const timesTried = async () => (await readFile(tries, 'utf8')).trim().split('\n').length;
  const app = await bed.start();
  await waitForPhase(bed, 'Initialized');
  failPrimary(bed, 'shop/web:2');
  const v2 = await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await eventually(
    'the refusal is told',
    async () => condition(await bed.canary(), 'WrittenToGit')?.reason === 'GitRefused',
    { timeoutMs: 120_000, seen: async () => statusOf(await bed.canary()) },
  );
  await bed.pass(20_000);
  const status = statusOf(await bed.canary());
  expect(condition(await bed.canary(), 'WrittenToGit')?.message).toContain('main is protected');
  expect(status.phase).toBe('Failed');
  expect(await primaryImage(bed)).toBe('shop/web:1');
  expect(await git(bed.repository, ['rev-parse', 'main'])).toBe(v2);
  expect(await timesTried()).toBe(3);

  await app.drain();
  const told = condition(await bed.canary(), 'WrittenToGit');
  await bed.start();
  await bed.pass(20_000);
  expect(await timesTried()).toBe(3);
  expect(condition(await bed.canary(), 'WrittenToGit')).toEqual(told);

  await chmod(hook, 0o644);
  await bed.send('PATCH', '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources/shop', {
    metadata: { annotations: { 'holdfast.dev/sync': 'the right was given' } },
  });
  await waitForPhase(bed, 'Succeeded');
  expect(await git(bed.repository, ['log', '-1', '--format=%s', 'main'])).toContain('Revert');
});

test('without a forge the pull request is a branch, made once, also over a restart', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  const app = await runUntilInitialized(bed, { write: { revert: 'pullRequest' } });
  failPrimary(bed, 'shop/web:2');
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  const branches = 'refs/heads/holdfast/test/shop/web/';
  const [made] = await eventually(
    'the branch is there',
    async () => {
      const found = await refs(branches);
      return found.length > 0 && found;
    },
    { timeoutMs: 120_000, seen: async () => statusOf(await bed.canary()) },
  );
  await app.drain();
  await bed.start();
  await bed.pass(20_000);
  expect(await refs(branches)).toEqual([made]);
  expect(condition(await bed.canary(), 'WrittenToGit')?.status).toBe('True');
});

test('a release that never reached the primary is not taken back in Git for the revert of another one', async () => {
  const [v1, v2, v3] = ['shop/web:1', 'shop/web:2', 'shop/web:3'] as const;
  await bed.commit('v1', { 'web.json': deployment(v1), 'canary.json': canary() });
  await runUntilInitialized(bed, { write: { revert: 'pullRequest' } });
  bed.sandbox.behaviour.rule((pod) => {
    const image = imageOf({ spec: { template: { spec: pod.spec } } });
    const isPrimary = pod.metadata.name.startsWith('web-primary-');
    return image === v2 || (image === v3 && isPrimary) ? { failure: 'ImagePullBackOff' } : undefined;
  });
  const branches = 'refs/heads/holdfast/test/shop/web/';
  await bed.commit('v2', { 'web.json': deployment(v2) });
  await waitForPhase(bed, 'Failed');
  await bed.commit('v3', { 'web.json': deployment(v3) });
  await eventually('v3 is taken back in Git', async () => (await refs(branches)).length === 1, {
    timeoutMs: 120_000,
    seen: async () => statusOf(await bed.canary()),
  });

  const again = await bed.commit('Revert "v3"', { 'web.json': deployment(v2) });
  await eventually('v2 is at head', async () => statusOf(await bed.canary()).lastAppliedCommit === again);
  await bed.pass(20_000);
  expect(await refs(branches)).toHaveLength(1);
  expect(statusOf(await bed.canary()).phase).toBe('Failed');
});
