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

it('comes after a process of this host that is gone', async () => {
  const folder = await folderOf({
    identity: 'me_1',
    hostname: hostname(),
    pid: await deadPid(),
    started: '1',
  });
  const { identity, former } = await holderIdentity(folder);
  expect(former).toEqual(['me_1']);
  expect(identity).not.toBe('me_1');
});

it('is its successor when the number now belongs to another process, as after a restart of a container', async () => {
  const folder = await folderOf({ identity: 'me_1', hostname: hostname(), pid: process.pid, started: '1' });
  const { identity, former } = await holderIdentity(folder);
  expect(former).toEqual(['me_1']);
  expect(identity).not.toBe('me_1');
});

it('is no successor while the process that wrote it lives', async () => {
  const folder = await folderOf();
  const first = await holderIdentity(folder);
  const second = await holderIdentity(folder);
  expect(second.identity).not.toBe(first.identity);
  expect(second.former).toEqual([]);
});

it('is no successor on another host, and when the file is damaged', async () => {
  const elsewhere = await folderOf({
    identity: 'me_1',
    hostname: 'another',
    pid: await deadPid(),
    started: '1',
  });
  expect((await holderIdentity(elsewhere)).former).toEqual([]);
  const damaged = await folderOf({ identity: 7 });
  expect((await holderIdentity(damaged)).identity).toContain(hostname());
  expect(JSON.parse(await readFile(path.join(damaged, 'holder.json'), 'utf8'))).toMatchObject({
    pid: process.pid,
  });
});

it('remembers those before it, since it may have ended before it got their Lease', async () => {
  const pid = await deadPid();
  const folder = await folderOf({
    identity: 'me_2',
    former: ['me_1'],
    hostname: hostname(),
    pid,
    started: '1',
  });
  expect((await holderIdentity(folder)).former).toEqual(['me_2', 'me_1']);
});
