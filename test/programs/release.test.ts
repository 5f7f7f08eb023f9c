import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { extract, list } from 'tar';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import packageJson from '../../package.json' with { type: 'json' };
import { thisPlatform } from '../../scripts/node.mjs';
import { executableNode } from '../../scripts/release/executables.mjs';
import { findProgram } from '../../src/render/build/process.ts';
import { canary, createSource, deployment, startBed, waitForPhase } from '../sandbox/holdfast-bed.ts';
import { programs, runByHand } from './programs.ts';

const { version } = packageJson;
const root = resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'holdfast-release-test-'));
/** Two releases of one tree, and one for a registry, without executables. */
const [first, second, ofRegistry] = ['first', 'second', 'registry'].map((name) => join(folder, name)) as [
  string,
  string,
  string,
];
const registry = 'registry.example.com/delivery';
const unpacked = join(folder, 'unpacked', `holdfast-${version}-${thisPlatform}`);
const installed = join(folder, 'npm');
/** Git and nothing else: no Node, no shell. */
const onlyGit = join(folder, 'path');

const run = promisify(execFile);

async function release(out: string, ...flags: string[]): Promise<void> {
  const script = join(root, 'scripts/release.mjs');
  await run(process.execPath, [script, '--allow-changes', '--out', out, ...flags], { cwd: folder });
}

let commit = '';

beforeAll(async () => {
  commit = (await run('git', ['rev-parse', 'HEAD'], { cwd: root })).stdout.trim();
  mkdirSync(onlyGit);
  symlinkSync(findProgram('git') ?? '', join(onlyGit, 'git'));
  await Promise.all([
    release(first, '--platforms', thisPlatform),
    release(second, '--platforms', thisPlatform),
  ]);
  await release(ofRegistry, '--platforms', '', '--registry', registry);
  mkdirSync(join(folder, 'unpacked'));
  await extract({
    cwd: join(folder, 'unpacked'),
    file: join(first, `holdfast-${version}-${thisPlatform}.tar.gz`),
  });
  const npmPackage = join(first, `holdfast-npm-${version}.tgz`);
  await run('npm', ['install', '--global', '--offline', '--prefix', installed, npmPackage]);
});
afterAll(() => rmSync(folder, { recursive: true }));

const read = (name: string, from = first) => readFileSync(join(from, name), 'utf8');
const digest = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

it('consists of the named files, and a second run gives the same bytes', () => {
  const names = readdirSync(first);
  expect(names).toEqual([
    'SHA256SUMS',
    'THIRD_PARTY_NOTICES.txt',
    'docker-bake.json',
    `holdfast-${version}-${thisPlatform}.tar.gz`,
    `holdfast-${version}.intoto.json`,
    `holdfast-chart-${version}.tgz`,
    `holdfast-npm-${version}.tgz`,
    'install.yaml',
    'sbom.cdx.json',
  ]);
  const digests = (out: string) => readdirSync(out).map((name) => `${digest(join(out, name))} ${name}`);
  expect(digests(second)).toEqual(digests(first));
});

it('its checksums cover every file, and its provenance names the same bytes, the commit and the Node inside', async () => {
  const others = readdirSync(first).filter((name) => name !== 'SHA256SUMS');
  expect(read('SHA256SUMS')).toBe(others.map((name) => `${digest(join(first, name))}  ${name}\n`).join(''));
  const name = `holdfast-${version}.intoto.json`;
  const { subject, predicateType, predicate } = JSON.parse(read(name));
  expect(predicateType).toBe('https://slsa.dev/provenance/v1');
  expect(subject).toEqual(
    others
      .filter((other) => other !== name)
      .map((other) => ({ name: other, digest: { sha256: digest(join(first, other)) } })),
  );
  const { resolvedDependencies } = predicate.buildDefinition;
  expect(resolvedDependencies[0].digest).toEqual({ gitCommit: commit });
  expect(resolvedDependencies).toContainEqual({
    uri: expect.stringMatching(/^pkg:npm\/node-.*@\d+\.\d+\.\d+$/),
    digest: { sha512: expect.stringMatching(/^[0-9a-f]{128}$/) },
  });
});

it('the manifests are those of the base, and name the registry that was asked for', () => {
  expect(read('install.yaml')).toBe(readFileSync(join(root, 'deploy/base/install.yaml'), 'utf8'));
  const text = read('install.yaml', ofRegistry);
  const name = `holdfast:v${version}`;
  expect(text.replace(`${registry}/${name}`, name)).toBe(read('install.yaml'));
});

it('the packed chart gives what the chart of the source gives', () => {
  const options = ['--namespace=fast', '--kube-version=1.30.0'];
  const template = (chart: string) => runByHand(programs.helm, ['template', 'any', chart, ...options], '/');
  const packed = join(first, `holdfast-chart-${version}.tgz`);
  expect(template(packed)).toBe(template(join(root, 'deploy/chart')));
  const about = parse(runByHand(programs.helm, ['show', 'chart', packed], '/'));
  expect(about).toMatchObject({ name: 'holdfast', version, appVersion: version });
  const named = parseAllDocuments(template(join(ofRegistry, `holdfast-chart-${version}.tgz`)))
    .map((document) => document.toJS())
    .find(({ kind }) => kind === 'Deployment');
  expect(named.spec.template.spec.containers[0].image).toBe(`${registry}/holdfast:v${version}`);
});

it('the image is built for both architectures, with this version and the time of the commit', () => {
  const { target } = JSON.parse(read('docker-bake.json', ofRegistry));
  expect(target.holdfast).toMatchObject({
    platforms: ['linux/amd64', 'linux/arm64'],
    tags: [`${registry}/holdfast:v${version}`],
    labels: { 'org.opencontainers.image.version': version },
    args: { SOURCE_DATE_EPOCH: expect.stringMatching(/^\d{10}$/) },
    attest: ['type=provenance,mode=max', 'type=sbom'],
  });
});

it('every archive belongs to nobody in particular and can be read by all', async () => {
  for (const name of readdirSync(first).filter((each) => /gz$/.test(each)))
    await list({
      file: join(first, name),
      onReadEntry: ({ path, uid, gid, mode = 0, type }) => {
        expect({ path, uid: uid ?? 0, gid: gid ?? 0 }).toEqual({ path, uid: 0, gid: 0 });
        if (type === 'File') expect([0o644, 0o755]).toContain(mode);
      },
    });
});

it('the npm package needs nothing but Node: no other package, no script', () => {
  const inside = join(installed, 'lib/node_modules/holdfast');
  const published = JSON.parse(readFileSync(join(inside, 'package.json'), 'utf8'));
  expect(Object.keys(published)).toEqual([
    ...['name', 'version', 'description', 'license', 'type', 'engines', 'bin'],
  ]);
  expect(readdirSync(inside).sort()).toEqual(
    [
      ...['LICENSE', 'README.md', 'THIRD_PARTY_NOTICES.txt', 'sbom.cdx.json', 'package.json'],
      ...['main.js', 'demo.js', 'parts'],
    ].sort(),
  );
  expect(readdirSync(join(inside, 'parts')).filter((name) => !name.endsWith('.js'))).toEqual([]);
  expect(existsSync(join(inside, 'node_modules'))).toBe(false);
});

it('the archive of an executable holds the licences of all that is in it, Node too', () => {
  expect(readdirSync(unpacked).sort()).toEqual(
    [
      ...['LICENSE', 'LICENSE-node.txt', 'THIRD_PARTY_NOTICES.txt'],
      ...['holdfast', 'kubectl-holdfast', 'kubectl_complete-holdfast', 'sbom.cdx.json'],
    ].sort(),
  );
  expect(readFileSync(join(unpacked, 'LICENSE-node.txt'), 'utf8')).toMatch(/OpenSSL[\s\S]*V8/);
  const bill = JSON.parse(readFileSync(join(unpacked, 'sbom.cdx.json'), 'utf8'));
  expect(bill.components.at(-1)).toMatchObject({ name: 'node', type: 'platform' });
  expect(bill.dependencies.at(0).dependsOn).toContain(bill.components.at(-1)['bom-ref']);
});

it('Node of every platform is the same version, each named by its digest', () => {
  const { platforms } = executableNode;
  expect(Object.keys(platforms)).toEqual(['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64']);
  for (const { integrity } of Object.values(platforms)) expect(integrity).toMatch(/^sha512-[\w+/]{86}==$/);
});

const forms = [
  ['installed from npm', join(installed, 'bin'), process.env.PATH ?? ''],
  ['as an executable, where there is no Node', unpacked, onlyGit],
] as const;

describe.concurrent.each(forms)('the command line %s', (_, place, PATH) => {
  const env = { PATH, HOME: folder, TMPDIR: folder };
  const program = join(place, 'holdfast');

  it.each(['holdfast', 'kubectl-holdfast'])('%s says its version', async (name) => {
    const { stdout } = await run(join(place, name), ['--version'], { env });
    expect(stdout).toBe(`${version}\n`);
  });

  it('answers kubectl, which asks for completions under a name of its own', async () => {
    const { stdout } = await run(join(place, 'kubectl_complete-holdfast'), ['validat'], { env });
    expect(stdout).toMatch(/^validate\t.+\n:4\n$/);
  });

  it('validates manifests, and ends with 2 for wrong ones', async () => {
    const examples = join(root, 'examples/first-hour/repository');
    expect((await run(program, ['validate', examples], { env })).stdout).toContain('no problems');
    const failure = await run(program, ['validate', join(root, 'LICENSE'), '/nowhere'], { env }).catch(
      (error: { code: number }) => error,
    );
    expect(failure).toMatchObject({ code: 2 });
  });

  it('plays the demo up to its second release, and cleans up when it is interrupted', async () => {
    const demo = spawn(program, ['demo', '-o', 'json'], { env });
    let [text, errors] = ['', ''];
    demo.stderr.on('data', (chunk) => (errors += chunk));
    demo.stdout.on('data', (chunk) => {
      const before = text;
      text += chunk;
      if (!before.includes('"name":"v2"') && text.includes('"name":"v2"')) demo.kill('SIGINT');
    });
    const code = await new Promise((done) => demo.on('close', done));
    expect({ code, errors }).toEqual({ code: 130, errors: 'interrupted; everything is cleaned up\n' });
    const events = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.map(({ phase }) => phase)).toContain('Initialized');
  });

  it('runs as the controller', async () => {
    const bed = await startBed();
    await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
    await createSource(bed);
    const data = join(folder, `data-${place === unpacked}`);
    const places = ['--kubeconfig', bed.kubeconfigPath, '--data-dir', data, '--listen', '127.0.0.1:0'];
    const controller = spawn(program, ['run', ...places], { env, stdio: 'ignore' });
    const ended = new Promise((done) => controller.on('close', done));
    try {
      await waitForPhase(bed, 'Initialized');
    } finally {
      controller.kill('SIGTERM');
    }
    expect(await ended).toBe(0);
    await bed.close();
  });
});

describe('a release is refused', () => {
  it.each([
    ['for a platform without Node', ['--platforms', 'linux-riscv'], /--platforms linux-riscv: choose from/],
    ['into a folder with other files', ['--out', first], /is not empty: remove it, or name another/],
    ['as a version that is none', ['--set-version', 'v2'], /--set-version v2: use three numbers/],
  ])('%s', async (_, flags, message) => {
    const script = join(root, 'scripts/release.mjs');
    const all = [script, '--allow-changes', ...flags];
    const failure = await run(process.execPath, all, { cwd: folder }).catch((error) => error);
    expect({ code: failure.code, stdout: failure.stdout }).toEqual({ code: 2, stdout: '' });
    expect(failure.stderr).toMatch(message);
  });
});
