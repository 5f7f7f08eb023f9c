import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Metafile } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundledPackages } from '../scripts/bundle/packages.mjs';
import { type BuiltProgram, buildProgram } from './sandbox/built-program.ts';

interface Component {
  readonly 'bom-ref': string;
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  readonly hashes: ReadonlyArray<{ readonly content: string }>;
  readonly licenses: ReadonlyArray<{ readonly license?: { readonly id: string } }>;
}

interface Bill {
  readonly components: Component[];
  readonly dependencies: Array<{ readonly ref: string; readonly dependsOn: string[] }>;
}

/** Of JavaScript in the image. A package that is bundled whole by mistake takes more than what is left. */
const mostBytes = 4_850_000;

let program: BuiltProgram;
/** What is in each file, which its source map knows, whatever the build wrote about it. */
const sources = new Map<string, readonly string[]>();

const built = (name: string) => readFile(join(program.folder, 'dist', name), 'utf8');

beforeAll(async () => {
  program = await buildProgram();
  for (const name of await readdir(join(program.folder, 'dist'), { recursive: true }))
    if (name.endsWith('.map')) sources.set(name.replace(/\.map$/, ''), sourcesIn(await built(name)));
});
afterAll(() => program.remove());

/** Paths from the root of the repository. */
function sourcesIn(map: string): string[] {
  return JSON.parse(map).sources.map((source: string) => source.replace(/^(\.\.\/)+/, ''));
}

/** The files that are read together with this one. */
async function importsOf(name: string): Promise<string[]> {
  const found = (await built(name)).matchAll(/\b(?:from|import) ?"(\.[^"]+)"/g);
  return [...found].map(([, path = '']) => join(dirname(name), path));
}

it('a build keeps the sandbox in a file that nothing loads at its start, and has nothing twice', async () => {
  const names = [...sources.keys()];
  const isSandbox = (source: string) => source.startsWith('sandbox/');
  expect(names.filter((name) => sources.get(name)?.some(isSandbox))).toEqual(['demo.js']);
  for (const name of names) expect(await importsOf(name)).not.toContain('demo.js');
  const ours = [...sources.values()].flat().filter((source) => source.startsWith('src/'));
  expect(ours.length).toBeGreaterThan(400);
  expect(ours.filter((source, index) => ours.indexOf(source) !== index)).toEqual([]);
});

it('a start reads the table of commands, and nothing that a single one needs', async () => {
  const read = new Set(['main.js']);
  for (const name of read) for (const other of await importsOf(name)) read.add(other);
  const ours = [...read]
    .flatMap((name) => sources.get(name) ?? [])
    .filter((source) => !/node_modules/.test(source));
  expect(ours.sort()).toEqual(['package.json', 'src/cli/commands.ts', 'src/main.ts']);
});

it('nothing but the demo imports node:http as a module, for which Node 24 loads its own fetch', async () => {
  const importing = [];
  for (const name of sources.keys()) if (/\bfrom ?"node:http"/.test(await built(name))) importing.push(name);
  expect(importing).toEqual(['demo.js']);
});

it('the image has no more JavaScript than its limit', async () => {
  const texts = await Promise.all([...sources.keys()].filter((name) => name !== 'demo.js').map(built));
  expect(texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0)).toBeLessThan(mostBytes);
});

describe.each([
  ['of the whole program', '', () => true],
  ['of the image', 'image/', (name: string) => name !== 'demo.js'],
])('the notices %s', (_, place, isMeant) => {
  let text = '';
  let bill: Bill;
  beforeAll(async () => {
    text = await built(`${place}THIRD_PARTY_NOTICES.txt`);
    bill = JSON.parse(await built(`${place}sbom.cdx.json`));
  });

  it('name every package that is in it, with version, licence and text', () => {
    const meant = [...sources].filter(([name]) => isMeant(name)).flatMap(([, files]) => files);
    const names = meant.flatMap((source) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source)?.[1] ?? []);
    // `src` is fast-copy's, whose own map is wrong.
    const bundled = new Set(names.filter((name) => name !== 'src'));
    expect(bundled.size).toBeGreaterThan(50);
    expect(bundled.has('rfc6902')).toBe(isMeant('demo.js'));
    const listed = bill.components.map(({ group, name }) => (group ? `${group}/${name}` : name));
    expect([...bundled].filter((name) => !listed.includes(name))).toEqual([]);
    // The page of the dashboard is one text in the file, which the map does not look into.
    const inPage = ['@preact/signals', '@preact/signals-core', 'preact', 'uplot'];
    expect(listed.filter((name) => !bundled.has(name))).toEqual([...inPage, 'fast-copy'].sort());
    for (const [index, one] of bill.components.entries()) {
      expect(one.licenses).toHaveLength(1);
      expect(one.hashes[0]?.content).toMatch(/^[0-9a-f]{128}$/);
      const named = `${listed[index]} ${one.version}`;
      expect(text.split('\n').filter((line) => line === named)).toHaveLength(1);
    }
  });

  it('say what the LGPL asks for: both texts, the source, and how to build with another version', () => {
    expect(text).toMatch(
      /^openpgp 6\.\S+ +LGPL-3\.0-or-later +https:\/\/github\.com\/openpgpjs\/openpgpjs$/m,
    );
    expect(text).toContain('GNU LESSER GENERAL PUBLIC LICENSE');
    expect(text).toMatch(/GNU GENERAL PUBLIC LICENSE\s+Version 3/);
    expect(text).toContain('npm run build');
    const openpgp = bill.components.find(({ name }) => name === 'openpgp');
    expect(openpgp?.licenses).toEqual([{ license: { id: 'LGPL-3.0-or-later' } }]);
  });

  it('link packages that import each other, and every link leads to a package', () => {
    const known = new Set(bill.dependencies.map(({ ref }) => ref));
    expect([...known].slice(1)).toEqual(bill.components.map((one) => one['bom-ref']));
    for (const { dependsOn } of bill.dependencies)
      expect(dependsOn.filter((ref) => !known.has(ref))).toEqual([]);
    expect(bill.dependencies[0]?.dependsOn.some((ref) => ref.startsWith('pkg:npm/zod@'))).toBe(true);
  });
});

describe('a build ends at a package', () => {
  const metafile: Metafile = {
    inputs: { 'node_modules/one/index.js': { bytes: 1, imports: [] } },
    outputs: {
      'main.js': {
        ...{ bytes: 1, imports: [], exports: [] },
        inputs: { 'node_modules/one/index.js': { bytesInOutput: 1 } },
      },
    },
  };

  it.each([
    [
      'whose licence is not on the list',
      { license: 'MPL-2.0' },
      /^one 1.0.0 .* licence MPL-2\.0 is not allowed/,
    ],
    ['that names no licence', { license: undefined }, /^one 1.0.0 .* licence undefined is not allowed/],
    ['under the LGPL that nobody looked at', { license: 'LGPL-3.0+' }, /LGPL-3\.0-or-later is not allowed/],
    ['without a licence text', { text: false }, /^one 1\.0\.0 .* without the text of its licence/],
    ['that a release does not install', { dev: true }, /^one is bundled, but only devDependencies/],
  ])('%s', async (_, given, message) => {
    const { license, text, dev } = { license: 'MIT', text: true, dev: false, ...given };
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-notices-'));
    const one = join(folder, 'node_modules/one');
    await mkdir(one, { recursive: true });
    await writeFile(join(one, 'package.json'), JSON.stringify({ name: 'one', version: '1.0.0', license }));
    if (text) await writeFile(join(one, 'LICENSE'), 'Do as you like');
    const packages = { 'node_modules/one': { version: '1.0.0', dev } };
    await writeFile(join(folder, 'package-lock.json'), JSON.stringify({ packages }));
    expect(() => bundledPackages(metafile, folder)).toThrow(message);
    await rm(folder, { recursive: true, force: true });
  });
});
