import type { NewCommit, RepositoryWriting } from '../../contracts/git.ts';
import { GitError } from '../errors.ts';
import { type Commit, type ObjectReader, requireObject } from '../store/objects.ts';
import type { Session } from '../store/session.ts';
import { entryKind, readTree } from '../store/tree.ts';
import type { GitSource } from '../types.ts';
import { listRefs } from '../wire/references.ts';
import type { GitTransport } from '../wire/transport.ts';
import { type Identity, newCommit } from './new-objects.ts';
import { pushRef } from './receive-pack.ts';
import { changedPaths, editTree } from './tree-edit.ts';

/** Makes the armored signature of a commit's bytes. */
export type Sign = (bytes: Buffer) => string;

/** What writing needs of a Source's repository. */
interface WritingContext {
  readonly url: string;
  readonly identity: Identity;
  /** The key may be rotated, so it is read at each use; undefined: commits are not signed. */
  readonly signer: () => Promise<Sign | undefined>;
  readonly openTransport: (signal?: AbortSignal) => Promise<GitTransport>;
  /** Work on a commit that is fetched by its id when the store does not hold it. */
  readonly atCommit: <T>(
    commit: string,
    signal: AbortSignal | undefined,
    work: (session: Session, commit: Commit) => Promise<T>,
  ) => Promise<T>;
  readonly isDescendant: GitSource['isDescendant'];
}

/** The writing half of a Source's repository; nothing is read or sent yet. */
export function createGitWriting(context: WritingContext): RepositoryWriting {
  const { atCommit } = context;
  return {
    async listRefs(prefix, signal) {
      const found = await listRefs(await context.openTransport(signal), context.url, {
        prefix,
        symrefs: false,
      });
      // A server may send more than was asked for.
      const wanted = found.filter(({ ref, oid }) => ref.startsWith(prefix) && /^[0-9a-f]{40}$/.test(oid));
      return new Map(wanted.map(({ ref, oid }) => [ref, oid]));
    },
    async moveRef(update, signal) {
      await pushRef(context.url, await context.openTransport(signal), update, []);
    },
    commitFiles: (request, signal) => commitFiles(context, request, signal),
    async isExactly(commit, { head, filesAt }, signal) {
      const { parents, tree } = await atCommit(commit, signal, async (_session, found) => found);
      const [own, ...more] = parents;
      if (own === undefined || more.length > 0) return false;
      // Others may have gone on since it was made.
      if ((await context.isDescendant(head, own, signal)) !== 'yes') return false;
      const files = await filesAt(own);
      if (!files) return false;
      const edited = await atCommit(own, signal, ({ reader }, before) =>
        editTree(reader, before.tree, files),
      );
      return edited.oid === tree;
    },
    readPaths: (commit, paths, signal) =>
      atCommit(commit, signal, async ({ reader, pause }, { tree }) => {
        const found = new Map<string, Uint8Array | undefined>();
        for (const path of paths) {
          await pause();
          found.set(path, await readPath(reader, tree, path));
        }
        return found;
      }),
    changesOf: (commit, signal) => changesOf(context, commit, signal),
  };
}

async function commitFiles(
  context: WritingContext,
  { parent, files, message, time, ref, before }: NewCommit,
  signal: AbortSignal | undefined,
): Promise<string> {
  const sign = await context.signer();
  const { identity } = context;
  const { commit, objects } = await context.atCommit(parent, signal, async ({ reader }, { tree }) => {
    const edited = await editTree(reader, tree, files);
    const content = {
      tree: edited.oid,
      parents: [parent],
      author: identity,
      committer: identity,
      time,
      message,
    };
    return { commit: newCommit(content, sign), objects: edited.objects };
  });
  const transport = await context.openTransport(signal);
  await pushRef(context.url, transport, { ref, before, after: commit.oid }, [commit, ...objects]);
  return commit.oid;
}

async function changesOf(context: WritingContext, commit: string, signal: AbortSignal | undefined) {
  const { parent, tree } = await context.atCommit(commit, signal, async (_session, { parents, tree }) => ({
    parent: parents[0],
    tree,
  }));
  if (parent === undefined)
    throw new GitError('NotFound', `commit ${commit} has no parent, so there is nothing before it`);
  // Asked for by its id, so that a store that holds only this one commit gets it too.
  const before = await context.atCommit(parent, signal, async (_session, found) => found.tree);
  const paths = await context.atCommit(commit, signal, (session) => changedPaths(session, before, tree));
  return { parent, paths };
}

async function readPath(reader: ObjectReader, root: string, path: string): Promise<Uint8Array | undefined> {
  const segments = path.split('/');
  const last = segments.pop();
  let oid = root;
  for (const segment of segments) {
    const entry = (await readTree(reader, oid)).find(({ name }) => name === segment);
    if (!entry || entryKind(entry) !== 'folder') return undefined;
    oid = entry.oid;
  }
  const file = (await readTree(reader, oid)).find(({ name }) => name === last);
  if (!file || entryKind(file) !== 'file') return undefined;
  return requireObject(reader, file.oid, 'blob');
}
