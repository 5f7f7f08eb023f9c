import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { git } from '../../../sandbox/git-server/git.test-support.ts';
import { commitFiles, createRepository } from '../../../sandbox/git-server/git-repository.ts';
import { createRefAnswers, questionOfRefs, type RefAnswers } from './ref-answers.ts';

describe('answers about refs', () => {
  let root: string;
  let repository: string;
  let answers: RefAnswers;
  let starts: number;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'holdfast-git-'));
    repository = await createRepository(root, 'shop');
    answers = createRefAnswers();
    starts = 0;
  });

  afterEach(() => rm(root, { recursive: true, force: true }));

  const REFS = ['for-each-ref', '--format=%(refname) %(objectname)'];

  async function list(path = repository, args = REFS, readsRefs = true) {
    const start = () => {
      starts += 1;
      return spawn('git', ['--git-dir', path, ...args]);
    };
    const question = { text: args.join(' '), readsRefs };
    return (await answers.answer(path, question, start)).toString();
  }

  test('are given again without git while nothing moves, and anew after every change of a ref', async () => {
    const first = await commitFiles(repository, { subject: 'First', files: { 'a.yaml': 'a: 1\n' } });
    expect([await list(), await list()]).toEqual(Array(2).fill(`refs/heads/main ${first}\n`));
    expect(starts).toBe(1);
    const second = await commitFiles(repository, { subject: 'Second', files: { 'a.yaml': 'a: 2\n' } });
    expect(await list()).toBe(`refs/heads/main ${second}\n`);
    await git(repository, ['pack-refs', '--all']);
    await git(repository, ['update-ref', 'refs/heads/main', first]);
    expect(await list()).toBe(`refs/heads/main ${first}\n`);
    await git(repository, ['tag', 'v1', second]);
    expect(await list()).toContain(`refs/tags/v1 ${second}\n`);
    await git(repository, ['update-ref', '-d', 'refs/tags/v1']);
    expect(await list()).toBe(`refs/heads/main ${first}\n`);
    expect(starts).toBe(5);
  });

  test('that hang on the settings alone are given again after a commit, and anew after a change of the settings', async () => {
    const settings = () => list(repository, ['config', '--get-regexp', '^lsrefs'], false);
    await git(repository, ['config', 'lsrefs.unborn', 'ignore']);
    const first = await settings();
    await commitFiles(repository, { subject: 'First', files: { 'a.yaml': 'a: 1\n' } });
    expect([first, await settings()]).toEqual(Array(2).fill('lsrefs.unborn ignore\n'));
    expect(starts).toBe(1);
    await git(repository, ['config', 'lsrefs.unborn', 'advertise']);
    expect(await settings()).toBe('lsrefs.unborn advertise\n');
  });

  test('are asked anew when git failed or there is no repository', async () => {
    for (const args of [['no-such-command'], ['no-such-command']])
      expect(await list(repository, args)).toBe('');
    const nowhere = join(root, 'nowhere.git');
    for (const path of [nowhere, nowhere]) expect(await list(path)).toBe('');
    expect(starts).toBe(4);
  });
});

describe('a question about refs', () => {
  const ask = (path: string, body = '', headers: Record<string, string> = {}) =>
    questionOfRefs({ url: new URL(path, 'http://git'), headers, body: Buffer.from(body) });

  test('is the advertisement of upload-pack, or a list of refs', () => {
    expect(ask('/shop.git/info/refs?service=git-upload-pack')).toBeDefined();
    expect(ask('/shop.git/git-upload-pack', '0014command=ls-refs\n0000')).toBeDefined();
    expect(ask('/shop.git/git-upload-pack', '0011command=fetch0000')).toBeUndefined();
    expect(ask('/shop.git/info/refs?service=git-receive-pack')).toBeUndefined();
    expect(ask('/shop.git/git-receive-pack', '0014command=ls-refs\n0000')).toBeUndefined();
  });

  test('is another one in another version of the protocol, or with other prefixes', () => {
    const path = '/shop.git/info/refs?service=git-upload-pack';
    const second = ask(path, '', { 'git-protocol': 'version=2' });
    expect(second?.text).not.toBe(ask(path)?.text);
    expect([second?.readsRefs, ask(path)?.readsRefs]).toEqual([false, true]);
    const [one, other] = ['main', 'next'].map((name) =>
      ask('/shop.git/git-upload-pack', `0014command=ls-refs\n0001001bref-prefix refs/heads/${name}0000`),
    );
    expect(one?.text).not.toBe(other?.text);
    expect(one?.readsRefs).toBe(true);
  });
});
