import { expect, test } from 'vitest';
import { limits } from '../api/limits.ts';
import { createRenderCache } from './cache.ts';
import { readAhead, renderPlain } from './render.ts';
import type { SourceFile } from './types.ts';

const never = new AbortController().signal;

function file(path: string, name: string, oid = `oid of ${name}`): SourceFile {
  const text = `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n`;
  return { path, bytes: Buffer.from(text), oid };
}

test('a file that did not change is not read again, one that did is', async () => {
  const cache = createRenderCache();
  const before = [file('a.yaml', 'a'), file('b.yaml', 'b')];
  const after = [file('a.yaml', 'a'), file('b.yaml', 'c')];
  await readAhead(before, { cache, signal: never });
  const first = renderPlain(before, { cache });

  await readAhead(after, { cache, signal: never });
  const second = renderPlain(after, { cache });

  expect(second.objects[0]?.object).toBe(first.objects[0]?.object);
  expect(second.objects.map(({ object }) => object.metadata.name)).toEqual(['a', 'c']);
  expect(second).toMatchObject({ objects: renderPlain(after).objects, problems: [] });
});

test('equal content in another place has its own origin', async () => {
  const cache = createRenderCache();
  await readAhead([file('a.yaml', 'a')], { cache, signal: never });
  const moved = [file('moved.yaml', 'a')];
  await readAhead(moved, { cache, signal: never });

  expect(renderPlain(moved, { cache }).objects[0]?.origin.file).toBe('moved.yaml');
});

test('what is in no file of the last commit is forgotten', async () => {
  const cache = createRenderCache();
  const gone = file('a.yaml', 'a');
  await readAhead([gone], { cache, signal: never });
  await readAhead([file('b.yaml', 'b')], { cache, signal: never });

  expect(cache.get(gone)).toBeUndefined();
});

/** Some hundred milliseconds of reading. */
function manyFiles(): SourceFile[] {
  const data = Array.from({ length: 2_000 }, (_, index) => `  key-${index}: value\n`).join('');
  return Array.from({ length: 60 }, (_, index) => {
    const { path, bytes, oid } = file(`${index}.yaml`, `m${index}`);
    return { path, bytes: Buffer.concat([bytes, Buffer.from(`data:\n${data}`)]), ...(oid ? { oid } : {}) };
  });
}

test('other work gets its turn while a large Source is read', async () => {
  let turns = 0;
  let isReading = true;
  const count = () => {
    turns += 1;
    if (isReading) setImmediate(count);
  };
  setImmediate(count);
  await readAhead(manyFiles(), { cache: createRenderCache(), signal: never });
  isReading = false;

  expect(turns).toBeGreaterThan(5);
});

test('reading ends when it is given up', async () => {
  const giveUp = new AbortController();
  setImmediate(() => giveUp.abort());

  await expect(
    readAhead(manyFiles(), { cache: createRenderCache(), signal: giveUp.signal }),
  ).rejects.toMatchObject({ name: 'AbortError' });
});

test('a Source beyond the limits is not read at all', async () => {
  const cache = createRenderCache();
  const files = [file('a.yaml', 'a'), file('b.yaml', 'b')];
  await readAhead(files, { cache, signal: never, limits: { ...limits, sourceFiles: 1 } });

  expect(files.map((one) => cache.get(one))).toEqual([undefined, undefined]);
});
