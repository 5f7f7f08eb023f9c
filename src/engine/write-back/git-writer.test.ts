import { afterEach, expect, test } from 'vitest';
import { packStatus } from '../../api/canary/bookkeeping.ts';
import type { CanaryStatus } from '../../api/canary/status.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { GitError } from '../../git/errors.ts';
import { ForgeError } from '../../providers/forges/errors.ts';
import { ledgerRecord } from '../../writeback/records.ts';
import type { SourceGit } from '../sync/read/source-git.ts';
import { createVirtualClock, settle } from '../virtual-clock.test-support.ts';
import { createGitWriter, type GitWriter } from './git-writer.ts';
import { conditionFrom, newMemory } from './write-state.ts';

const writers: GitWriter[] = [];
afterEach(async () => {
  await Promise.all(writers.splice(0).map((writer) => writer.stop()));
});

const [first, second] = ['1'.repeat(40), '2'.repeat(40)];

/** A Canary whose ledger can be pushed, at a forge that answers as `forge` says. */
function world(forge: (signal: AbortSignal) => Promise<unknown>, git: object = {}, release?: object) {
  const clock = createVirtualClock();
  const changed: Array<(canary: KubernetesObject) => void> = [];
  const asked: number[] = [];
  let ledger: string | undefined;
  let canary: KubernetesObject & { status?: CanaryStatus } = {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { name: 'web', namespace: 'shop' },
  };
  const gitUntil = (signal: AbortSignal) => ({
    source: { metadata: {}, spec: { ref: { branch: 'main' }, write: { ledger: true, status: true } } },
    repository: {
      async moveRef({ after }: { after: string }) {
        ledger = after;
      },
    },
    head: () => second,
    ledger: () => ledger,
    noteLedger: () => undefined,
    forge: () => {
      asked.push(clock.nowMs());
      return forge(signal);
    },
    ...git,
  });
  const writer = createGitWriter({
    clock,
    clusterName: 'test',
    documentation: undefined,
    random: () => 0.5,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    events: { emit: () => undefined },
    heads: { of: () => ({ view: release ? { kind: 'release', release } : { kind: 'unknown' } }) } as never,
    canaries: {
      list: () => [canary],
      get: () => canary,
      synced: () => true,
      problem: () => undefined,
      onChange: (listener: (canary: KubernetesObject) => void) => void changed.push(listener),
    } as never,
    gitOf: (_key, signal) => gitUntil(signal) as unknown as SourceGit,
    wakeCanary: () => undefined,
  });
  writers.push(writer);
  writer.start();
  async function show(status: CanaryStatus): Promise<void> {
    canary = { ...canary, status };
    for (const listener of changed) listener(canary);
    await settle();
  }
  return {
    clock,
    asked,
    stop: () => writer.stop(),
    ledger: () => ledger,
    condition: () => writer.conditionOf('shop/web'),
    says: (commit: string, phase: CanaryStatus['phase'], good = commit) => {
      const lastKnownGood = { commit: good, digest: `v1:${good}`, promotedTime: '', record: '' };
      return show({ phase, lastAppliedCommit: commit, lastKnownGood });
    },
    show,
  };
}

const unavailable = () => Promise.reject(new Error('the forge answered 503'));

test('a commit status that cannot be set holds up nothing else, and is still told', async () => {
  const { clock, says, ledger, condition } = world(unavailable);
  await says(first, 'Succeeded');
  expect(ledger()).toBe(first);
  // By now it is tried once a minute.
  await clock.advance(5 * 60_000);
  await says(second, 'Progressing', first);
  await says(second, 'Succeeded');
  expect(ledger()).toBe(second);
  expect(condition()).toMatchObject({ reason: 'GitUnavailable', message: expect.stringContaining('503') });
});

test('what cannot be set is tried again with growing pauses, whatever else changes', async () => {
  const { clock, says, asked } = world(unavailable);
  await says(first, 'Succeeded');
  for (let seconds = 0; seconds < 120; seconds += 1) {
    await clock.advance(1_000);
    await says(first, 'Succeeded');
  }
  const start = asked[0] ?? 0;
  expect(asked.map((at) => Math.round((at - start) / 1000))).toEqual([0, 2, 6, 14, 30, 62]);
});

test.each([
  ['Git', new GitError('Unreachable', 'the server answered 429', undefined, 90_000)],
  ['a forge', new ForgeError('Unavailable', 'the forge answered 429', { retryAfterMs: 90_000 })],
])('a pause that %s asks for is kept, whatever else changes', async (_, error) => {
  const { clock, says, asked } = world(() => Promise.reject(error));
  for (let seconds = 0; seconds < 100; seconds += 1) {
    await says(first, 'Succeeded');
    await clock.advance(1_000);
  }
  const start = asked[0] ?? 0;
  expect(asked.map((at) => Math.round((at - start) / 1000))).toEqual([0, 90]);
});

test('the status of a commit that another one took the place of does not stay pending, though the forge failed then', async () => {
  const statuses = new Map<string, string>();
  let fails = true;
  const { clock, says } = world(async () => ({
    async setCommitStatus(commit: string, { state }: { state: string }) {
      if (fails && state === 'error') throw new Error('the forge answered 503');
      statuses.set(commit, state);
    },
  }));
  await says(first, 'Progressing');
  await says(second, 'Progressing', first);
  await says(second, 'Succeeded');
  expect([statuses.get(first), statuses.get(second)]).toEqual(['pending', 'success']);

  fails = false;
  await clock.advance(60_000);

  expect([statuses.get(first), statuses.get(second)]).toEqual(['error', 'success']);
});

test('a status is not asked for again of a commit that the forge does not know any more', async () => {
  const asked: string[] = [];
  const { clock, says, condition } = world(async () => ({
    async setCommitStatus(commit: string, { state }: { state: string }) {
      asked.push(`${state} ${commit.slice(0, 1)}`);
      if (state === 'error') throw Object.assign(new Error('no such commit'), { code: 'NotFound' });
    },
  }));
  await says(first, 'Progressing');
  await says(second, 'Succeeded');
  await clock.advance(10 * 60_000);

  expect(asked).toEqual(['pending 1', 'error 1', 'success 2']);
  expect(condition()).toMatchObject({ reason: 'WrittenToGit' });
});

test('a revert that Git takes late tells the whole report of the release, also where something was reported since', async () => {
  const messages: string[] = [];
  const word = (commit: string) => (commit === first ? 'good' : 'bad');
  const plan = { state: 'release', canary: { namespace: 'shop', name: 'web' }, origins: ['web.yaml:1'] };
  const target = { object: { apiVersion: 'v1', kind: 'X', metadata: { name: 'web' } } };
  const git = {
    source: { metadata: {}, spec: { ref: { branch: 'main' }, write: { revert: 'commit' } } },
    repository: {
      listRefs: async () => new Map(),
      readPaths: async (commit: string) => new Map([['web.yaml', Buffer.from(`${word(commit)}\n`)]]),
      commitFiles: async ({ message }: { message: string }) => messages.push(message),
    },
    render: async (commit: string, changes?: ReadonlyMap<string, Uint8Array>) => ({
      text: Buffer.from(changes?.get('web.yaml') ?? word(commit))
        .toString()
        .trim(),
      rest: [],
      problems: [],
      plans: [{ ...plan, configs: [], target }],
    }),
    digestIn: ({ text }: { text: string }) => `v1:${text}`,
    wake: () => undefined,
  };
  const { show } = world(async () => undefined, git, { digest: 'v1:bad', commit: { commit: second } });
  const time = '2026-11-21T12:00:00Z';
  const report = { time, message: 'it is slow', commit: second, severity: 'error' } as const;
  const incidents: CanaryStatus['incidents'] = [
    { ...report, serving: [], key: 'stopped/Forbidden', outcome: 'Stopped', reason: 'Forbidden' },
    {
      ...report,
      serving: [],
      key: 'v1:bad/x',
      outcome: 'Reverted',
      reason: 'ChecksFailed',
      onCanary: 'slow there, too',
    },
  ];
  const reverted = {
    type: 'Reverted',
    status: 'True',
    reason: 'ChecksFailed',
    message: '',
    lastTransitionTime: time,
  } as const;

  await show(
    packStatus({
      phase: 'Failed',
      lastAppliedCommit: second,
      lastAppliedSpec: 'v1:bad',
      lastKnownGood: { commit: first, digest: 'v1:good', promotedTime: time, record: 'r' },
      rejected: [{ digest: 'v1:bad', commit: second, reason: 'ChecksFailed', time }],
      history: [{ digest: 'v1:bad', commit: second, result: 'Failed', endTime: time }],
      conditions: [reverted],
      incidents,
    }),
  );

  expect(messages).toEqual([expect.stringContaining('Canary: slow there, too')]);
});

test('a server that never answers does not keep the program from its end, and is not told of as a problem', async () => {
  const asked: string[] = [];
  const hanging: Array<(error: Error) => void> = [];
  const { clock, says, stop, condition } = world(async (signal) => ({
    setCommitStatus: (commit: string, { state }: { state: string }) => {
      asked.push(`${state} ${commit.slice(0, 1)}`);
      return new Promise((_resolve, reject) => {
        hanging.push(reject);
        signal.addEventListener('abort', () => reject(new Error('aborted')));
      });
    },
  }));
  await says(first, 'Succeeded');
  const before = condition();
  const ended: number[] = [];
  const startMs = clock.nowMs();
  const stopped = stop().then(() => ended.push(clock.nowMs() - startMs));
  await clock.advance(4_000);
  expect(ended).toEqual([]);
  await clock.advance(6_000);
  const after = { inTime: ended.length === 1, asked: [...asked], condition: condition() };
  for (const end of hanging) end(new Error('the test is over'));
  await stopped;

  expect(after).toEqual({ inTime: true, asked: ['success 1'], condition: before });
});

test("a server's words are read back after a restart as words, and not as what was written", () => {
  const canaryWith = (conditions: readonly object[]) =>
    ({
      apiVersion: 'v1',
      kind: 'Canary',
      metadata: { name: 'web' },
      status: { conditions },
    }) as KubernetesObject;
  const known = ledgerRecord(first);
  const said = `no; ledger at ${second}; revert holdfast/test/shop/web/revert-1 merged x`;
  const problem = { reason: 'GitRefused', message: `${said} (tried 3 times)` } as const;
  const told = conditionFrom({ ...newMemory(canaryWith([])), records: [known], problem, isWanted: true });
  if (told === 'absent') return expect.fail();

  const after = newMemory(canaryWith([told]));
  expect(after.records).toEqual([known]);
  expect(after.problem?.message).toContain(`ledger at ${second}`);
  expect(conditionFrom({ ...after, isWanted: true })).toEqual(told);
});
