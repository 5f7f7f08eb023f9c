/** Compacts a store and is killed before the given change of the disk. Runs as a separate process. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { DEFAULT_PACK_LIMITS } from '../pack/index-pack.ts';
import { createRepository } from '../repository.ts';

const [directory = '', killBefore = '0', ...commits] = process.argv.slice(2);
const changes = ['open', 'writeFile', 'rename', 'rm', 'mkdir', 'unlink', 'rmdir'] as const;
let step = 0;

for (const name of changes) {
  const original = fs.promises[name] as (...args: unknown[]) => Promise<unknown>;
  const counted = (...args: unknown[]) => {
    const isReading = name === 'open' && args[1] === 'r';
    if (!isReading) step += 1;
    if (step === Number(killBefore)) process.kill(process.pid, 'SIGKILL');
    return original(...args);
  };
  Object.assign(fs.promises, { [name]: counted });
}
syncBuiltinESMExports();

const repository = createRepository({
  directory,
  tenant: 'shop',
  packLimits: DEFAULT_PACK_LIMITS,
  growth: { maxPacks: 0, maxStoreBytes: 1 },
  admit: () => undefined,
});
const access = { openTransport: () => Promise.reject(new Error('there is no network')) };
const { isDone } = await repository.compactIfGrown(access, 1, async () => {
  return { commits, records: new Map(commits.map((commit) => [`kept/${commit}`, commit])) };
});
process.exitCode = isDone ? 0 : 1;
