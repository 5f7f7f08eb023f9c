import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Reading, readings } from '../../src/render/readings.test-support.ts';
import { renderPlain } from '../../src/render/render.ts';
import '../property-seed.ts';
import { toolsFromEnvironment } from './bed/tools.ts';
import { manifestOf } from './manifests.ts';

const { kubectl } = toolsFromEnvironment();

/** The objects kubectl reads, or undefined when it refuses the text. Needs no server. */
function readByKubectl(text: string): Promise<unknown[] | undefined> {
  const args = ['patch', '--local', '-f', '-', '--type=merge', '-p', '{}', '-o', 'json'];
  return new Promise((resolve, reject) => {
    const child = execFile(
      kubectl,
      args,
      { env: { ...process.env, KUBECONFIG: '/dev/null' }, maxBuffer: 64 * 1_048_576 },
      (error, stdout) => {
        if (error && typeof error.code !== 'number') reject(error);
        else resolve(error ? undefined : printedObjects(stdout));
      },
    );
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(text);
  });
}

/** kubectl prints indented objects one after the other, a list as one. */
function printedObjects(stdout: string): unknown[] {
  const objects = stdout.split(/^\}$/m).slice(0, -1);
  return objects.flatMap((text) => {
    const object = JSON.parse(`${text}}`) as { kind?: string; items?: unknown[] };
    return object.kind === 'List' && object.items ? object.items : [object];
  });
}

async function inParallel<Item>(items: readonly Item[], act: (item: Item) => Promise<void>): Promise<void> {
  const rest = [...items];
  const work = async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await act(item);
  };
  await Promise.all([work(), work(), work()]);
}

test('every row of the golden table is what kubectl says', async () => {
  const different: Array<{ row: Reading; kubectl: unknown }> = [];
  await inParallel(readings(), async (row) => {
    const objects = await readByKubectl(row.text);
    const agrees = row.kubectlReads === (objects !== undefined);
    if (!agrees || (objects && row.objects && !sameJson(objects, row.objects)))
      different.push({ row, kubectl: objects });
  });
  expect(different).toEqual([]);
});

test('random plain scalars are read as kubectl reads them, or refused', async () => {
  const characters = '0123456789abefoxnyNYEOX+-._~:TZtrul'.split('');
  const word = fc.string({ unit: fc.constantFrom(...characters), minLength: 1, maxLength: 7 });
  const numeric = fc.string({
    unit: fc.constantFrom(...'0123456789xXoObeE+-._'.split('')),
    minLength: 1,
    maxLength: 9,
  });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(word, numeric), { minLength: 500, maxLength: 500 }), async (words) => {
      const head = 'apiVersion: x/v1\nkind: T\nmetadata: {name: a}\nv:\n';
      const readHere = (text: string) =>
        renderPlain([{ path: 'a.yaml', bytes: Buffer.from(text) }]).objects[0]?.object.v;
      const taken = words.filter((scalar) => Array.isArray(readHere(`${head}- ${scalar}\n`)));
      const text = `${head}${taken.map((scalar) => `- ${scalar}\n`).join('')}`;
      const there = (await readByKubectl(text))?.[0] as { v: unknown[] } | undefined;
      const here = readHere(text) as unknown[];
      const pairs = taken.map((scalar, index) => ({ scalar, here: here[index], kubectl: there?.v[index] }));
      expect(pairs.filter((pair) => !sameJson(pair.here, pair.kubectl))).toEqual([]);
    }),
    // Without shrinking: the difference names the scalars.
    { numRuns: 4, endOnFailure: true },
  );
});

/**
 * What kubectl refuses and we read, each with a row of its own in the golden table or of no other meaning: an escaped slash, a tab after a
 * dash, and, inside brackets, a plain value with a question mark or with a colon before it.
 */
const ONLY_WE_READ = /"\\\/"|-\t|[[{](?:[^\n]*[ [{])?:a\b|[[{][^\n]*\?z=1/;

test('2,000 manifests and those of the examples are read as kubectl reads them, or refused with their line', async () => {
  const generated = Array.from({ length: 2_000 }, (_, index) => manifestOf(index + 1));
  const texts = [...generated, ...manifestsBelow('examples'), ...manifestsBelow('deploy')];
  const read: Array<{ text: string; objects: unknown[] }> = [];
  let onlyHere = 0;
  for (const [index, text] of texts.entries()) {
    const { objects, problems } = renderPlain([{ path: `${index}.yaml`, bytes: Buffer.from(text) }]);
    expect(problems.filter(({ file, line }) => !file || !line)).toEqual([]);
    if (problems.length > 0) continue;
    if (ONLY_WE_READ.test(text)) onlyHere += 1;
    else read.push({ text, objects: objects.map(({ object }) => object) });
  }
  expect(read.length).toBeGreaterThan(1_500);
  expect(onlyHere).toBeLessThan(40);

  // One process reads them all: it would stop at the first that it refuses, and say so.
  const there = await readByKubectl(read.map(({ text }) => text).join('---\n'));
  const here = read.flatMap(({ objects }) => objects);
  expect(there?.length).toBe(here.length);
  const different = here.flatMap((object, index) =>
    sameJson(object, there?.[index]) ? [] : [{ object, kubectl: there?.[index] }],
  );
  expect(different.slice(0, 5)).toEqual([]);
});

/** The texts of the manifests below a folder. */
function manifestsBelow(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => /\.ya?ml$/.test(name))
    .map((name) => readFileSync(join(folder, name), 'utf8'));
}

function sameJson(left: unknown, right: unknown): boolean {
  return sorted(left) === sorted(right);
}

/** kubectl sorts keys. */
function sorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sorted).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${sorted(field)}`).join()}}`;
}
