import { Option } from 'commander';
import { systemClock } from '../../api/clock.ts';
import { InputError } from '../../api/problems.ts';
import { handBackCanaries, handBackLines, refuseWhileActive } from '../../migrate/flagger/hand-back.ts';
import { readCanaries } from '../../migrate/flagger/read-canaries.ts';
import type { Connection } from '../../server/connection.ts';
import { type CommandResult, formatOutput, screenOf } from '../../terminal/output.ts';
import { type CliCommand, emit, withConnection } from '../command.ts';
import { withProgramFlags } from '../flags.ts';
import { adoptionQuery, type CanaryFlags, type MoveFlags, move, withCanaryFlags } from './queries.ts';

interface HandBackFlags extends CanaryFlags, MoveFlags {
  readonly to: 'flagger' | 'flux' | 'argocd';
  readonly dryRun?: boolean;
}

/** `holdfast handback`: the way back to Flagger, Flux or Argo CD. */
export const handbackCommand: CliCommand = {
  register(command, context) {
    command
      .description(
        [
          'Go back to the tool that Holdfast took over from.',
          '',
          '  --to flagger: leave each Canary as Flagger can go on with it; --dry-run only prints it. Scale Holdfast to zero first.',
          '  --to flux PATH, --to argocd PATH: print the next commit and commands from Sources to their objects. Writes nothing.',
          '',
          'Exit codes: 0 done or nothing to do, 1 something is refused, 2 error, 3 steps remain.',
        ].join('\n'),
      )
      .argument('[path]', 'file or folder with the Sources (with --to flux or argocd)')
      .addOption(
        new Option('--to <tool>', 'the tool to go back to')
          .choices(['flagger', 'flux', 'argocd'])
          .makeOptionMandatory(),
      )
      .option('--dry-run', 'only print what would be done (with --to flagger)')
      .option(
        '--offline',
        'do not contact a cluster, so that no step is verified (with --to flux or argocd)',
      );
    withProgramFlags(withCanaryFlags(command)).action(
      async (path: string | undefined, flags: HandBackFlags) => {
        const { to: tool } = flags;
        let work: Promise<CommandResult>;
        if (tool === 'flagger') {
          if (path !== undefined || flags.offline)
            throw new InputError('PATH and --offline need --to flux or --to argocd');
          work = withConnection(flags, context, (on) => handBackToFlagger(on, flags));
        } else {
          if (flags.dryRun) throw new InputError(`--dry-run needs --to flagger; --to ${tool} never writes`);
          if (path === undefined)
            throw new InputError(`--to ${tool} needs PATH, the file or folder with the Sources`);
          work = move({ tool, path, isBack: true }, flags, context);
        }
        emit(await work, context);
      },
    );
  },
};

/** Leaves each Canary in a state from which Flagger continues; exit code 1 when one is refused. Throws ApiError, EngineError, InputError. */
async function handBackToFlagger(connection: Connection, flags: HandBackFlags): Promise<CommandResult> {
  const { dryRun: isDryRun = false, output } = flags;
  const { query, stderr } = await adoptionQuery(connection, flags);
  const seen = await readCanaries(connection, query);
  if (!isDryRun) await refuseWhileActive(connection, query.ownNamespace, seen, systemClock.nowMs());
  const rows = await handBackCanaries(connection, seen, isDryRun);
  const stdout =
    output === 'text'
      ? `${handBackLines(rows, isDryRun, screenOf(process.stdout, process.env)).join('\n')}\n`
      : formatOutput('HandBack', { canaries: rows }, output);
  return { stdout, stderr, exitCode: rows.some(({ outcome }) => outcome === 'refused') ? 1 : 0 };
}
