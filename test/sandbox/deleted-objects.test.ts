/** A person deletes any of the objects of a Canary at rest, as `kubectl delete deployments,services --all` does. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import type { App } from '../../src/server/app.ts';
import {
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  onGateway,
  statusOf,
} from './holdfast-bed.ts';
import { otherTool } from './other-tool.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

const deployments = '/apis/apps/v1/namespaces/shop/deployments';
const services = '/api/v1/namespaces/shop/services';

/** What may be deleted, by the path of an app. */
const deletable = {
  target: (app: string) => `${deployments}/${app}`,
  primary: (app: string) => `${deployments}/${app}-primary`,
  route: (app: string) => `/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes/${app}`,
  service: (app: string) => `${services}/${app}-primary`,
} as const;
type Deletable = keyof typeof deletable;
const kinds = Object.keys(deletable) as Deletable[];

/** An app for each set of them but the empty one. */
const apps = Array.from({ length: 2 ** kinds.length - 1 }, (_, index) => ({
  name: `web-${index + 1}`,
  deleted: kinds.filter((_kind, bit) => ((index + 1) >> bit) % 2 === 1),
}));

const status = async (app: string) => statusOf(await bed.canary(app)) as CanaryStatus;
const isThere = async (path: string) => (await bed.send('GET', path)).status === 200;

async function untilAll(phase: string): Promise<void> {
  const phases = () => Promise.all(apps.map(async ({ name }) => (await status(name)).phase));
  await eventually(phase, async () => (await phases()).every((one) => one === phase), {
    seen: phases,
    timeoutMs: 240_000,
  });
}

/**
 * Deletes what each app is about while Holdfast is not there, so that it sees all of it at once, and returns what is missing two minutes after its
 * start; nothing may be written from then on.
 */
async function deleteAndRest(holdfast: App): Promise<Map<string, readonly Deletable[]>> {
  await holdfast.drain();
  await Promise.all(
    apps.flatMap(({ name, deleted }) => deleted.map((kind) => bed.send('DELETE', deletable[kind](name)))),
  );
  await bed.start();
  await bed.pass(120_000);
  bed.sandbox.requests.clear();
  await bed.pass(60_000);
  const writes = bed.sandbox.requests.writes().filter(({ path }) => !path.includes('/leases/'));
  expect(writes.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  const found = apps.map(async ({ name }) => {
    const each = await Promise.all(
      kinds.map(async (kind) => ((await isThere(deletable[kind](name))) ? [] : [kind])),
    );
    return [name, each.flat()] as const;
  });
  return new Map(await Promise.all(found));
}

test('with a Source, all of it is there again, whatever was deleted together', async () => {
  const files = apps.flatMap(({ name }) => [
    [`${name}.json`, deployment('shop/web:1', { name })],
    [`${name}-canary.json`, canary({ name, spec: onGateway })],
  ]);
  await bed.commit('v1', Object.fromEntries(files));
  await createSource(bed);
  const holdfast = await bed.start();
  await untilAll('Initialized');

  const missing = await deleteAndRest(holdfast);

  for (const { name, deleted } of apps) {
    const { serving = [] } = await status(name);
    const ready = condition(await bed.canary(name), 'Ready')?.status;
    expect([deleted, missing.get(name), ready]).toEqual([deleted, [], 'True']);
    expect([deleted, serving]).toMatchObject([deleted, [{ workload: `${name}-primary`, weight: 100 }]]);
  }
});

test('without a Source, all comes back but the target, and nothing where both workloads are gone', async () => {
  for (const { name } of apps)
    await otherTool(bed).apply(deployment('shop/web:1', { name }), canary({ name, spec: onGateway }));
  const holdfast = await bed.start();
  await untilAll('Initialized');

  const missing = await deleteAndRest(holdfast);

  for (const { name, deleted } of apps) {
    const isTargetGone = deleted.includes('target');
    const isAllGone = isTargetGone && deleted.includes('primary');
    expect([deleted, missing.get(name)]).toEqual([
      deleted,
      isAllGone ? deleted : isTargetGone ? ['target'] : [],
    ]);
    const stalled = condition(await bed.canary(name), 'Stalled');
    expect([deleted, stalled?.status, stalled?.reason]).toEqual(
      isTargetGone ? [deleted, 'True', 'TargetMissing'] : [deleted, 'False', 'Initialized'],
    );
    // The message names what a person can do, and no write that failed on the way.
    const ready = condition(await bed.canary(name), 'Ready');
    if (isTargetGone) expect([deleted, ready?.message]).toEqual([deleted, stalled?.message]);
  }
});
