import { limits } from '../../api/limits.ts';
import { GitError } from '../errors.ts';
import { DELIMITER, encodePktLine, FLUSH, readPktLines } from './pkt-line.ts';
import type { GitTransport, PackRequest, Said } from './transport.ts';

/** What to ask of the server. */
export interface FetchRequest {
  readonly want: string;
  /** Commits the store holds with all they reach (down to the shallow boundary). */
  readonly haves: readonly string[];
  /** The store's shallow boundary. */
  readonly shallow: readonly string[];
  /** History length from `want`; absent: everything the haves do not reach. */
  readonly depth?: number | undefined;
}

/** How the shallow boundary changed. */
export interface ShallowChange {
  readonly shallow: readonly string[];
  readonly unshallow: readonly string[];
}

// multi_ack_detailed is unused with a single round, but Azure DevOps insists on it.
const CAPABILITIES = 'multi_ack_detailed side-band-64k ofs-delta no-progress agent=holdfast';

/**
 * One round of the pack protocol, whose answers are read alike in v0 and v2: the pack's bytes go to `sink` as they come.
 * The library's own fetch is not used: it fails on an unborn HEAD, downloads every ref, cannot be aborted, and
 * reports success for a commit the server no longer has.
 * Throws GitError NotFound when the server does not give out the commit, and Unreachable for an answer without a pack: servers send one also
 * when it holds nothing, unless a proxy or their own end cut them off.
 */
export async function fetchPack(
  transport: GitTransport,
  request: FetchRequest,
  sink: (bytes: Uint8Array) => Promise<void>,
): Promise<ShallowChange> {
  const answer = await transport.uploadPack(encodeRequest(request));
  const change = { shallow: [] as string[], unshallow: [] as string[] };
  let hasPack = false;
  for await (const packet of readPktLines(answer)) {
    if (packet[0] === 1) {
      hasPack = true;
      await sink(packet.subarray(1));
    } else if (packet[0] === 3) throw serverError(request, transport.said(packet.toString('utf8', 1)));
    else if (packet[0] !== 2)
      readLine({ request, said: transport.said }, packet.toString('utf8').trimEnd(), change);
  }
  if (!hasPack) throw new GitError('Unreachable', "the Git server's answer ended before the pack");
  return change;
}

function encodeRequest({ want, haves, shallow, depth }: FetchRequest): PackRequest {
  const boundary = [
    ...shallow.map((oid) => encodePktLine(`shallow ${oid}\n`)),
    ...(depth === undefined ? [] : [encodePktLine(`deepen ${depth}\n`)]),
  ];
  const had = [...haves.map((oid) => encodePktLine(`have ${oid}\n`)), encodePktLine('done\n')];
  return {
    v0: Buffer.concat([encodePktLine(`want ${want} ${CAPABILITIES}\n`), ...boundary, FLUSH, ...had]),
    v2: Buffer.concat([
      ...[encodePktLine('command=fetch'), encodePktLine('agent=holdfast'), DELIMITER],
      ...[encodePktLine('no-progress'), encodePktLine('ofs-delta'), encodePktLine(`want ${want}\n`)],
      ...[...boundary, ...had, FLUSH],
    ]),
  };
}

function readLine(
  { request, said }: { request: FetchRequest; said: Said },
  line: string,
  change: { shallow: string[]; unshallow: string[] },
): void {
  const [word = '', oid = ''] = line.split(' ');
  if (word === 'ERR') throw serverError(request, said(line.slice(4)));
  if (word !== 'shallow' && word !== 'unshallow') return;
  change[word].push(oid);
  checkShallow(change[word].length);
}

/** Throws GitError TooLarge: a server may name any number of commits, which are stored and sent with each fetch. */
export function checkShallow(commits: number): void {
  if (commits <= limits.shallowCommits) return;
  const most = limits.shallowCommits.toLocaleString('en-GB');
  throw new GitError('TooLarge', `the Git server says that history ends at more than ${most} commits`);
}

/** Git says one of the first; JGit, as in Gerrit, says that a want is not valid. */
const notServed = /not our ref|unadvertised object|bad object|no such|want [0-9a-f]{40} not valid/i;

function serverError(request: FetchRequest, message: string): GitError {
  if (notServed.test(message)) {
    return new GitError(
      'NotFound',
      `the Git server does not serve commit ${request.want} (it said: ${message})`,
    );
  }
  return new GitError('Unreachable', `the Git server reported an error: ${message}`);
}
