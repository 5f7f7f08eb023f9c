import { afterEach, beforeEach, expect, test } from 'vitest';
import { type GateOptions, switchGate } from '../../src/cli/requests/gate.ts';
import type { App } from '../../src/server/app.ts';
import type { Connection } from '../../src/server/connection.ts';
import { connectTo } from './connect-to.ts';
import {
  type Bed,
  canary,
  createSource,
  deployment,
  eventually,
  primaryImage,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { startQuickBed } from './quick-bed.ts';

let bed: Bed;
let connection: Connection;

beforeEach(async () => {
  bed = await startQuickBed();
  connection = await connectTo(bed);
});
afterEach(async () => {
  await connection.close();
  await bed.close();
});

async function gate(action: GateOptions['action'], more: Partial<GateOptions> = {}): Promise<string> {
  const options = { namespace: 'shop', name: 'web', action, gate: 'gate', format: 'text' } as const;
  return (await switchGate(connection.client, { ...options, ...more })).stdout;
}

/** What a webhook of Flagger would be answered. */
async function asked({ url }: App, path: string): Promise<number> {
  const body = JSON.stringify({ name: 'web', namespace: 'shop', phase: 'Waiting', checksum: '1' });
  return (await fetch(`${url}${path}`, { method: 'POST', body })).status;
}

/** v1 is initialized under gates that Holdfast serves itself. */
async function start(types: Readonly<Record<string, string>>): Promise<App> {
  const app = await bed.start();
  const webhooks = Object.entries(types).map(([type, path]) => ({
    name: type,
    type,
    url: `${app.url}${path}`,
  }));
  const manifest = canary({ analysis: { webhooks } });
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': manifest });
  await createSource(bed);
  await waitForPhase(bed, 'Initialized');
  return app;
}

test('a gate of our own holds a release until the command line opens it, in every copy and after a restart', async () => {
  const first = await start({ 'confirm-rollout': '/gate/check', 'confirm-promotion': '/gate/check' });
  const second = await bed.start();
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Waiting');
  expect([await asked(first, '/gate/check'), await asked(second, '/gate/check')]).toEqual([403, 403]);

  expect(await gate('open')).toBe('Canary shop/web: gate open, rollback-gate closed\n');
  await waitForPhase(bed, 'Succeeded');
  expect(await primaryImage(bed)).toBe('shop/web:2');
  expect([await asked(first, '/gate/check'), await asked(second, '/gate/check')]).toEqual([200, 200]);

  const port = Number(new URL(first.url).port);
  await gate('close');
  await first.drain();
  await second.drain();
  const third = await bed.start({ listen: { host: '127.0.0.1', port } });
  await bed.commit('v3', { 'web.json': deployment('shop/web:3') });
  await waitForPhase(bed, 'Waiting');
  expect(await asked(third, '/gate/check')).toBe(403);
  expect(await gate('status')).toBe('Canary shop/web: gate closed, rollback-gate closed\n');
  expect(await primaryImage(bed)).toBe('shop/web:2');
});

test('the rollback gate takes a release back that waits at a gate which always says no', async () => {
  const app = await start({ 'confirm-promotion': '/gate/halt', rollback: '/rollback/check' });
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'WaitingPromotion');
  expect(await asked(app, '/rollback/check')).toBe(403);
  await gate('open', { gate: 'rollback-gate' });
  await waitForPhase(bed, 'Failed');
  const { rejected } = statusOf(await bed.canary());
  expect(rejected).toMatchObject([{ reason: 'RolledBackByWebhook' }]);
  expect(await primaryImage(bed)).toBe('shop/web:1');
});

test('a gate is closed over HTTP to those without a token, and where nobody can review one', async () => {
  const app = await start({ 'confirm-rollout': '/gate/approve' });
  bed.sandbox.fault(({ path }) =>
    path.endsWith('/tokenreviews') ? { code: 403, reason: 'Forbidden' } : undefined,
  );
  const body = JSON.stringify({ name: 'web', namespace: 'shop' });
  const headers = { authorization: 'Bearer some-token' };
  expect((await fetch(`${app.url}/gate/open`, { method: 'POST', body })).status).toBe(401);
  expect((await fetch(`${app.url}/gate/open`, { method: 'POST', body, headers })).status).toBe(503);
  expect(await asked(app, '/gate/check')).toBe(403);
  const manifest = await bed.canary();
  expect(manifest?.metadata.annotations?.['holdfast.dev/gate']).toBeUndefined();
});

test('a deleted Canary has no open gate any more', async () => {
  const app = await start({ 'confirm-rollout': '/gate/check' });
  await gate('open');
  await eventually('open', async () => (await asked(app, '/gate/check')) === 200);
  await bed.commit('away', { 'canary.json': null });
  await bed.send('DELETE', '/apis/flagger.app/v1beta1/namespaces/shop/canaries/web');
  await eventually('closed', async () => (await asked(app, '/gate/check')) === 403);
});
