import { createHash } from 'node:crypto';
import type { ServerRef } from 'isomorphic-git';
import * as git from 'isomorphic-git';
import { createPause } from '../../api/clock.ts';
import { GitError } from '../errors.ts';
import type { GitReference } from '../types.ts';
import { highestVersion } from './semver.ts';
import type { GitTransport } from './transport.ts';

/** Where a reference points on the server now. */
export interface Resolved {
  /** The commit; for an annotated tag the one it points at. */
  readonly commit: string;
  /** What to ask the server for: the tag object of an annotated tag, else the commit. */
  readonly want: string;
  readonly refName: string;
  /** Commits of the tags in the range, the highest ones, for `semver` only: going from one to another is no rewrite. */
  readonly candidates: readonly string[];
}

const COMMIT_ID = /^[0-9a-f]{40}$/;

/** A stable short name of a reference, for the store's own records. */
export function referenceKey(reference: GitReference): string {
  const { branch, tag, commit, semver } = reference;
  return createHash('sha256')
    .update(JSON.stringify([branch, tag, commit, semver]))
    .digest('hex')
    .slice(0, 16);
}

/**
 * Asks the server by ref listing only: at most two requests, no pack data, none for a fixed commit.
 * Throws GitError RefNotFound when the reference is not there, Refused when it is written wrongly.
 */
export async function resolveReference(
  openTransport: () => Promise<GitTransport>,
  url: string,
  reference: GitReference,
): Promise<Resolved> {
  if (reference.commit) return fixedCommit(reference.commit);
  const list = async (prefix: string, symrefs = false) =>
    listRefs(await openTransport(), url, { prefix, symrefs });
  if (reference.tag) {
    const refName = `refs/tags/${checkName(reference.tag)}`;
    return pick(await list(refName), refName, `${url} has no tag "${reference.tag}"; check spec.ref.tag`);
  }
  if (reference.semver) return pickVersion(await list('refs/tags/'), reference.semver, url);
  if (reference.branch) {
    const refName = `refs/heads/${checkName(reference.branch)}`;
    return pick(
      await list(refName),
      refName,
      `${url} has no branch "${reference.branch}"; check spec.ref.branch`,
    );
  }
  const nothing = `${url} has no default branch (its HEAD points nowhere); set spec.ref.branch`;
  return pick(await list('HEAD', true), 'HEAD', nothing);
}

function fixedCommit(commit: string): Resolved {
  if (!COMMIT_ID.test(commit)) {
    throw new GitError(
      'Refused',
      'spec.ref.commit must be a full commit id of 40 hexadecimal digits in lower case',
    );
  }
  return { commit, want: commit, refName: commit, candidates: [] };
}

/** Git's own rules for ref names, the part that matters on the wire and in a file name. */
function checkName(name: string): string {
  const short = name.replace(/^refs\/(heads|tags)\//, '');
  if (!short || short.length > 250 || /[\p{Cc} ~^:?*[\\]|\.\.|@\{|\/\/|^\/|\/$|\.lock$/u.test(short)) {
    throw new GitError(
      'Refused',
      `spec.ref names ${JSON.stringify(name.slice(0, 80))}, which is not a valid ref name`,
    );
  }
  return short;
}

/** Refs whose full names begin with the prefix; the server may send more. Throws GitError. */
export async function listRefs(
  http: GitTransport,
  url: string,
  query: { prefix: string; symrefs: boolean },
): Promise<ServerRef[]> {
  try {
    const asked = { request: (request: git.GitHttpRequest) => http.request(request, query.prefix) };
    return await git.listServerRefs({ http: asked, url, protocolVersion: 2, peelTags: true, ...query });
  } catch (error) {
    if (error instanceof GitError) throw error;
    if (error instanceof git.Errors.SmartHttpError) {
      throw new GitError('NotFound', `${url} answers, but not as a Git server; check spec.url`, error);
    }
    throw new GitError('Unreachable', `${url}: the ref listing cannot be read`, error);
  }
}

/** The server may send more than was asked for (a prefix also matches longer names), so the name must be equal. */
function pick(refs: readonly ServerRef[], refName: string, missing: string): Resolved {
  const found = refs.find(({ ref }) => ref === refName);
  if (!found) throw new GitError('RefNotFound', missing);
  return { ...commitOf(found), refName, candidates: [] };
}

/** They are held until the next listing, and a server may have hundreds of thousands of versions. */
const mostCandidates = 1_000;

async function pickVersion(refs: readonly ServerRef[], range: string, url: string): Promise<Resolved> {
  const tags = refs.filter(({ ref }) => ref.startsWith('refs/tags/'));
  const tagOf = ({ ref }: ServerRef) => ref.slice('refs/tags/'.length);
  const { best, matching } = await highestVersion(range, tags, tagOf, createPause());
  if (!best)
    throw new GitError('RefNotFound', `${url} has no tag in the range "${range}"; check spec.ref.semver`);
  const candidates = matching.slice(0, mostCandidates).map((ref) => commitOf(ref).commit);
  return { ...commitOf(best), refName: best.ref, candidates };
}

function commitOf({ ref, oid, peeled = oid }: ServerRef): { commit: string; want: string } {
  if (!COMMIT_ID.test(oid) || !COMMIT_ID.test(peeled)) {
    throw new GitError(
      'Refused',
      `${ref} is not a SHA-1 object id; SHA-256 repositories are not supported yet`,
    );
  }
  return { commit: peeled, want: oid };
}
