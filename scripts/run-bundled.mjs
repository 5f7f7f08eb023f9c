// Bundles a program of the tests, and runs it in processes of its own.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { ensureDependencies, root } from './ensure.mjs';

/** Runs the TypeScript file once for each list of words, side by side; ends this process with 1 where one of them failed. */
export async function runBundled(file, lists, nodeOptions = []) {
  ensureDependencies();
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bundle-'));
  const program = join(folder, 'program.mjs');
  await build({
    entryPoints: [join(root, file)],
    outfile: program,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    // Native parts that ssh2 does without.
    external: ['cpu-features', '*.node'],
    // Packages in CommonJS call require for Node's own modules.
    banner: {
      js: "import { createRequire as ofBundle } from 'node:module'; const require = ofBundle(import.meta.url);",
    },
    logLevel: 'error',
  });
  const codes = await Promise.all(lists.map((words) => play([...nodeOptions, program, ...words])));
  rmSync(folder, { recursive: true, force: true });
  process.exit(codes.every((code) => code === 0) ? 0 : 1);
}

function play(words) {
  const child = spawn(process.execPath, words, { stdio: 'inherit' });
  return new Promise((resolve) => child.on('close', resolve));
}
