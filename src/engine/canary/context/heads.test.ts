import { expect, test } from 'vitest';
import type { Release } from '../../../release/release.ts';
import { applySetIdOf } from '../../apply-set.ts';
import { createHeads, type Head } from './heads.ts';

function head(digest: string, at = digest): Head {
  const commit = { commit: at, subject: '', author: '', time: '' };
  const view = { digest, commit, settingsKey: '', replicas: 1, mountsConfig: false };
  return { view: { kind: 'release', release: view }, release: { digest, commit } as unknown as Release };
}

test('nothing is known of any Canary while a Source has not been read', () => {
  const heads = createHeads();
  heads.expect('shop/git');
  heads.listed();
  expect(heads.of('shop/web').view).toMatchObject({ kind: 'unknown', reason: 'SourceNotRead' });
  heads.publish('shop/git', new Map());
  expect(heads.of('shop/web').view).toMatchObject({ kind: 'unknown', reason: 'NoSource' });
});

test('no Source may be taken for absent before all of them were listed', () => {
  const heads = createHeads();
  let allRead = 0;
  heads.onAllRead(() => {
    allRead += 1;
  });
  expect(heads.inGit('shop/web').view).toMatchObject({ reason: 'SourceNotRead' });
  heads.listed();
  expect(heads.inGit('shop/web').view).toMatchObject({ reason: 'NoSource' });
  expect(allRead).toBe(1);
});

test('what a live target says stands in the place of Git until it is taken back', () => {
  const heads = createHeads();
  heads.listed();
  heads.setLive('shop/web', head('a'));
  expect(heads.of('shop/web').release?.digest).toBe('a');
  expect(heads.releasesIn('shop').get('shop/web')?.digest).toBe('a');
  expect(heads.inGit('shop/web').view).toMatchObject({ reason: 'NoSource' });
  heads.setLive('shop/web', undefined);
  expect(heads.of('shop/web').view).toMatchObject({ reason: 'NoSource' });
  expect(heads.earlier('shop/web', 'a')?.digest).toBe('a');
});

test('publishing names the Canaries whose head changed, those that left included', () => {
  const heads = createHeads();
  heads.publish(
    'shop/git',
    new Map([
      ['shop/web', head('a')],
      ['shop/api', head('b')],
    ]),
  );
  const changed = heads.publish(
    'shop/git',
    new Map([
      ['shop/web', head('a')],
      ['shop/db', head('c')],
    ]),
  );
  expect(changed.sort()).toEqual(['shop/api', 'shop/db']);
});

test('the bytes of a release that was head before can still be had', () => {
  const heads = createHeads();
  heads.publish('shop/git', new Map([['shop/web', head('a')]]));
  heads.publish('shop/git', new Map([['shop/web', head('b')]]));
  expect(heads.earlier('shop/web', 'a')?.digest).toBe('a');
  expect(heads.earlier('shop/web', 'never')).toBeUndefined();
});

test('of a Canary that is gone nothing is kept but what Git says of it', () => {
  const heads = createHeads();
  heads.publish('shop/git', new Map([['shop/web', head('a')]]));
  heads.publish('shop/git', new Map([['shop/web', head('b')]]));
  heads.setLive('shop/web', head('c'));
  heads.forgetCanary('shop/web');
  expect(['a', 'b', 'c'].map((digest) => heads.earlier('shop/web', digest))).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(heads.of('shop/web').release?.digest).toBe('b');
});

test('a Canary of two Sources belongs to the one that was read first, until that one goes', () => {
  const heads = createHeads();
  heads.publish('shop/one', new Map([['shop/web', head('a')]]));
  heads.publish('shop/two', new Map([['shop/web', head('b')]]));
  expect(heads.sourceOf('shop/web')).toBe('shop/one');
  expect(heads.forget('shop/one')).toEqual(['shop/web']);
  expect(heads.of('shop/web').release?.digest).toBe('b');
});

/** What everybody takes the commit from: the view and the bytes. */
function commitsOf({ view, release }: Head): unknown[] {
  return [view.kind === 'release' && view.release.commit.commit, release?.commit.commit];
}

test('the commit of a head is the one that brought its digest, and another one is no news', () => {
  const heads = createHeads();
  const publish = (digest: string, at: string) =>
    heads.publish('shop/git', new Map([['shop/web', head(digest, at)]]));
  heads.expect('shop/git');
  heads.listed();
  publish('a', 'c1');
  expect(publish('a', 'c2')).toEqual([]);
  expect(commitsOf(heads.of('shop/web'))).toEqual(['c1', 'c1']);
  expect(heads.of('shop/web').at).toBe('c2');
  expect(publish('b', 'c3')).toEqual(['shop/web']);
  expect(publish('a', 'c4')).toEqual(['shop/web']);
  expect(publish('a', 'c5')).toEqual([]);
  expect(commitsOf(heads.of('shop/web'))).toEqual(['c4', 'c4']);
});

test('files that are broken for a while change no commit, a workload that was away does', () => {
  const heads = createHeads();
  heads.publish('shop/git', new Map([['shop/web', head('a', 'c1')]]));
  const broken: Head = { view: { kind: 'unknown', reason: 'InvalidManifests', message: '' } };
  heads.publish('shop/git', new Map([['shop/web', broken]]));
  heads.publish('shop/git', new Map([['shop/web', head('a', 'c3')]]));
  expect(commitsOf(heads.of('shop/web'))).toEqual(['c1', 'c1']);
  heads.publish('shop/git', new Map([['shop/web', { view: { kind: 'missing', message: '' } }]]));
  heads.publish('shop/git', new Map([['shop/web', head('a', 'c5')]]));
  expect(commitsOf(heads.of('shop/web'))).toEqual(['c5', 'c5']);
});

test('after a start the commit is what the Canary remembers, once, and only of a digest that was there before', () => {
  const heads = createHeads();
  const recall = (commit: string) =>
    heads.recall('shop/web', () => ({ commit, subject: '', author: '', time: '' }));
  heads.publish('shop/git', new Map([['shop/web', head('a', 'c7')]]));
  recall('c1');
  expect(commitsOf(heads.of('shop/web'))).toEqual(['c1', 'c1']);
  recall('c0');
  heads.publish('shop/git', new Map([['shop/web', head('a', 'c8')]]));
  recall('c0');
  expect(commitsOf(heads.of('shop/web'))).toEqual(['c1', 'c1']);
  heads.publish('shop/git', new Map([['shop/web', head('b', 'c9')]]));
  recall('c0');
  expect(commitsOf(heads.of('shop/web'))).toEqual(['c9', 'c9']);
});

test('what stands beside a release is news whatever the commit', () => {
  const heads = createHeads();
  const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' } };
  heads.publish('shop/git', new Map([['shop/web', head('a', 'c1')]]));
  const shared = { ...head('a', 'c2'), shared: [service] };
  expect(heads.publish('shop/git', new Map([['shop/web', shared]]))).toEqual(['shop/web']);
});

test('the Source whose set the target is in speaks for its Canary, whoever is read first, until it holds it no more', () => {
  const heads = createHeads();
  for (const key of ['shop/a', 'shop/owner']) heads.expect(key);
  heads.listed();
  heads.setOwner('shop/web', applySetIdOf('shop/owner'));
  heads.publish('shop/a', new Map([['shop/web', head('a')]]));
  expect(heads.of('shop/web').view).toMatchObject({ reason: 'SourceNotRead' });
  heads.publish('shop/owner', new Map([['shop/web', head('b')]]));
  expect([heads.sourceOf('shop/web'), heads.of('shop/web').release?.digest]).toEqual(['shop/owner', 'b']);
  heads.publish('shop/owner', new Map());
  expect([heads.sourceOf('shop/web'), heads.of('shop/web').release?.digest]).toEqual(['shop/a', 'a']);
});

test('only a Source that may hold a Canary keeps it waiting', () => {
  const heads = createHeads();
  heads.listed();
  heads.expect('other/git', (canaryKey) => canaryKey.startsWith('other/'));
  expect(heads.of('shop/web').view).toMatchObject({ reason: 'NoSource' });
  expect(heads.of('other/web').view).toMatchObject({ reason: 'SourceNotRead' });
});
