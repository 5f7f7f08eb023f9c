import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { revertCommand } from '../../api/incident.ts';
import { createGitFixture, type GitFixture } from '../testing/fixture.ts';
import { createTestRepository, noise } from '../testing/test-repository.ts';

const signal = new AbortController().signal;
let fixture: GitFixture;

beforeEach(async () => {
  fixture = await createGitFixture();
});
afterEach(() => fixture.close());

test('a damaged store is fetched again', async () => {
  const commit = fixture.repository.commit({ 'a.yaml': noise(3, 20_000) });
  const source = fixture.source();
  await source.poll(signal);
  truncateSync(packFiles('.pack')[0] ?? '', 100);

  const read = await source.readFiles(commit, '');

  expect(read.files).toHaveLength(1);
  expect((await fixture.source().poll(signal)).kind).toBe('moved');
});

test('a force-push is detected although the store was damaged in between', async () => {
  const { repository } = fixture;
  repository.commit({ 'a.yaml': noise(1, 20_000) });
  const source = fixture.source();
  await source.poll(signal);
  repository.git('checkout', '-q', '--orphan', 'other');
  repository.git('commit', '-q', '--allow-empty', '-m', 'Other history');
  repository.forcePush();
  truncateSync(packFiles('.pack')[0] ?? '', 100);

  expect((await source.poll(signal)).kind).toBe('rewritten');
});

test.each([
  ['a force-push to an older commit', ['reset', '-q', '--hard', 'HEAD~2']],
  ['a revert of the last commits', ['revert', '--no-edit', 'HEAD', 'HEAD~1']],
])('%s is followed although the store forgot where its history ends', async (_, command) => {
  const { repository } = fixture;
  repository.bare('config', 'repack.writeBitmaps', 'true');
  for (const version of [1, 2, 3]) repository.commit({ 'a.yaml': `a: ${version}` });
  const source = fixture.source();
  await source.poll(signal);
  truncateSync(join(packFiles('.pack')[0] ?? '', '../../../shallow'), 0);
  repository.git(...command);
  repository.forcePush();
  repository.bare('repack', '-q', '-a', '-d', '-b');

  const { head } = await source.poll(signal);

  expect(head.commit).toBe(repository.git('rev-parse', 'HEAD'));
  const { files } = await source.readFiles(head.commit, '');
  expect(files.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual(['a: 1']);
});

test('what a server sends in the place of the commit that it was asked for does not stay on the disk', async () => {
  const { repository, server } = fixture;
  repository.commit({ 'a.yaml': 'a: 1' });
  const source = fixture.source();
  await source.poll(signal);
  const before = packFiles('.pack');
  repository.commit({ 'a.yaml': 'a: 2' });
  const other = createTestRepository(dirname(fixture.dataDir), 'other');
  server.transform = (body, { url }) => {
    if (!url?.endsWith('/git-upload-pack') || !body.includes('PACK')) return body;
    other.commit({ 'a.yaml': noise(body.length, 20_000) });
    const [cwd, input] = [join(dirname(fixture.dataDir), 'other'), ''];
    return packAnswer(execFileSync('git', ['pack-objects', '--stdout', '--all', '-q'], { cwd, input }));
  };

  for (let polls = 0; polls < 2; polls += 1)
    await expect(source.poll(signal)).rejects.toMatchObject({ code: 'NotFound' });

  expect(packFiles('.pack')).toEqual(before);
  server.transform = undefined;
  expect((await source.poll(signal)).kind).toBe('moved');
});

/** A pack as a server sends it. */
function packAnswer(pack: Buffer): Buffer {
  const length = (pack.length + 5).toString(16).padStart(4, '0');
  return Buffer.concat([Buffer.from(`0008NAK\n${length}\x01`, 'latin1'), pack, Buffer.from('0000')]);
}

test('a data directory that cannot be used is Storage, for the operator', async () => {
  fixture.repository.commit({ 'a.yaml': 'a: 1' });
  const file = join(dirname(fixture.dataDir), 'file');
  writeFileSync(file, '');
  await expect(
    fixture.source({ stores: fixture.stores({ dataDir: file }) }).poll(signal),
  ).rejects.toMatchObject({
    code: 'Storage',
    actor: 'operator',
  });
});

test('readers that wait for each other see what is fetched between them, and a rebuilt store', async () => {
  const commits = [fixture.repository.commit({ 'a.yaml': noise(1, 20_000) })];
  const source = fixture.source();
  await source.poll(signal);
  const whole = fixture.repository.commit({ 'a.yaml': noise(2, 20_000) });
  const damage = () => truncateSync(packFiles('.pack')[0] ?? '', 100);
  const first = source.readFiles(commits[0] ?? '', '');
  void first.then(damage);

  const read = await Promise.all([
    first,
    ...Array.from({ length: 10 }, () => source.readFiles(whole, '')),
    source.readFiles(commits[0] ?? '', ''),
  ]);

  expect(read.map(({ files }) => String(files[0]?.bytes).slice(0, 40))).toEqual([
    noise(1, 40),
    ...Array.from({ length: 10 }, () => noise(2, 40)),
    noise(1, 40),
  ]);
});

test('a store whose directory was removed is fetched again', async () => {
  const commit = fixture.repository.commit({ 'a.yaml': 'a: 1' });
  const source = fixture.source();
  await source.poll(signal);
  rmSync(fixture.dataDir, { recursive: true });

  expect((await source.readFiles(commit, '')).files).toHaveLength(1);
});

test('a store with too many packs is rebuilt with the commits that must survive', async () => {
  const kept = fixture.repository.commit({ 'a.yaml': 'a: first' });
  const source = fixture.source({ stores: fixture.stores({ limits: { maxPacks: 3 } }) });
  await source.poll(signal);
  const ofAnotherRepository = 'f'.repeat(40);
  source.keep([kept, ofAnotherRepository]);
  for (let number = 0; number < 4; number += 1) {
    fixture.repository.commit({ 'a.yaml': `a: ${number}` });
    await source.poll(signal);
  }
  expect(packFiles('.pack').length).toBeLessThanOrEqual(3);
  expect(await source.hasCommit(kept)).toBe(true);
  expect((await source.poll(signal)).kind).toBe('unchanged');
});

test('a commit in use survives although the server no longer has it', async () => {
  const { repository } = fixture;
  const lost = repository.commit({ 'a.yaml': 'a: lost' });
  const source = fixture.source({ stores: fixture.stores({ limits: { maxPacks: 1 } }) });
  await source.poll(signal);
  source.keep([lost]);
  repository.git('checkout', '-q', '--orphan', 'other');
  repository.git('commit', '-q', '--allow-empty', '-m', 'Other history');
  repository.forcePush();
  repository.bare('reflog', 'expire', '--expire=now', '--all');
  repository.bare('gc', '-q', '--prune=now');

  const poll = await source.poll(signal);

  expect(poll.kind).toBe('rewritten');
  expect(await source.hasCommit(lost)).toBe(true);
});

function packFiles(ending: string): string[] {
  const stores = join(fixture.dataDir, 'git');
  return readdirSync(stores).flatMap((store) => {
    const folder = join(stores, store, 'objects', 'pack');
    return readdirSync(folder)
      .filter((name) => name.endsWith(ending))
      .map((name) => join(folder, name));
  });
}

test('a private ref that a killed process left empty is written again, and causes no error', async () => {
  const first = fixture.repository.commit({ 'a.yaml': 'a: 1' });
  const source = fixture.source();
  await source.poll(signal);
  source.keep([first]);
  fixture.repository.commit({ 'a.yaml': 'a: 2' });
  await source.poll(signal);
  expect(records().map(({ name }) => name)).toContain(first);
  for (const { file } of records()) truncateSync(file, 0);

  const again = fixture.source();
  again.keep([first]);
  const commit = fixture.repository.commit({ 'a.yaml': 'a: 3' });
  expect((await again.poll(signal)).kind).toBe('moved');

  expect((await again.readFiles(commit, '')).files).toHaveLength(1);
  expect(records().filter(({ bytes }) => bytes === 0)).toEqual([]);
});

/** The private refs of the store. */
function records(): Array<{ name: string; file: string; bytes: number }> {
  const stores = join(fixture.dataDir, 'git');
  return readdirSync(stores).flatMap((store) =>
    ['poll', 'kept'].flatMap((kind) => {
      const folder = join(stores, store, 'refs/holdfast', kind);
      if (!existsSync(folder)) return [];
      return readdirSync(folder).map((name) => {
        const file = join(folder, name);
        return { name, file, bytes: statSync(file).size };
      });
    }),
  );
}

test.each(['a merge', 'an ordinary commit'])(
  'the command that reverts %s is one that Git takes',
  async (kind) => {
    const { repository } = fixture;
    repository.commit({ 'a.yaml': 'a: 1' });
    repository.git('checkout', '-q', '-b', 'feature');
    repository.commit({ 'a.yaml': 'a: 2' }, 'Change', 'feature');
    repository.git('checkout', '-q', 'main');
    repository.git('merge', '-q', kind === 'a merge' ? '--no-ff' : '--ff-only', 'feature');
    repository.forcePush();

    const { head } = await fixture.source().poll(signal);
    const command = revertCommand(head.commit, head.isMerge) ?? '';

    const [, ...args] = command.replace(' && git push', '').split(' ');
    repository.git(...args);
    expect(repository.git('show', 'HEAD:a.yaml')).toBe('a: 1');
  },
);
