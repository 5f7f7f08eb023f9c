import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { useBed } from './client.ts';

const run = promisify(execFile);
const bed = useBed();

describe('the Git server', () => {
  test('serves what is committed, reverts, force-pushes and takes pushes', async () => {
    const repo = await bed.createGitRepo('bed-git');
    const first = await repo.commit({ 'a.yaml': 'a: 1\n' }, 'First');
    const second = await repo.commit({ 'a.yaml': 'a: 2\n', 'dir/b.yaml': 'b: 1\n' }, 'Second');
    const head = async () =>
      (await run('git', ['ls-remote', repo.url, 'refs/heads/main'])).stdout.split('\t')[0];
    expect(await head()).toBe(second);
    const third = await repo.revert();
    expect(await head()).toBe(third);
    await repo.forcePush(first);
    expect(await head()).toBe(first);
    await repo.git('push', '--quiet', repo.url, 'HEAD:refs/heads/other');
    expect((await run('git', ['ls-remote', repo.url, 'refs/heads/other'])).stdout).toContain(first);
    repo.remove();
  });

  test('asks for the password, counts requests and misbehaves as told', async () => {
    const repo = await bed.createGitRepo('bed-git-faults');
    await repo.commit({ 'a.txt': 'x'.repeat(100) }, 'First');
    const lsRemote = (url = repo.url, timeout = 600_000) =>
      run('git', ['ls-remote', url], { timeout, env: { ...process.env, GIT_TERMINAL_PROMPT: '0' } });
    await lsRemote();
    const idle = await repo.counts({ reset: true });
    expect(idle).toMatchObject({ refs: 1, listings: 1, fetches: 0, packBytes: 0 });
    await repo.configure({ username: 'ann', password: 'right' });
    await expect(lsRemote()).rejects.toThrow();
    await lsRemote(repo.url.replace('http://', 'http://ann:right@'));
    expect((await repo.counts()).refused).toBeGreaterThan(0);
    for (const fault of [
      { kind: 'status', status: 503 },
      { kind: 'redirect', to: 'http://127.0.0.1:1' },
      { kind: 'truncate', afterBytes: 10 },
    ] as const) {
      await repo.configure({ fault });
      await expect(lsRemote(), fault.kind).rejects.toThrow();
    }
    for (const fault of [{ kind: 'hang' }, { kind: 'trickle', bytesPerSecond: 10 }] as const) {
      await repo.configure({ fault });
      await expect(lsRemote(repo.url, 1_500), fault.kind).rejects.toMatchObject({ killed: true });
    }
    await repo.configure({});
    await lsRemote();
    repo.remove();
  });
});
