import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file that pods wait for: READY_FILE makes them ready, CRASH_FILE ends them. Scenarios then follow states, and no number of seconds. */
export interface Signal {
  readonly path: string;
  give(): void;
  /** Takes it back, for whoever looks from now on. */
  remove(): void;
}

/** A signal that was not given yet. */
export function createSignal(name: string): Signal {
  const path = join(tmpdir(), `holdfast-signal-${name}-${process.pid}`);
  return {
    path,
    give: () => writeFileSync(path, ''),
    remove: () => rmSync(path, { force: true }),
  };
}
