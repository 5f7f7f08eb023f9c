import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createGitFixture, type GitFixture } from '../testing/fixture.ts';
import { noise } from '../testing/test-repository.ts';

const signal = new AbortController().signal;
let fixture: GitFixture;

beforeEach(async () => {
  fixture = await createGitFixture();
});
afterEach(() => fixture.close());

function storeFolder(): string {
  const folder = join(fixture.dataDir, 'git');
  return join(folder, readdirSync(folder).find((name) => name.endsWith('.git')) ?? '');
}

function packs(store: string): string[] {
  return readdirSync(join(store, 'objects', 'pack')).filter((name) => name.endsWith('.pack'));
}

function bytesOf(store: string): number {
  const folder = join(store, 'objects', 'pack');
  return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

function git(store: string, ...args: string[]): string {
  return execFileSync('git', ['-C', store, ...args], { encoding: 'utf8' });
}

/** Files that change a little with each commit, so that Git sends deltas. */
function files(number: number): Record<string, string> {
  const lines = Array.from({ length: 200 }, (_, line) =>
    line === number ? `changed ${number}` : `line ${line}`,
  );
  return { 'large.yaml': lines.join('\n'), [`apps/app-${number % 7}/a.yaml`]: noise(number, 400) };
}

test('what Git itself finds in a compacted store is whole, and the newest commits come after it', async () => {
  const { repository } = fixture;
  const stores = fixture.stores({ limits: { maxPacks: 5 } });
  const source = fixture.source({ stores });
  const good = repository.commit(files(0));
  await source.poll(signal);
  source.keep([good]);
  let head = good;
  for (let number = 1; number <= 5; number += 1) {
    head = repository.commit(files(number));
    await source.poll(signal);
  }
  const store = storeFolder();

  expect(packs(store)).toHaveLength(1);
  expect(git(store, 'verify-pack', join('objects', 'pack', packs(store)[0] ?? ''))).toBe('');
  expect(git(store, 'fsck', '--no-dangling', good, head)).toBe('');
  expect(git(store, 'rev-list', '--objects', '--all')).toContain(good);
  const next = repository.commit(files(9));
  expect((await source.poll(signal)).kind).toBe('moved');
  expect((await source.readFiles(next, '')).files.length).toBe(7);
  expect((await source.readFiles(good, '')).files.length).toBe(2);
});

test('many commits, some of them rewritten, leave no more on the disk than what is in use', async () => {
  const { repository } = fixture;
  const stores = fixture.stores({ limits: { maxPacks: 2 } });
  const source = fixture.source({ stores });
  const good = repository.commit(files(0));
  await source.poll(signal);
  source.keep([good]);
  const rewritten: string[] = [];
  let largest = 0;
  for (let number = 1; number <= 12; number += 1) {
    const commit = repository.commit({ ...files(number), 'noise.yaml': noise(number, 30_000) });
    await source.poll(signal);
    largest = Math.max(largest, bytesOf(storeFolder()));
    if (number % 4 !== 0) continue;
    rewritten.push(commit);
    repository.git('reset', '-q', '--hard', 'HEAD~2');
    repository.forcePush();
  }
  const { commit: head } = (await source.poll(signal)).head;
  for (let number = 31; number <= 33; number += 1) {
    repository.commit(files(number));
    await source.poll(signal);
  }

  expect(largest).toBeLessThan(4 * 65_000);
  expect(await Promise.all(rewritten.map((commit) => source.hasCommit(commit)))).not.toContain(true);
  expect(await source.hasCommit(good)).toBe(true);
  expect(await source.hasCommit(head)).toBe(false);
});

test('commits that other Sources of the store use survive, and all recorded ones until each Source was reconciled', async () => {
  const { repository } = fixture;
  const first = repository.commit(files(0));
  const before = fixture.source({ name: 'theirs' });
  before.keep([first]);
  await before.poll(signal);
  const second = repository.commit(files(1));
  const stores = fixture.stores({ limits: { maxPacks: 1 } });
  const mine = fixture.source({ stores });
  const theirs = fixture.source({ stores, name: 'theirs' });
  mine.keep([]);
  await mine.poll(signal);
  const ofSilent = await mine.hasCommit(first);
  theirs.keep([]);
  repository.commit(files(2));
  await mine.poll(signal);
  const third = repository.commit(files(3));
  await mine.poll(signal);

  expect(packs(storeFolder()).length).toBeLessThanOrEqual(2);
  expect(ofSilent).toBe(true);
  expect(await Promise.all([first, second, third].map((commit) => mine.hasCommit(commit)))).toEqual([
    false,
    false,
    true,
  ]);
});

test('after a kill before any change of the disk the store holds every commit in use, works, and has left nothing beside it', async () => {
  const { repository } = fixture;
  const source = fixture.source();
  const good = repository.commit(files(0));
  await source.poll(signal);
  await source.readFiles(good, '');
  repository.commit(files(1));
  await source.poll(signal);
  const head = repository.commit(files(2));
  await source.poll(signal);
  const child = await bundled();
  const outcomes: string[] = [];
  for (let step = 1; outcomes.at(-1) !== 'done'; step += 4)
    outcomes.push(
      ...(await Promise.all([0, 1, 2, 3].map((more) => compactAndDie(child, step + more, [good, head])))),
    );

  expect(outcomes.filter((outcome) => outcome === 'killed').length).toBeGreaterThan(15);
  expect(outcomes.filter((outcome) => outcome !== 'killed' && outcome !== 'done')).toEqual([]);

  /** On a copy of the store; returns how it ended, or what was lost. */
  async function compactAndDie(program: string, step: number, commits: readonly string[]): Promise<string> {
    const dataDir = `${fixture.dataDir}-${step}`;
    mkdirSync(dataDir, { recursive: true });
    cpSync(fixture.dataDir, dataDir, { recursive: true });
    const store = storeFolder().replace(fixture.dataDir, dataDir);
    const ended = await exitOf(program, [store, String(step), ...commits]);
    const after = fixture.source({ stores: fixture.stores({ dataDir }) });
    const found = await Promise.all(commits.map((commit) => after.hasCommit(commit)));
    const { kind, head: polled } = await after.poll(signal, head);
    const isWhole = !found.includes(false) && kind === 'unchanged' && polled.commit === head;
    const left = [`${store}.new`, `${store}.old`].filter(existsSync);
    if (!isWhole || left.length > 0) return `step ${step}: ${found} ${kind} ${left}`;
    return ended === 'SIGKILL' ? 'killed' : ended === '0' ? 'done' : `ended with ${ended}`;
  }
});

/** The child as one file: Node runs no TypeScript. */
async function bundled(): Promise<string> {
  const outfile = join(fixture.dataDir, '..', 'child.mjs');
  await build({
    entryPoints: [join(import.meta.dirname, 'testing', 'compact-child.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    logLevel: 'silent',
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  });
  return outfile;
}

function exitOf(program: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
    child.on('exit', (code, killedBy) => resolve(killedBy ?? String(code)));
  });
}
