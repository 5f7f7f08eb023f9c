import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };
import { namingFiles, setVersion, versionPlaces } from '../scripts/release/version.mjs';
import { chartFiles } from '../src/cli/install/chart.test-support.ts';
import { imageOf, installObjects } from '../src/cli/install/install.ts';
import { formatObjects } from '../src/terminal/output.ts';

const root = join(import.meta.dirname, '..');
const { version } = packageJson;
const next = '10.20.30-rc.1';
/** A copy of the files that may name the version. */
const copy = mkdtempSync(join(tmpdir(), 'holdfast-version-'));
let changed: string[] = [];

beforeAll(() => {
  for (const file of ['package.json', 'package-lock.json', ...namingFiles(root)]) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    cpSync(join(root, file), join(copy, file));
  }
  changed = setVersion(copy, next, namingFiles(root));
});
afterAll(() => rmSync(copy, { recursive: true }));

const read = (file: string, folder = copy) => readFileSync(join(folder, file), 'utf8');

it('every file that names the version of Holdfast names that of package.json', () => {
  const places = versionPlaces(root);
  const files = new Set(places.map(({ file }) => file));
  expect([...files]).toEqual(
    expect.arrayContaining(['README.md', 'deploy/chart/Chart.yaml', 'deploy/base/install.yaml']),
  );
  expect(places.filter(({ found }) => found !== version)).toEqual([]);
  expect(JSON.parse(read('package-lock.json', root)).version).toBe(version);
});

it('no docs or manifests name the version in another way, which would stay behind', () => {
  const left = namingFiles(root).flatMap((file) =>
    read(file)
      .split('\n')
      .flatMap((line, index) =>
        new RegExp(`(?<![\\d.])v?${version.replaceAll('.', '\\.')}(?![\\d.]*\\d)`).test(line)
          ? [`${file}:${index + 1}: ${line.trim()}`]
          : [],
      ),
  );
  expect(left).toEqual([]);
});

it('another version is set everywhere at once, as the code would make it', () => {
  expect(JSON.parse(read('package.json'))).toEqual({ ...packageJson, version: next });
  const lock = JSON.parse(read('package-lock.json'));
  expect([lock.version, lock.packages[''].version]).toEqual([next, next]);
  expect(read('deploy/chart/Chart.yaml')).toBe(chartFiles(next).get('Chart.yaml'));
  const install = installObjects({ namespace: 'holdfast-system', image: imageOf(next) });
  expect(read('deploy/base/install.yaml')).toBe(formatObjects(install, 'yaml'));
  expect(changed).toContain('README.md');
  expect(setVersion(copy, version, namingFiles(root))).toEqual(changed);
  for (const file of changed) expect(read(file), file).toBe(read(file, root));
});

it.each(['', 'v1.2.3', '1.2', '01.2.3', '1.2.3+build', '1.2.3 '])('%j is no version', (text) => {
  expect(() => setVersion(copy, text, [])).toThrow(/use three numbers/);
});
