/** The API server refuses to write the last-known-good back to the primary, while another copy of Holdfast takes over. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import type { App } from '../../src/server/app.ts';
import {
  canary,
  deployment,
  eventually,
  failPrimary,
  notesOf,
  primaryImage,
  runUntilInitialized,
  statusOf,
} from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
let first: App;
beforeEach(async () => {
  bed = await startQuickBed();
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  first = await runUntilInitialized(bed);
});
afterEach(() => bed.close());

const status = async () => statusOf(await bed.canary()) as CanaryStatus;
/** v2 is on the primary, never becomes ready there, and from now on nobody may write the primary. */
async function failUnderQuota(): Promise<() => void> {
  failPrimary(bed, 'shop/web:2');
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await eventually('v2 is on the primary', async () => (await primaryImage(bed)) === 'shop/web:2');
  return bed.sandbox.fault(({ method, path }) =>
    method === 'PATCH' && path === '/apis/apps/v1/namespaces/shop/deployments/web-primary'
      ? { code: 403, reason: 'Forbidden', message: 'exceeded quota: small' }
      : undefined,
  );
}

const states = {
  'while it is tried': ({ postPromotion, conditions, message }: CanaryStatus) =>
    postPromotion?.state === 'Reverting' &&
    message?.includes('exceeded quota: small') === true &&
    conditions?.some(({ type, reason }) => type === 'Stalled' && reason === 'Forbidden') === true,
  'once it was given up': ({ postPromotion }: CanaryStatus) => postPromotion?.reason === 'LKGNotReady',
};

test.each(Object.entries(states))(
  'a standby that takes over %s reports it once, and goes back to the last-known-good when it may be written',
  async (_, isThere) => {
    const allow = await failUnderQuota();
    const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
    await eventually('the state to take over in', async () => isThere(await status()), { seen: status });
    await first.drain();
    await bed.start();
    await eventually('it is given up', async () => states['once it was given up'](await status()));
    await bed.pass(300_000);
    const { incidents = [] } = await status();
    const told = incidents.filter(({ severity }) => severity !== 'info').map(({ reason }) => reason);
    expect(told).toEqual(['LKGNotReady', 'PrimaryNotReady']);
    for (const reason of ['Reverting', 'LKGNotReady', 'Forbidden'])
      expect([reason, notesOf(bed, reason).length]).toEqual([reason, 1]);

    allow();
    await eventually('v2 has ended', async () => (await status()).history?.length === 1, { seen: status });
    sampler.stop();
    expect((await status()).history).toMatchObject([{ subject: 'v2', result: 'Failed' }]);
    expect(await primaryImage(bed)).toBe('shop/web:1');
    expect(sampler.totals().failed).toBe(0);
  },
);
