import { setImmediate } from 'node:timers/promises';
import { GitError } from './errors.ts';

/**
 * A function to await inside long loops: it lets timers and sockets run (the lease must be renewed while a
 * large pack is indexed) and throws GitError Aborted once the signal aborts.
 */
export function createPause(signal?: AbortSignal): () => Promise<void> {
  return async () => {
    if (signal?.aborted) throw new GitError('Aborted', 'the Git operation was given up by the caller');
    await setImmediate();
  };
}
