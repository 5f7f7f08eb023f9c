import { expect, test } from 'vitest';
import type { Release } from '../../release/release.ts';
import { createHeads, type Head } from './heads.ts';

function head(digest: string): Head {
  const commit = { commit: digest, subject: '', author: '', time: '' };
  const view = { digest, commit, settingsKey: '', replicas: 1, mountsConfig: false };
  return { view: { kind: 'release', release: view }, release: { digest } as unknown as Release };
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

test('a Canary of two Sources belongs to the one that was read first, until that one goes', () => {
  const heads = createHeads();
  heads.publish('shop/one', new Map([['shop/web', head('a')]]));
  heads.publish('shop/two', new Map([['shop/web', head('b')]]));
  expect(heads.sourceOf('shop/web')).toBe('shop/one');
  expect(heads.forget('shop/one')).toEqual(['shop/web']);
  expect(heads.of('shop/web').release?.digest).toBe('b');
});
