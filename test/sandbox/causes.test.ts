/** Rows of docs/guides/diagnosis.md that need a kubelet with containers: what the sandbox's pods report is what one reports. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { PodOutcome } from '../../sandbox/controllers/pod-behaviour.ts';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import type { Explanation } from '../../src/review/explain/explanation.ts';
import { imageOf } from '../objects.ts';
import { run } from './cli-run.ts';
import { canary, createSource, deployment, eventually, statusOf } from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

/** How pods of version 2 fail on the primary; the Canary has the name of the row. */
const rows: Readonly<Record<string, PodOutcome>> = {
  init: { failure: 'InitFails' },
  memory: { failure: 'CrashLoopBackOff', crashReason: 'OOMKilled' },
};
const apps = Object.keys(rows);

function withInit(app: string, image: string): string {
  const workload = JSON.parse(deployment(image, { name: app }));
  workload.spec.template.spec.initContainers = [{ name: 'setup', image: 'shop/setup:1' }];
  return JSON.stringify(workload);
}

function filesOf(image: string): Record<string, string> {
  return Object.fromEntries(apps.map((app) => [`${app}.json`, withInit(app, image)]));
}

async function until(app: string, isThere: (status: CanaryStatus) => boolean): Promise<CanaryStatus> {
  const status = async () => statusOf(await bed.canary(app)) as CanaryStatus;
  await eventually(app, async () => isThere(await status()), { seen: status });
  return status();
}

/** What explain says once it judges. */
function judgementOf(app: string): Promise<NonNullable<Explanation['judgement']>> {
  return eventually(`explain judges ${app}`, async () => {
    const { stdout } = await run(
      'explain',
      app,
      '--kubeconfig',
      bed.kubeconfigPath,
      '-n',
      'shop',
      '-o',
      'json',
    );
    return (JSON.parse(stdout) as Explanation).judgement;
  });
}

const isReverted = ({ phase, run: release }: CanaryStatus) => phase === 'Failed' && release === undefined;

test('an init container that fails and a container killed for its memory are held, then reverted', async () => {
  const spec = { progressDeadlineSeconds: 30 };
  const canaries = apps.map((app) => [`${app}-canary.json`, canary({ name: app, spec })]);
  await bed.commit('v1', { ...filesOf('shop/web:1'), ...Object.fromEntries(canaries) });
  await createSource(bed);
  await bed.start();
  for (const app of apps) await until(app, ({ phase }) => phase === 'Initialized');
  bed.sandbox.behaviour.rule((pod) => {
    const isNew = imageOf({ spec: { template: { spec: pod.spec } } }) === 'shop/web:2';
    const app = apps.find((name) => pod.metadata.name.startsWith(`${name}-primary-`));
    return isNew && app ? rows[app] : undefined;
  });
  await bed.commit('v2', filesOf('shop/web:2'));
  const isConverging = ({ postPromotion }: CanaryStatus) => postPromotion?.state === 'Converging';
  for (const app of apps) await until(app, isConverging);

  expect(await judgementOf('init')).toMatchObject({
    ...{ cause: 'InitFails', action: 'hold', onCanaryToo: false },
    evidence: expect.arrayContaining([expect.stringContaining('CrashLoopBackOff in container setup')]),
  });
  expect(await judgementOf('memory')).toMatchObject({
    ...{ cause: 'OutOfMemory', action: 'hold', onCanaryToo: false },
    evidence: expect.arrayContaining([expect.stringContaining('in container app')]),
  });
  for (const app of apps)
    await until(
      app,
      ({ postPromotion, canaryWeight }) => postPromotion?.state === 'Held' && canaryWeight === 100,
    );

  const ended = new Map<string, CanaryStatus>();
  for (const app of apps) ended.set(app, await until(app, isReverted));
  for (const app of apps) {
    expect(ended.get(app)?.rejected).toHaveLength(1);
    expect(imageOf(await bed.get('apps/v1', 'Deployment', `${app}-primary`))).toBe('shop/web:1');
  }
  expect(ended.get('init')?.history?.[0]).toMatchObject({ result: 'Failed', reason: 'PrimaryNotReady' });
});
