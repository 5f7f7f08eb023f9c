import { afterEach, beforeEach, expect, test } from 'vitest';
import { freeze } from '../../src/cli/requests/freeze.ts';
import { run } from './cli-run.ts';
import { connectTo } from './connect-to.ts';
import {
  type Bed,
  canary,
  deployment,
  eventually,
  failPrimary,
  runUntilInitialized,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { startQuickBed } from './quick-bed.ts';

let bed: Bed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

/** Runs `holdfast explain canary/web` against the sandbox; the exit code and what it printed. */
function explain(...more: string[]): ReturnType<typeof run> {
  const place = ['--kubeconfig', bed.kubeconfigPath, '-n', 'shop', '--min-analysis-interval', '100ms'];
  return run('explain', 'canary/web', ...place, ...more);
}

test('explain tells what is expected, the cause and the decision, plays hypotheses, and writes nothing', async () => {
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1'),
    'canary.json': canary({ spec: { progressDeadlineSeconds: 30 } }),
  });
  const app = await runUntilInitialized(bed);

  const atRest = JSON.parse((await explain('-o', 'json')).stdout);
  expect(atRest.primary.filter(({ met }: { met: boolean }) => !met)).toEqual([]);
  expect(atRest).not.toHaveProperty('judgement');

  const assumed = JSON.parse(
    (await explain('-o', 'json', '--what-if', 'cause=Unschedulable', 'onFailure=revert')).stdout,
  );
  expect(assumed.judgement).toMatchObject({ cause: 'Unschedulable', action: 'revert' });
  expect(assumed.forecast.moments.at(-1)).toMatchObject({ state: 'Reverting' });

  failPrimary(bed, 'shop/web:2', 'CrashLoopBackOff');
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await eventually('the primary crashes', async () => {
    const { postPromotion } = statusOf(await bed.canary()) as { postPromotion?: { state: string } };
    return postPromotion?.state === 'Converging' && (await explain()).text.includes('CrashLoop:');
  });
  await app.drain();
  bed.sandbox.requests.clear();

  const { code, text } = await explain();

  expect(code).toBe(0);
  expect(text).toContain('CrashLoop: a container keeps crashing; the canary does not have it');
  expect(text).toContain('hold (auto: the canary runs the same release and is healthy)');
  expect(bed.sandbox.requests.all().filter(({ method }) => method !== 'GET')).toEqual([]);
});

test('who may not list Secrets is told that releases in them are not known, beside what is', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  const app = await runUntilInitialized(bed);
  await app.drain();
  expect((await explain()).text).not.toContain('note: releases');
  bed.sandbox.fault(({ path }) => (path.endsWith('/secrets') ? { code: 403 } : undefined));

  const { code, stdout, text } = await explain();

  expect(code).toBe(0);
  expect(stdout).toContain('Expected on the primary');
  expect(text).toMatch(
    /note: releases in Secrets are not known, so that what follows may differ: .*secrets in shop: 403/,
  );
});

test('explain says what is wrong with what it was asked', async () => {
  expect(await explain('--what-if', 'cause=Nonsense')).toMatchObject({
    code: 2,
    text: expect.stringContaining('must be one of Paused'),
  });
  expect(await explain()).toMatchObject({ code: 2, text: expect.stringContaining('not found') });
});

test('a freeze whose reason has several lines holds the release in explain, too', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  const app = await runUntilInitialized(bed);
  const connection = await connectTo(bed);
  await freeze(connection.client, {
    ...{ namespace: 'shop', selector: undefined, until: undefined, reason: 'the sale\nof the year\n' },
    ...{
      format: 'text',
      windows: undefined,
      startsOnly: false,
      serverNowMs: () => 0,
      ownNamespace: 'default',
    },
  });
  await connection.close();
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Waiting');
  await app.drain();

  const { forecast } = JSON.parse((await explain('-o', 'json')).stdout);

  expect(forecast.moments.map(({ phase }: { phase: string }) => phase)).toEqual(['Waiting']);
  expect(forecast.moments[0].message).toContain('until it is lifted: the sale of the year');
});
