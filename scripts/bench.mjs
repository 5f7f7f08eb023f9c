// Measures the program on the real bed and prints the figures; see docs/benchmarks.md for how they are read.
import { cpus } from 'node:os';
import { join } from 'node:path';
import { bin, ensureDependencies, root, run } from './ensure.mjs';

ensureDependencies();
if (run(process.execPath, [join(root, 'scripts/build.mjs')]) !== 0) process.exit(1);
console.log(`machine: ${cpus().length} x ${cpus()[0]?.model}, Node ${process.version}`);
const only = process.argv.slice(2);
process.exit(
  run(process.execPath, [
    join(root, 'scripts/bed-run.mjs'),
    bin('vitest'),
    'run',
    '--project',
    'bench',
    ...only,
  ]),
);
