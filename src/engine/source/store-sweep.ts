import type { Repositories } from '../ports/git-port.ts';
import type { Log } from '../ports/ports.ts';

/** Frees the disk of what no Source uses: what an earlier run left, and what a Source leaves. */
export interface StoreSweep {
  /** All Sources are known, so that what is used can be told from what is not. */
  listed(): void;
  /** A Source ended, or uses another repository now. */
  ended(): void;
}

/** What is left on the disk after a failure is tried again when the next Source ends. */
export function createStoreSweep(options: {
  readonly repositories: Pick<Repositories, 'sweep'>;
  readonly log: Log;
}): StoreSweep {
  let hasListed = false;
  const sweep = () => {
    options.repositories.sweep().catch((err: unknown) => {
      options.log.warn({ err }, 'could not remove Git stores that no Source uses');
    });
  };
  return {
    listed() {
      if (hasListed) return;
      hasListed = true;
      sweep();
    },
    ended() {
      if (hasListed) sweep();
    },
  };
}
