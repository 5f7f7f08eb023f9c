#!/usr/bin/env node
import { runProgram, version } from './cli/commands.ts';

// A reader that stops early, such as `head`, is no failure of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});
process.exitCode = await runProgram(process.argv.slice(2), version);
