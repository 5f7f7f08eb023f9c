/** The table of commands: another command is another file and another line here. */
import { Command } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { checkCommand } from './check/check.ts';
import type { CliCommand } from './command.ts';
import { answerShell, completionCommand, completionRequest } from './completion/completion.ts';
import { demoCommand } from './demo.ts';
import { diffCommand } from './diff.ts';
import { drillCommand } from './drill.ts';
import { explainCommand } from './explain.ts';
import { reportFailure } from './failure.ts';
import { historyCommand } from './history.ts';
import { eventsCommand } from './inspect/events.ts';
import { logsCommand } from './inspect/logs.ts';
import { treeCommand } from './inspect/tree.ts';
import { installCommand } from './install/install.ts';
import { handbackCommand } from './migrate/handback.ts';
import { adoptCommand, migrateCommand } from './migrate/migrate.ts';
import { planCommand } from './plan.ts';
import { freezeCommand, unfreezeCommand } from './requests/freeze.ts';
import { gateCommand } from './requests/gate.ts';
import { pauseCommand, resumeCommand, suspendCommand } from './requests/pause.ts';
import { syncCommand } from './requests/sync.ts';
import { verbCommands } from './requests/verb-table.ts';
import { waitCommand } from './requests/wait.ts';
import { runCommand } from './run.ts';
import { runbookCommand } from './runbook.ts';
import { statusCommand } from './status/status.ts';
import { validateCommand } from './validate.ts';
import { versionCommand } from './version.ts';
import { watchCommand } from './watch.ts';

/** Every command, in the order of the help text. */
export const commands: readonly CliCommand[] = [
  runCommand,
  demoCommand,
  statusCommand,
  watchCommand,
  explainCommand,
  runbookCommand,
  diffCommand,
  treeCommand,
  eventsCommand,
  logsCommand,
  historyCommand,
  waitCommand,
  syncCommand,
  ...verbCommands,
  pauseCommand,
  resumeCommand,
  suspendCommand,
  freezeCommand,
  unfreezeCommand,
  gateCommand,
  drillCommand,
  migrateCommand,
  handbackCommand,
  adoptCommand,
  checkCommand,
  validateCommand,
  planCommand,
  installCommand,
  completionCommand,
  versionCommand,
];

/** Reads the command line and runs one command; the result is the exit code. Messages go to the streams of the process. */
export async function runProgram(argv: readonly string[], version: string): Promise<number> {
  let exitCode = 0;
  const program = new Command('holdfast')
    .description(
      'GitOps reconciler for progressive delivery: rolls out what Git says, keeps the last known good release and returns to it when a release fails',
    )
    .version(version, '-V, --version', 'print the version of this program')
    .exitOverride()
    .showHelpAfterError('Run holdfast --help for the commands, holdfast <command> --help for their options.');
  const context = {
    version,
    setExitCode: (code: number) => {
      exitCode = code;
    },
  };
  for (const command of commands) command.register(program, context);
  for (const command of program.commands) command.exitOverride();
  if (argv[0] === completionRequest) return answerShell(program, argv.slice(1), version);
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    return reportFailure(error, argv);
  }
}

/** The version of this program, from package.json. */
export const version: string = packageJson.version;
