import { type Command, Option } from 'commander';
import { InputError } from '../../api/problems.ts';
import type { CliCommand } from '../command.ts';

interface OldFlags {
  readonly from: 'flagger' | 'flux' | 'argocd';
  readonly to?: 'flagger';
  readonly dryRun?: boolean;
  readonly back?: boolean;
}

/** `holdfast adopt`: the former name of `migrate` and `handback`. Runs those, and says so once on standard error. */
export const adoptCommand: CliCommand = {
  register(program) {
    program
      .command('adopt', { hidden: true })
      .summary('former name of migrate and handback')
      .allowUnknownOption()
      .argument('[words...]')
      .addOption(
        new Option('--from <tool>').choices(['flagger', 'flux', 'argocd']).default('flagger' as const),
      )
      .option('--back')
      .addOption(new Option('--to <tool>').choices(['flagger']))
      .option('--dry-run')
      .action(async (words: string[], flags: OldFlags, command: Command) => {
        const now = nameNow(flags);
        process.stderr.write(`holdfast adopt is now: ${['holdfast', ...now, ...words].join(' ')}\n`);
        await (command.parent as Command).parseAsync([...now, ...words], { from: 'user' });
      });
  },
};

/** Throws InputError for a combination that never was one. */
function nameNow({ from, to, dryRun, back }: OldFlags): string[] {
  if (from !== 'flagger') {
    if (to || dryRun)
      throw new InputError(`--to and --dry-run need --from flagger; --from ${from} never writes`);
    return back ? ['handback', '--to', from] : ['migrate', 'steps', '--from', from];
  }
  if (back) throw new InputError('--back needs --from flux or --from argocd');
  if (to) return ['handback', '--to', to, ...(dryRun ? ['--dry-run'] : [])];
  if (dryRun) return ['migrate', 'plan'];
  throw new InputError(
    'Holdfast takes over from Flagger by itself once it runs and Flagger does not; holdfast migrate plan shows what it would do',
  );
}
