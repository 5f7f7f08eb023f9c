// Bundles the program into dist/main.js, or into main.js of the folder given, with THIRD_PARTY_NOTICES.txt and sbom.cdx.json of what is bundled. Fails when
// the bundle would not run on the oldest Node we promise, or holds a package whose licence is not known to be fit.
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { billOfMaterials, bundledPackages, notices } from './bundled-packages.mjs';
import { buildPage } from './dashboard-page.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const require = createRequire(import.meta.url);
const packageJson = JSON.parse(await readFile(`${root}package.json`, 'utf8'));

// undici 8 needs a newer Node than `engines` says; a lost override would only show as a crash at start.
const undici = JSON.parse(await readFile(require.resolve('undici/package.json'), 'utf8'));
if (!undici.version.startsWith('7.')) {
  console.error(`undici ${undici.version} is installed, but the bundle needs 7.x: run npm ci`);
  process.exit(1);
}

const page = await buildPage();
const folder = resolve(process.argv[2] ?? `${root}dist`);
await rm(folder, { recursive: true, force: true });
const result = await build({
  absWorkingDir: root,
  entryPoints: ['src/main.ts'],
  outfile: `${folder}/main.js`,
  bundle: true,
  platform: 'node',
  format: 'esm',
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
  sourcemap: true,
  sourcesContent: false,
  define: { HOLDFAST_DASHBOARD_PAGE: JSON.stringify(page.html) },
  metafile: true,
  logLevel: 'warning',
});

const embedded = Object.keys(result.metafile.inputs).filter((path) =>
  /node_modules\/.*node_modules\/undici\//.test(path),
);
if (embedded.length > 0) {
  console.error(`a second undici would be bundled: ${embedded[0]}`);
  process.exit(1);
}
const comments = await readFile(`${folder}/main.js.LEGAL.txt`, 'utf8');
await rm(`${folder}/main.js.LEGAL.txt`);
const packages = bundledPackages({
  inputs: { ...result.metafile.inputs, ...page.metafile.inputs },
  outputs: { ...result.metafile.outputs, ...page.metafile.outputs },
});
await writeFile(`${folder}/THIRD_PARTY_NOTICES.txt`, notices(packages, `${comments}\n${page.comments}`));
await writeFile(
  `${folder}/sbom.cdx.json`,
  `${JSON.stringify(billOfMaterials(packages, packageJson), null, 2)}\n`,
);
const pageBytes = gzipSync(page.html, { level: 9 }).length;
const [bytes] = Object.values(result.metafile.outputs)
  .filter((output) => output.entryPoint)
  .map((output) => output.bytes);
console.log(
  `${relative(process.cwd(), folder)}/main.js: ${((bytes ?? 0) / 1024 / 1024).toFixed(1)} MiB, the page of the dashboard in it ${(pageBytes / 1024).toFixed(0)} KiB compressed`,
);
