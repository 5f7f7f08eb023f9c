import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Builders, createBuildCache } from '../../src/render/build/builder.ts';
import { findBuilders } from '../../src/render/build/programs.ts';

/** Paths of the programs that `scripts/programs-build.mjs` built. */
export interface Programs {
  readonly kustomize: string;
  readonly helm: string;
  readonly sops: string;
  readonly 'age-keygen': string;
  readonly influxd: string;
  readonly loki: string;
  readonly sshd: string;
  readonly kubectl: string;
  /** Folder into which the packages of Chromium were unpacked. */
  readonly chromium: string;
  /** Folder into which the packages of Graphite were unpacked. */
  readonly graphite: string;
  /** Folder of Flagger's module, unpacked. */
  readonly flaggerModule: string;
  /** Folder into which zsh and fish were unpacked. */
  readonly shells: string;
}

/** The programs as the set-up of the suite hands them over. */
export const programs = JSON.parse(process.env.HOLDFAST_TEST_PROGRAMS ?? '{}') as Programs;

/** The real kustomize and helm, with what they gave before. */
export function realBuilders(): { builders: Builders; builds: ReturnType<typeof createBuildCache> } {
  const workFolder = mkdtempSync(join(tmpdir(), 'holdfast-programs-'));
  return { builders: findBuilders(programs, workFolder), builds: createBuildCache() };
}

/** What a program prints when people run it by hand. */
export function runByHand(program: string, args: readonly string[], folder: string): string {
  return execFileSync(program, args, { cwd: folder, encoding: 'utf8' });
}
