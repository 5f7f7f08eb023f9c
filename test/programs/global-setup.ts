import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** Builds the programs once and hands their paths to the tests. */
export function setup(): void {
  const script = join(import.meta.dirname, '../../scripts/programs-build.mjs');
  process.env.HOLDFAST_TEST_PROGRAMS = execFileSync(process.execPath, [script], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}
