import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findProgram } from './bounds.ts';

const root = mkdtempSync(join(tmpdir(), 'holdfast-orphans-'));
let parent: string;

beforeAll(async () => {
  const contents = `
    import { runProcess } from './process.ts';
    const [program, script, folder] = process.argv.slice(-3);
    const limits = { renderMs: 500, renderOutputBytes: 1000, renderMemoryBytes: 2 ** 30 };
    runProcess({ program, args: ['-e', script], folder, limits, signal: new AbortController().signal });
    process.kill(process.pid, 'SIGKILL');`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: import.meta.dirname },
    ...{ bundle: true, write: false, platform: 'node', format: 'esm', logLevel: 'silent' },
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
])(
  'a program that never ends is ended by the system once we were killed, with %s',
  async (name, path) => {
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
    await once(connection, 'close', { signal: AbortSignal.timeout(60_000) }).catch((error: unknown) => {
      process.kill(Number(pid), 'SIGKILL');
      throw error;
    });
    server.close();
  },
  90_000,
);
