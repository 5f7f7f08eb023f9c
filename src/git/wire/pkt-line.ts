import { createPause } from '../../api/clock.ts';
import { GitError } from '../errors.ts';

/** One line of text as a Git pkt-line: four hexadecimal digits of length, then the text. */
export function encodePktLine(text: string): Buffer {
  const content = Buffer.from(text, 'utf8');
  return Buffer.concat([Buffer.from((content.length + 4).toString(16).padStart(4, '0')), content]);
}

/** The packet that ends a section. */
export const FLUSH = Buffer.from('0000');

/** The packet between a command of protocol v2 and its arguments. */
export const DELIMITER = Buffer.from('0001');

/** The packets of a stream; flush packets come as empty ones. Throws GitError Unreachable when it is cut or garbled. */
export async function* readPktLines(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of stream) {
    rest = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
    for (
      let length = packetLength(rest);
      length !== undefined && length <= rest.length;
      length = packetLength(rest)
    ) {
      yield rest.subarray(4, Math.max(4, length));
      rest = rest.subarray(Math.max(4, length));
    }
  }
  if (rest.length > 0)
    throw new GitError('Unreachable', "the Git server's answer ended in the middle of a packet");
}

/** Length of the first packet with its four digits (0 to 3: a marker without content), if they are there. */
function packetLength(bytes: Buffer): number | undefined {
  if (bytes.length < 4) return undefined;
  const length = lengthAt(bytes, 0);
  if (length === undefined)
    throw new GitError('Unreachable', 'the server did not answer in the Git protocol; check spec.url');
  return length;
}

/** Undefined where there are no four digits. */
function lengthAt(bytes: Buffer, at: number): number | undefined {
  const digits = bytes.toString('latin1', at, at + 4);
  return /^[0-9a-fA-F]{4}$/.test(digits) ? Number.parseInt(digits, 16) : undefined;
}

/**
 * Refuses an answer of the listing (capabilities or refs) that only looks like one. The library takes an error
 * packet, a cut answer and the refusal of an SHA-256 repository all for "no refs", and a Source must not report that its
 * branch is gone when the server merely failed. Throws GitError Unreachable or Refused.
 */
export async function checkListing(
  url: string,
  listing: Uint8Array,
  said: (text: string) => string,
): Promise<void> {
  for await (const packet of readPktLines(inPieces(listing))) {
    const line = packet.toString('utf8', 0, 1_000).trimEnd();
    if (line === 'object-format=sha256') {
      throw new GitError('Refused', `${url} is a SHA-256 repository; only SHA-1 repositories are supported`);
    }
    if (line.startsWith('ERR ')) {
      throw new GitError('Unreachable', `${url}: the Git server reported an error: ${said(line.slice(4))}`);
    }
  }
  if (Buffer.from(listing.slice(-4)).toString('latin1') !== '0000') {
    throw new GitError('Unreachable', `${url}: the ref listing was truncated`);
  }
}

/** What Git 2.39 answers in protocol v0 for a repository without refs; the library takes it for v2. */
const WITHOUT_REFS = Buffer.concat([encodePktLine('# service=git-upload-pack\n'), FLUSH, FLUSH]);

/** A listing as the library reads it: where there are no refs, with the line that other servers send in their place. */
export function readableListing(listing: Uint8Array): Uint8Array {
  if (!WITHOUT_REFS.equals(listing)) return listing;
  const line = encodePktLine(`${'0'.repeat(40)} capabilities^{}\0agent=none\n`);
  return Buffer.concat([WITHOUT_REFS.subarray(0, -FLUSH.length), line, FLUSH]);
}

/**
 * A listing without the refs that were not asked for. A server may send hundreds of thousands, which would be held until its end, and what reads
 * them takes more than a microsecond for each.
 */
export async function* onlyRefs(
  listing: AsyncIterable<Uint8Array>,
  prefix: string,
): AsyncGenerator<Uint8Array> {
  const wanted = Buffer.from(prefix);
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of listing) {
    rest = Buffer.concat([rest, chunk]);
    const kept: Buffer[] = [];
    let at = 0;
    for (let end = endOfPacket(rest, at); end <= rest.length; end = endOfPacket(rest, at)) {
      const packet = rest.subarray(at, end);
      if (!isOtherRef(packet, wanted)) kept.push(packet);
      at = end;
    }
    rest = rest.subarray(at);
    // No packet is so long: who reads what is garbled refuses it.
    if (rest.length > 65_536) kept.push(rest);
    yield Buffer.concat(kept);
    if (rest.length > 65_536) rest = Buffer.alloc(0);
  }
  yield rest;
}

/** Infinity where that is not known, or garbled. */
function endOfPacket(bytes: Buffer, at: number): number {
  const length = lengthAt(bytes, at);
  return length === undefined ? Number.POSITIVE_INFINITY : at + Math.max(4, length);
}

const NAME_AT = 45;

/** The first ref of protocol v0 has the capabilities after a zero byte. */
function isOtherRef(packet: Buffer, wanted: Buffer): boolean {
  const isRef = packet[NAME_AT - 1] === 0x20 && /^[0-9a-f]{40}$/.test(packet.toString('latin1', 4, 44));
  return isRef && !packet.subarray(NAME_AT).subarray(0, wanted.length).equals(wanted) && !packet.includes(0);
}

/** Bytes as a stream that leaves others their turn. */
export async function* inPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  const pause = createPause();
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    yield bytes.subarray(at, at + PIECE_BYTES);
    await pause();
  }
}

const PIECE_BYTES = 65_536;
