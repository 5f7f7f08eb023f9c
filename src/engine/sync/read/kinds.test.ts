import { expect, test } from 'vitest';
import { renderPlain } from '../../../render/render.ts';
import { placeObjects, whileNewKinds } from './kinds.ts';

/** Says what was read, and with which news. */
function aSource(newKinds: readonly boolean[], otherwise: boolean) {
  const done: boolean[] = [];
  let looks = 0;
  return {
    done,
    work: async (hasNews: boolean) => void done.push(hasNews),
    hasNewKinds: async () => {
      looks += 1;
      if (looks > 1_000) throw new Error('it never ends');
      return newKinds[looks - 1] ?? otherwise;
    },
  };
}

test('a commit that brings kinds of its own is read once more, and one that brings none is not', async () => {
  const brings = aSource([true], false);
  const bringsNone = aSource([], false);

  await whileNewKinds(true, brings.work, brings.hasNewKinds);
  await whileNewKinds(false, bringsNone.work, bringsNone.hasNewKinds);

  expect(brings.done).toEqual([true, true]);
  expect(bringsNone.done).toEqual([false]);
});

test('a kind that comes and goes without end is left to the next poll', async () => {
  const source = aSource([], true);

  await whileNewKinds(true, source.work, source.hasNewKinds);

  expect(source.done.length).toBeLessThan(10);
});

test('a cluster-scoped object in two files is a duplicate, whatever namespaces they write on it', async () => {
  const cluster = { kindOf: async () => ({ namespaced: false }) } as never;
  const file = (path: string, namespace: string, name = 'viewer') => ({
    path,
    bytes: Buffer.from(
      `apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: ${name}, namespace: ${namespace}}\n`,
    ),
  });
  const read = renderPlain([file('a.yaml', 'one'), file('b.yaml', 'two'), file('c.yaml', 'one', 'editor')]);

  const { placed, problems } = await placeObjects(cluster, [read], undefined);

  expect(problems.map(({ file, message }) => `${file}: ${message}`)).toEqual([
    'a.yaml: ClusterRole viewer is also in b.yaml:1: keep one of them',
    'b.yaml: ClusterRole viewer is also in a.yaml:1: keep one of them',
  ]);
  expect(placed.map(({ object }) => object.metadata)).toEqual([{ name: 'editor' }]);
});
