import { GitError } from '../errors.ts';
import { encodePktLine, FLUSH, oneChunk, readPktLines } from '../wire/pkt-line.ts';
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
  const report = await readReport(await target.receivePack.send(body), sideBand);
  if (report.result.get(update.ref) === 'ok') return;
  // If another writer moved the ref between the two requests, the refusal says nothing about our rights.
  const now = await readAdvertisement(target);
  refuseMoved(target, update, now.refs);
  const message = target.said(
    [report.result.get(update.ref) ?? report.unpack, ...report.messages].join('; '),
  );
  throw new GitError('Rejected', `${target.url}: the Git server refused to move ${update.ref}: ${message}`);
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
  const refs = new Map<string, string>();
  let capabilities = new Set<string>();
  for await (const packet of readPktLines(oneChunk(bytes))) {
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
  readonly unpack: string;
  /** What hooks wrote. */
  readonly messages: readonly string[];
}

async function readReport(bytes: Uint8Array, sideBand: boolean): Promise<Report> {
  const messages: string[] = [];
  const content = sideBand ? await demultiplex(bytes, messages) : bytes;
  const result = new Map<string, string>();
  let unpack = 'the server did not say why';
  for await (const packet of readPktLines(oneChunk(content))) {
    const line = packet.toString('utf8').trimEnd();
    const found = /^(ok|ng) (\S+) ?(.*)$/.exec(line);
    if (line.startsWith('unpack ')) unpack = line;
    if (found?.[2]) result.set(found[2], found[1] === 'ok' ? 'ok' : found[3] || 'refused');
  }
  return { result, unpack, messages };
}

/** Band 1 holds the report, band 2 what people should read, band 3 a fatal error. */
async function demultiplex(bytes: Uint8Array, messages: string[]): Promise<Uint8Array> {
  const report: Buffer[] = [];
  for await (const packet of readPktLines(oneChunk(bytes))) {
    if (packet[0] === 1) report.push(packet.subarray(1));
    else if (packet[0] === 2 || packet[0] === 3) messages.push(packet.toString('utf8', 1));
  }
  return Buffer.concat(report);
}
