import { expect, it, vi } from 'vitest';
import { canaryDocument } from '../../../test/documents/builders.ts';
import { localError } from '../../cluster/errors.ts';
import { readSubjects } from './subjects.ts';

type Reader = Parameters<typeof readSubjects>[0];

/** A namespace with the Canary `web`, where lists of this kind are answered so. */
function namespaceWithout(kind: string, reason: 'forbidden' | 'unknownKind' | 'transient'): Reader {
  return {
    access: { namespace: 'shop' },
    client: {
      get: async () => undefined,
      async list(_: string, listed: string) {
        if (listed === kind) throw localError(reason, `list ${kind}: no`);
        return { items: [canaryDocument({}, { name: 'web', namespace: 'shop' })] };
      },
    },
  } as unknown as Reader;
}

it.each([
  ['may not be listed', 'forbidden', 1],
  ['are not installed', 'unknownKind', 0],
] as const)('Canaries are shown where Sources %s', async (_, reason, toldCount) => {
  const onUnread = vi.fn();
  const found = readSubjects(
    namespaceWithout('Source', reason),
    undefined,
    {},
    ['Canary', 'Source'],
    onUnread,
  );

  expect((await found).map(({ metadata }) => metadata.name)).toEqual(['web']);
  expect(onUnread).toHaveBeenCalledTimes(toldCount);
});

it.each([
  ['Canaries may not be listed', 'Canary', 'forbidden', ['Canary', 'Source']],
  ['Sources alone are asked for and may not be listed', 'Source', 'forbidden', ['Source']],
  ['the API server fails', 'Source', 'transient', ['Canary', 'Source']],
] as const)('it is an error where %s', async (_, kind, reason, kinds) => {
  await expect(readSubjects(namespaceWithout(kind, reason), undefined, {}, kinds)).rejects.toThrow(
    `list ${kind}: no`,
  );
});
