import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import { objectId } from '../store/pack/pack-file.ts';
import { entryHeader, PACK_NUMBERS, packHeader } from '../store/pack/pack-format.ts';

/** A Git object that was built here and that the server may not hold yet. */
export interface NewObject {
  readonly oid: string;
  readonly type: 'commit' | 'tree' | 'blob';
  readonly bytes: Uint8Array;
}

/** The author or committer of a commit. */
export interface Identity {
  readonly name: string;
  readonly email: string;
}

/** Everything a commit says; `time` in seconds since the epoch, written as UTC. */
interface CommitContent {
  readonly tree: string;
  readonly parents: readonly string[];
  readonly author: Identity;
  readonly committer: Identity;
  readonly time: number;
  readonly message: string;
}

/** An object with its id: the SHA-1 over type, length and content, as Git computes it. */
export function newObject(type: NewObject['type'], bytes: Uint8Array): NewObject {
  return { oid: objectId({ type, bytes }), type, bytes };
}

/** A commit; `sign` gets its bytes without the signature and answers with the armored signature. */
export function newCommit(content: CommitContent, sign?: (bytes: Buffer) => string): NewObject {
  const head = [
    `tree ${content.tree}`,
    ...content.parents.map((parent) => `parent ${parent}`),
    `author ${signature(content.author, content.time)}`,
    `committer ${signature(content.committer, content.time)}`,
  ].join('\n');
  const body = `\n\n${content.message.trimEnd()}\n`;
  const unsigned = Buffer.from(`${head}${body}`, 'utf8');
  if (!sign) return newObject('commit', unsigned);
  // Continuation lines of a header begin with a space.
  const armored = sign(unsigned).trimEnd().replaceAll('\n', '\n ');
  return newObject('commit', Buffer.from(`${head}\ngpgsig ${armored}${body}`, 'utf8'));
}

/** `Name <address> seconds +0000`, without characters that end a field early. */
function signature({ name, email }: Identity, time: number): string {
  const clean = (text: string) => text.replace(/[<>\p{Cc}]/gu, '').trim();
  return `${clean(name)} <${clean(email)}> ${Math.floor(time)} +0000`;
}

/** The objects as a pack without deltas: what is pushed is small and was built a moment ago. */
export function encodePack(objects: readonly NewObject[]): Buffer {
  const entries = objects.flatMap(({ type, bytes }) => [
    entryHeader(PACK_NUMBERS[type], bytes.length),
    deflateSync(bytes),
  ]);
  const content = Buffer.concat([packHeader(objects.length), ...entries]);
  return Buffer.concat([content, createHash('sha1').update(content).digest()]);
}
