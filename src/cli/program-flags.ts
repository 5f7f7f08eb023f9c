import type { Command } from 'commander';
import type { ProgramPaths } from '../render/build/programs.ts';

/** Flags that say where the programs are that build kustomizations and charts. */
export interface ProgramFlags {
  readonly kustomize?: string;
  readonly helm?: string;
}

/** Adds the flags. */
export function withProgramFlags(command: Command): Command {
  return command
    .option('--kustomize <file>', 'kustomize program; default: HOLDFAST_KUSTOMIZE, else as found on PATH')
    .option('--helm <file>', 'helm program (version 3); default: HOLDFAST_HELM, else as found on PATH');
}

/** What flags and environment say. */
export function programsIn(
  { kustomize, helm }: ProgramFlags,
  env: Readonly<Record<string, string | undefined>>,
): ProgramPaths {
  return {
    kustomize: kustomize || env.HOLDFAST_KUSTOMIZE || undefined,
    helm: helm || env.HOLDFAST_HELM || undefined,
  };
}
