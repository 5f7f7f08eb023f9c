/** The table of commands: another command is another file and another line here. */
import { Command, CommanderError, Help, type Option } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import type { CliCommand, CliContext } from './command.ts';

/** One command: what lists of commands say of it, and its file, which is loaded when the command is asked for. */
interface CommandRow {
  readonly name: string;
  readonly summary: string;
  readonly isHidden?: boolean;
  readonly load: () => Promise<CliCommand>;
}

/** Every command, in the order of the help text. */
const rows: readonly CommandRow[] = [
  {
    name: 'run',
    summary: 'run the controller: follow Git and roll out what it says',
    load: async () => (await import('./run.ts')).runCommand,
  },
  {
    name: 'demo',
    summary: 'show a good release, a bad release and a git revert, in a built-in sandbox or on a cluster',
    load: async () => (await import('./demo.ts')).demoCommand,
  },
  {
    name: 'status',
    summary: 'show Canaries and Sources, or one of them in full',
    load: async () => (await import('./status/status.ts')).statusCommand,
  },
  {
    name: 'watch',
    summary: 'show the rollouts of a Canary as they happen',
    load: async () => (await import('./watch.ts')).watchCommand,
  },
  {
    name: 'explain',
    summary: 'explain the state of a Canary, or what would follow from a fault',
    load: async () => (await import('./review/explain.ts')).explainCommand,
  },
  {
    name: 'runbook',
    summary: 'show what to do about a Canary, or about a reason',
    load: async () => (await import('./runbook.ts')).runbookCommand,
  },
  {
    name: 'diff',
    summary: 'compare a Canary or a Source with the cluster',
    load: async () => (await import('./review/diff.ts')).diffCommand,
  },
  {
    name: 'tree',
    summary: 'show the objects of a Source or a Canary, with their health',
    load: async () => (await import('./inspect/tree.ts')).treeCommand,
  },
  {
    name: 'events',
    summary: 'list the Events of Canaries and Sources',
    load: async () => (await import('./inspect/events.ts')).eventsCommand,
  },
  {
    name: 'logs',
    summary: 'print the logs of the pods that fail',
    load: async () => (await import('./inspect/logs.ts')).logsCommand,
  },
  {
    name: 'history',
    summary: 'list the releases of a Canary and those that a rollback can return to',
    load: async () => (await import('./history.ts')).historyCommand,
  },
  {
    name: 'wait',
    summary: 'wait until the rollout of a Canary ends',
    load: async () => (await import('./requests/wait.ts')).waitCommand,
  },
  {
    name: 'sync',
    summary: 'make a Source fetch from Git now',
    load: async () => (await import('./requests/sync.ts')).syncCommand,
  },
  {
    name: 'promote',
    summary: 'skip the remaining checks and promote the current release; after promotion, accept it as good',
    load: async () => (await import('./requests/verb-table.ts')).verbCommands.promote,
  },
  {
    name: 'approve',
    summary: 'open the gate that a release waits at, before it starts or before it is promoted',
    load: async () => (await import('./requests/verb-table.ts')).verbCommands.approve,
  },
  {
    name: 'skip-step',
    summary: 'skip the check of the current step once; the pods of the next step must be ready all the same',
    load: async () => (await import('./requests/verb-table.ts')).verbCommands.skipStep,
  },
  {
    name: 'ignore-window',
    summary: 'start the release that waits for its window now; the next one waits again',
    load: async () => (await import('./requests/verb-table.ts')).verbCommands.ignoreWindow,
  },
  {
    name: 'abort',
    summary: 'stop the current release and go back to the last known good release',
    load: async () => (await import('./requests/verb-table.ts')).verbCommands.abort,
  },
  {
    name: 'retry',
    summary: 'retry the rejected release at head',
    load: async () => (await import('./requests/verb-table.ts')).verbCommands.retry,
  },
  {
    name: 'rollback',
    summary: 'roll back to an earlier good release',
    load: async () => (await import('./requests/verb-table.ts')).verbCommands.rollback,
  },
  {
    name: 'pause',
    summary: 'pause a rollout: no step and no promotion until holdfast resume',
    load: async () => (await import('./requests/pause.ts')).pauseCommand,
  },
  {
    name: 'resume',
    summary: 'resume a paused rollout (NAME or canary/NAME) or a suspended Source (source/NAME)',
    load: async () => (await import('./requests/pause.ts')).resumeCommand,
  },
  {
    name: 'suspend',
    summary: 'suspend a Source: nothing is fetched or applied until holdfast resume',
    load: async () => (await import('./requests/pause.ts')).suspendCommand,
  },
  {
    name: 'freeze',
    summary: 'hold the rollouts of many Canaries until a time',
    load: async () => (await import('./requests/freeze.ts')).freezeCommand,
  },
  {
    name: 'unfreeze',
    summary: 'end a freeze',
    load: async () => (await import('./requests/freeze.ts')).unfreezeCommand,
  },
  {
    name: 'gate',
    summary: 'open, close or show the gates that Holdfast serves for a Canary',
    load: async () => (await import('./requests/gate.ts')).gateCommand,
  },
  {
    name: 'drill',
    summary: 'dry-run the last known good release against the cluster',
    load: async () => (await import('./requests/drill.ts')).drillCommand,
  },
  {
    name: 'migrate',
    summary: 'migrate from Flagger, Flux, Argo CD or Argo Rollouts',
    load: async () => (await import('./migrate/migrate.ts')).migrateCommand,
  },
  {
    name: 'handback',
    summary: 'go back to Flagger, Flux or Argo CD',
    load: async () => (await import('./migrate/handback.ts')).handbackCommand,
  },
  {
    name: 'adopt',
    summary: 'former name of migrate and handback',
    isHidden: true,
    load: async () => (await import('./migrate/migrate.ts')).adoptCommand,
  },
  {
    name: 'check',
    summary: 'check everything that Holdfast depends on',
    load: async () => (await import('./check/check.ts')).checkCommand,
  },
  {
    name: 'validate',
    summary: 'check manifests the way a Source reads them',
    load: async () => (await import('./review/validate.ts')).validateCommand,
  },
  {
    name: 'plan',
    summary: 'show what a change in Git would do before it is merged',
    load: async () => (await import('./review/plan.ts')).planCommand,
  },
  {
    name: 'install',
    summary: 'print the manifests to install Holdfast',
    load: async () => (await import('./install/install.ts')).installCommand,
  },
  {
    name: 'completion',
    summary: 'print the completion script of a shell',
    load: async () => (await import('./completion/completion.ts')).completionCommand,
  },
  {
    name: 'version',
    summary: 'print the version of this program and of the controller in the cluster',
    load: async () => (await import('./version.ts')).versionCommand,
  },
];

/** What there is no command for, although people look for one: by the commands that are near they would run something else. */
const instead: ReadonlyMap<string, string> = new Map([
  [
    'upgrade',
    'there is no command upgrade: apply what holdfast install of the new version prints, with the options that you installed with; the steps are in docs/guides/upgrade.md',
  ],
  [
    'uninstall',
    'there is no command uninstall: let the Canaries hand back their traffic first, then delete what holdfast install prints; the steps are in docs/guides/uninstall.md',
  ],
]);

/** The first word of what shells ask: the words of a command line follow it, the last of which is the one at the cursor. */
export const completionRequest = '__complete';

/** Reads the command line and runs one command; the result is the exit code. Messages go to the streams of the process. */
export async function runProgram(argv: readonly string[], version: string): Promise<number> {
  let exitCode = 0;
  const context: CliContext = {
    version,
    setExitCode: (code) => {
      exitCode = code;
    },
    run: async (words) => {
      exitCode = await runProgram(words, version);
    },
  };
  const typed = argv[0] === completionRequest ? argv.slice(1) : argv;
  const [first, second] = typed.filter((word) => !word.startsWith('-'));
  const asked = first === 'help' ? second : first;
  const program = await programWith(context, (name) => name === asked);
  if (typed !== argv) {
    const { answerShell } = await import('./completion/completion.ts');
    return answerShell(program, typed, version);
  }
  try {
    const words = instead.get(asked ?? '');
    if (words !== undefined) program.error(`error: ${words}`);
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    // Help or the version, as asked for.
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    const { reportFailure } = await import('./failure.ts');
    return reportFailure(error, argv);
  }
}

/** The program with all commands, to look at and not to be run. */
export function wholeProgram(version: string): Promise<Command> {
  return programWith({ version, setExitCode: () => undefined, run: async () => undefined }, () => true);
}

/** The program with what lists say of every command, and with arguments, options and action of those that are wanted. */
async function programWith(context: CliContext, isWanted: (name: string) => boolean): Promise<Command> {
  const program = new Command('holdfast')
    .description(
      'GitOps reconciler for progressive delivery: rolls out what Git says, keeps the last known good release and returns to it when a release fails',
    )
    .version(context.version, '-V, --version', 'print the version of this program')
    .configureHelp({ subcommandTerm: (command) => command.name(), optionDescription, minWidthToWrap: 20 })
    .exitOverride()
    .showHelpAfterError('Run holdfast --help for the commands, holdfast <command> --help for their options.');
  for (const { name, summary, isHidden = false, load } of rows) {
    const command = program.command(name, { hidden: isHidden }).summary(summary).description(summary);
    if (isWanted(name)) (await load()).register(command, context);
  }
  return program;
}

/**
 * As the library describes an option, but with a list as it is typed on the command line, no default where that is nothing, and a word where one must be
 * given. A default without a value is told by its description, also of a switch: the controller's.
 */
function optionDescription(option: Option): string {
  const { defaultValue, defaultValueDescription, description } = option;
  if (option.mandatory) return `${Help.prototype.optionDescription(option)} (required)`;
  if (defaultValue === undefined && defaultValueDescription !== undefined)
    return `${description.replace(/ \(default: [^()]*\)$/, '')} (default: ${defaultValueDescription})`;
  const list = Array.isArray(defaultValue) ? defaultValue.join(',') : undefined;
  const shown: Option = Object.create(option, {
    defaultValue: { value: list === '' || defaultValue === false ? undefined : defaultValue },
    defaultValueDescription: { value: defaultValueDescription ?? list },
  });
  return Help.prototype.optionDescription(shown);
}

/** The version of this program, from package.json. */
export const version: string = packageJson.version;
