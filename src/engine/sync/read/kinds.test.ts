import { expect, test } from 'vitest';
import { whileNewKinds } from './kinds.ts';

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
