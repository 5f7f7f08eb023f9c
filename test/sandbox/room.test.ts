import { afterEach, beforeEach, expect, test } from 'vitest';
import { condition, configMap, createSource, eventually, sourceFor, statusOf } from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

function untilApplied(commit: string): Promise<boolean> {
  return eventually('it is applied', async () => statusOf(await bed.source()).appliedCommit === commit, {
    seen: bed.source,
  });
}

test('a commit for which the namespace has no room is told, what was applied before stays, and so do the Sources of others', async () => {
  const theirs = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'theirs', namespace: 'cart' } };
  await bed.commit('small', {
    'own/a.json': configMap('a', { text: 'small' }),
    'cart/theirs.json': JSON.stringify(theirs),
  });
  await bed.send('POST', '/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'cart' },
  });
  await createSource(bed, { path: 'own' });
  await bed.start({ roomBytes: 5_000 });
  const textOf = async () => (await bed.get('v1', 'ConfigMap', 'a'))?.data;
  await eventually('the first commit is applied', textOf);

  await bed.commit('large', { 'own/a.json': configMap('a', { text: 'x'.repeat(10_000) }) });

  const told = await eventually('it is told', async () => {
    const ready = condition(await bed.source(), 'Ready');
    return ready?.reason === 'TooLarge' && ready.message;
  });
  expect(told).toContain('the objects of the Sources of namespace shop would take');
  expect(await textOf()).toEqual({ text: 'small' });
  await bed.send('POST', '/apis/holdfast.dev/v1alpha1/namespaces/cart/sources', {
    ...sourceFor(bed, { path: 'cart' }),
    metadata: { name: 'cart', namespace: 'cart' },
  });
  await eventually('theirs is applied', () => bed.get('v1', 'ConfigMap', 'theirs', 'cart'));

  await untilApplied(await bed.commit('small again', { 'own/a.json': configMap('a', { text: 'again' }) }));
  expect(await textOf()).toEqual({ text: 'again' });
});
