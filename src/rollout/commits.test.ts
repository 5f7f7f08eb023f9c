import { describe, expect, it } from 'vitest';
import type { CanaryStatus } from '../api/canary/status.ts';
import { type CommitMemory, commitOfDigest } from './commits.ts';

const [a, b] = ['a', 'b'].map((digit) => `v1:${digit.repeat(64)}`) as [string, string];
const time = '2026-11-21T12:00:00Z';
const info = (commit: string) => ({ commit, subject: `what ${commit} does`, author: 'Ada', time });

function memory(more: Partial<CommitMemory> & { status?: CanaryStatus }): CommitMemory {
  return { status: {}, ...more };
}

const release = (digest: string, commit: string) => ({
  digest,
  commit: info(commit),
  settingsKey: '',
  replicas: 1,
  mountsConfig: false,
});

describe('the commit of a digest', () => {
  const record = (digest: string, commit: string) => ({
    digest,
    commit: info(commit),
    name: commit,
    promotedTime: time,
  });
  it.each([
    ['the release under way', { status: { run: { digest: a, commit: 'c1' } } }, 'c1'],
    ['head', { head: { kind: 'release', release: release(a, 'c1') } }, 'c1'],
    ['the release started last', { status: { lastAppliedSpec: a, lastAppliedCommit: 'c1' } }, 'c1'],
    ['a rejection', { rejected: [{ digest: a, commit: 'c1', reason: 'ChecksFailed', time }] }, 'c1'],
    [
      'a rejection that only the status knows',
      { status: { rejected: [{ digest: a, commit: 'c1', reason: 'ChecksFailed', time }] } },
      'c1',
    ],
    [
      'the last-known-good',
      { status: { lastKnownGood: { digest: a, commit: 'c1', promotedTime: time, record: 'r' } } },
      'c1',
    ],
    ['a record', { records: [record(b, 'c0'), record(a, 'c1')] }, 'c1'],
    ['no source', { records: [record(b, 'c0')] }, undefined],
    ['a record without a commit', { records: [record(a, '')] }, undefined],
  ] as const)('is known by %s', (_who, known, commit) => {
    expect(commitOfDigest(memory(known as Partial<CommitMemory>), a)?.commit).toBe(commit);
    expect(commitOfDigest(memory(known as Partial<CommitMemory>), `${a}+0123456789abcdef`)?.commit).toBe(
      commit,
    );
  });

  it('is the one that brought it last, where a release came back', () => {
    const status = { lastAppliedSpec: a, lastAppliedCommit: 'c3' };
    expect(commitOfDigest(memory({ status, records: [record(a, 'c1')] }), a)?.commit).toBe('c3');
  });

  it('is none of those before, where Git came back to a release while nobody looked', () => {
    const lastKnownGood = { digest: a, commit: 'c1', promotedTime: time, record: 'r' };
    const status = { lastAppliedSpec: b, lastAppliedCommit: 'c2', lastKnownGood };
    expect(commitOfDigest(memory({ status, records: [record(a, 'c1')] }), a)).toBeUndefined();
    expect(commitOfDigest(memory({ status: { ...status, lastAppliedSpec: '5b4d' } }), a)?.commit).toBe('c1');
  });

  it('is still that of head during a rollback from it, which starts an older release last', () => {
    const run = { digest: a, commit: 'c1', rollback: { digest: b, commit: 'c2' } };
    const status = { run, lastAppliedSpec: a, lastAppliedCommit: 'c1' };
    const lastKnownGood = { digest: b, commit: 'c2', promotedTime: time, record: 'r' };
    expect(commitOfDigest(memory({ status: { ...status, lastKnownGood } }), b)?.commit).toBe('c2');
  });

  it('comes with subject and author from the first source that has them', () => {
    const status = { lastAppliedSpec: a, lastAppliedCommit: 'c1' };
    expect(commitOfDigest(memory({ status, records: [record(a, 'c1')] }), a)).toEqual(info('c1'));
    const run = { digest: a, commit: 'c1', subject: 'in words' };
    expect(commitOfDigest(memory({ status: { run } }), a)).toEqual({
      ...info('c1'),
      subject: 'in words',
      author: '',
      time: '',
    });
  });

  it('is not asked of a hash of another program', () => {
    const status = { lastAppliedSpec: '5b4d', lastAppliedCommit: 'c1' };
    expect(commitOfDigest(memory({ status }), '5b4d')).toBeUndefined();
  });
});
