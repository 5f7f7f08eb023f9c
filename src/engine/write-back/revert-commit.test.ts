import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Source } from '../../api/source/source.ts';
import type { Repository } from '../../contracts/git.ts';
import { createRenderCache } from '../../render/render.ts';
import { createHeads } from '../canary/context/heads.ts';
import type { Snapshot, SourceParts, SourceState } from '../sync/context/context.ts';
import { createSourceGit } from '../sync/read/source-git.ts';
import { buildRevert } from './revert-commit.ts';

type Files = Readonly<Record<string, string>>;

const names = ['web', 'api', 'job'] as const;
const id = (digit: number) => String(digit).repeat(40);
const [goodId, badId, headId] = [id(1), id(2), id(3)];

/** A repository of a few commits in memory, and the Source over it. */
function gitOver(commits: Readonly<Record<string, Files>>, parents: Readonly<Record<string, string>> = {}) {
  const repository = {
    treeOidAt: async (commit: string) => commit,
    readFiles: async (commit: string) => ({
      files: Object.entries(commits[commit] ?? {}).map(([path, text]) => ({
        path,
        oid: `${commit} ${path}`,
        bytes: Buffer.from(text),
      })),
      problems: [],
    }),
    readPaths: async (commit: string, paths: readonly string[]) =>
      new Map(paths.map((path) => [path, bytesOf(commits[commit]?.[path])])),
    changesOf: async (commit: string) => {
      const parent = parents[commit] ?? goodId;
      const [before, after] = [commits[parent] ?? {}, commits[commit] ?? {}];
      const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])];
      return { parent, paths: paths.filter((path) => before[path] !== after[path]) };
    },
  } as unknown as Repository;
  const parts = {
    cluster: { kindOf: async () => ({ namespaced: true }) },
    heads: createHeads(),
    canaries: () => [],
    secretKey: Buffer.alloc(32, 1),
  } as unknown as SourceParts;
  const state = {
    key: 'shop/shop',
    repository,
    rendered: createRenderCache(),
    previous: new Map(),
    dirty: false,
    snapshot: { commit: { commit: headId } } as Snapshot,
  } as SourceState;
  const source = {
    metadata: { name: 'shop' },
    spec: { url: 'https://git/x', ref: { branch: 'main' } },
  } as Source;
  return createSourceGit(
    { parts, source, state },
    {
      forge: async () => undefined,
      wake: () => undefined,
      signal: new AbortController().signal,
    },
  );
}

function bytesOf(text: string | undefined): Uint8Array | undefined {
  return text === undefined ? undefined : Buffer.from(text);
}

interface App {
  readonly image: number;
  readonly note: number;
}

/** One document per object; a ConfigMap that no workload uses belongs to no Canary. */
function documents(name: string, { image, note }: App): string[] {
  const metadata = (own: string) => `metadata:\n  name: ${own}\n  namespace: shop\n`;
  return [
    `apiVersion: apps/v1\nkind: Deployment\n${metadata(name)}spec:\n  selector:\n    matchLabels:\n      app: ${name}\n  template:\n    metadata:\n      labels:\n        app: ${name}\n    spec:\n      containers:\n        - name: app\n          image: shop/${name}:${image}\n`,
    `apiVersion: flagger.app/v1beta1\nkind: Canary\n${metadata(name)}spec:\n  provider: kubernetes\n  targetRef:\n    apiVersion: apps/v1\n    kind: Deployment\n    name: ${name}\n  service:\n    port: 80\n  analysis:\n    interval: 10s\n    threshold: 1\n    iterations: 1\n`,
    `apiVersion: v1\nkind: ConfigMap\n${metadata(`${name}-notes`)}data:\n  note: "${note}"\n`,
  ];
}

type World = Readonly<Record<(typeof names)[number], App>>;

/** Each document goes to the file its number names. */
function filesOf(world: World, places: readonly number[]): Files {
  const files: Record<string, string> = {};
  names
    .flatMap((name) => documents(name, world[name]))
    .forEach((text, index) => {
      const path = `f${places[index] ?? 0}.yaml`;
      files[path] = files[path] === undefined ? text : `${files[path]}---\n${text}`;
    });
  return files;
}

const app = fc.record({ image: fc.integer({ min: 1, max: 3 }), note: fc.integer({ min: 1, max: 3 }) });
const world = fc.record({ web: app, api: app, job: app });

it('an exact revert leads this Canary to its last-known-good, and every other object stays as head has it', async () => {
  let exact = 0;
  const check = fc.asyncProperty(
    world,
    world,
    world,
    fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 9, maxLength: 9 }),
    async (good, other, later, places) => {
      const bad = { ...other, web: { image: good.web.image + 3, note: other.web.note } };
      const head = { ...later, web: { image: bad.web.image, note: later.web.note } };
      const commits = {
        [goodId]: filesOf(good, places),
        [badId]: filesOf(bad, places),
        [headId]: filesOf(head, places),
      };
      const git = gitOver(commits);
      const digestAt = async (commit: string) => git.digestIn(await git.render(commit), 'shop/web') ?? '';
      const [digest, goodDigest] = await Promise.all([digestAt(headId), digestAt(goodId)]);
      const built = await buildRevert(git, 'shop/web', {
        mode: 'pullRequest',
        branch: 'b',
        digest,
        bad: badId,
        good: goodId,
        goodDigest,
        reason: 'ChecksFailed',
        finding: '',
      });
      expect(built.kind).toBe('exact');
      if (built.kind !== 'exact') return;
      exact += 1;
      const written: Record<string, string> = { ...commits[headId] };
      for (const [path, bytes] of built.files) written[path] = Buffer.from(bytes ?? '').toString();
      expect(written).toEqual(
        filesOf({ ...head, web: { image: good.web.image, note: head.web.note } }, places),
      );
    },
  );
  await fc.assert(check, { numRuns: 60 });
  expect(exact).toBeGreaterThan(0);
});

const wanted = {
  mode: 'pullRequest',
  branch: 'b',
  bad: badId,
  good: goodId,
  reason: 'r',
  finding: '',
} as const;
const start = { web: { image: 1, note: 1 }, api: { image: 1, note: 1 }, job: { image: 1, note: 1 } };
const places = [0, 0, 0, 1, 1, 1, 2, 2, 2];

it('a whole commit is taken back, with who else is concerned, when its own lines do not lead to the last-known-good', async () => {
  const bad = { ...start, web: { image: 2, note: 2 }, api: { image: 2, note: 1 } };
  const files = filesOf(bad, places);
  const git = gitOver({ [goodId]: filesOf(start, places), [badId]: files, [headId]: files });
  const digest = git.digestIn(await git.render(headId), 'shop/web') ?? '';
  const built = await buildRevert(git, 'shop/web', { ...wanted, digest, goodDigest: 'v1:of another key' });
  expect(built).toMatchObject({ kind: 'whole', why: expect.stringContaining('do not lead') });
  expect(built.kind === 'whole' && built.others.join()).toMatch(/Deployment shop\/api.*|ConfigMap/);
});

it('commits that were pushed together are taken back together, as far as the last-known-good takes', async () => {
  const first = { ...start, web: { image: 2, note: 1 } };
  const second = { ...first, api: { image: 1, note: 2 } };
  const files = filesOf(second, places);
  const commits = { [goodId]: filesOf(start, places), [id(4)]: filesOf(first, places), [badId]: files };
  const git = gitOver({ ...commits, [headId]: files }, { [badId]: id(4), [id(4)]: goodId });
  const digest = git.digestIn(await git.render(headId), 'shop/web') ?? '';
  const built = await buildRevert(git, 'shop/web', { ...wanted, digest, goodDigest: 'v1:of another key' });
  expect(built).toMatchObject({ kind: 'whole', commits: [badId, id(4)] });
  const after = await git.render(headId, built.kind === 'whole' ? built.files : new Map());
  expect(git.digestIn(after, 'shop/web')).toBe(git.digestIn(await git.render(goodId), 'shop/web'));
});

it('no commit is taken back that does not lead to the last-known-good', async () => {
  const [old, files] = [
    { ...start, web: { image: 3, note: 1 } },
    filesOf({ ...start, web: { image: 2, note: 1 } }, places),
  ];
  const commits = { [goodId]: filesOf(start, places), [id(4)]: filesOf(old, places), [badId]: files };
  const git = gitOver({ ...commits, [headId]: files }, { [badId]: id(4), [id(4)]: id(4) });
  const digest = git.digestIn(await git.render(headId), 'shop/web') ?? '';
  const built = await buildRevert(git, 'shop/web', { ...wanted, digest, goodDigest: 'v1:of another key' });
  expect(built).toMatchObject({
    kind: 'impossible',
    why: expect.stringContaining('10 commits does not lead to the last-known-good'),
  });
});

it('nothing is taken back to a commit that does not hold the release', async () => {
  const files = filesOf({ ...start, web: { image: 2, note: 1 } }, places);
  const git = gitOver({ [goodId]: {}, [badId]: files, [headId]: files });
  const digest = git.digestIn(await git.render(headId), 'shop/web') ?? '';
  const built = await buildRevert(git, 'shop/web', { ...wanted, digest, goodDigest: 'v1:of another key' });
  expect(built).toMatchObject({ kind: 'impossible', why: expect.stringContaining('does not hold') });
});

it('nothing is built where the same lines changed since, or head moved on', async () => {
  const bad = { ...start, web: { image: 2, note: 1 } };
  const head = filesOf(bad, places);
  const changed = { ...head, 'f0.yaml': (head['f0.yaml'] ?? '').replace('- name: app', '- name: main') };
  const git = gitOver({ [goodId]: filesOf(start, places), [badId]: head, [headId]: changed });
  const digest = git.digestIn(await git.render(headId), 'shop/web') ?? '';
  const goodDigest = git.digestIn(await git.render(goodId), 'shop/web') ?? '';
  expect((await buildRevert(git, 'shop/web', { ...wanted, digest, goodDigest })).kind).toBe('impossible');
  expect((await buildRevert(git, 'shop/web', { ...wanted, digest: 'v1:x', goodDigest })).kind).toBe('moved');
});

it('a release that uses config outside Git is taken back too: Git does not know that part of its digest', async () => {
  const files = filesOf({ ...start, web: { image: 2, note: 1 } }, places);
  const git = gitOver({ [goodId]: filesOf(start, places), [badId]: files, [headId]: files });
  const inGit = async (commit: string) => git.digestIn(await git.render(commit), 'shop/web') ?? '';
  const [digest, goodDigest] = await Promise.all([inGit(headId), inGit(goodId)]);
  const secret = '+690c75953b229049';
  const built = await buildRevert(git, 'shop/web', {
    ...wanted,
    digest: `${digest}${secret}`,
    goodDigest: `${goodDigest}${secret}`,
  });
  expect(built.kind).toBe('exact');
});
