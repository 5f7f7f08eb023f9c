// One command on a fresh machine: installs what it needs from npm, builds, and tells the story of a bad release on the sandbox.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ensureDependencies, root, run } from './ensure.mjs';

ensureDependencies();
if (
  run(process.execPath, [join(root, 'scripts/build.mjs')], { stdio: ['ignore', 'ignore', 'inherit'] }) !== 0
)
  process.exit(1);
const demo = spawn(process.execPath, [join(root, 'dist/main.js'), 'demo', ...process.argv.slice(2)], {
  stdio: 'inherit',
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => demo.kill(signal));
demo.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)));
