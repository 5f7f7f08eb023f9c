import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { contentOf } from '../../../sandbox/git-server/refs.ts';

const MAX_KEPT = 1_000;

/** git's answers to what clients ask again at every poll, kept as long as nothing has changed of what git reads for them. */
export interface RefAnswers {
  /**
   * What the program started by `start` writes, or wrote for the same question when the bare repository's refs and settings were as they
   * are now. Rejects when it cannot be started.
   */
  answer(repository: string, question: RefQuestion, start: () => GitProgram): Promise<Buffer>;
}

/** What a client asks. */
interface RefQuestion {
  /** The same for the same answer. */
  readonly text: string;
  /** False for what git answers by its settings alone, so that no commit changes it. */
  readonly readsRefs: boolean;
}

/** A run of git whose output is an answer. */
type GitProgram = ChildProcess & { readonly stdout: Readable };

/** What git answers by. */
interface GitRequest {
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  /** As it was sent. */
  readonly body: Buffer;
}

/**
 * The question of a request for the advertisement of upload-pack or, in version 2, for the list of refs. Undefined for a request for
 * anything else.
 */
export function questionOfRefs({ url, headers, body }: GitRequest): RefQuestion | undefined {
  const isAdvertisement =
    url.pathname.endsWith('/info/refs') && url.searchParams.get('service') === 'git-upload-pack';
  const isListing =
    url.pathname.endsWith('/git-upload-pack') &&
    headers['content-encoding'] === undefined &&
    body.subarray(4, 19).toString('latin1') === 'command=ls-refs';
  if (!isAdvertisement && !isListing) return undefined;
  const protocol = String(headers['git-protocol'] ?? '');
  return {
    text: [url.pathname, url.search, protocol, body.toString('latin1')].join('\n'),
    // In version 2 an advertisement names what the server can do; refs are listed by a request of their own.
    readsRefs: isListing || !protocol.split(':').includes('version=2'),
  };
}

/** An empty store of answers: a poll then costs a look at some files, and no processes. */
export function createRefAnswers(): RefAnswers {
  const kept = new Map<string, { readonly state: string; readonly answer: Buffer }>();
  return {
    async answer(repository, question, start) {
      const key = `${repository}\n${question.text}`;
      const stateNow = () => (question.readsRefs ? stateOfRefs(repository) : settingsOf(repository));
      const state = stateNow();
      const known = kept.get(key);
      if (known && known.state === state) return known.answer;
      const program = start();
      const [answer, [code]] = await Promise.all([buffer(program.stdout), once(program, 'close')]);
      kept.delete(key);
      // Refs that moved while git read them belong to neither state.
      const isSettled = state !== undefined && state === stateNow();
      if (code === 0 && isSettled) kept.set(key, { state, answer });
      for (const oldest of [...kept.keys()].slice(0, Math.max(0, kept.size - MAX_KEPT))) kept.delete(oldest);
      return answer;
    },
  };
}

/**
 * A digest of everything that lists of refs are made of; undefined where there is no repository. Some small files: to read them at once
 * costs less than to wait for each.
 */
function stateOfRefs(repository: string): string | undefined {
  try {
    const loose = readdirSync(join(repository, 'refs'), { recursive: true, withFileTypes: true });
    const refs = loose.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    const files = ['HEAD', 'config', 'packed-refs'].map((name) => join(repository, name)).concat(refs.sort());
    const digest = createHash('sha256');
    for (const file of files) digest.update(JSON.stringify([file, contentOf(file)]));
    return digest.digest('hex');
  } catch {
    return undefined;
  }
}

/** Undefined where there is no repository. */
function settingsOf(repository: string): string | undefined {
  return contentOf(join(repository, 'config')) || undefined;
}
