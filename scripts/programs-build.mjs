#!/usr/bin/env node
// Builds the programs that render manifests (programs/: those of the image) and those that only tests use (test/programs/sops, influxdb and loki, and Debian's
// sshd, Chromium, Graphite, zsh and fish) into the cache folder of the test bed, and prints their paths as JSON. A second run with the same pinned modules does nothing.
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  BedUnavailable,
  buildKubectl,
  cacheRoot,
  digestOf,
  downloadModule,
  folderOnce,
  goBuild,
  requireGo,
  unpackDebian,
} from './bed-build.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');

/** Folder of a Go module, and the programs among its tools. */
const modules = {
  'programs/kustomize': ['kustomize'],
  'programs/helm': ['helm'],
  'test/programs/sops': ['sops', 'age-keygen'],
  'test/programs/influxdb': ['influxd'],
  'test/programs/loki': ['loki'],
};

/** The version that the test bed runs. */
const FLAGGER = 'github.com/fluxcd/flagger@v1.44.0';

/** Builds or finds every program; absolute paths by name. Throws BedUnavailable when the machine lacks something. */
export async function buildPrograms() {
  const paths = {};
  for (const name of Object.keys(modules)) Object.assign(paths, await buildModule(name));
  const ssh = join(cacheRoot(), 'debian-sshd');
  await folderOnce(ssh, 'fetching sshd', (folder) => unpackDebian(folder, SSHD_PACKAGES));
  const chromium = join(cacheRoot(), 'debian-chromium');
  await folderOnce(chromium, 'fetching chromium', (folder) =>
    unpackDebian(folder, ['chromium-headless-shell'], { withMissing: true }),
  );
  const graphite = join(cacheRoot(), 'debian-graphite');
  await folderOnce(graphite, 'fetching graphite', (folder) =>
    unpackDebian(folder, ['graphite-web'], { withMissing: true }),
  );
  // What Flagger publishes for its users.
  const { Dir: flaggerModule } = downloadModule(FLAGGER, cacheRoot());
  const shells = join(cacheRoot(), 'debian-shells');
  await folderOnce(shells, 'fetching zsh and fish', (folder) =>
    unpackDebian(folder, ['zsh', 'fish'], { withMissing: true }),
  );
  return {
    ...paths,
    shells,
    sshd: join(ssh, 'usr/sbin/sshd'),
    chromium,
    graphite,
    flaggerModule,
    kubectl: await buildKubectl(),
  };
}

/** Builds or finds the programs of one Go module; absolute paths by name. Throws BedUnavailable, too. */
export async function buildModule(name) {
  const programs = modules[name];
  const module = join(root, name);
  const files = ['go.mod', 'go.sum'].map((file) => join(module, file));
  const target = join(cacheRoot(), `${programs[0]}-${digestOf(files)}`);
  mkdirSync(cacheRoot(), { recursive: true });
  await folderOnce(target, `building ${programs.join(', ')}`, async (folder) => {
    requireGo();
    await goBuild(module, folder, toolsOf(files[0]), { isBusy: name.startsWith('programs/') });
  });
  return Object.fromEntries(programs.map((program) => [program, join(target, program)]));
}

/** sshd, a library that it is linked with, and the one by which it sees the users that a test gives it instead of the machine's. */
const SSHD_PACKAGES = ['openssh-server', 'libwrap0', 'libnss-wrapper'];

/** The packages of a module's `tool` lines. */
function toolsOf(goMod) {
  const lines = readFileSync(goMod, 'utf8').split('\n');
  const start = lines.indexOf('tool (');
  const listed = start < 0 ? [] : lines.slice(start + 1, lines.indexOf(')', start));
  const single = lines.filter((line) => /^tool [^(]/.test(line)).map((line) => line.slice('tool '.length));
  return [...single, ...listed].map((line) => line.trim());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    process.stdout.write(`${JSON.stringify(await buildPrograms(), null, 2)}\n`);
  } catch (error) {
    if (!(error instanceof BedUnavailable)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
