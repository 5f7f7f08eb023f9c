import { GitError } from './errors.ts';
import { readPktLines } from './pkt-line.ts';

/**
 * Refuses an answer of the listing (capabilities or refs) that only looks like one. The library takes an error
 * packet, a cut answer and the refusal of an SHA-256 repository all for "no refs", and a Source must not be told that its
 * branch is gone when the server merely failed. Throws GitError Unreachable or Refused.
 */
export async function checkListing(url: string, listing: Uint8Array): Promise<void> {
  for await (const packet of readPktLines(only(listing))) {
    const line = packet.toString('utf8', 0, 1_000).trimEnd();
    if (line === 'object-format=sha256') {
      throw new GitError(
        'Refused',
        `${url} is a SHA-256 repository; only SHA-1 repositories are supported yet`,
      );
    }
    if (line.startsWith('ERR ')) {
      const words = line.slice(4, 204).replace(/\p{Cc}+/gu, ' ');
      throw new GitError('Unreachable', `${url}: the Git server reported an error: ${words}`);
    }
  }
  if (Buffer.from(listing.slice(-4)).toString('latin1') !== '0000') {
    throw new GitError('Unreachable', `${url}: the answer to the ref listing was cut`);
  }
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
