import { GitError } from '../errors.ts';
import { encodePktLine, FLUSH, inPieces, readPktLines } from '../wire/pkt-line.ts';
import type { GitTransport, ReceivePack, Said } from '../wire/transport.ts';
import { encodePack, type NewObject } from './new-objects.ts';

/** One ref to move on the server, and where it must be for that (compare and swap). */
interface RefUpdate {
  /** Full name, as refs/heads/main. */
  readonly ref: string;
  /** The commit it was seen at; undefined: it must not exist. */
  readonly before: string | undefined;
  readonly after: string;
}

const NOTHING = '0'.repeat(40);
/** The repository, as it is written to. */
interface PushTarget {
  readonly url: string;
  readonly receivePack: ReceivePack;
  readonly said: Said;
}

/**
 * Moves one ref by git-receive-pack (protocol v0, which every server supports), with a pack of the new objects only.
 * Redirects are never followed: what is written goes where the fetch found the repository, or nowhere.
 * Throws GitError Conflict when the ref is somewhere else than `before`, Rejected when the server understood and said no
 * (protected branch, hook), Unauthorized when the credentials may not push, and the codes of the transport.
 */
export async function pushRef(
  url: string,
  transport: GitTransport,
  update: RefUpdate,
  objects: readonly NewObject[],
): Promise<void> {
  const receivePack = transport.receivePack();
  try {
    await push({ url, receivePack, said: transport.said }, update, objects);
  } finally {
    receivePack.close();
  }
}

async function push(target: PushTarget, update: RefUpdate, objects: readonly NewObject[]): Promise<void> {
  const before = await readAdvertisement(target);
  refuseMoved(target, update, before.refs);
  requireReports(target, before);
  const sideBand = before.capabilities.has('side-band-64k');
  const command = `${update.before ?? NOTHING} ${update.after} ${update.ref}\0 report-status${sideBand ? ' side-band-64k' : ''} agent=holdfast\n`;
  const body = Buffer.concat([encodePktLine(command), FLUSH, encodePack(objects)]);
  const failure = await failureOf(target, update.ref, { body, sideBand });
  if (!failure) return;
  // The answer may be lost although the ref was moved; and if another writer moved it between the two requests, a refusal says nothing about our rights.
  const now = await readAdvertisement(target).catch(() => undefined);
  if (now?.refs.get(update.ref) === update.after) return;
  if (now) refuseMoved(target, update, now.refs);
  throw failure;
}

/** Sends the command and its pack; undefined where the server says that it moved the ref. */
async function failureOf(
  { url, receivePack, said }: PushTarget,
  ref: string,
  { body, sideBand }: { body: Uint8Array; sideBand: boolean },
): Promise<GitError | undefined> {
  try {
    const { result, unpack, messages, isFatal } = await readReport(await receivePack.send(body), sideBand);
    const own = result.get(ref);
    if (own === 'ok') return undefined;
    const isRefused = own !== undefined || unpack !== undefined || isFatal;
    const words = said([own ?? unpack ?? '', ...messages].filter(Boolean).join('; '));
    if (isRefused) return new GitError('Rejected', `${url}: the Git server refused to move ${ref}: ${words}`);
    const heard = words && ` (it said: ${words})`;
    return new GitError('Unreachable', `${url}: the Git server did not say whether it moved ${ref}${heard}`);
  } catch (error) {
    if (error instanceof GitError) return error;
    throw error;
  }
}

/**
 * Asks whether these credentials may push at all; nothing is written. That a branch is protected shows only at a push. Throws GitError
 * Unauthorized or NotFound when they may not, Rejected when the server could not report a push, and the codes of the transport.
 */
export async function checkPushRight(url: string, transport: GitTransport): Promise<void> {
  const receivePack = transport.receivePack();
  try {
    const target = { url, receivePack, said: transport.said };
    requireReports(target, await readAdvertisement(target));
  } finally {
    receivePack.close();
  }
}

function requireReports({ url }: PushTarget, { capabilities }: Advertisement): void {
  if (!capabilities.has('report-status'))
    throw new GitError('Rejected', `${url}: the Git server does not report whether a push succeeded`);
}

function refuseMoved(
  { url }: PushTarget,
  { ref, before }: RefUpdate,
  refs: ReadonlyMap<string, string>,
): void {
  const found = refs.get(ref);
  if (found === before) return;
  const where = found === undefined ? 'does not exist' : `is at ${found}`;
  throw new GitError('Conflict', `${url}: ${ref} ${where} and was changed since it was read; trying again`);
}

interface Advertisement {
  readonly refs: ReadonlyMap<string, string>;
  readonly capabilities: ReadonlySet<string>;
}

async function readAdvertisement({ url, receivePack, said }: PushTarget): Promise<Advertisement> {
  const bytes = await receivePack.advertisement();
  if (Buffer.from(bytes.slice(-FLUSH.length)).compare(FLUSH) !== 0)
    throw new GitError('Unreachable', `${url}: the ref listing was truncated`);
  const refs = new Map<string, string>();
  let capabilities = new Set<string>();
  for await (const packet of readPktLines(inPieces(bytes))) {
    const [line = '', list] = packet.toString('utf8').trimEnd().split('\0');
    if (line.startsWith('ERR ')) throw new GitError('Unauthorized', `${url}: ${said(line)}`);
    if (list !== undefined) capabilities = new Set(list.split(' '));
    const found = /^([0-9a-f]{40}) (refs\/\S+)$/.exec(line);
    if (found?.[1] && found[2]) refs.set(found[2], found[1]);
  }
  return { refs, capabilities };
}

interface Report {
  /** `ok`, or the server's reason, by ref. */
  readonly result: ReadonlyMap<string, string>;
  /** Why the pack could not be stored. */
  readonly unpack: string | undefined;
  /** What hooks wrote. */
  readonly messages: readonly string[];
  /** The server gave up. */
  readonly isFatal: boolean;
}

async function readReport(bytes: Uint8Array, sideBand: boolean): Promise<Report> {
  const whole = { content: bytes, messages: [], isFatal: false };
  const { content, messages, isFatal } = sideBand ? await demultiplex(bytes) : whole;
  const result = new Map<string, string>();
  let unpack: string | undefined;
  for await (const packet of readPktLines(inPieces(content))) {
    const line = packet.toString('utf8').trimEnd();
    const found = /^(ok|ng) (\S+)(?: (.*))?$/s.exec(line);
    if (line.startsWith('unpack ') && line !== 'unpack ok') unpack = line;
    if (found?.[2]) result.set(found[2], found[1] === 'ok' ? 'ok' : found[3] || 'refused');
  }
  return { result, unpack, messages, isFatal };
}

/** Band 1 holds the report, band 2 what people should read, band 3 a fatal error. */
async function demultiplex(bytes: Uint8Array) {
  const report: Buffer[] = [];
  const messages: string[] = [];
  let isFatal = false;
  for await (const packet of readPktLines(inPieces(bytes))) {
    if (packet[0] === 1) report.push(packet.subarray(1));
    else if (packet[0] === 2 || packet[0] === 3) messages.push(packet.toString('utf8', 1));
    if (packet[0] === 3) isFatal = true;
  }
  return { content: Buffer.concat(report), messages, isFatal };
}
