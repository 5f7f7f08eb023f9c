import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A file that pods wait for: READY_FILE makes them ready, CRASH_FILE ends them. Scenarios then follow states, and no number of seconds. */
export interface Signal {
  readonly path: string;
  give(): void;
  /** Takes it back, for whoever looks from now on. */
  remove(): void;
}

/** A signal that was not given yet, in a folder of its own: what an earlier run left is none of it. */
export function createSignal(name: string): Signal {
  const path = join(mkdtempSync(join(tmpdir(), 'holdfast-signal-')), name);
  return {
    path,
    give: () => writeFileSync(path, ''),
    remove: () => rmSync(dirname(path), { recursive: true, force: true }),
  };
}
