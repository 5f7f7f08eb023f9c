import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from './client.ts';

const BUILD_MS = 2_400_000;

/**
 * Waits until `scripts/bed-build.mjs NAME`, which runs beside the suites, has filled the folder. Resolves with the path of the program; throws with the
 * builder's message when it cannot be built.
 */
export async function untilBuilt(folder: string, name: string): Promise<string> {
  const program = join(folder, name);
  const failure = `${folder}.failed`;
  await waitFor(
    async () => {
      if (existsSync(program)) return true;
      if (existsSync(failure)) throw new Error(`${name} cannot be built: ${readFileSync(failure, 'utf8')}`);
      return false;
    },
    {
      timeoutMs: BUILD_MS,
      intervalMs: 1_000,
      what: `the build of ${name} (node scripts/bed-build.mjs ${name})`,
    },
  );
  return program;
}
