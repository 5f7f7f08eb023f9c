import type { SshAddress } from '../../../api/source/git-address.ts';
import { HttpError } from '../../../http/errors.ts';
import { GitError } from '../../errors.ts';
import {
  checkListing,
  encodePktLine,
  FLUSH,
  inPieces,
  onlyRefs,
  readableListing,
  readPktLines,
} from '../pkt-line.ts';
import {
  collect,
  type GitTransport,
  MAX_REPORT_BYTES,
  type ReceivePack,
  type Said,
  type TransportOptions,
  toGitError,
  wordsOf,
} from '../transport.ts';
import { type GitService, type RunningService, startService } from './session.ts';

/** A program on the server, and what it said before it was asked anything. */
interface Greeted {
  readonly service: RunningService;
  readonly greeting: Uint8Array;
  readonly isVersion2: boolean;
}

/**
 * Git over SSH, for one operation. Each request uses a new connection: one for a poll, two for a new commit. Protocol v2 is requested; a
 * server that does not take the variable GIT_PROTOCOL answers in v0, which lists all refs and gives out only commits at their tips.
 */
export function createSshTransport(options: TransportOptions, address: SshAddress): GitTransport {
  const { url, limits } = options;
  const said = wordsOf(options.credentials);
  let listing: Greeted | undefined;

  const greet = async (service: GitService, maxBytes: number): Promise<Greeted> => {
    const running = await startService(options, { address, service, maxBytes });
    try {
      return await greeted(url, running, said);
    } catch (error) {
      running.close();
      throw error;
    }
  };

  return {
    /** The library expects HTTP: its GET reads the greeting, and its POST is sent to the same program. */
    async request({ url: asked, method = 'GET', body }, prefix) {
      if (method === 'GET') {
        listing = await greet('git-upload-pack', limits.maxListingBytes);
        if (!listing.isVersion2) listing.service.close();
        const head = Buffer.concat([encodePktLine('# service=git-upload-pack\n'), FLUSH]);
        const advertised = onlyRefs(inPieces(Buffer.concat([head, listing.greeting])), prefix);
        return answer(asked, 'advertisement', await collect(advertised, limits.maxListingBytes));
      }
      if (!listing || !body) throw new GitError('Unreachable', `${url}: the ref listing cannot be requested`);
      const { service } = listing;
      try {
        for await (const chunk of body) service.write(chunk);
        service.end();
        const refs = await collect(onlyRefs(service.output, prefix), limits.maxListingBytes);
        await checkListing(url, refs, said);
        return answer(asked, 'result', refs);
      } finally {
        service.close();
      }
    },
    async uploadPack({ v0, v2 }) {
      const { service, isVersion2 } = await greet('git-upload-pack', limits.maxPackBytes);
      service.write(isVersion2 ? v2 : v0);
      service.end();
      return service.output;
    },
    receivePack: () => receivePack(url, () => greet('git-receive-pack', limits.maxListingBytes)),
    said,
  };
}

function answer(url: string, kind: string, body: Uint8Array) {
  return {
    url,
    method: '',
    statusCode: 200,
    statusMessage: '',
    headers: { 'content-type': `application/x-git-upload-pack-${kind}` },
    body: inPieces(readableListing(body)),
  };
}

/** Reads the greeting to its flush packet; the program then waits. Throws GitError. */
async function greeted(url: string, service: RunningService, said: Said): Promise<Greeted> {
  const chunks: Buffer[] = [];
  async function* first(): AsyncGenerator<Buffer> {
    for (;;) {
      const next = await service.output.next();
      if (next.done) return;
      chunks.push(next.value);
      yield next.value;
    }
  }
  let isVersion2: boolean | undefined;
  for await (const packet of readPktLines(first())) {
    isVersion2 ??= packet.toString('latin1').trimEnd() === 'version 2';
    if (packet.length > 0) continue;
    const greeting = Buffer.concat(chunks);
    await checkListing(url, greeting, said);
    return { service, greeting, isVersion2 };
  }
  throw new GitError('Unreachable', `${url}: the ref listing was truncated`);
}

function receivePack(url: string, greet: () => Promise<Greeted>): ReceivePack {
  let greeted: Greeted | undefined;
  return {
    async advertisement() {
      greeted?.service.close();
      greeted = await greet();
      return greeted.greeting;
    },
    async send(body) {
      if (!greeted) throw new GitError('Unreachable', `${url}: a push needs the refs first`);
      const { service } = greeted;
      if (!service.maySend()) throw toGitError(new HttpError('Aborted', url, `${url}: not sent`));
      service.write(body);
      service.end();
      return collect(service.output, MAX_REPORT_BYTES);
    },
    close: () => greeted?.service.close(),
  };
}
