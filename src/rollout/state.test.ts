import { describe, expect, it } from 'vitest';
import type { CanaryStatus } from '../api/canary/status.ts';
import { aWorkload } from './fixtures.test-support.ts';
import { type CommitMemory, commitOfDigest, podsKey, progressKey } from './state.ts';

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

/** A primary of three pods with so many of the new template, ready ones among them, and old ones. */
function pods(updated: number, ready: number, old = 0, digest = 'v1:a') {
  const all = { digest, desiredReplicas: 3, replicas: updated + old, updatedReplicas: updated };
  return aWorkload({ ...all, updatedReadyReplicas: ready, availableReplicas: ready + old });
}

/** How often the clock was restarted by these looks, the first one left out. */
function restarts(...looks: Array<ReturnType<typeof pods> | undefined>): number {
  let key: string | undefined;
  let count = 0;
  for (const view of looks) {
    const next = progressKey(key, view);
    if (key !== undefined && next !== key) count += 1;
    key = next;
  }
  return count;
}

describe('progress of a workload', () => {
  it('is a further pod made, a further one ready, and an old one gone', () => {
    expect(restarts(pods(0, 0, 3), pods(1, 0, 3), pods(1, 1, 3), pods(1, 1, 2), pods(2, 1, 2))).toBe(4);
  });

  it('is none while pods become ready and fall back again and again', () => {
    expect(restarts(pods(2, 0, 1), pods(2, 1, 1), pods(2, 0, 1), pods(2, 1, 1), pods(2, 0, 1))).toBe(1);
  });

  it('restarts when a complete workload loses a pod, and with another release', () => {
    expect(restarts(pods(3, 3), pods(3, 2), pods(3, 1), pods(3, 2))).toBe(1);
    expect(restarts(pods(3, 3), { ...pods(3, 3), desiredReplicas: 5 })).toBe(1);
    expect(restarts(pods(3, 2), pods(3, 2, 0, 'v1:b'))).toBe(1);
    expect(restarts(undefined, pods(1, 0))).toBe(1);
  });

  it('is none while a scaler asks for more pods and for fewer again and again', () => {
    const asked = (desiredReplicas: number) => ({ ...pods(desiredReplicas, 0), desiredReplicas });
    expect(restarts(asked(3), asked(5), asked(2), asked(5), asked(4), asked(5))).toBe(1);
  });

  it('does not take the counts of the template before for its own', () => {
    const justWritten = { ...pods(3, 3, 0, 'v1:b'), observed: false };
    expect(restarts(pods(3, 3), justWritten, pods(0, 0, 3, 'v1:b'), pods(1, 0, 3, 'v1:b'))).toBe(2);
  });

  it('counts from now on where another version left its key', () => {
    expect(progressKey('v1:a:3:3', pods(1, 0))).toBe(progressKey(undefined, pods(1, 0)));
  });

  it('changes with every change of the pods, which endpoints follow', () => {
    expect(podsKey(pods(2, 1, 1))).not.toBe(podsKey(pods(2, 0, 1)));
  });
});
