// Plays plans of faults against the whole program in simulated worlds; each must end as the undisturbed run does. See docs/testing.md.
//   npm run plans -- [--count=2400] [--seed=1] [--processes=2] [--no-hiding] [--keep=test/plans/kept]
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { ensureDependencies, root } from './ensure.mjs';

ensureDependencies();
const given = process.argv.slice(2);
const processes = Number(given.find((word) => word.startsWith('--processes='))?.slice(12) ?? 2);
const folder = mkdtempSync(join(tmpdir(), 'holdfast-plans-'));
const program = join(folder, 'plans.mjs');
await build({
  entryPoints: [join(root, 'test/plans/main.ts')],
  outfile: program,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  // Packages in CommonJS call require for Node's own modules.
  banner: {
    js: "import { createRequire as ofBundle } from 'node:module'; const require = ofBundle(import.meta.url);",
  },
  logLevel: 'error',
});
const codes = await Promise.all(
  Array.from({ length: processes }, (_, index) => play(`${index + 1}/${processes}`)),
);
rmSync(folder, { recursive: true, force: true });
process.exit(codes.every((code) => code === 0) ? 0 : 1);

function play(part) {
  const child = spawn(process.execPath, [program, ...given, `--part=${part}`], { stdio: 'inherit' });
  return new Promise((resolve) => child.on('close', resolve));
}
