import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { holderIdentity } from './holder-identity.ts';

async function folderOf(holder?: Record<string, unknown>): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'holdfast-holder-'));
  if (holder) await writeFile(path.join(folder, 'holder.json'), JSON.stringify(holder));
  return folder;
}

/** The id of a process that has ended. */
async function deadPid(): Promise<number> {
  const child = spawn('true');
  await once(child, 'exit');
  return child.pid ?? 0;
}

it('takes over the name of a process of this host that is gone', async () => {
  const folder = await folderOf({
    identity: 'me_1',
    hostname: hostname(),
    pid: await deadPid(),
    started: '1',
  });
  expect(await holderIdentity(folder)).toBe('me_1');
});

it('takes over the name when the number belongs to another process by now, as after a restart of a container', async () => {
  const folder = await folderOf({ identity: 'me_1', hostname: hostname(), pid: process.pid, started: '1' });
  expect(await holderIdentity(folder)).toBe('me_1');
});

it('is new while the process that wrote it lives', async () => {
  const folder = await folderOf();
  const first = await holderIdentity(folder);
  expect(await holderIdentity(folder)).not.toBe(first);
});

it('is new on another host, and when the file is damaged', async () => {
  const elsewhere = await folderOf({
    identity: 'me_1',
    hostname: 'another',
    pid: await deadPid(),
    started: '1',
  });
  expect(await holderIdentity(elsewhere)).not.toBe('me_1');
  const damaged = await folderOf({ identity: 7 });
  expect(await holderIdentity(damaged)).toContain(hostname());
  expect(JSON.parse(await readFile(path.join(damaged, 'holder.json'), 'utf8'))).toMatchObject({
    pid: process.pid,
  });
});
