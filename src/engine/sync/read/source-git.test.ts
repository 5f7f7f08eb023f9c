import { expect, test } from 'vitest';
import { createSourceGit } from './source-git.ts';

test('every write to Git ends with the program', async () => {
  const given: unknown[] = [];
  const note = async (...args: unknown[]) => void given.push(args.at(-1));
  const names = ['listRefs', 'moveRef', 'commitFiles', 'isExactly', 'readPaths', 'changesOf'] as const;
  const repository = Object.fromEntries(names.map((name) => [name, note]));
  const { signal } = new AbortController();
  const git = createSourceGit({ parts: {}, source: {}, state: { repository } } as never, {
    forge: async () => undefined,
    wake: () => undefined,
    signal,
  });

  for (const name of names) await (git.repository[name] as (...args: unknown[]) => Promise<unknown>)('a', {});

  expect(given).toEqual(names.map(() => signal));
});
