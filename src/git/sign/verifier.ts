import { createHash } from 'node:crypto';
import { GitError } from '../errors.ts';
import { readCommitObject, readObject } from '../store/objects.ts';
import type { Session } from '../store/session.ts';
import type { Resolved } from '../wire/references.ts';
import { signedCommit, signedTag } from './signed-object.ts';
import { readSigners, type Signers, signerOf } from './signers.ts';

/** What must be signed, and the Secret with the signers. */
export interface Verification {
  readonly mode: 'HEAD' | 'Tag' | 'TagAndHEAD';
  /** `namespace/name` of the Secret, for messages. */
  readonly secretName: string;
  /** Called before each verification, so that a removed key has effect immediately. Throws when there is no such Secret. */
  readonly values: () => Promise<Readonly<Record<string, Uint8Array>>>;
}

/** Verifies signatures. All methods throw GitError NotVerified or SignersUnusable. */
export interface Verifier {
  /** Who signed the commit or tag of the reference. */
  head(session: Session, target: Resolved): Promise<string>;
  /** Verifies a commit before its content is read (S22): it was verified before, or in mode HEAD it is signed itself. */
  commit(session: Session, oid: string): Promise<void>;
}

const maxRemembered = 256;

/** A verifier that remembers what it found for as long as the signers stay the same. */
export function createVerifier({ mode, secretName, values }: Verification): Verifier {
  let known:
    | { readonly print: string; readonly signers: Signers; readonly verified: Map<string, string> }
    | undefined;

  async function current() {
    const now = await values();
    const print = printOf(now);
    if (known?.print !== print)
      known = { print, signers: await readSigners(secretName, now), verified: new Map() };
    return known;
  }

  async function head(session: Session, target: Resolved): Promise<string> {
    const { signers, verified } = await current();
    const key = `${target.refName} ${target.want}`;
    const before = verified.get(key);
    if (before !== undefined) return before;
    const tagger = mode === 'HEAD' ? undefined : await verifyTag(session, target, signers);
    const committer = mode === 'Tag' ? undefined : await verifyCommit(session, target.commit, signers);
    const who = [...new Set([tagger, committer])].filter((one) => one !== undefined).join(' and ');
    remember(verified, key, who);
    remember(verified, target.commit, who);
    return who;
  }

  return {
    head,
    async commit(session, oid) {
      const { signers, verified } = await current();
      if (verified.has(oid)) return;
      // A signed commit is not enough with Tag and TagAndHEAD: with write access to a ref one could choose among signed commits.
      if (mode !== 'HEAD')
        throw notVerified(
          `commit ${oid.slice(0, 7)}`,
          'no signed tag that points to it has been read since the start',
        );
      remember(verified, oid, await verifyCommit(session, oid, signers));
    },
  };
}

function remember(verified: Map<string, string>, key: string, who: string): void {
  verified.delete(key);
  verified.set(key, who);
  for (const oldest of verified.keys()) {
    if (verified.size <= maxRemembered) return;
    verified.delete(oldest);
  }
}

async function verifyCommit(session: Session, oid: string, signers: Signers): Promise<string> {
  const object = await readObject(session.reader, oid);
  try {
    if (object?.type !== 'commit') throw new Error('it is not a commit');
    const signed = signedCommit(object.bytes);
    const tree = `tree ${(await readCommitObject(session.reader, oid))?.tree}\n`;
    if (signed.payload.subarray(0, tree.length).toString('latin1') !== tree)
      throw new Error('its tree is not the one that was signed');
    return await signerOf(signed, signers);
  } catch (error) {
    throw refusal(`commit ${oid.slice(0, 7)}`, error);
  }
}

/** The tag must contain the name under which it is followed: an old tag under a new name is refused (S23). */
async function verifyTag(
  session: Session,
  { commit, refName, want }: Resolved,
  signers: Signers,
): Promise<string> {
  const what = `${refName} (${want.slice(0, 7)})`;
  if (!(await readObject(session.reader, want))) await session.deepen(want, 1);
  const object = await readObject(session.reader, want);
  try {
    if (object?.type !== 'tag') throw new Error('it is not an annotated tag, and only those can be signed');
    const tag = signedTag(object.bytes);
    if (tag.type !== 'commit' || tag.object !== commit)
      throw new Error(`it does not point to commit ${commit.slice(0, 7)}`);
    if (`refs/tags/${tag.name}` !== refName)
      throw new Error(`it was signed as tag ${JSON.stringify(tag.name.slice(0, 80))}`);
    return await signerOf(tag, signers);
  } catch (error) {
    throw refusal(what, error);
  }
}

/** A damaged store says nothing about the signature, and is fetched again. */
function refusal(what: string, error: unknown): GitError {
  if (error instanceof GitError) return error;
  return notVerified(what, error instanceof Error ? error.message : 'it cannot be read');
}

function notVerified(what: string, why: string): GitError {
  return new GitError('NotVerified', `${what} is not applied: ${why} (spec.verify)`);
}

function printOf(values: Readonly<Record<string, Uint8Array>>): string {
  const hash = createHash('sha256');
  for (const name of Object.keys(values).sort()) {
    const bytes = values[name] ?? new Uint8Array();
    hash.update(`${name.length} ${name} ${bytes.length} `).update(bytes);
  }
  return hash.digest('hex');
}
