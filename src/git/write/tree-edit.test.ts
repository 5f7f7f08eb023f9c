import { expect, test } from 'vitest';
import type { ObjectReader } from '../store/objects.ts';
import { type NewObject, newObject } from './new-objects.ts';
import { changedPaths } from './tree-edit.ts';

/** Trees and files in memory. */
function aStore() {
  const objects = new Map<string, NewObject>();
  let reads = 0;
  const keep = (object: NewObject) => {
    objects.set(object.oid, object);
    return object.oid;
  };
  const pack = {
    read: async (oid: string) => {
      reads += 1;
      if (reads > 1_000_000) throw new Error('it never ends');
      return objects.get(oid);
    },
    close: async () => undefined,
  };
  const reader: ObjectReader = {
    gitdir: 'memory',
    packs: async () => [pack] as unknown as Awaited<ReturnType<ObjectReader['packs']>>,
    close: async () => undefined,
  };
  return {
    reader,
    file: (text: string) => keep(newObject('blob', Buffer.from(text))),
    folder: (entries: Readonly<Record<string, readonly [mode: string, oid: string]>>) =>
      keep(
        newObject(
          'tree',
          Buffer.concat(
            Object.entries(entries).map(([name, [mode, oid]]) =>
              Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(oid, 'hex')]),
            ),
          ),
        ),
      ),
  };
}

const noPause = async () => undefined;

test('reports the paths of changed files, also in added and removed folders', async () => {
  const { reader, file, folder } = aStore();
  const left = folder({
    a: ['100644', file('a')],
    gone: ['40000', folder({ b: ['100644', file('b')] })],
    same: ['40000', folder({ c: ['100644', file('c')] })],
  });
  const right = folder({
    a: ['100644', file('A')],
    came: ['40000', folder({ d: ['100644', file('d')] })],
    same: ['40000', folder({ c: ['100644', file('c')] })],
  });

  expect(await changedPaths({ reader, pause: noPause }, left, right)).toEqual(['a', 'came/d', 'gone/b']);
});

test('a commit with nested folders and no file is refused instead of walked', async () => {
  const { reader, folder } = aStore();
  let bomb = folder({});
  for (let depth = 0; depth < 12; depth += 1)
    bomb = folder(
      Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`${index}`, ['40000', bomb]])),
    );

  const changed = changedPaths({ reader, pause: noPause }, folder({}), bomb);

  await expect(changed).rejects.toMatchObject({ code: 'TooLarge' });
});
