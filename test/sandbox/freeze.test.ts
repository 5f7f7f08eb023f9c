import { afterEach, beforeEach, expect, test } from 'vitest';
import { freezeLabel } from '../../src/api/freeze.ts';
import { endOf, freeze, unfreeze } from '../../src/cli/requests/freeze.ts';
import { ignoreWindow } from '../../src/cli/requests/verb-table.ts';
import { request } from '../../src/cli/requests/verbs.ts';
import type { App } from '../../src/server/app.ts';
import type { Connection } from '../../src/server/connection.ts';
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

const hourMs = 3_600_000;
let bed: QuickBed;
let app: App;
let connection: Connection;

beforeEach(async () => {
  bed = await startQuickBed();
  connection = await connectTo(bed);
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  app = await runUntilInitialized(bed);
});
afterEach(async () => {
  await connection.close();
  await bed.close();
});

function frozenFor(until: string | undefined, selector?: string) {
  return freeze(connection.client, {
    ...{ namespace: 'shop', selector, until, reason: 'the sale', format: 'text' },
    ...{
      windows: undefined,
      startsOnly: false,
      serverNowMs: () => bed.clock.nowMs(),
      ownNamespace: 'default',
    },
  });
}

async function frozen(): Promise<string | undefined> {
  return condition(await bed.canary(), 'Frozen')?.status;
}

test('a freeze is seen on the Canary before anything waits, and holds the next release until it ends', async () => {
  expect(await frozenFor('10m')).toMatchObject({
    ...{ exitCode: 0, stderr: '' },
    stdout: expect.stringMatching(/holdfast-freeze: 1 Canary frozen until .*in 10m/),
  });
  await eventually('it is frozen', async () => (await frozen()) === 'True');
  expect(condition(await bed.canary(), 'Frozen')?.message).toMatch(
    /^by ConfigMap shop\/holdfast-freeze until .*Z: the sale$/,
  );

  const v2 = await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Waiting');
  await bed.pass(60_000);
  expect([statusOf(await bed.canary()).phase, await primaryImage(bed)]).toEqual(['Waiting', 'shop/web:1']);

  // The end comes without anybody's doing.
  await bed.pass(600_000);
  await waitForPhase(bed, 'Succeeded');
  expect(statusOf(await bed.canary()).lastPromotedCommit).toBe(v2);
  await eventually('it says so', async () => (await frozen()) === 'False');
});

test('a freeze that replaces one which somebody edited holds as it says, and no shorter', async () => {
  await frozenFor('1h');
  const edited = { data: { until: new Date(bed.clock.nowMs() + 60_000).toISOString(), holds: 'starts' } };
  await bed.send(
    'PATCH',
    '/api/v1/namespaces/shop/configmaps/holdfast-freeze?fieldManager=kubectl-edit',
    edited,
  );

  await frozenFor(undefined);

  expect((await bed.get('v1', 'ConfigMap', 'holdfast-freeze'))?.data).toEqual({ reason: 'the sale' });
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Waiting');
  await bed.pass(120_000);
  expect([statusOf(await bed.canary()).phase, await frozen()]).toEqual(['Waiting', 'True']);
});

test('a freeze of other labels holds nothing, a lifted one neither, and ignore-window lets one release through', async () => {
  expect(await frozenFor(undefined, 'team=till')).toMatchObject({
    stderr: expect.stringMatching(
      /^warning: there is no Canary of namespace shop with labels team=till now; /,
    ),
  });
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Succeeded');
  expect(await frozen()).toBeUndefined();

  await frozenFor(undefined);
  await eventually('it is frozen', async () => (await frozen()) === 'True');
  await bed.commit('v3', { 'web.json': deployment('shop/web:3') });
  await waitForPhase(bed, 'Waiting');
  const passed = await request(connection.client, bed.clock, ignoreWindow, {
    ...{
      namespace: 'shop',
      name: 'web',
      revision: undefined,
      wait: true,
      timeoutMs: 120_000,
      format: 'text',
    },
  });
  expect(passed).toMatchObject({ exitCode: 0 });
  expect(await primaryImage(bed)).toBe('shop/web:3');

  const place = {
    ...{ namespace: 'shop', ownNamespace: 'default' },
    ...{ format: 'text' as const, scheduled: false },
  };
  await expect(unfreeze(connection.client, { ...place, selector: 'team=web' })).rejects.toThrow(
    /no freeze for team=web in namespace shop; there are: holdfast-freeze/,
  );
  expect(await unfreeze(connection.client, { ...place, selector: undefined })).toMatchObject({ exitCode: 0 });
  await eventually('it is over', async () => (await frozen()) === 'False');
});

test('a process that starts while freezes cannot be listed lets nothing through', async () => {
  await frozenFor(undefined);
  await eventually('it is frozen', async () => (await frozen()) === 'True');
  await app.drain();
  const recover = bed.sandbox.fault(({ path, query }) =>
    path.endsWith('/configmaps') && query.get('labelSelector') === freezeLabel ? { code: 500 } : undefined,
  );
  await bed.start();
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Waiting');
  await bed.pass(60_000);
  expect([statusOf(await bed.canary()).phase, await primaryImage(bed)]).toEqual(['Waiting', 'shop/web:1']);
  expect(condition(await bed.canary(), 'Frozen')?.message).toContain('not known whether there is a freeze');
  recover();
  await eventually('whose freeze it is', async () =>
    condition(await bed.canary(), 'Frozen')?.message?.includes('holdfast-freeze'),
  );
  await unfreeze(connection.client, {
    ...{ namespace: 'shop', ownNamespace: 'default', selector: undefined },
    ...{ format: 'text', scheduled: false },
  });
  await waitForPhase(bed, 'Succeeded');
  expect(await primaryImage(bed)).toBe('shop/web:2');
});

test('the end is a time of the day, a span or a date, and never in the past', () => {
  const nowMs = new Date(2026, 2, 1, 12, 0).getTime();
  expect(endOf('18:00', nowMs) - nowMs).toBe(6 * hourMs);
  expect(endOf('08:00', nowMs) - nowMs).toBe(20 * hourMs);
  expect(endOf('90m', nowMs) - nowMs).toBe(1.5 * hourMs);
  expect(endOf('2026-12-27T08:00:00Z', nowMs)).toBe(Date.parse('2026-12-27T08:00:00Z'));
  for (const text of ['tonight', 'end of 2027', '27 December'])
    expect(() => endOf(text, nowMs)).toThrow('neither a time');
  expect(() => endOf('2020-01-01T00:00:00Z', nowMs)).toThrow('in the past');
});
