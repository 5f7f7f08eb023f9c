// Explores what can happen to a rollout: breadth first through a small world, then random worlds with a fresh seed. See docs/testing.md.
//   npm run explore -- [--depth=2] [--states=200000] [--every=1] [--variants=weights,hold] [--common] [--keep=test/explore/paths] [--seed=N] [--runs=N]
// `--common` leaves out what rarely happens (other clocks, suspensions, switches of onFailure).
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { bin, ensureDependencies, root, run } from './ensure.mjs';

ensureDependencies();
const given = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'holdfast-explore-'));
const program = join(folder, 'explore.cjs');
await build({
  entryPoints: [join(root, 'test/explore/main.ts')],
  outfile: program,
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  logLevel: 'error',
});
const explored = run(process.execPath, ['--max-old-space-size=6000', program, ...given]);
rmSync(folder, { recursive: true, force: true });

const seed = Number(argument('seed') ?? Math.floor(Math.random() * 2 ** 31));
const runs = argument('runs') ?? '500';
let played = 0;
if (runs !== '0') {
  const again = `HOLDFAST_PROPERTY_SEED=${seed} HOLDFAST_PROPERTY_RUNS=${runs}`;
  console.log(`random worlds with ${again}`);
  played = run(bin('vitest'), ['run', '--project', 'sandbox', 'test/rollout/properties.test.ts'], {
    env: { ...process.env, HOLDFAST_PROPERTY_SEED: String(seed), HOLDFAST_PROPERTY_RUNS: runs },
  });
  if (played !== 0)
    console.log(`played again by ${again}; keep what failed in test/rollout/properties.test.ts`);
}
process.exit(explored || played);

function argument(name) {
  return given.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
}
