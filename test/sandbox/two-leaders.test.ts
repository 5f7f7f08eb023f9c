/** Two copies that lead at once, each with a Lease of its own, while neither can see whether a release may start. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ApiRequest } from '../../sandbox/api-server/request.ts';
import { freezeLabel } from '../../src/api/freeze.ts';
import { imageOf } from '../objects.ts';
import { canary, deployment, eventually, runUntilInitialized, statusOf } from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  const first = await runUntilInitialized(bed);
  await first.drain();
});
afterEach(() => bed.close());

/** The Lease is in the namespace of the program. */
async function startTwo(): Promise<void> {
  for (const name of ['one', 'two']) {
    await bed.send('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    vi.stubEnv('POD_NAMESPACE', name);
    const app = await bed.start();
    vi.unstubAllEnvs();
    await app.leading;
  }
}

/** Images that a workload was asked to run from here on. */
function followImages(): ReadonlySet<string | undefined> {
  const images = new Set<string | undefined>();
  bed.sandbox.store.subscribe(({ storageKey, object }) => {
    if (storageKey === 'apps/deployments' && object) images.add(imageOf(object));
  });
  return images;
}

const unlisted: ReadonlyArray<[string, (request: ApiRequest) => boolean]> = [
  [
    'the freezes',
    ({ path, query }) => path.endsWith('/configmaps') && query.get('labelSelector') === freezeLabel,
  ],
  [
    'Deployments of Flagger',
    ({ path, query }) =>
      path === '/apis/apps/v1/deployments' && query.get('labelSelector')?.includes('flagger') === true,
  ],
];

test.each(unlisted)(
  'neither starts a release while %s cannot be listed, and it is promoted once they can',
  async (_, isList) => {
    const recover = bed.sandbox.fault((request) => (isList(request) ? { code: 500 } : undefined));
    await startTwo();
    const images = followImages();
    const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
    const v2 = await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
    await eventually('it is read', async () => statusOf(await bed.source()).appliedCommit === v2);
    await bed.pass(30_000);
    expect(images).not.toContain('shop/web:2');

    recover();
    await eventually('v2 is promoted', async () => statusOf(await bed.canary()).lastPromotedCommit === v2);
    sampler.stop();
    expect(sampler.totals().failed).toBe(0);
  },
);
