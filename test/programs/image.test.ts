import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { assembleImage, image, inImage } from '../image.ts';
import { type BuiltProgram, buildProgram } from '../sandbox/built-program.ts';
import { canary, createSource, deployment, startBed, waitForPhase } from '../sandbox/holdfast-bed.ts';
import { programs } from './programs.ts';

/** The root file system that the Dockerfile describes, in a plain folder, with the Node of this machine. */
const source = resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'holdfast-image-'));
const root = join(folder, 'image');
const run = promisify(execFile);
const buildMs = 120_000;
let built: BuiltProgram;

const readOnly = join(folder, 'read-only');
const data = join(folder, 'data');

const inRoot = (words: readonly string[]) => inImage(root, readOnly, { '/data': data }, words);

async function output(...words: string[]): Promise<string> {
  const [program, args] = inRoot(words);
  return (await run(program, args, { env: image.environment })).stdout;
}

beforeAll(async () => {
  built = await buildProgram();
  copyFileSync(join(source, 'LICENSE'), join(built.folder, 'LICENSE'));
  await assembleImage(root, built.folder, programs);
  mkdirSync(readOnly);
  mkdirSync(data);
}, buildMs);
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await built.remove();
});

it('holds the programs that it needs, and no shell', () => {
  const files = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length));
  expect(files.filter((file) => /\/s?bin\//.test(file)).sort()).toEqual([
    ...['/usr/bin/prlimit', '/usr/bin/unshare'],
    ...['/usr/local/bin/helm', '/usr/local/bin/kustomize', '/usr/local/bin/node'],
  ]);
  expect(files.filter((file) => file.startsWith('/app/')).sort()).toEqual([
    ...['/app/LICENSE', '/app/THIRD_PARTY_NOTICES.txt', '/app/main.js'],
    ...readdirSync(join(built.folder, 'dist/parts')).flatMap((name) =>
      name.endsWith('.map') ? [] : [`/app/parts/${name}`],
    ),
    '/app/sbom.cdx.json',
  ]);
  const others = files.filter((file) => !/^\/(app|etc)\/|\/bin\/|^\/dev\/null$/.test(file));
  expect(others.filter((file) => !/^(\/usr)?\/lib[\w/-]*\/[\w.+-]+\.so[\d.]*$/.test(file))).toEqual([]);
});

it('starts every program with the libraries that are in it', async () => {
  expect(await output(...image.entrypoint, '--version')).toBe(`${packageJson.version}\n`);
  expect(await output('/usr/local/bin/kustomize', 'version')).not.toBe('');
  expect(await output('/usr/local/bin/helm', 'version')).toContain('version');
  expect(await output('/usr/bin/unshare', '--version')).toContain('util-linux');
  expect(await output('/usr/bin/prlimit', '--version')).toContain('util-linux');
});

it('has no demo, and says who has', async () => {
  const failure = await output(...image.entrypoint, 'demo').catch((error) => error);
  expect(failure).toMatchObject({ code: 2, stdout: '' });
  expect(failure.stderr).toMatch(
    /^error: .* not part of the image: install the npm package or the executable/,
  );
});

it('runs as nobody in particular, who may write nothing but the data', async () => {
  const script = `
    const { writeFileSync } = require('node:fs');
    const trial = (path) => { try { writeFileSync(path, ''); return 'written'; } catch ({ code }) { return code; } };
    console.log(JSON.stringify([process.getuid(), process.getgid(), process.cwd(),
      ...['/app/x', '/app/main.js', '/tmp/x', '/etc/passwd', '/data/x'].map(trial)]));
  `;
  const answer = JSON.parse(await output('/usr/local/bin/node', '-e', script));
  expect(answer).toEqual([65532, 65532, '/app', ...Array(4).fill('EROFS'), 'written']);
});

describe('with its own command', () => {
  let controller: ChildProcess | undefined;
  afterAll(() => controller?.kill('SIGKILL'));

  it('rolls out what its own kustomize renders', async () => {
    const bed = await startBed();
    await bed.commit('v1', {
      'kustomization.yaml': 'resources: [web.json, canary.json]\nnamespace: shop\n',
      'web.json': deployment('shop/web:1'),
      'canary.json': canary(),
    });
    await createSource(bed);
    copyFileSync(bed.kubeconfigPath, join(data, 'kubeconfig'));
    chmodSync(join(data, 'kubeconfig'), 0o600);
    const words = image.command.map((word) => (word.startsWith('--listen=') ? '--listen=127.0.0.1:0' : word));
    const [program, args] = inRoot([...image.entrypoint, ...words, '--kubeconfig=/data/kubeconfig']);
    controller = spawn(program, args, { env: image.environment, stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = new Promise((done) => controller?.on('close', done));
    await waitForPhase(bed, 'Initialized');
    controller.kill('SIGTERM');
    expect(await ended).toBe(0);
    await bed.close();
  });
});
