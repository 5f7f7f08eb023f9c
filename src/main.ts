#!/usr/bin/env node
import { basename } from 'node:path';
import { completionRequest, runProgram, version } from './cli/commands.ts';

// A reader that stops early, such as `head`, is no failure of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit();
  process.stderr.write(`error: standard output cannot be written: ${error.message}\n`);
  process.exit(2);
});
// What a command has to report goes nowhere then; what it does, and its exit code, stay.
process.stderr.on('error', () => undefined);
// Under this name kubectl asks its plug-in for completions: a link to the same program. The executable keeps its own name in argv[1].
const isAskedByKubectl = [process.argv0, process.argv[1] ?? ''].some(
  (path) => basename(path) === 'kubectl_complete-holdfast',
);
const words = process.argv.slice(2);
process.exitCode = await runProgram(isAskedByKubectl ? [completionRequest, ...words] : words, version);
