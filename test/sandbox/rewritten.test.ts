import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { imageOf } from '../objects.ts';
import { run } from './cli-run.ts';
import {
  type Bed,
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  primaryImage,
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

const files = (image: string, more: Record<string, string> = {}) => ({
  'web.json': deployment(image),
  'canary.json': canary({ analysis: { iterations: 20 } }),
  ...more,
});

function untilApplied(commit: string): Promise<boolean> {
  return eventually(
    'the commit is applied',
    async () => statusOf(await bed.source()).appliedCommit === commit,
    {
      seen: async () => statusOf(await bed.source()),
    },
  );
}

function untilWaiting(): Promise<boolean> {
  return eventually(
    'the rewritten history waits',
    async () => condition(await bed.source(), 'Ready')?.reason === 'HistoryRewritten',
    { seen: async () => statusOf(await bed.source()) },
  );
}

test('history rewritten back to the last-known-good release needs no approval, and ends the release under way', async () => {
  await bed.commit('v1', files('shop/web:1'));
  await runUntilInitialized(bed);
  await bed.commit('v2', files('shop/web:2'));
  await waitForPhase(bed, 'Progressing');

  const rewritten = await bed.rewrite('v1 again', files('shop/web:1'));
  await untilApplied(rewritten);
  await waitForPhase(bed, 'Succeeded');

  expect(await primaryImage(bed)).toBe('shop/web:1');
});

test('history rewritten to the same content needs no approval', async () => {
  await bed.commit('v1', files('shop/web:1'));
  await runUntilInitialized(bed);

  await untilApplied(await bed.rewrite('v1 with another subject', files('shop/web:1')));
});

test('history rewritten to something that never proved itself waits, and so does one that changes more than releases', async () => {
  await bed.commit('v1', files('shop/web:1'));
  await runUntilInitialized(bed);

  await bed.rewrite('v3', files('shop/web:3'));
  await untilWaiting();
  const extra = JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'extra', namespace: 'shop' },
  });
  const more = await bed.rewrite('v1 and more', files('shop/web:1', { 'extra.json': extra }));
  await eventually('the message names the newest head', async () =>
    condition(await bed.source(), 'Ready')?.message.includes(more),
  );

  expect(await bed.get('v1', 'ConfigMap', 'extra')).toBeUndefined();
  expect(imageOf(await bed.get('apps/v1', 'Deployment', 'web'))).toBe('shop/web:1');
});

test('rewritten history waits after a restart, too, where an object of the commit before could never be applied', async () => {
  const never = JSON.stringify({
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name: 'never', namespace: 'shop' },
  });
  const settings = (value: string) =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'settings', namespace: 'shop' },
      data: { value },
    });
  const settingsValue = async () => {
    const data = (await bed.get('v1', 'ConfigMap', 'settings'))?.data;
    return (data as Record<string, string> | undefined)?.value;
  };
  await bed.commit('v1', { 'settings.json': settings('one'), 'never.json': never });
  await createSource(bed);
  const app = await bed.start();
  await eventually(
    'it cannot be applied whole',
    async () => condition(await bed.source(), 'Applied')?.status === 'False',
  );
  await app.drain();
  expect(statusOf(await bed.source()).appliedCommit).toBeUndefined();

  const rewritten = await bed.rewrite('another', { 'settings.json': settings('two') });
  await bed.start();
  await untilWaiting();
  expect(await settingsValue()).toBe('one');

  const path = '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources/shop';
  const annotations = { 'holdfast.dev/approve': `rewrite:${rewritten}` };
  await bed.send('PATCH', path, { metadata: { annotations } });
  await untilApplied(rewritten);
  expect(await settingsValue()).toBe('two');
});

test('an approval of a rewritten history is used up once that is followed: a later force-push back to it waits', async () => {
  const settings = (value: string) => ({
    'settings.json': JSON.stringify({
      ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'shop' } },
      data: { value },
    }),
  });
  const approve = (request: string) =>
    bed.send('PATCH', '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources/shop', {
      metadata: { annotations: { 'holdfast.dev/approve': request } },
    });
  await bed.commit('v1', settings('one'));
  await createSource(bed);
  await bed.start();
  const rewritten = await untilFollowed(() => bed.rewrite('another', settings('two')), approve);
  await untilApplied(await bed.commit('more', settings('three')));

  const git = ['-C', bed.repository, 'update-ref', 'refs/heads/main', rewritten];
  await promisify(execFile)('git', git);
  await untilWaiting();
  expect((await bed.get('v1', 'ConfigMap', 'settings'))?.data).toEqual({ value: 'three' });

  expect(condition(await bed.source(), 'Ready')?.message).toContain(`approve=rewrite:${rewritten}@again,`);
  await approve(`rewrite:${rewritten}@again`);
  await untilApplied(rewritten);
});

/** Rewrites history and approves it; gives its commit once that is applied. */
async function untilFollowed(
  rewrite: () => Promise<string>,
  approve: (request: string) => Promise<unknown>,
): Promise<string> {
  await eventually(
    'a commit is applied',
    async () => statusOf(await bed.source()).appliedCommit !== undefined,
  );
  const rewritten = await rewrite();
  await untilWaiting();
  await approve(`rewrite:${rewritten}`);
  await untilApplied(rewritten);
  return rewritten;
}

test('while rewritten history waits, diff compares with the commit that is applied', async () => {
  const settings = (colour: string) =>
    JSON.stringify({
      ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'shop' } },
      data: { colour },
    });
  // As GitHub and GitLab do: a commit that no branch leads to any more can still be had.
  await promisify(execFile)('git', ['-C', bed.repository, 'config', 'uploadpack.allowAnySHA1InWant', 'true']);
  await bed.commit('v1', files('shop/web:1', { 'settings.json': settings('red') }));
  await runUntilInitialized(bed);
  const rewritten = await bed.rewrite('v3', files('shop/web:3', { 'settings.json': settings('blue') }));
  await untilWaiting();

  const { code, text } = await run('diff', 'source/shop', '--kubeconfig', bed.kubeconfigPath, '-n', 'shop');

  expect([code, text.includes('blue'), text.includes(rewritten.slice(0, 7))]).toEqual([0, false, false]);
});
