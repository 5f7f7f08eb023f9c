// Makes everything that a release consists of in one folder (docs/releasing.md). The same commit gives the same bytes.
//   npm run release -- [--out FOLDER] [--registry HOST/PATH] [--platforms linux-x64,...] [--builder-id URI] [--allow-changes]
//   npm run release -- --set-version 0.2.0
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureDependencies, root } from './ensure.mjs';
import { setVersion } from './release/version.mjs';

const { values: flags } = parseArgs({
  options: {
    'set-version': { type: 'string' },
    out: { type: 'string' },
    registry: { type: 'string', default: '' },
    platforms: { type: 'string' },
    'builder-id': { type: 'string', default: 'https://holdfast.dev/release/by-hand' },
    'allow-changes': { type: 'boolean', default: false },
  },
});

/** What is wrong with the order, for who gave it. */
class ReleaseError extends Error {}

function git(...args) {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
}

/** The commit of the tree; without it nobody could build the same again. */
function sourceOf() {
  const changes = git('status', '--porcelain').split('\n').filter(Boolean);
  if (changes.length > 0 && !flags['allow-changes'])
    throw new ReleaseError(
      `${changes.length} files differ from the commit (${changes[0].slice(3)}): commit them, or try with --allow-changes`,
    );
  return {
    commit: git('rev-parse', 'HEAD'),
    timeSeconds: Number(git('log', '-1', '--format=%ct')),
    isChanged: changes.length > 0,
  };
}

/** An empty folder: what lies there already would be taken for a part of the release. */
function emptyFolder(path) {
  mkdirSync(path, { recursive: true });
  if (readdirSync(path).length > 0)
    throw new ReleaseError(`${path} is not empty: remove it, or name another folder with --out`);
  return path;
}

/** The program with its licences, without maps, in a folder. */
function build(folder, ...flags) {
  execFileSync(process.execPath, [join(root, 'scripts/build.mjs'), '--without-maps', ...flags, folder], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  return folder;
}

async function release(work) {
  // Loaded once the dependencies are there.
  const { archive } = await import('./release/archive.mjs');
  const { addExecutable, executableNode, nodeBases } = await import('./release/executables.mjs');
  const platforms = Object.keys(executableNode.platforms);
  const { bakeFile, checksums, packChart, provenance } = await import('./release/parts.mjs');
  const { version, license, ...packageJson } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const wanted = (flags.platforms ?? platforms.join()).split(',').filter(Boolean);
  const unknown = wanted.find((name) => !platforms.includes(name));
  if (unknown) throw new ReleaseError(`--platforms ${unknown}: choose from ${platforms.join(', ')}`);
  const source = sourceOf();
  const out = emptyFolder(resolve(flags.out ?? join(root, 'release', version)));
  const image = `${flags.registry ? `${flags.registry}/` : ''}holdfast:v${version}`;

  const bundle = build(join(work, 'bundle'));
  for (const name of ['sbom.cdx.json', 'THIRD_PARTY_NOTICES.txt'])
    cpSync(join(bundle, name), join(out, name));
  const manifests = execFileSync(process.execPath, [join(bundle, 'main.js'), 'install', '--image', image]);
  writeFileSync(join(out, 'install.yaml'), manifests);

  const singleFile = wanted.length > 0 ? build(join(work, 'single-file'), '--single-file') : '';
  for (const platform of wanted) {
    const folder = join(work, platform);
    await addExecutable(singleFile, platform, folder);
    await archive(
      folder,
      `holdfast-${version}-${platform}`,
      join(out, `holdfast-${version}-${platform}.tar.gz`),
    );
    rmSync(folder, { recursive: true });
  }
  await packChart({
    work,
    image: flags.registry ? image : '',
    file: join(out, `holdfast-chart-${version}.tgz`),
  });

  rmSync(join(bundle, 'image'), { recursive: true });
  cpSync(join(root, 'deploy/npm/README.md'), join(bundle, 'README.md'));
  const { name, description, type, engines } = packageJson;
  const bin = Object.fromEntries(Object.keys(packageJson.bin).map((command) => [command, 'main.js']));
  const published = { name, version, description, license, type, engines, bin };
  writeFileSync(join(bundle, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
  await archive(bundle, 'package', join(out, `holdfast-npm-${version}.tgz`));

  writeFileSync(join(out, 'docker-bake.json'), bakeFile({ version, image, source }));
  const bases = nodeBases(wanted);
  writeFileSync(
    join(out, `holdfast-${version}.intoto.json`),
    provenance({ folder: out, version, source, bases, parameters: flags }),
  );
  writeFileSync(join(out, 'SHA256SUMS'), checksums(out));
  console.log(`${relative(process.cwd(), out) || out}:\n${readFileSync(join(out, 'SHA256SUMS'), 'utf8')}`);
}

const work = mkdtempSync(join(tmpdir(), 'holdfast-release-'));
try {
  if (flags['set-version'] !== undefined) {
    for (const file of setVersion(root, flags['set-version'])) console.log(file);
  } else {
    ensureDependencies();
    await release(work);
  }
} catch (error) {
  // Others tell of themselves, with the place in the code.
  if (!(error instanceof ReleaseError || error instanceof RangeError)) throw error;
  console.error(error.message);
  process.exitCode = 2;
} finally {
  rmSync(work, { recursive: true, force: true });
}
