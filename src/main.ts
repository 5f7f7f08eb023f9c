#!/usr/bin/env node
import { runProgram } from './cli/program.ts';
import { version } from './cli/version.ts';

process.exitCode = await runProgram(process.argv.slice(2), version);
