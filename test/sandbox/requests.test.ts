import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/api/clock.ts';
import { history, type PastRelease } from '../../src/cli/history.ts';
import { setPause, setSuspend } from '../../src/cli/requests/pause.ts';
import { ended } from '../../src/cli/requests/request.ts';
import { beginSync } from '../../src/cli/requests/sync.ts';
import {
  abort,
  approve,
  ignoreWindow,
  promote,
  retry,
  rollback,
  skipStep,
} from '../../src/cli/requests/verb-table.ts';
import { request, type VerbCommand, type VerbOptions } from '../../src/cli/requests/verbs.ts';
import { waitFor } from '../../src/cli/requests/wait.ts';
import type { Connection } from '../../src/server/connection.ts';
import { run } from './cli-run.ts';
import { connectTo } from './connect-to.ts';
import {
  canary,
  condition,
  deployment,
  eventually,
  primaryImage,
  runUntilInitialized,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

const one = { namespace: 'shop', name: 'web' };
let bed: QuickBed;
let connection: Connection;

beforeEach(async () => {
  bed = await startQuickBed();
  connection = await connectTo(bed);
});
afterEach(async () => {
  await connection.close();
  await bed.close();
});

function ask(spec: VerbCommand, more: Partial<VerbOptions> = {}) {
  const options = { ...one, revision: undefined, wait: true, timeoutMs: 120_000, format: 'text' as const };
  return request(connection.client, systemClock, spec, { ...options, ...more });
}

function settled(commit?: string) {
  return waitFor(connection.client, systemClock, { ...one, commit, timeoutMs: 120_000, format: 'text' });
}

async function past(): Promise<PastRelease[]> {
  const screen = { columns: 120, colour: false };
  const { stdout } = await history(connection.client, { ...one, format: 'json', screen, nowMs: Date.now() });
  return (JSON.parse(stdout) as { releases: PastRelease[] }).releases;
}

/** v1 and v2 proved themselves; v3 is at head with an analysis that takes minutes. */
async function untilAnalysis(): Promise<{ v1: string; v2: string; v3: string }> {
  const v1 = await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await runUntilInitialized(bed);
  const v2 = await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  expect((await settled(v2)).exitCode).toBe(0);
  const v3 = await bed.commit('v3', {
    'web.json': deployment('shop/web:3'),
    'canary.json': canary({ analysis: { interval: '1m', iterations: 500 } }),
  });
  await waitForPhase(bed, 'Progressing');
  return { v1, v2, v3 };
}

test('promote leaves the rest of the analysis out; a revision that is not under way is refused', async () => {
  const { v2 } = await untilAnalysis();
  const refused = await ask(promote, { revision: v2 });
  expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('refused (Stale)') });

  expect(await ask(promote)).toMatchObject({ exitCode: 0 });
  expect(await primaryImage(bed)).toBe('shop/web:3');
});

test('abort rejects, retry tries again, rollback goes back and history tells it all', async () => {
  const { v1, v2, v3 } = await untilAnalysis();
  const shown: string[] = [];
  const declined = await ask(abort, {
    confirm: async (lines) => {
      shown.push(...lines);
      return false;
    },
  });
  expect(declined).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('nothing was requested') });
  expect(shown.join('\n')).toMatch(
    new RegExp(
      `from {4}${v3.slice(0, 7)} v3\n {2}to {6}${v2.slice(0, 7)} v2 .*\n {2}effect {2}the rollout ends`,
    ),
  );
  expect(statusOf(await bed.canary()).run).toBeDefined();
  expect(await ask(abort)).toMatchObject({ exitCode: 0 });
  expect(await primaryImage(bed)).toBe('shop/web:2');
  expect(statusOf(await bed.canary()).rejected).toMatchObject([{ commit: v3, reason: 'Aborted' }]);

  // v2 serves after the failure, and v1 is not what anybody wants back by default.
  expect(await ask(rollback)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('the last known good release, serves already'),
  });
  expect(await settled()).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('aborted') });

  expect(await ask(retry, { wait: false })).toMatchObject({ exitCode: 0 });
  await waitForPhase(bed, 'Progressing');
  expect(await ask(promote)).toMatchObject({ exitCode: 0 });

  expect(await ask(rollback, { revision: v1.slice(0, 7) })).toMatchObject({ exitCode: 0 });
  await eventually('v1 serves', async () => (await primaryImage(bed)) === 'shop/web:1');
  await eventually('what was at head is rejected', async () => {
    return (await past()).find(({ commit }) => commit === v3)?.rejected === 'RolledBack';
  });
  expect(await settled()).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('RolledBack') });
  expect((await settled(v3)).exitCode).toBe(1);
  const releases = await past();
  expect(releases.map(({ commit, state }) => [commit, state])).toEqual(
    expect.arrayContaining([
      [v1, 'LastKnownGood'],
      [v2, 'Kept'],
    ]),
  );
  expect(releases.find(({ commit }) => commit === v2)).toMatchObject({ subject: 'v2' });
});

test.each(['is valid', 'can no longer be acted on'])(
  'rollback takes back what onFailure halt left on the primary without a proof, also where the spec %s',
  async (specIs) => {
    // No deadline passes on a busy machine.
    const spec = {
      progressDeadlineSeconds: 600,
      postPromotion: { onFailure: 'halt', successThreshold: 1_000 },
    };
    await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
    await runUntilInitialized(bed);
    await bed.commit('v2', { 'web.json': deployment('shop/web:2'), 'canary.json': canary({ spec }) });
    await eventually('v2 is verified', async () => {
      const { postPromotion } = statusOf(await bed.canary());
      return (postPromotion as { state?: string } | undefined)?.state === 'Verifying';
    });
    const slow = { spec, analysis: { interval: '1m', iterations: 500 } };
    await bed.commit('v3', { 'web.json': deployment('shop/web:3'), 'canary.json': canary(slow) });
    await waitForPhase(bed, 'Progressing');
    await eventually('v3 is tried', async () => {
      const run = statusOf(await bed.canary()).run as { subject?: string } | undefined;
      return run?.subject === 'v3';
    });
    expect(await ask(abort)).toMatchObject({ exitCode: 0 });
    await eventually('v2 is left', async () => !statusOf(await bed.canary()).run);
    expect(await primaryImage(bed)).toBe('shop/web:2');
    if (specIs !== 'is valid') {
      await bed.commit('invalid', { 'canary.json': canary({ spec, analysis: { iterations: 0.5 } }) });
      await eventually('it is told', async () => {
        return condition(await bed.canary(), 'Ready')?.reason === 'InvalidSpec';
      });
    }

    expect(await ask(rollback)).toMatchObject({ exitCode: 0 });

    expect(await primaryImage(bed)).toBe('shop/web:1');
  },
);

test('pause and resume are a state; sync looks at Git at once; wait tells apart how it ended', async () => {
  const { v3 } = await untilAnalysis();
  expect(await setPause(connection.client, { ...one, paused: true, format: 'text' })).toMatchObject({
    exitCode: 0,
  });
  await eventually('it says so', async () =>
    String(statusOf(await bed.canary()).message).startsWith('paused'),
  );
  expect(await setPause(connection.client, { ...one, paused: false, format: 'json' })).toMatchObject({
    exitCode: 0,
  });
  await eventually(
    'it goes on',
    async () => !String(statusOf(await bed.canary()).message).startsWith('paused'),
  );

  // The release is at a step, and neither a gate nor a window holds it.
  expect(await ask(skipStep, { wait: false })).toMatchObject({ exitCode: 0 });
  for (const verb of [approve, ignoreWindow])
    expect(await ask(verb, { wait: false })).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('NotApplicable'),
    });

  const shop = { namespace: 'shop', name: 'shop', format: 'text' as const };
  await setSuspend(connection.client, { ...shop, paused: true });
  expect(await bed.source()).toMatchObject({ spec: { suspend: true } });
  await setSuspend(connection.client, { ...shop, paused: false });
  expect((await bed.source())?.spec).not.toHaveProperty('suspend');

  const synced = await beginSync(connection.client, systemClock, {
    namespace: 'shop',
    name: 'shop',
    timeoutMs: 120_000,
    format: 'text',
  });
  const answer = await ended(synced);
  expect(answer).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(v3.slice(0, 7)) });
  const late = await waitFor(connection.client, systemClock, {
    ...one,
    commit: undefined,
    timeoutMs: 200,
    format: 'text',
  });
  expect(late.exitCode).toBe(4);
  await bed.commit('v2 again', { 'web.json': deployment('shop/web:2') });
  expect((await settled()).exitCode).toBe(0);
});

test('a commit whose Canary cannot be acted on is no success, and who waits for it is told what stops it', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await runUntilInitialized(bed);
  const broken = await bed.commit('invalid', { 'canary.json': canary({ analysis: { iterations: 0.5 } }) });
  await eventually('it is told', async () => {
    return condition(await bed.canary(), 'Stalled')?.reason === 'InvalidSpec';
  });

  expect(await settled()).toMatchObject({
    exitCode: 1,
    stdout: expect.stringContaining('spec.analysis.iterations'),
  });
  const options = { ...one, commit: broken, timeoutMs: 100, format: 'text' as const };
  expect(await waitFor(connection.client, systemClock, options)).toMatchObject({
    exitCode: 4,
    stderr: expect.stringContaining('spec.analysis.iterations'),
  });
});

test('a commit that Git left before its release was promoted is not waited for, and no success', async () => {
  const { v3 } = await untilAnalysis();
  const v4 = await bed.commit('v4', { 'web.json': deployment('shop/web:4') });
  await eventually('v4 is tried', async () => statusOf(await bed.canary()).lastAppliedCommit === v4);

  const replaced = await settled(v3);
  await bed.commit('v2 again', { 'web.json': deployment('shop/web:2') });
  const takenBack = await settled(v4);

  const [short3, short4] = [v3.slice(0, 7), v4.slice(0, 7)];
  expect(replaced).toMatchObject({
    exitCode: 1,
    stdout: `Canary shop/web: Superseded: ${short4} took the place of ${short3} v3 before that was promoted\n`,
  });
  expect(takenBack).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('web: Superseded: ') });
  expect(await settled()).toMatchObject({ exitCode: 0 });
});

test('a pause that Git sets is not resumed past Git, which would set it again: the command says who sets it', async () => {
  const paused = JSON.parse(canary());
  paused.metadata.annotations = { 'holdfast.dev/pause': 'true' };
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': JSON.stringify(paused) });
  await runUntilInitialized(bed);

  const resumed = setPause(connection.client, { ...one, paused: false, format: 'text' });

  await expect(resumed).rejects.toThrow(
    'Canary shop/web: metadata.annotations.holdfast.dev/pause is set by holdfast, which would set it back; change it there',
  );
  expect((await bed.canary())?.metadata.annotations).toMatchObject({ 'holdfast.dev/pause': 'true' });
});

test('whoever interrupts a request that nobody has answered is told that it stays, and how to withdraw it', async () => {
  const canaries = '/apis/flagger.app/v1beta1/namespaces/shop/canaries';
  await bed.send('POST', canaries, JSON.parse(canary()));
  const underWay = { phase: 'Progressing', run: { digest: 'v1:2', commit: 'b'.repeat(40) } };
  await bed.send('PATCH', `${canaries}/web/status`, { status: underWay });
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never);

  const command = run('promote', 'web', '-n', 'shop', '--kubeconfig', bed.kubeconfigPath, '--timeout', '8');
  await eventually('the request is made', async () => {
    const { annotations = {} } = (await bed.canary())?.metadata ?? {};
    return 'holdfast.dev/promote' in annotations;
  });
  process.emit('SIGINT');
  const codes = exit.mock.calls;
  exit.mockRestore();
  const { text } = await command;

  expect(codes).toEqual([[130]]);
  expect(text.split('\n')[0]).toBe(
    'Canary shop/web: promote stays requested. It is carried out later; to withdraw it, run: kubectl -n shop annotate canary/web holdfast.dev/promote-',
  );
});
