import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { ProcessLimits } from './bounds.ts';
import { inPrivateFolder } from './private-folder.ts';
import { runProcess } from './process.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-process-'));
const limits: ProcessLimits = { renderMs: 10_000, renderOutputBytes: 1_000, renderMemoryBytes: 2 ** 30 };

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

test('a program that prints without end is ended', async () => {
  const result = await node('for (;;) console.log("x".repeat(100))');
  expect(result).toMatchObject({ ok: false, reason: 'output' });
});

test('a program that fails says why, within bounds', async () => {
  const result = await node('console.error("no " + "x".repeat(1e6)); process.exitCode = 3');
  expect(result).toMatchObject({ ok: false, reason: 'failed' });
  expect(!result.ok && result.said.length).toBeLessThanOrEqual(64 * 1024);
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

test('a private folder holds the files, for nobody else, and is gone afterwards', async () => {
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
