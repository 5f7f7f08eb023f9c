import { canaryStatus } from '../../api/canary/summary.ts';
import { type Clock, systemClock } from '../../api/clock.ts';
import { describe } from '../../api/kubernetes.ts';
import { type CommandResult, formatData } from '../../terminal/output.ts';
import { type CliCommand, emit, withConnection } from '../command.ts';
import {
  exitCodes,
  nameIn,
  outcomeOf,
  pollUntil,
  type RequestClient,
  readOne,
  type WaitFlags,
  withObjectFlags,
  withTimeout,
} from './request.ts';

/** What is waited for. */
interface WaitOptions {
  readonly namespace: string;
  readonly name: string;
  /** The release of this commit; undefined: whatever is under way. */
  readonly commit: string | undefined;
  readonly timeoutMs: number;
  readonly format: WaitFlags['output'];
}

/** `holdfast wait`: for scripts that go on only when the release is good. */
export const waitCommand: CliCommand = {
  register(program, context) {
    const command = withObjectFlags(
      program
        .command('wait')
        .summary('wait until the rollout of a Canary ends')
        .description(
          'wait until the rollout of a Canary ends; exit code 0 good, 1 failed, 2 error, 3 held, 4 timed out',
        ),
      'Canary',
    ).option('--commit <commit>', 'wait for the release of this commit, which must change the release');
    withTimeout(command, 600).action(async (subject: string, flags: WaitFlags & { commit?: string }) => {
      const { kubeconfig } = flags;
      const { version } = context;
      const result = await withConnection({ kubeconfig, version }, ({ access, client }) =>
        waitFor(client, systemClock, {
          namespace: flags.namespace ?? access.namespace,
          name: nameIn(subject, 'Canary'),
          commit: flags.commit,
          timeoutMs: flags.timeout * 1000,
          format: flags.output,
        }),
      );
      emit(result, context);
    });
  },
};

/** Waits until nothing is under way any more, or the release is held. Throws ApiError and InputError. */
export async function waitFor(
  client: RequestClient,
  clock: Clock,
  options: WaitOptions,
): Promise<CommandResult> {
  // Whoever cannot be asked now is no server that fails for a while.
  await readOne(client, 'Canary', options);
  const rest = await pollUntil(clock, options.timeoutMs, async () => {
    const canary = await readOne(client, 'Canary', options);
    const status = canaryStatus(canary);
    const isMeant = options.commit === undefined || status.lastAppliedCommit?.startsWith(options.commit);
    const outcome = isMeant ? outcomeOf(status) : undefined;
    return outcome && { canary, status, outcome };
  });
  if (!rest) {
    const stderr = `${options.namespace}/${options.name}: still in progress after ${options.timeoutMs / 1000} s\n`;
    return { stdout: '', stderr, exitCode: exitCodes.TimedOut };
  }
  const { canary, status, outcome } = rest;
  const { message, lastAppliedCommit, lastPromotedCommit } = status;
  const exitCode = exitCodes[outcome];
  if (options.format !== 'text') {
    const data = { outcome, phase: status.phase, lastAppliedCommit, lastPromotedCommit, message };
    return { stdout: formatData(data, options.format), stderr: '', exitCode };
  }
  return { stdout: `${describe(canary)}: ${outcome}: ${message ?? ''}\n`, stderr: '', exitCode };
}
