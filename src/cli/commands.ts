/** The table of commands: a further one is one more file and one more line here. */
import { adoptCommand } from './adopt-command.ts';
import { checkCommand } from './check-command.ts';
import type { CliCommand } from './command.ts';
import { demoCommand } from './demo.ts';
import { diffCommand } from './diff-command.ts';
import { drillCommand } from './drill-command.ts';
import { explainCommand } from './explain-command.ts';
import { installCommand } from './install-command.ts';
import { planCommand } from './plan-command.ts';
import { abortCommand } from './requests/abort.ts';
import { gateCommand } from './requests/gate.ts';
import { historyCommand } from './requests/history.ts';
import { pauseCommand, resumeCommand } from './requests/pause.ts';
import { promoteCommand } from './requests/promote.ts';
import { retryCommand } from './requests/retry.ts';
import { rollbackCommand } from './requests/rollback.ts';
import { syncCommand } from './requests/sync.ts';
import { waitCommand } from './requests/wait.ts';
import { runCommand } from './run.ts';
import { statusCommand } from './status-command.ts';
import { validateCommand } from './validate-command.ts';

/** Every command, in the order of the help text. */
export const commands: readonly CliCommand[] = [
  runCommand,
  demoCommand,
  statusCommand,
  explainCommand,
  diffCommand,
  historyCommand,
  waitCommand,
  syncCommand,
  promoteCommand,
  pauseCommand,
  resumeCommand,
  abortCommand,
  retryCommand,
  rollbackCommand,
  gateCommand,
  drillCommand,
  adoptCommand,
  checkCommand,
  validateCommand,
  planCommand,
  installCommand,
];
