import { Option } from 'commander';
import type { CanaryStatus } from '../../api/canary/status.ts';
import { canaryStatus, shortCommit, stallOf, whatStalls, whyFailed } from '../../api/canary/summary.ts';
import { type Clock, systemClock } from '../../api/clock.ts';
import { conditionOf, describe, type KubernetesObject, namespacedName } from '../../api/kubernetes.ts';
import { type CommandResult, formatOutput, printable } from '../../terminal/output.ts';
import type { CliCommand } from '../command.ts';
import { commitName } from '../flags.ts';
import { readOne } from '../objects.ts';
import { canaryRow, commitLine, commitSubject } from '../status/rows.ts';
import {
  type ObjectOptions,
  type Outcome,
  onTargets,
  outcomeCodes,
  outcomeOf,
  pastOutcome,
  pollUntil,
  type RequestClient,
  type WaitFlags,
  withObjectFlags,
  withTimeout,
} from './request.ts';

/** What is waited for. */
interface WaitOptions extends ObjectOptions {
  /** The release of this commit; undefined: whatever is under way. */
  readonly commit: string | undefined;
  readonly timeoutMs: number;
  /** When that time began, for several Canaries that share it; default: now. */
  readonly startedMs?: number;
  /** Takes what is waited for, a line each time that it changes. */
  readonly progress?: (line: string) => void;
}

/** `holdfast wait`: for scripts that go on only when the release is good. */
export const waitCommand: CliCommand = {
  register(command, context) {
    withObjectFlags(
      command.description(
        'wait until the rollout of a Canary ends; exit code 0 good or rolled back on request, 1 failed or superseded, 2 error, 3 held, 4 timed out',
      ),
      'Canary',
    ).addOption(
      new Option(
        '--commit <commit>',
        'wait for the release of this commit, which must change the release',
      ).argParser(commitName),
    );
    withTimeout(command, 600).action(
      async (subject: string | undefined, flags: WaitFlags & { commit?: string }) => {
        const startedMs = systemClock.nowMs();
        await onTargets(context, 'Canary', { subject, flags }, (client, target) =>
          waitFor(client, systemClock, {
            ...target,
            commit: flags.commit,
            timeoutMs: flags.timeout * 1000,
            startedMs,
            progress: (line) => process.stderr.write(line),
          }),
        );
      },
    );
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
  let awaited = '';
  let changes = 0;
  let seen: Begun | undefined;
  const leftMs = options.timeoutMs - (clock.nowMs() - (options.startedMs ?? clock.nowMs()));
  const rest = await pollUntil(clock, leftMs, async () => {
    const canary = await readOne(client, 'Canary', options);
    const status = canaryStatus(canary);
    const commit = status.run?.commit;
    const { commit: wanted } = options;
    const isMeant =
      wanted === undefined || [status.lastAppliedCommit, commit].some((one) => one?.startsWith(wanted));
    if (isMeant && commit) seen = { commit, subject: commitSubject(canary, commit) };
    const end = isMeant ? restOf(canary, options.commit) : pastRelease(status, options.commit, seen);
    if (end) return { canary, status, ...end };
    const now = printable(isMeant ? whatGoesOn(canary) : whatPrecedes(canary, options.commit));
    if (now !== awaited) {
      options.progress?.(`waiting for ${describe(canary)}: ${now}\n`);
      changes += 1;
    }
    awaited = now;
    return undefined;
  });
  if (!rest) {
    const canary = `${options.namespace}/${options.name}`;
    const isStill = changes === 1;
    const hint = isStill
      ? '; nothing changed in that time: holdfast check says whether a controller runs'
      : '';
    const stderr = `Canary ${canary}: not at its end after ${options.timeoutMs / 1000} s: ${awaited}${hint}\n`;
    const body = { canary, outcome: 'TimedOut', message: awaited } as const;
    const stdout = options.format === 'text' ? '' : formatOutput('WaitResult', body, options.format);
    return { stdout, stderr, exitCode: outcomeCodes.TimedOut };
  }
  const { canary, status, outcome, message, why } = rest;
  const { lastAppliedCommit, lastPromotedCommit } = status;
  const exitCode = outcomeCodes[outcome];
  if (options.format !== 'text') {
    const { phase } = status;
    const data = { outcome, phase, lastAppliedCommit, lastPromotedCommit, message, why };
    const body = { canary: namespacedName(canary), ...data };
    return { stdout: formatOutput('WaitResult', body, options.format), stderr: '', exitCode };
  }
  const also = why && !message?.includes(why) ? `; why: ${why}` : '';
  // A status of Flagger's has no message but in its condition.
  const told = message ?? conditionOf(status, 'Promoted')?.message;
  const line = printable(`${describe(canary)}: ${outcome}${told ? `: ${told}` : ''}${also}`);
  return { stdout: `${line}\n`, stderr: '', exitCode };
}

/** How what is waited for ended. */
interface End {
  readonly outcome: Outcome;
  readonly message: string | undefined;
  /** Of a failure. */
  readonly why?: string | undefined;
}

/**
 * Where the Canary came to rest. Of the commit that was named a rollback is no success; without one, neither is a Canary whose newest spec or
 * commit is not acted on before a person has ended what stops it.
 */
function restOf(canary: KubernetesObject, commit: string | undefined): End | undefined {
  const status = canaryStatus(canary);
  const rest = outcomeOf(status);
  const isGone = commit !== undefined && status.rejected?.some((entry) => entry.commit.startsWith(commit));
  const isStopped = commit === undefined && stallOf(status) !== undefined;
  const isNone = (rest === 'RolledBack' && isGone) || (rest === 'Succeeded' && isStopped);
  const outcome = isNone ? 'Failed' : rest;
  const why = whyFailed(status) ?? whatStalls(canary);
  return outcome && { outcome, message: status.message, why: outcome === 'Failed' ? why : undefined };
}

/** A release that was under way. */
interface Begun {
  readonly commit: string;
  readonly subject?: string | undefined;
}

/**
 * How the release of a commit ended that another one came after; undefined: it has not begun. One whose place was taken before it was written to
 * the primary is in no history; that it began was reported, or `seen`.
 */
function pastRelease(
  { history = [], incidents = [], lastAppliedCommit }: CanaryStatus,
  commit = '',
  seen: Begun | undefined,
): End | undefined {
  const past = history.find((entry) => entry.commit.startsWith(commit));
  if (past) {
    const [outcome, message] = [pastOutcome(past), past.message];
    return { outcome, message, why: outcome === 'Failed' ? message : undefined };
  }
  const begun: Begun | undefined =
    incidents.find((entry) => entry.outcome === 'Started' && entry.commit.startsWith(commit)) ?? seen;
  if (!begun) return undefined;
  const message = `${shortCommit(lastAppliedCommit)} took the place of ${commitLine(begun.commit, begun.subject)} before that was promoted`;
  return { outcome: 'Superseded', message };
}

/** Phase, step and message. Times are left out: they change with every look. */
export function whatGoesOn(canary: KubernetesObject): string {
  const { phase, weight, step, message, why } = canaryRow(canary, 0);
  if (phase === '-') return message;
  const at = step === '-' ? `weight ${weight}` : `weight ${weight}, step ${step}`;
  const { next } = canaryStatus(canary);
  return `${phase}, ${at}: ${message}${why ? `; why: ${why}` : ''}${next ? `; next: ${next.action}` : ''}`;
}

/** The release of that commit has not begun. */
function whatPrecedes(canary: KubernetesObject, commit = ''): string {
  const status = canaryStatus(canary);
  const { lastAppliedCommit, phase } = status;
  const stall = stallOf(status);
  const stops = stall === undefined ? '' : `; what stops the Canary: ${stall}`;
  const at = shortCommit(lastAppliedCommit) || 'no commit';
  return `commit ${shortCommit(commit)} is not rolled out yet; the Canary is at ${at} (${phase || 'not reconciled yet'}). It starts no release if it changes nothing of it, or if a newer commit was read before it could start${stops}`;
}
