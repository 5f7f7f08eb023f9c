import { Option } from 'commander';
import { InputError } from '../../api/problems.ts';
import { adoptionExitCode, adoptionLines, adoptionRow } from '../../migrate/flagger/adoption-plan.ts';
import { readCanaries } from '../../migrate/flagger/read-canaries.ts';
import type { Connection } from '../../server/connection.ts';
import { type CommandResult, formatOutput, screenOf } from '../../terminal/output.ts';
import { clusterFindings } from '../check/checks.ts';
import { type CliCommand, emit, withConnection } from '../command.ts';
import { withControllerFlags } from '../controller-flags.ts';
import { asUserOption, outputOption, withClusterFlags, withProgramFlags } from '../flags.ts';
import { adoptionQuery, type CanaryFlags, type MoveFlags, move, withCanaryFlags } from './queries.ts';

interface PlanFlags extends CanaryFlags {
  readonly as?: string;
}

interface StepsFlags extends MoveFlags {
  readonly from: 'flux' | 'argocd' | 'argo-rollouts';
}

/** `holdfast migrate`: what taking over from Flagger would do, and the steps from Flux, Argo CD and Argo Rollouts. */
export const migrateCommand: CliCommand = {
  register(command, context) {
    command.description(
      'Migrate from Flagger, Flux, Argo CD or Argo Rollouts to Holdfast. The way back is holdfast handback.',
    );
    const plan = withCanaryFlags(
      command
        .command('plan')
        .summary('what Holdfast would do with the Canaries that Flagger left')
        .description(
          'Print what Holdfast would do with each Canary when it takes over from Flagger. Writes nothing; Flagger may keep running.\n\nExit codes: 0 nothing is rolled out, 1 a rollout would start or something is refused or missing, 2 error.',
        ),
    );
    withControllerFlags(plan, accountFlagNames)
      .addOption(asUserOption())
      .action(async (flags: PlanFlags) =>
        emit(await withConnection(flags, context, (on) => planAdoption(on, flags)), context),
      );
    withProgramFlags(
      withClusterFlags(
        command
          .command('steps')
          .summary('the steps from Flux or Argo CD to a Source, and from Argo Rollouts to Canaries')
          .description(
            'Print the next commit, and the commands, that migrate Kustomizations or Applications to Sources, or Rollouts to Canaries. Writes nothing.\n\nExit codes: 0 everything is migrated, 1 something is refused, 2 error, 3 steps remain.',
          )
          .argument('<path>', 'file or folder with the Kustomizations, Applications or Rollouts')
          .addOption(
            new Option('--from <tool>', 'the tool to migrate from')
              .choices(['flux', 'argocd', 'argo-rollouts'])
              .makeOptionMandatory(),
          )
          .option('--offline', 'do not contact a cluster, so that no step is verified'),
      ),
    )
      .addOption(outputOption())
      .action(async (path: string, flags: StepsFlags) => {
        emit(await move({ tool: flags.from, path, isBack: false }, flags, context), context);
      });
  },
};

/** What the rights that it needs depend on. */
const accountFlagNames = ['default-service-account', 'trusted-source-namespaces'] as const;

/** What Holdfast would do when it is started on what Flagger left. Writes nothing. Throws ApiError, EngineError, InputError. */
async function planAdoption(connection: Connection, flags: PlanFlags): Promise<CommandResult> {
  const { query, flags: found, stderr } = await adoptionQuery(connection, flags, accountFlagNames);
  const { ownNamespace, watchNamespaces } = query;
  const { defaultServiceAccount, trustedSourceNamespaces } = found;
  const { defaultProvider, forbidsOtherNamespaces = true } = query.options;
  const asked = {
    ...{ ownNamespace, watchNamespaces, asUser: flags.as, defaultProvider, forbidsOtherNamespaces },
    ...{ defaultServiceAccount, trustedSourceNamespaces },
  };
  const cluster = await clusterFindings({ connection }, asked);
  const seen = await readCanaries(connection, query);
  const plan = { canaries: seen.map(adoptionRow), cluster };
  const screen = screenOf(process.stdout, process.env);
  const stdout =
    flags.output === 'text'
      ? `${adoptionLines(plan, screen).join('\n')}\n`
      : formatOutput('AdoptionPlan', plan, flags.output);
  return { stdout, stderr, exitCode: adoptionExitCode(plan) };
}

interface OldFlags {
  readonly from: 'flagger' | 'flux' | 'argocd';
  readonly to?: 'flagger';
  readonly dryRun?: boolean;
  readonly back?: boolean;
}

/** `holdfast adopt`: the former name of `migrate` and `handback`. Runs those, and says so once on standard error. */
export const adoptCommand: CliCommand = {
  register(command, context) {
    command
      .allowUnknownOption()
      .argument('[words...]')
      .addOption(
        new Option('--from <tool>').choices(['flagger', 'flux', 'argocd']).default('flagger' as const),
      )
      .option('--back')
      .addOption(new Option('--to <tool>').choices(['flagger']))
      .option('--dry-run')
      .action(async (words: string[], flags: OldFlags) => {
        const now = nameNow(flags);
        process.stderr.write(`holdfast adopt is now: ${['holdfast', ...now, ...words].join(' ')}\n`);
        await context.run([...now, ...words]);
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
