// Bundles the program into dist, or into the folder given: main.js; demo.js, which only `holdfast demo` loads; and parts, what they share and what is loaded
// when it is needed. With THIRD_PARTY_NOTICES.txt and sbom.cdx.json of all of it, and in image of what the image holds, which is all but demo.js.
//   build.mjs [--single-file] [--without-maps] [FOLDER]    --single-file: everything in main.js, for executables
// Fails when the bundle would not run on the oldest Node we promise, or holds a package whose licence is not known to be fit.
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { buildPage } from './bundle/dashboard-page.mjs';
import { entries } from './bundle/entries.mjs';
import { billOfMaterials, bundledPackages, notices } from './bundle/packages.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const require = createRequire(import.meta.url);
const packageJson = JSON.parse(await readFile(`${root}package.json`, 'utf8'));
const { values: flags, positionals } = parseArgs({
  options: {
    'single-file': { type: 'boolean', default: false },
    'without-maps': { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
const isSingleFile = flags['single-file'];

// undici 8 needs a newer Node than `engines` says; a lost override would only show as a crash at start.
const undici = JSON.parse(await readFile(require.resolve('undici/package.json'), 'utf8'));
if (!undici.version.startsWith('7.')) {
  console.error(`undici ${undici.version} is installed, but the bundle needs 7.x: run npm ci`);
  process.exit(1);
}

const page = await buildPage();
const folder = resolve(positionals[0] ?? `${root}dist`);
const main = { main: 'src/main.ts' };
const result = await build({
  absWorkingDir: root,
  entryPoints: isSingleFile ? main : { ...main, demo: 'sandbox/demo/demo.ts' },
  splitting: !isSingleFile,
  chunkNames: 'parts/[name]-[hash]',
  // Wherever the files go: the hashes cover paths in source maps, and the same source must give the same names.
  outdir: 'dist',
  write: false,
  bundle: true,
  platform: 'node',
  format: 'esm',
  // What packages offer to bundlers, which leave out what is not used of it.
  mainFields: ['module', 'main'],
  alias: entries,
  // Native helpers of ssh2, which does without: what is bundled must not depend on what this machine could compile.
  external: ['cpu-features', '*.node'],
  target: `node${packageJson.engines.node.replace(/[^0-9.]/g, '')}`,
  // Packages in CommonJS call require for Node's own modules.
  banner: {
    js: "/*! What is bundled here, and its licences: THIRD_PARTY_NOTICES.txt */\nimport { createRequire as createRequireOfBundle } from 'node:module';\nconst require = createRequireOfBundle(import.meta.url);",
  },
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'external',
  sourcemap: !flags['without-maps'],
  sourcesContent: false,
  define: { HOLDFAST_DASHBOARD_PAGE: JSON.stringify(page.html) },
  metafile: true,
  logLevel: 'warning',
});
const { inputs, outputs } = result.metafile;

const embedded = Object.keys(inputs).filter((path) => /node_modules\/.*node_modules\/undici\//.test(path));
if (embedded.length > 0) {
  console.error(`a second undici would be bundled: ${embedded[0]}`);
  process.exit(1);
}

await rm(folder, { recursive: true, force: true });
for (const { path, contents } of result.outputFiles) {
  const name = relative(`${root}dist`, path);
  if (name.endsWith('.LEGAL.txt')) continue;
  await mkdir(dirname(join(folder, name)), { recursive: true });
  await writeFile(join(folder, name), contents, { mode: name === 'main.js' ? 0o755 : 0o644 });
}
const inImage = (/** @type {string} */ path) => !/^dist\/demo\.js/.test(path);
await writeNotices(folder, () => true);
if (!isSingleFile) await writeNotices(join(folder, 'image'), inImage);

/**
 * Licences and bill of materials of the outputs that `isMeant` picks by their path.
 * @param {string} target
 * @param {(path: string) => boolean} isMeant
 */
async function writeNotices(target, isMeant) {
  const bundled = Object.entries(outputs).filter(([path]) => isMeant(path));
  const packages = bundledPackages({
    inputs: { ...inputs, ...page.metafile.inputs },
    outputs: { ...Object.fromEntries(bundled), ...page.metafile.outputs },
  });
  const comments = result.outputFiles
    .filter(({ path }) => path.endsWith('.LEGAL.txt') && isMeant(relative(root, path)))
    .map(({ text }) => text);
  await mkdir(target, { recursive: true });
  await writeFile(
    join(target, 'THIRD_PARTY_NOTICES.txt'),
    notices(packages, [...comments, page.comments].join('\n')),
  );
  await writeFile(
    join(target, 'sbom.cdx.json'),
    `${JSON.stringify(billOfMaterials(packages, packageJson), null, 2)}\n`,
  );
}

const size = (/** @type {number} */ bytes) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
const programs = Object.entries(outputs).filter(([path]) => path.endsWith('.js'));
const sum = (/** @type {typeof programs} */ some) => some.reduce((all, [, { bytes }]) => all + bytes, 0);
console.log(
  `${relative(process.cwd(), folder)}: ${programs.length} files of ${size(sum(programs))}, ${size(sum(programs.filter(([path]) => inImage(path))))} of it in the image; the page of the dashboard in it ${(gzipSync(page.html, { level: 9 }).length / 1024).toFixed(0)} KiB compressed`,
);
