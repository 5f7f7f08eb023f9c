import { systemClock } from '../../api/clock.ts';
import type { Connection } from '../../app/connection.ts';
import { clusterFindings } from '../check.ts';
import { type CommandResult, type DataFormat, formatData, type Screen } from '../output.ts';
import { giveBack, handBackLines, mustBeStill } from './give-back.ts';
import { type LookQuery, lookAtCanaries } from './look.ts';
import { exitCodeOf, planOfAdoption } from './plan.ts';
import { planLines } from './plan-text.ts';

/** What `holdfast adopt` is asked. */
export interface AdoptOptions extends LookQuery {
  /** Check the rights of this user instead of one's own. */
  readonly asUser: string | undefined;
  readonly format: 'text' | DataFormat;
  readonly screen: Screen;
}

/** What Holdfast would do when it is started on what Flagger left. Writes nothing. Throws ApiError, EngineError. */
export async function foretellAdoption(
  connection: Connection,
  options: AdoptOptions,
): Promise<CommandResult> {
  const { ownNamespace, watchNamespaces, asUser, format, screen } = options;
  const defaultProvider = options.options.defaultProvider;
  const cluster = await clusterFindings(
    { connection },
    {
      ownNamespace,
      watchNamespaces,
      asUser,
      defaultProvider,
    },
  );
  const seen = await lookAtCanaries(connection, options);
  const plan = planOfAdoption(seen, cluster);
  const stdout = format === 'text' ? `${planLines(plan, screen).join('\n')}\n` : formatData(plan, format);
  return { stdout, stderr: '', exitCode: exitCodeOf(plan) };
}

/** Leaves each Canary as Flagger can go on with it; exit code 1 when one is refused. Throws ApiError, EngineError, InputError. */
export async function handBackToFlagger(
  connection: Connection,
  options: AdoptOptions & { readonly isDryRun: boolean },
): Promise<CommandResult> {
  const { ownNamespace, isDryRun, format, screen } = options;
  const seen = await lookAtCanaries(connection, options);
  if (!isDryRun) await mustBeStill(connection, ownNamespace, seen, systemClock.nowMs());
  const rows = await giveBack(connection, seen, isDryRun);
  const stdout =
    format === 'text'
      ? `${handBackLines(rows, isDryRun, screen).join('\n')}\n`
      : formatData({ canaries: rows }, format);
  return { stdout, stderr: '', exitCode: rows.some(({ outcome }) => outcome === 'refused') ? 1 : 0 };
}
