// Plays plans of faults against the whole program in simulated worlds; each must end as the undisturbed run does. See docs/testing.md.
//   npm run plans -- [--count=2400] [--seed=1] [--processes=2] [--no-hiding] [--keep=test/plans/kept]
import { runBundled } from './run-bundled.mjs';

const given = process.argv.slice(2);
const processes = Number(given.find((word) => word.startsWith('--processes='))?.slice(12) ?? 2);
const parts = Array.from({ length: processes }, (_, index) => `--part=${index + 1}/${processes}`);
await runBundled(
  'test/plans/main.ts',
  parts.map((part) => [...given, part]),
);
