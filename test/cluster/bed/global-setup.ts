import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { TestProject } from 'vitest/node';
import { type BedAddresses, startBed } from './bed.ts';
import { toolsFromEnvironment } from './tools.ts';
import { writeStorms } from './write-storms.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    bed: BedAddresses;
  }
}

/** Starts the bed once for all cluster suites; its logs stay when a test has failed, or Holdfast wrote an object without end. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const startedAt = Date.now();
  const bed = await startBed(toolsFromEnvironment());
  const { logsDir } = bed.addresses;
  console.log(`test bed: up in ${((Date.now() - startedAt) / 1000).toFixed(1)} s; logs in ${logsDir}`);
  project.provide('bed', bed.addresses);
  return async () => {
    await bed.stop();
    const storms = writeStorms(bed.addresses.auditLogPath);
    const failed =
      storms.length > 0 ||
      project.vitest.state.getCountOfFailedTests() > 0 ||
      project.vitest.state.getUnhandledErrors().length > 0;
    if (failed || process.env.HOLDFAST_BED_KEEP) console.log(`test bed: logs kept in ${logsDir}`);
    else rmSync(dirname(logsDir), { recursive: true, force: true });
    if (storms.length === 0) return;
    console.error(`Holdfast wrote too often within five seconds: ${storms.join('; ')}`);
    // vitest only prints what is thrown here.
    process.exitCode = 1;
  };
}
