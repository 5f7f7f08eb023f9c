import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestRepository, type TestRepository } from '../testing/test-repository.ts';
import { type LocalRepository, openLocalRepository } from './local-repository.ts';

let root: string;
let made: TestRepository;
let first: string;
let second: string;

// One for all of them: starting git is most of their time.
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'holdfast-local-'));
  made = createTestRepository(root, 'shop');
  first = made.commit({ 'apps/a.yaml': 'kind: A\n', 'notes.txt': 'x' }, 'First');
  second = made.commit({ 'apps/b.yaml': 'kind: B\n' }, 'Second');
  made.git('tag', 'v1', first);
  made.git('tag', '-a', '-m', 'one', 'annotated', first);
  made.git('update-ref', 'refs/holdfast/prod/shop/web/lkg', first);
});

const repositories: LocalRepository[] = [];

async function opened(folder: string): Promise<LocalRepository> {
  const repository = await openLocalRepository(folder);
  repositories.push(repository);
  return repository;
}

afterAll(async () => {
  for (const repository of repositories) await repository.close();
  rmSync(root, { recursive: true, force: true });
});

async function filesAt(repository: LocalRepository, commit: string, path = ''): Promise<string[]> {
  const { files } = await repository.readFiles(commit, path);
  return files.map((file) => file.path);
}

describe('a repository on this machine', () => {
  it('is found from any of its folders, and read at any commit, packed or not', async () => {
    const repository = await opened(join(root, 'shop', 'apps'));
    expect(repository.root).toBe(join(root, 'shop'));
    expect(await filesAt(repository, first)).toEqual(['apps/a.yaml']);
    made.git('gc', '-q');
    const packed = await opened(join(root, 'shop'));
    expect(await filesAt(packed, second, 'apps')).toEqual(['apps/a.yaml', 'apps/b.yaml']);
    expect((await packed.commitAt('main')).info).toMatchObject({ commit: second, subject: 'Second' });
  });

  it.each([
    ['HEAD', 0],
    ['main', 0],
    ['origin/main', 0],
    ['refs/heads/main', 0],
    ['v1', 1],
    ['annotated', 1],
    ['HEAD~1', 1],
    ['@', 0],
    ['@~1', 1],
    ['HEAD^', 1],
    ['main~0^', 1],
  ])('knows the commit of %s', async (revision, back) => {
    const repository = await opened(join(root, 'shop'));
    expect((await repository.commitAt(revision)).oid).toBe([second, first][back]);
  });

  it('knows a commit by its id, a short one too, and HEAD without a branch', async () => {
    made.git('checkout', '-q', first);
    const repository = await opened(join(root, 'shop'));
    expect((await repository.commitAt('HEAD')).oid).toBe(first);
    expect((await repository.commitAt(second)).oid).toBe(second);
    expect((await repository.commitAt(second.slice(0, 10))).oid).toBe(second);
    made.git('checkout', '-q', 'main');
  });

  it('is read without a working tree, too: bare, or as it is in .git', async () => {
    const bare = await opened(join(root, 'shop.git'));
    expect(bare.root).toBeUndefined();
    expect((await bare.commitAt('main')).oid).toBe(second);
    expect(await filesAt(bare, first)).toEqual(['apps/a.yaml']);
    expect((await opened(join(root, 'shop', '.git'))).root).toBe(join(root, 'shop'));
  });

  it('has no working tree when .git is bare, with linked ones next to it', async () => {
    const outer = join(root, 'outer');
    made.git('clone', '-q', '--bare', join(root, 'shop'), join(outer, '.bare'));
    writeFileSync(join(outer, '.git'), 'gitdir: ./.bare\n');
    made.git('-C', outer, 'worktree', 'add', '-q', '--detach', 'linked', first);

    const [bare, linked] = [await opened(outer), await opened(join(outer, 'linked'))];

    expect([bare.root, linked.root]).toEqual([undefined, join(outer, 'linked')]);
    expect((await bare.commitAt('main')).oid).toBe(second);
    expect((await linked.commitAt('HEAD')).oid).toBe(first);
  });

  it('says what to do where a commit is not there', async () => {
    const repository = await opened(join(root, 'shop'));
    await expect(repository.commitAt('nowhere')).rejects.toThrow(
      /"nowhere" is not a commit of this clone; fetch it, or give its full id/,
    );
    await expect(repository.commitAt('HEAD~7')).rejects.toThrow(
      `"HEAD~7" goes back further than the first commit, ${first.slice(0, 7)}`,
    );
    await expect(repository.commitAt('~')).rejects.toThrow(/is not a branch, tag or commit id/);
    await expect(openLocalRepository(root)).rejects.toThrow(/is not in a Git repository/);
    made.git('clone', '-q', '--depth=1', `file://${join(root, 'shop')}`, join(root, 'shallow'));
    const shallow = await opened(join(root, 'shallow'));
    await expect(shallow.commitAt('HEAD^')).rejects.toThrow(
      '"HEAD^" goes back further than this clone does; fetch more of its history',
    );
  });

  it.each([
    ['SHA-256', 'objectFormat', 'sha256', /"main" .*SHA-256/],
    ['a reftable', 'refStorage', 'reftable', /"main" .*full commit ids, or run git refs migrate/],
  ])('says that it cannot look up names in a clone with %s', async (_, extension, format, message) => {
    const folder = mkdtempSync(join(root, 'format-'));
    made.git('init', '-q', '--bare', folder);
    appendFileSync(join(folder, 'config'), `[extensions]\n\t${extension} = ${format}\n`);
    const repository = await opened(folder);

    await expect(repository.commitAt('main')).rejects.toThrow(message);
  });

  it('distinguishes a partial clone from a damaged one', async () => {
    made.bare('config', 'uploadpack.allowFilter', 'true');
    made.git(
      'clone',
      '-q',
      '--no-checkout',
      '--filter=blob:none',
      `file://${join(root, 'shop.git')}`,
      '../partial',
    );
    const repository = await opened(join(root, 'partial'));
    await expect(filesAt(repository, second)).rejects.toThrow(/does not hold all of commit .*--filter/);
  });

  it('reads what it borrows from another repository', async () => {
    made.git('clone', '-q', '--shared', join(root, 'shop'), '../borrowing');
    const repository = await opened(join(root, 'borrowing'));
    expect(await filesAt(repository, first)).toEqual(['apps/a.yaml']);
    expect((await repository.commitAt(first.slice(0, 10))).oid).toBe(first);
  });

  it('reads a linked working tree by its own HEAD', async () => {
    made.git('worktree', 'add', '-q', '--detach', '../linked', first);
    const repository = await opened(join(root, 'linked'));
    expect((await repository.commitAt('HEAD')).oid).toBe(first);
    expect(await filesAt(repository, second)).toHaveLength(2);
  });

  it('lists its remotes, and refs below a prefix', async () => {
    const repository = await opened(join(root, 'shop'));
    expect(await repository.remotes()).toEqual([join(root, 'shop.git')]);
    expect([...(await repository.refsBelow('refs/holdfast/'))]).toEqual([
      ['refs/holdfast/prod/shop/web/lkg', first],
    ]);
  });
});
