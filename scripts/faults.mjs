// Plays each case of test/cluster/faults/cases.ts on the real bed, with a good release and with one that goes back; see docs/reliability.md.
import { join } from 'node:path';
import { bin, ensureDependencies, root, run } from './ensure.mjs';

ensureDependencies();
if (run(process.execPath, [join(root, 'scripts/build.mjs')]) !== 0) process.exit(1);
process.env.HOLDFAST_FAULTS = 'all';
const suite = [bin('vitest'), 'run', '--project', 'cluster', 'test/cluster/faults', '--reporter=verbose'];
process.exit(run(process.execPath, [join(root, 'scripts/bed-run.mjs'), ...suite, ...process.argv.slice(2)]));
