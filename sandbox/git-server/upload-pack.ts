import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { createObjectReader, peel } from './objects.ts';
import { fetchPack } from './pack-request.ts';
import { FLUSH, linesOf, packet, valuesOf } from './packets.ts';
import { contentOf, headBranch, readRefs } from './refs.ts';

/** A request as it was sent. */
interface GitRequest {
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** What is sent back with status 200. */
interface GitAnswer {
  readonly type: string;
  readonly body: string | Buffer;
}

/** What a git client makes of them is answered by git itself: its fetches in version 2. */
const CAPABILITIES = ['version 2', 'agent=sandbox', 'ls-refs=unborn', 'fetch=shallow', 'object-format=sha1'];

/**
 * Answers in this process what Holdfast asks to read from a repository over HTTP: capabilities and refs in version 2 of the protocol, and
 * packs in version 0. Undefined for all else. Rejects when there is no such repository, or one that only git understands.
 */
export async function answerRequest(
  repository: string,
  { url, headers, body }: GitRequest,
): Promise<GitAnswer | undefined> {
  if (GIT_SETTINGS.test(contentOf(join(repository, 'config')))) return undefined;
  const version = headers['git-protocol'];
  const lines = headers['content-encoding'] === undefined ? linesOf(body) : undefined;
  const answer = (kind: string, text: string | Buffer | undefined) =>
    text === undefined ? undefined : { type: `application/x-git-upload-pack-${kind}`, body: text };
  if (url.pathname.endsWith('/info/refs') && url.search === '?service=git-upload-pack') {
    const isAsked = version === 'version=2' && headBranch(repository) !== undefined;
    return answer('advertisement', isAsked ? CAPABILITIES.map(packetLine).join('') + FLUSH : undefined);
  }
  if (!url.pathname.endsWith('/git-upload-pack') || !lines) return undefined;
  if (version === 'version=2') return answer('result', await listRefs(repository, lines));
  return version === undefined ? answer('result', await fetchPack(repository, lines)) : undefined;
}

/** Sections of a repository's settings that change what git answers. */
const GIT_SETTINGS = /^\s*\[(extensions|include|includeif|lsrefs|transfer|uploadpack)\b/im;

function packetLine(line: string): string {
  return packet(`${line}\n`);
}

const LISTING =
  /^(command=ls-refs|agent=.*|object-format=sha1|delimiter|flush|peel|symrefs|unborn|ref-prefix .*)$/;

async function listRefs(repository: string, lines: readonly string[]): Promise<string | undefined> {
  const branch = headBranch(repository);
  if (lines[0] !== 'command=ls-refs' || !lines.every((line) => LISTING.test(line)) || !branch)
    return undefined;
  const prefixes = valuesOf('ref-prefix', lines);
  const isAsked = (name: string) =>
    prefixes.length === 0 || prefixes.some((prefix) => name.startsWith(prefix));
  const refs = readRefs(repository);
  const read = createObjectReader(repository);
  const listed = isAsked('HEAD') ? listedHead(branch, refs.get(branch), lines) : [];
  for (const [name, oid] of refs) {
    if (!isAsked(name)) continue;
    // git lets a branch be nothing but a commit.
    const isPlain = name.startsWith('refs/heads/') || !lines.includes('peel');
    const peeled = isPlain ? oid : (await peel(read, oid)).oid;
    listed.push(`${oid} ${name}${peeled === oid ? '' : ` peeled:${peeled}`}`);
  }
  return listed.map(packetLine).join('') + FLUSH;
}

/** The line of HEAD; none for a branch without commits, unless the client knows of such. */
function listedHead(branch: string, oid: string | undefined, options: readonly string[]): string[] {
  const isNamed = options.includes('symrefs');
  if (oid === undefined && !(isNamed && options.includes('unborn'))) return [];
  return [`${oid ?? 'unborn'} HEAD${isNamed ? ` symref-target:${branch}` : ''}`];
}
