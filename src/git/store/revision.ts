/** Names of commits as people write them. */
import fs from 'node:fs';
import { dirname } from 'node:path';
import * as git from 'isomorphic-git';
import { GitError } from '../errors.ts';
import { type Commit, type ObjectReader, readCommitObject, readObject } from './objects.ts';

/** Where a repository keeps its objects, and HEAD: of a linked working tree these are two folders. */
export interface GitFolders {
  readonly objects: string;
  readonly head: string;
}

/** These, with every folder of objects that it reads, its own and those of other repositories. */
interface RevisionFolders extends GitFolders {
  readonly stores: readonly string[];
}

/** Limit of steps back. */
const mostSteps = 1_000;
/** A tag of a tag of a tag. */
const mostTags = 5;

/** The commit that a name with `~n` and `^` leads to. Throws GitError RefNotFound, and Corrupt. */
export async function resolveRevision(
  folders: RevisionFolders,
  reader: ObjectReader,
  revision: string,
): Promise<Commit> {
  const { name, steps } = parsed(revision);
  const oid = await idOf(folders, name);
  const first = oid && (await peeled(reader, oid));
  if (!first) throw notFound(revision, 'is not a commit of this clone; fetch it, or give its full id');
  return back(reader, first, { revision, steps });
}

function parsed(revision: string): { name: string; steps: number } {
  const [, name = '', moves = ''] = /^([^~^]+)((?:~\d{0,4}|\^1?)*)$/.exec(revision) ?? [];
  if (name === '') throw notFound(revision, 'is not a branch, tag or commit id (~n and ^ may follow)');
  const steps = (moves.match(/~\d*|\^1?/g) ?? []).reduce((sum, move) => {
    return sum + (/^~\d/.test(move) ? Number(move.slice(1)) : 1);
  }, 0);
  if (steps > mostSteps) throw notFound(revision, `goes back more than ${mostSteps} commits`);
  return { name, steps };
}

async function idOf({ objects, head, stores }: RevisionFolders, name: string): Promise<string> {
  if (/^[0-9a-f]{40}$/.test(name)) return name;
  const asRef = async (): Promise<string> => {
    if (name !== 'HEAD' && name !== '@') return git.resolveRef({ fs, gitdir: objects, ref: name });
    const at = await git.resolveRef({ fs, gitdir: head, ref: 'HEAD', depth: 2 });
    const branch = /^(?:ref: )?(refs\/.+)$/.exec(at)?.[1];
    return branch ? git.resolveRef({ fs, gitdir: objects, ref: branch }) : at;
  };
  return asRef().catch(() => (/^[0-9a-f]{4,39}$/.test(name) ? expanded(stores, name) : ''));
}

/** The whole id of a short one; empty where none or several begin with it. */
async function expanded(stores: readonly string[], oid: string): Promise<string> {
  const lookUp = (store: string) => git.expandOid({ fs, gitdir: dirname(store), oid }).catch(() => '');
  const found = new Set((await Promise.all(stores.map(lookUp))).filter((id) => id !== ''));
  const [id = ''] = found;
  return found.size === 1 ? id : '';
}

/** A tag leads to what it was set on. */
async function peeled(reader: ObjectReader, oid: string, tags = 0): Promise<Commit | undefined> {
  const commit = await readCommitObject(reader, oid);
  if (commit || tags === mostTags) return commit;
  const object = await readObject(reader, oid);
  if (object?.type !== 'tag') return undefined;
  const target = /^object ([0-9a-f]{40})$/m.exec(Buffer.from(object.bytes).toString('latin1'))?.[1];
  return target ? peeled(reader, target, tags + 1) : undefined;
}

async function back(
  reader: ObjectReader,
  from: Commit,
  { revision, steps }: { revision: string; steps: number },
): Promise<Commit> {
  let commit = from;
  for (let step = 0; step < steps; step += 1) {
    const [parent] = commit.parents;
    if (parent === undefined)
      throw notFound(revision, `goes back further than the first commit, ${commit.oid.slice(0, 7)}`);
    const next = await readCommitObject(reader, parent);
    if (!next) throw notFound(revision, 'goes back further than this clone does; fetch more of its history');
    commit = next;
  }
  return commit;
}

function notFound(revision: string, what: string): GitError {
  return new GitError('RefNotFound', `${JSON.stringify(revision)} ${what}`);
}
