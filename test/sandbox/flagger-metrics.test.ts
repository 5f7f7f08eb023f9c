import { afterEach, beforeEach, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../src/http/testing/servers.ts';
import type { App } from '../../src/server/app.ts';
import {
  type Bed,
  canary,
  deployment,
  eventually,
  runUntilInitialized,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { startQuickBed } from './quick-bed.ts';

let bed: Bed;
let gate: TestServer;
let answer: number;
beforeEach(async () => {
  bed = await startQuickBed();
  answer = 403;
  gate = await startTestServer((_request, response) => void response.writeHead(answer).end());
});
afterEach(async () => {
  await bed.close();
  await gate.close();
});

/** Flagger's series of the Canary, without histogram buckets. */
async function series({ url }: App): Promise<Record<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const lines = text.split('\n').filter((line) => /^flagger_canary_(?!duration)/.test(line));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

const labels = 'name="web",namespace="shop"';
const run = `${labels},deployment_strategy="blue-green",analysis_status="completed"`;
const weight = (workload: string) => `flagger_canary_weight{workload="${workload}",namespace="shop"}`;

test('a release that fails and one that succeeds show in the series of Flagger, which go with the Canary', async () => {
  const webhooks = [{ name: 'gate', type: 'confirm-promotion', url: `${gate.url}/`, deadline: '2s' }];
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1'),
    'canary.json': canary({ analysis: { webhooks } }),
  });
  const app = await runUntilInitialized(bed, { prune: false });
  await eventually('initialized', async () => (await series(app))[`flagger_canary_status{${labels}}`] === 1);
  expect(await series(app)).toEqual({
    'flagger_canary_total{namespace="shop"}': 1,
    [`flagger_canary_status{${labels}}`]: 1,
    [weight('web-primary')]: 100,
    [weight('web')]: 0,
    [`flagger_canary_successes_total{${run}}`]: 0,
    [`flagger_canary_failures_total{${run}}`]: 0,
  });

  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Progressing');
  await eventually('progressing', async () => (await series(app))[`flagger_canary_status{${labels}}`] === 0);
  await waitForPhase(bed, 'Failed');
  await eventually('counted', async () => (await series(app))[`flagger_canary_failures_total{${run}}`] === 1);
  expect(await series(app)).toMatchObject({
    [`flagger_canary_status{${labels}}`]: 2,
    [weight('web-primary')]: 100,
    [weight('web')]: 0,
  });

  answer = 200;
  await bed.commit('v3', { 'web.json': deployment('shop/web:3') });
  await waitForPhase(bed, 'Succeeded');
  await eventually(
    'counted',
    async () => (await series(app))[`flagger_canary_successes_total{${run}}`] === 1,
  );
  expect((await series(app))[`flagger_canary_failures_total{${run}}`]).toBe(1);
  const { status } = await fetch(`${app.url}/healthz`);
  expect(status).toBe(200);

  const gone = await bed.commit('gone', { 'canary.json': null });
  // While its Source has an older commit, it would come back.
  await eventually('it is applied', async () => statusOf(await bed.source()).appliedCommit === gone);
  await bed.send('DELETE', '/apis/flagger.app/v1beta1/namespaces/shop/canaries/web');
  await eventually('no series', async () => Object.keys(await series(app)).length === 0, {
    seen: () => series(app),
  });
});
