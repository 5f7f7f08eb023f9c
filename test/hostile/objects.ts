import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import { type NewObject, newObject } from '../../src/git/write/new-objects.ts';
import type { Served } from './git-server.ts';

/** One line of a tree, whatever it says. */
export interface Entry {
  readonly mode?: string;
  readonly name: string | Buffer;
  readonly oid: string;
}

/** A blob of this text. */
export function blob(content: string | Buffer): NewObject {
  return newObject('blob', Buffer.from(content));
}

/** A tree of these entries in this order; git itself would refuse some. */
export function tree(entries: readonly Entry[]): NewObject {
  const sizes = entries.map(({ mode = '100644', name }) => mode.length + Buffer.byteLength(name) + 22);
  const bytes = Buffer.alloc(sizes.reduce((sum, size) => sum + size, 0));
  let offset = 0;
  for (const { mode = '100644', name, oid } of entries) {
    offset += bytes.write(`${mode} `, offset, 'latin1');
    offset += typeof name === 'string' ? bytes.write(name, offset) : name.copy(bytes, offset);
    offset += 1 + bytes.write(oid, offset + 1, 'hex');
  }
  return newObject('tree', bytes);
}

/** A commit of this tree id, and of what is between it and the author. */
export function commit(
  treeOid: string,
  time = '1790000000 +0000',
  message = 'Change\n',
  author = `Mallory <m@example.com> ${time}`,
): NewObject {
  const who = `Mallory <m@example.com> ${time}`;
  return newObject(
    'commit',
    Buffer.from(`tree ${treeOid}\nauthor ${author}\ncommitter ${who}\n\n${message}`),
  );
}

/** A repository whose branch main is this commit. */
export function serving(head: NewObject, others: readonly NewObject[], pack?: Buffer): Served {
  return { refs: [['refs/heads/main', head.oid]], pack: pack ?? packOf([head, ...others]) };
}

/** `a.yaml`, which each of them holds beside what is wrong. */
export const manifest = blob('apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n');

/** A repository with these entries beside `a.yaml`. */
export function withEntries(entries: readonly Entry[], objects: readonly NewObject[] = []): Served {
  const root = tree([{ name: 'a.yaml', oid: manifest.oid }, ...entries]);
  return serving(commit(root.oid), [root, manifest, ...objects]);
}

/** An object of a pack as its bytes say, honest or not. */
export interface RawObject {
  readonly type: number;
  /** What its header claims. */
  readonly size: number;
  readonly content: Buffer;
  /** Index of the base in the pack, of an OFS_DELTA. */
  readonly base?: number;
  /** Id of the base, of a REF_DELTA. */
  readonly baseId?: string;
}

const TYPES: Readonly<Record<NewObject['type'], number>> = { commit: 1, tree: 2, blob: 3 };
/** Types in a pack. */
export const BLOB = 3;
/** Types in a pack. */
export const OFS_DELTA = 6;
/** Types in a pack. */
export const REF_DELTA = 7;

/** A pack of honest objects. */
export function packOf(objects: readonly NewObject[]): Buffer {
  return rawPack(objects, []);
}

/** A pack of honest objects, and of raw ones after them. `count` is what its header claims. */
export function rawPack(
  honest: readonly NewObject[],
  raw: readonly RawObject[],
  count = honest.length + raw.length,
): Buffer {
  const start = Buffer.from('PACK\0\0\0\x02\0\0\0\0', 'latin1');
  start.writeUInt32BE(count, 8);
  const parts: Buffer[] = [start];
  for (const { type, bytes } of honest) parts.push(header(TYPES[type], bytes.length), deflated(bytes));
  let offset = parts.reduce((sum, { length }) => sum + length, 0);
  const starts: number[] = [];
  for (const { type, size, content, base, baseId = '' } of raw) {
    starts.push(offset);
    const distance =
      base === undefined ? Buffer.from(baseId, 'hex') : distanceOf(offset - (starts[base] ?? 0));
    const part = Buffer.concat([header(type, size), distance, deflated(content)]);
    parts.push(part);
    offset += part.length;
  }
  return sealed(Buffer.concat(parts));
}

/** Small objects with small tables: to make these would be most of the time. */
function deflated(bytes: Uint8Array): Buffer {
  return deflateSync(bytes, bytes.length < 4_096 ? { level: 1, memLevel: 1, windowBits: 9 } : { level: 1 });
}

/** With its checksum. */
export function sealed(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, createHash('sha1').update(bytes).digest()]);
}

/** A delta that copies the first `copied` bytes (whole MiB) of a base of `baseBytes` bytes, and adds a number of its own. */
export function copyDelta(baseBytes: number, copied: number, number: number): Buffer {
  const own = Buffer.alloc(4);
  own.writeUInt32BE(number);
  const copy = Buffer.from([0x80 | 0x40, copied / 65_536]);
  return Buffer.concat([leb(baseBytes), leb(copied + 4), copy, Buffer.from([4]), own]);
}

/** A delta that makes its base once more with a few characters after it. */
export function appendDelta(baseBytes: number, text: string): Buffer {
  const copy = Buffer.from([0x80 | 0x10 | 0x20, baseBytes % 256, Math.floor(baseBytes / 256)]);
  return Buffer.concat([
    leb(baseBytes),
    leb(baseBytes + text.length),
    copy,
    Buffer.from([text.length]),
    Buffer.from(text),
  ]);
}

/** A delta that makes its base once more. */
export function sameDelta(bytes: number): Buffer {
  return Buffer.concat([leb(bytes), leb(bytes), Buffer.from([0x80 | 0x10, bytes])]);
}

function leb(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  return Buffer.from([...bytes, rest]);
}

function header(type: number, size: number): Buffer {
  const rest = Math.floor(size / 16);
  const first = (type << 4) | (size % 16);
  return rest === 0 ? Buffer.from([first]) : Buffer.concat([Buffer.from([first | 0x80]), leb(rest)]);
}

function distanceOf(distance: number): Buffer {
  const bytes = [distance % 128];
  for (let rest = Math.floor(distance / 128); rest > 0; rest = Math.floor(rest / 128)) {
    rest -= 1;
    bytes.unshift((rest % 128) | 0x80);
  }
  return Buffer.from(bytes);
}
