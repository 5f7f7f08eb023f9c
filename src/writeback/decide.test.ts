import { describe, expect, it } from 'vitest';
import type { CanaryStatus } from '../api/canary/status.ts';
import { type Incident, lineOf } from '../api/incident.ts';
import { type Facts, wantedInGit } from './decide.ts';
import {
  bumpRecord,
  formatGitRecords,
  ledgerRecord,
  messageWithoutRecords,
  parseGitRecords,
  refusalRecord,
  requestOf,
  revertRecord,
  statusRecord,
  withGitRecord,
} from './records.ts';

const [v1, v2, v3] = ['1', '2', '3'].map((digit) => digit.repeat(40)) as [string, string, string];
const good = `v1:${'a'.repeat(64)}`;
const bad = `v1:${'b'.repeat(64)}`;
const where = { cluster: 'prod', namespace: 'shop', canary: 'web' };
const branch = `holdfast/prod/shop/web/revert-${'b'.repeat(12)}`;
const time = '2026-11-21T12:00:00Z';

/** v2 was reverted to v1 and is still at head. */
const reverted: CanaryStatus = {
  phase: 'Failed',
  lastAppliedCommit: v2,
  lastAppliedSpec: bad,
  lastPromotedCommit: v1,
  lastKnownGood: { commit: v1, digest: good, promotedTime: time, record: 'r' },
  rejected: [{ digest: bad, commit: v2, reason: 'ChecksFailed', time }],
  history: [{ digest: bad, commit: v2, result: 'Failed', endTime: time }],
  conditions: [
    {
      type: 'Reverted',
      status: 'True',
      reason: 'ChecksFailed',
      message: 'too slow',
      lastTransitionTime: time,
    },
  ],
  message: 'reverted',
};

function wanted(facts: Partial<Facts>) {
  const base = { where, status: reverted, head: { digest: bad, commit: v2 }, ledger: v1, records: [] };
  return wantedInGit({ ...base, write: { ledger: true, revert: 'pullRequest', status: true }, ...facts });
}

describe('the ledger', () => {
  it.each([
    ['moves to what proved itself', { ledger: v3 }, { before: v3, after: v1 }],
    ['is created', { ledger: undefined }, { before: undefined, after: v1 }],
    ['stays where it is right', { ledger: v1 }, undefined],
    [
      'names what proved itself, whatever else is called promoted',
      { ledger: v2, status: { ...reverted, lastPromotedCommit: v3 } },
      { before: v2, after: v1 },
    ],
    [
      'waits until a release has proven itself',
      { ledger: undefined, status: { lastPromotedCommit: v3 } },
      undefined,
    ],
    ['is not written unless asked for', { ledger: v3, write: {} }, undefined],
    ['never loses what another life of the cluster promoted', { ledger: v3, status: {} }, undefined],
  ] as const)('%s', (_name, facts, expected) => {
    const { ledger } = wanted(facts as Partial<Facts>);
    expect(ledger).toEqual(expected && { ref: 'refs/holdfast/prod/shop/web/lkg', ...expected });
  });
});

describe('a revert', () => {
  it('is wanted while the reverted release is at head, with why', () => {
    expect(wanted({}).revert).toEqual({
      mode: 'pullRequest',
      branch,
      digest: bad,
      bad: v2,
      good: v1,
      goodDigest: good,
      reason: 'ChecksFailed',
      finding: 'too slow',
    });
  });

  it.each([
    ['it is off', { write: { revert: 'none' } }],
    ['a branch or pull request was made', { records: [revertRecord(branch, 'merged https://forge/1')] }],
    ['head holds another release', { head: { digest: 'v1:c', commit: v3 } }],
    ['Git was not read', { head: undefined }],
    ['the revert is under way', { status: { ...reverted, phase: 'Promoting' } }],
    ['nothing was reverted', { status: { ...reverted, conditions: [] } }],
    [
      'another release was reverted',
      { status: { ...reverted, history: [{ digest: 'v1:c', commit: v3, result: 'Failed', endTime: time }] } },
    ],
    [
      'the last-known-good fails too',
      { status: { ...reverted, rejected: [{ ...reverted.rejected?.[0], suspect: true }] } },
    ],
    [
      'the last-known-good has no commit',
      { status: { ...reverted, lastKnownGood: { ...reverted.lastKnownGood, commit: '' } } },
    ],
  ])('is not wanted when %s', (_name, facts) => {
    expect(wanted(facts as Partial<Facts>).revert).toBeUndefined();
  });
});

describe('a rejected release that comes back', () => {
  const again = { ...reverted, lastAppliedCommit: v3 };

  it('is reported once', () => {
    const records = [revertRecord(branch, 'open https://forge/1')];
    expect(wanted({ status: again, records }).bump).toEqual({ branch, digest: bad, commit: v3 });
    expect(wanted({ status: again, records: [...records, bumpRecord(v3)] }).bump).toBeUndefined();
    expect(wanted({ records }).bump).toBeUndefined();
  });

  it('is reported once its pull request is there, not before', () => {
    const { revert, bump } = wanted({ status: again });
    expect([revert?.branch, bump]).toEqual([branch, undefined]);
  });
});

describe('a pull request', () => {
  it('is outdated once head holds another release, while it was open', () => {
    const told = [revertRecord(branch, 'open https://forge/1')];
    expect(wanted({ records: told }).outdated).toEqual([]);
    expect(wanted({ records: told, head: { digest: good, commit: v3 } }).outdated).toMatchObject([
      { branch },
    ]);
    const closed = [revertRecord(branch, 'closed https://forge/1')];
    expect(wanted({ records: closed, head: { digest: good, commit: v3 } }).outdated).toEqual([]);
  });

  it('is outdated once its release, tried again, is good, and not while it is only tried', () => {
    const records = [revertRecord(branch, 'open https://forge/1')];
    const tried: CanaryStatus = { ...reverted, phase: 'Progressing', rejected: [] };
    expect(wanted({ records, status: tried }).outdated).toEqual([]);
    const lastKnownGood = { commit: v2, digest: bad, promotedTime: time, record: 'r' };
    const proven: CanaryStatus = { ...tried, phase: 'Succeeded', lastKnownGood };
    expect(wanted({ records, status: proven }).outdated).toMatchObject([{ branch, isGood: true }]);
  });
});

describe('commit statuses', () => {
  it.each([
    ['Progressing', 'pending'],
    ['Finalising', 'pending'],
    ['Succeeded', 'success'],
    ['Initialized', 'success'],
    ['Failed', 'failure'],
  ] as const)('phase %s is %s, set once', (phase, state) => {
    const status = { ...reverted, phase };
    const context = 'holdfast/prod/shop/web';
    const set = { commit: v2, state, context, about: '', description: 'reverted' };
    expect(wanted({ status }).statuses).toEqual([set]);
    expect(wanted({ status, records: [statusRecord(state, v2)] }).statuses).toEqual([]);
  });

  it('report at once that a release is held or is being reverted, and again when that changes', () => {
    const at = (state: 'Held' | 'Reverting') =>
      wanted({
        status: { ...reverted, phase: 'Promoting', postPromotion: { state, failedChecks: 0 } as never },
        records: [statusRecord('failure', v2, 'Held')],
      }).statuses;
    expect(at('Held')).toEqual([]);
    expect(at('Reverting')).toMatchObject([{ state: 'failure', about: 'Reverting' }]);
    expect(wanted({ records: [statusRecord('failure', v2, 'Held')] }).statuses).toMatchObject([
      { about: '' },
    ]);
  });

  it('say what was reported to people, as far as forges take it', () => {
    const news = {
      key: `${bad}/${time}/Reverted/ChecksFailed`,
      time,
      outcome: 'Reverted',
      severity: 'error',
      reason: 'ChecksFailed',
      message: `2222222 was reverted to 1111111: ${'latency '.repeat(9)}of 900 > 500`,
      commit: v2,
      serving: [],
    } as const;
    const incidents = [{ ...news, serving: [] }];
    const status = { ...reverted, incidents, message: lineOf(incidents[0] as Incident) };
    const [set] = wanted({ status }).statuses;
    expect(status.message.length).toBeGreaterThan(140);
    expect(set?.description).toBe(news.message);
  });

  it('are not cut in the middle of a character', () => {
    const message = `${'x'.repeat(139)}\u{1f680} is waited for`;
    const [set] = wanted({ status: { ...reverted, message } }).statuses;
    expect(set?.description).not.toMatch(/\p{Surrogate}/u);
  });

  it.each([
    ['pending', ''],
    ['failure', 'Held'],
  ])('do not leave a superseded commit %s', (state, about) => {
    const told = [statusRecord(state, v1, about)];
    expect(wanted({ records: told }).statuses.map(({ commit, state }) => [commit, state])).toEqual([
      [v1, 'error'],
      [v2, 'failure'],
    ]);
  });
});

it('records are read back from the condition as they were written', () => {
  const told = [
    ledgerRecord(v1),
    statusRecord('success', v2),
    statusRecord('failure', v2, 'Held'),
    revertRecord(branch, 'open https://forge/1'),
    bumpRecord(v3),
    refusalRecord(`revert ${branch}`, 'generation 3', 3),
    refusalRecord(`status failure Held ${v2}`, 'generation 3 sync 0a1b2c3d', 1),
  ];
  expect(parseGitRecords(formatGitRecords(told))).toEqual(told);
  expect(messageWithoutRecords(`${formatGitRecords(told)}; main is protected; ask Ada (tried 3 times)`)).toBe(
    'main is protected; ask Ada (tried 3 times)',
  );
  expect(parseGitRecords('whatever; else')).toEqual([]);
  expect(withGitRecord(told, refusalRecord(`revert ${branch}`, 'generation 4', 1))).toHaveLength(told.length);
});

it('the record of a status takes the place of those before, but of none that is yet to be superseded', () => {
  const told = [statusRecord('success', v1), statusRecord('failure', v2, 'Held')];

  const next = withGitRecord(told, statusRecord('pending', v3));
  const superseded = withGitRecord(next, statusRecord('error', v2));
  const last = withGitRecord(superseded, statusRecord('success', v3));

  expect(next).toEqual([statusRecord('failure', v2, 'Held'), statusRecord('pending', v3)]);
  expect(superseded).toEqual([statusRecord('pending', v3), statusRecord('error', v2)]);
  expect(last).toEqual([statusRecord('success', v3)]);
});

it('a refused write is tried again after another spec of the Source, or another request to look at Git', () => {
  const metadata = { name: 'shop', namespace: 'shop', generation: 3 };
  const asked = (sync: string) =>
    requestOf({ metadata: { ...metadata, annotations: { 'holdfast.dev/sync': sync } } });

  expect(requestOf({ metadata })).toBe('generation 3');
  expect(asked('1; or more')).toMatch(/^generation 3 sync [0-9a-f]{8}$/);
  expect(asked('1')).not.toBe(asked('2'));
});

it('says why it was reverted, not what stays', () => {
  const message = 'v2 was reverted to v1: latency 900 ms; stays as head says: ConfigMap shop/other';
  const conditions = reverted.conditions?.map((entry) =>
    entry.type === 'Reverted' ? { ...entry, message } : entry,
  );

  expect(wanted({ status: { ...reverted, conditions } }).revert?.finding).toBe(
    'v2 was reverted to v1: latency 900 ms',
  );
});
