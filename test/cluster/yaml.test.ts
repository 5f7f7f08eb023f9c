import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readings } from '../../src/render/readings.test-support.ts';
import { renderPlain } from '../../src/render/render.ts';
import '../property-seed.ts';
import { toolsFromEnvironment } from './bed/tools.ts';
import { manifestOf } from './manifests.ts';

const { kubectl } = toolsFromEnvironment();

/** What kubectl prints of its input and of files, with its complaints. Needs no server. */
function runKubectl(
  files: readonly string[],
  input: string,
): Promise<{ readonly objects: unknown[]; readonly complaints: string; readonly isTaken: boolean }> {
  const args = ['patch', '--local', '--type=merge', '-p', '{}', '-o', 'json'];
  return new Promise((resolve, reject) => {
    const child = execFile(
      kubectl,
      [...args, ...files.flatMap((file) => ['-f', file])],
      { env: { ...process.env, KUBECONFIG: '/dev/null' }, maxBuffer: 64 * 1_048_576 },
      (error, stdout, complaints) => {
        if (error && typeof error.code !== 'number') reject(error);
        else resolve({ objects: printedObjects(stdout), complaints, isTaken: !error });
      },
    );
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}

/** The objects kubectl reads, or undefined when it refuses the text. */
async function readByKubectl(text: string): Promise<unknown[] | undefined> {
  const { objects, isTaken } = await runKubectl(['-'], text);
  return isTaken ? objects : undefined;
}

/** The same of each text, by one process: it goes on after a file that it refuses, and names it. */
async function readEachByKubectl(texts: readonly string[]): Promise<Array<unknown[] | undefined>> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-yaml-'));
  const marker = (index: number) =>
    JSON.stringify({ apiVersion: 'x/v1', kind: 'Marker', metadata: { name: `m${index}` } });
  const files = texts.flatMap((text, index) => {
    const [before, file] = [join(folder, `m${index}.json`), join(folder, `t${index}.yaml`)];
    writeFileSync(before, marker(index));
    writeFileSync(file, text);
    return [before, file];
  });
  const { objects, complaints } = await runKubectl(files, '');
  rmSync(folder, { recursive: true });
  const of: unknown[][] = [];
  for (const object of objects) {
    if ((object as { kind?: string }).kind === 'Marker') of.push([]);
    else of.at(-1)?.push(object);
  }
  expect(of.length).toBe(texts.length);
  return of.map((read, index) =>
    read.length === 0 || complaints.includes(`/t${index}.yaml`) ? undefined : read,
  );
}

/** kubectl prints indented objects one after the other, a list as one. */
function printedObjects(stdout: string): unknown[] {
  const objects = stdout.split(/^\}$/m).slice(0, -1);
  return objects.flatMap((text) => {
    const object = JSON.parse(`${text}}`) as { kind?: string; items?: unknown[] };
    return object.kind === 'List' && object.items ? object.items : [object];
  });
}

test('every row of the golden table is what kubectl says', async () => {
  const rows = readings();
  const read = await readEachByKubectl(rows.map(({ text }) => text));
  const different = rows.flatMap((row, index) => {
    const objects = read[index];
    const agrees = row.kubectlReads === (objects !== undefined);
    const differs = !agrees || (objects && row.objects && !sameJson(objects, row.objects));
    return differs ? [{ row, kubectl: objects }] : [];
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
