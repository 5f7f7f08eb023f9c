import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { measureEffort } from '../../../test/effort.ts';
import { failureText } from './builder.ts';
import { findProgram, inPrivateFolder, type ProcessLimits, runProcess, withoutNetwork } from './process.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-process-'));
const limits: ProcessLimits = {
  renderProcessorSeconds: 10,
  renderMs: 300_000,
  renderOutputBytes: 1_000,
  renderMemoryBytes: 2 ** 30,
};

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function node(script: string, bounds: Partial<ProcessLimits> = {}, signal = new AbortController().signal) {
  return runProcess({
    program: process.execPath,
    args: ['-e', script],
    folder,
    limits: { ...limits, ...bounds },
    signal,
  });
}

test('nothing of our environment reaches the program', async () => {
  process.env.HOLDFAST_TEST_SECRET = 'x';
  const result = await node('console.log(Object.keys(process.env).sort().join())');
  delete process.env.HOLDFAST_TEST_SECRET;
  expect(result).toEqual({ ok: true, output: 'GOMAXPROCS,GOMEMLIMIT,HOME,HTTPS_PROXY,HTTP_PROXY,TMPDIR\n' });
});

test('a program that does not end is ended', async () => {
  const result = await node('setInterval(() => {}, 1000)', { renderMs: 300 });
  expect(result).toMatchObject({ ok: false, reason: 'time' });
});

test('a program that computes without end is ended by the processor time that it used, not by the time that passed', async () => {
  const result = await node('for (;;);', { renderProcessorSeconds: 1 });
  expect(result).toMatchObject({ ok: false, reason: 'time' });
});

test('a program that prints without end is ended', async () => {
  const result = await node('for (;;) console.log("x".repeat(100))');
  expect(result).toMatchObject({ ok: false, reason: 'output' });
});

test('a program that fails says why, within bounds', async () => {
  const result = await node('console.error("no " + "x".repeat(1e6)); process.exitCode = 3');
  expect(result).toMatchObject({ ok: false, reason: 'failed' });
  expect(!result.ok && result.errorOutput.length).toBeLessThanOrEqual(64 * 1024);
});

test('a program that the system ends has used more than there is, which is no fault of its files', async () => {
  const result = await node('process.kill(process.pid, "SIGKILL"); setInterval(() => {}, 1000)');
  expect(result).toMatchObject({ ok: false, reason: 'memory' });
});

test('giving up ends the program', async () => {
  const giveUp = new AbortController();
  const running = node('setInterval(() => {}, 1000)', {}, giveUp.signal);
  giveUp.abort(new Error('given up'));
  await expect(running).rejects.toThrow('given up');
});

test('a program that is not there is an error', async () => {
  const run = {
    program: join(folder, 'none'),
    args: [],
    folder,
    limits,
    signal: new AbortController().signal,
  };
  const result = await runProcess(run).catch((error: NodeJS.ErrnoException) => error.code);
  // Where prlimit is, it is what fails.
  expect(['ENOENT', 'failed']).toContain(typeof result === 'object' && !result.ok ? result.reason : result);
});

test('a private folder holds the files, for this user only, and is gone afterwards', async () => {
  const base = join(folder, 'work');
  const files = new Map([['a/b.txt', new TextEncoder().encode('x')]]);
  const modes = await inPrivateFolder(base, files, async (path) => [
    statSync(path).mode & 0o777,
    statSync(join(path, 'a/b.txt')).mode & 0o777,
  ]);
  expect(modes).toEqual([0o700, 0o600]);
  expect(readdirSync(base)).toEqual([]);
});

test.each(['../x', 'a/../../x', '/x', 'a//b', 'a\\b', '.'])('the path %s is never written', async (path) => {
  const writing = inPrivateFolder(join(folder, 'work'), new Map([[path, new Uint8Array()]]), async () => 1);
  await expect(writing).rejects.toThrow(RangeError);
});

const root = mkdtempSync(join(tmpdir(), 'holdfast-orphans-'));
let parent: string;

beforeAll(async () => {
  const contents = `
    import { runProcess, withoutNetwork } from './process.ts';
    const [program, script, folder] = process.argv.slice(-3);
    const limits = { renderProcessorSeconds: 2, renderMs: 500, renderOutputBytes: 1000, renderMemoryBytes: 2 ** 30 };
    runProcess({ program, args: ['-e', script], folder, limits, signal: new AbortController().signal });
    process.kill(process.pid, 'SIGKILL');`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: import.meta.dirname },
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    logLevel: 'silent',
  });
  parent = outputFiles[0]?.text ?? '';
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A PATH that leads to a shell and to nothing else, as where there is no prlimit. */
function pathToShell(): string {
  const folder = join(root, 'shell');
  mkdirSync(folder);
  symlinkSync(findProgram('sh') ?? '', join(folder, 'sh'));
  return folder;
}

test.concurrent.each([
  ['what PATH holds', () => process.env.PATH ?? ''],
  ['a shell alone', pathToShell],
])('a program that never ends is ended by the system once we were killed, with %s', async (name, path) => {
  const socket = join(root, `${name.replaceAll(' ', '-')}.socket`);
  const server = createServer().listen(socket);
  const arrival = once(server, 'connection');
  const endless = `require('node:net').connect(${JSON.stringify(socket)}, function () {
    this.write(String(process.pid), () => { for (;;); });
  })`;
  const args = ['--input-type=module', '-e', parent, process.execPath, endless, root];
  const killed = spawn(process.execPath, args, { env: { PATH: path() }, stdio: 'ignore' });
  expect(await once(killed, 'exit')).toEqual([null, 'SIGKILL']);

  const [connection] = (await arrival) as [Socket];
  const [pid] = await once(connection, 'data');
  // Of an ended program the system closes what it held open.
  await once(connection, 'close', { signal: AbortSignal.timeout(600_000) }).catch((error: unknown) => {
    process.kill(Number(pid), 'SIGKILL');
    throw error;
  });
  server.close();
});

test('a failure of 64 kB of slashes is reported at once', () => {
  const effort = measureEffort();
  const errorOutput = '/'.repeat(64 * 1024);
  expect(failureText('helm', { ok: false, reason: 'failed', errorOutput })).toMatch(/^helm failed: /);
  expect(effort()).toBeLessThan(100);
});

test('a program reaches nothing on this machine where the system gives it a separate network', async () => {
  const server = createServer((socket) => socket.end('secret')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const script = `require('net').connect(${port}, '127.0.0.1').on('data', (d) => console.log(String(d))).on('error', (e) => console.log(e.code))`;
  const result = await node(script);
  server.close();
  const isSeparate = withoutNetwork().length > 0;
  // A restricted container may not let us; then the checks of references are what keeps it off.
  expect(result).toEqual({
    ok: true,
    output: isSeparate ? expect.stringMatching(/^E(NETUNREACH|CONNREFUSED|ACCES)/) : 'secret\n',
  });
});
