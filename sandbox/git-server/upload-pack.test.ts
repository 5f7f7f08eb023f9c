import { spawnSync } from 'node:child_process';
import fs, { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import * as git from 'isomorphic-git';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import '../../test/property-seed.ts';
import { createRepository } from './git-repository.ts';
import { linesOf, packet } from './packets.ts';
import { answerRequest } from './upload-pack.ts';

const names = ['c1', 'c2', 'c3', 's1', 's2', 'c4', 'c5', 'c6', 'c7', 'old', 'new', 'root', 'next'] as const;
const tags = ['once', 'twice'] as const;
const marked: readonly string[] = [...names, ...tags];

/**
 * For `git fast-import`: branches that are merged, one that was rewritten (no ref leads to `old`), one with a root of its own, tags of
 * commits and of tags, and what else a folder can hold.
 */
const history = [
  commit('c1'),
  ...[file('a', '1'), file('deep/er/b', '1'), file('deep/c', '1'), file('ä', '1'), file('"caf\\351"', '1')],
  ...['M 100755 inline run', data('1'), 'M 120000 inline link', data('deep/c')],
  `M 160000 ${'5'.repeat(40)} submodule`,
  ...[commit('c2'), file('a', '2')],
  ...[commit('c3'), file('deep/er/b', '2')],
  ...[commit('s1', 'side', 'c2'), file('side', '1')],
  ...[commit('s2', 'side'), file('side', '2')],
  ...[commit('c4', 'main', 'c3'), 'R deep/c moved/c'],
  ...[commit('c5', 'main', 'c4'), `merge ${markOf('s2')}`, file('side', '2')],
  ...[commit('c6'), file('a', '1')],
  ...[commit('c7'), file('deep/er/b', '1')],
  ...[commit('old', 'rewritten', 'c3'), file('a', 'old')],
  ...['reset refs/heads/rewritten', commit('new', 'rewritten', 'c3'), file('a', 'new')],
  ...[commit('root', 'orphan'), file('a', '1')],
  ...[commit('next', 'orphan'), file('b', '2')],
  ...['reset refs/tags/light', `from ${markOf('c2')}`, ''],
  ...[tag('once', 'c3'), tag('twice', 'once')],
].join('\n');

function markOf(name: string): string {
  return `:${marked.indexOf(name) + 1}`;
}

function data(text: string): string {
  return `data ${text.length}\n${text}`;
}

function file(path: string, content: string): string {
  return `M 100644 inline ${path}\n${data(content)}`;
}

function commit(name: (typeof names)[number], branch = 'main', from?: string): string {
  const seconds = 1_700_000_000 + names.indexOf(name);
  const head = [`commit refs/heads/${branch}`, `mark ${markOf(name)}`, `committer A <a@b> ${seconds} +0000`];
  return [...head, data(name), ...(from ? [`from ${markOf(from)}`] : [])].join('\n');
}

function tag(name: (typeof tags)[number], from: string): string {
  const head = [`tag ${name}`, `mark ${markOf(name)}`, `from ${markOf(from)}`];
  return [...head, 'tagger A <a@b> 1700000100 +0000', data(name)].join('\n');
}

let root: string;
/** The same objects and refs, stored one by one and packed. */
let repositories: { readonly loose: string; readonly packed: string };
const ids = new Map<string, string>();

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'holdfast-git-'));
  const loose = await createRepository(root, 'loose');
  const marks = join(root, 'marks');
  run(loose, ['fast-import', '--quiet', `--export-marks=${marks}`], history);
  for (const line of readFileSync(marks, 'utf8').trim().split('\n')) {
    const [mark = '', oid = ''] = line.split(' ');
    ids.set(marked[Number(mark.slice(1)) - 1] ?? '', oid);
  }
  // Else git may leave out less: a file that moved.
  run(loose, ['config', 'pack.useSparse', 'false']);
  run(loose, ['config', 'repack.writeBitmaps', 'false']);
  const packed = join(root, 'packed.git');
  cpSync(loose, packed, { recursive: true });
  run(packed, ['gc', '--quiet', '--prune=never']);
  repositories = { loose, packed };
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

function run(repository: string, args: readonly string[], input = '', env = {}): Buffer {
  const options = { input, env: { ...process.env, ...env } };
  return spawnSync('git', ['--git-dir', repository, ...args], options).stdout;
}

interface Ask {
  readonly want: readonly string[];
  readonly have?: readonly string[];
  readonly shallow?: readonly string[];
  readonly depth?: number | undefined;
}

const CAPABILITIES = 'multi_ack_detailed side-band-64k ofs-delta no-progress agent=holdfast';

function requestOf({ want, have = [], shallow = [], depth }: Ask): string {
  const lines = (word: string, values: readonly string[]) =>
    values.map((name) => `${word} ${ids.get(name) ?? name}`);
  const [first, ...others] = lines('want', want);
  const asked = [`${first} ${CAPABILITIES}`, ...others, ...lines('shallow', shallow)];
  const boundary = depth === undefined ? [] : [`deepen ${depth}`];
  const had = [...lines('have', have), 'done'];
  const text = (all: readonly string[]) => all.map((line) => packet(`${line}\n`)).join('');
  return `${text([...asked, ...boundary])}0000${text(had)}`;
}

/** Names of what is sent, as far as it has one, and the lines before; the order of neither counts. */
async function readAnswer(answer: Buffer) {
  const lines: string[] = [];
  const pack: Buffer[] = [];
  for (let start = 0; start < answer.length; ) {
    const length = Math.max(4, Number.parseInt(answer.toString('latin1', start, start + 4), 16));
    const content = answer.subarray(start + 4, start + length);
    if (content[0] === 1) pack.push(content.subarray(1));
    else if (content[0] !== 2) lines.push(named(content.toString('utf8').trim()));
    start += length;
  }
  if (pack.length === 0) return { lines, objects: undefined };
  writeFileSync(join(root, 'answer.pack'), Buffer.concat(pack));
  const { oids } = await git.indexPack({ fs, dir: root, gitdir: root, filepath: 'answer.pack' });
  return { lines: lines.sort(), objects: oids.map(named).sort() };
}

function named(text: string): string {
  return [...ids].reduce((told, [name, oid]) => told.replaceAll(oid, name), text);
}

async function answerHere(repository: string, body: string, version?: string): Promise<Buffer | undefined> {
  const url = new URL('http://git/shop.git/git-upload-pack');
  const headers = version === undefined ? {} : { 'git-protocol': version };
  const answer = await answerRequest(repository, { url, headers, body: Buffer.from(body) });
  return answer && Buffer.from(answer.body);
}

function answerOfGit(repository: string, body: string, version = ''): Buffer {
  return run(repository, ['upload-pack', '--stateless-rpc', repository], body, { GIT_PROTOCOL: version });
}

async function expectSame(storage: keyof typeof repositories, ask: Ask) {
  const repository = repositories[storage];
  const body = requestOf(ask);
  const here = await readAnswer((await answerHere(repository, body)) ?? Buffer.from('not answered'));
  expect(here).toEqual(await readAnswer(answerOfGit(repository, body)));
  return here;
}

describe.each(['loose', 'packed'] as const)('a pack from a repository whose objects are %s', (storage) => {
  test.each<Ask>([
    { want: ['c7'] },
    { want: ['c7'], depth: 1 },
    { want: ['c7'], depth: 3 },
    { want: ['c7'], depth: 99 },
    { want: ['c1'], depth: 1 },
    { want: ['c7'], have: ['c6'] },
    { want: ['c7'], have: ['c6'], shallow: ['c6'] },
    { want: ['c7'], have: ['c7'] },
    { want: ['c7'], have: ['f'.repeat(40)] },
    { want: ['c7'], have: ['f'.repeat(40), 'c5', 's1'], shallow: ['f'.repeat(40)] },
    { want: ['c7'], have: ['c7'], shallow: ['c7'], depth: 2 },
    { want: ['c7'], have: ['c7'], shallow: ['c7'], depth: 4 },
    { want: ['c6'], have: ['c5'], shallow: ['c5'], depth: 1 },
    { want: ['new'], have: ['old'] },
    { want: ['new'], have: ['old'], shallow: ['old'] },
    { want: ['new'], have: ['old'], shallow: ['old'], depth: 1 },
    { want: ['next'], have: ['c7'] },
    { want: ['next', 's2'], have: ['c3'] },
    { want: ['twice'] },
    { want: ['once'], have: ['c3'] },
    { want: ['twice'], depth: 2 },
  ])('is the one that git sends: %j', async (ask) => {
    expect((await expectSame(storage, ask)).objects).toBeDefined();
  });

  test.each(['old', 'f'.repeat(40)])(
    'is refused as git refuses it where no ref leads to %s',
    async (want) => {
      const { lines } = await expectSame(storage, { want: [want] });
      expect(lines).toEqual([`ERR upload-pack: not our ref ${want}`]);
    },
  );

  test('is the one that git sends, whatever a client has', async () => {
    const some = fc.subarray([...names], { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(
        fc.subarray(['c7', 's2', 'new', 'next', 'c2', 'once'], { minLength: 1, maxLength: 2 }),
        some,
        some,
        fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
        async (want, have, shallow, depth) => {
          await expectSame(storage, { want, have, shallow, depth });
        },
      ),
      { numRuns: Number(process.env.HOLDFAST_PROPERTY_RUNS ?? 20) },
    );
  });

  test.each([
    ['peel', 'symrefs', 'unborn'],
    ['ref-prefix refs/heads/main'],
    ['peel', 'ref-prefix refs/tags/', 'ref-prefix HEAD'],
    ['ref-prefix refs/heads/none'],
  ])('is chosen from the refs that git lists: %s %s %s', async (...options) => {
    const body = `${packet('command=ls-refs\n')}0001${options.map((line) => packet(`${line}\n`)).join('')}0000`;
    const here = await answerHere(repositories[storage], body, 'version=2');
    expect(here && linesOf(here)).toEqual(linesOf(answerOfGit(repositories[storage], body, 'version=2')));
  });
});

test.each([
  ['uploadpack.allowAnySHA1InWant', 'true'],
  ['transfer.hideRefs', 'refs/tags'],
])('a repository whose settings change what git answers is left to git: %s', async (name, value) => {
  const repository = join(root, 'set.git');
  cpSync(repositories.loose, repository, { recursive: true });
  const body = requestOf({ want: ['c7'] });
  expect(await answerHere(repository, body)).toBeDefined();
  run(repository, ['config', name, value]);
  expect(await answerHere(repository, body)).toBeUndefined();
});
