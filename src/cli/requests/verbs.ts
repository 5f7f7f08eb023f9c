import type { CanaryVerb } from '../../api/annotations.ts';
import type { RequestAnswer } from '../../api/canary/status.ts';
import { canaryStatus } from '../../api/canary/summary.ts';
import { type Clock, systemClock } from '../../api/clock.ts';
import { describe, type KubernetesObject } from '../../api/kubernetes.ts';
import { InputError } from '../../api/problems.ts';
import { type CommandResult, formatData } from '../../terminal/output.ts';
import { type CliCommand, emit, withConnection } from '../command.ts';
import { storedReleases } from '../history.ts';
import {
  annotate,
  exitCodes,
  nameIn,
  type Outcome,
  outcomeOf,
  pollUntil,
  type RequestClient,
  readOne,
  tokenFor,
  type WaitFlags,
  withObjectFlags,
  withTimeout,
} from './request.ts';

/** One command that requests a verb. */
export interface VerbCommand {
  /** Name on the command line. */
  readonly name: string;
  readonly verb: CanaryVerb;
  readonly description: string;
  /** The flag that names the revision, and what stands without it. */
  readonly flag: string;
  readonly flagMeaning: string;
  /** Commit or digest to ask for. Throws InputError when there is none. */
  readonly revision: (client: RequestClient, canary: KubernetesObject) => Promise<string> | string;
  /** Which outcome is what was asked for, with `--wait`. */
  readonly isWanted: (outcome: Outcome) => boolean;
}

/** What a request needs besides the cluster. */
export interface VerbOptions {
  readonly namespace: string;
  readonly name: string;
  readonly revision: string | undefined;
  readonly wait: boolean;
  readonly timeoutMs: number;
  readonly format: 'text' | 'json' | 'yaml';
}

interface Flags extends WaitFlags {
  readonly revision?: string;
  readonly to?: string;
}

/** `holdfast promote canary/web` and similar commands: sets the annotation, then reports the answer. */
function verbCommand(spec: VerbCommand): CliCommand {
  return {
    register(program, context) {
      const command = withObjectFlags(program.command(spec.name).description(spec.description), 'Canary')
        .option(spec.flag, spec.flagMeaning)
        .option('--wait', 'wait until the release is good, failed or held');
      withTimeout(command, 600).action(async (subject: string, flags: Flags) => {
        const result = await withConnection(flags, context, ({ access, client }) =>
          request(client, systemClock, spec, {
            namespace: flags.namespace ?? access.namespace,
            name: nameIn(subject, 'Canary'),
            revision: flags.revision ?? flags.to,
            wait: flags.wait === true,
            timeoutMs: flags.timeout * 1000,
            format: flags.output,
          }),
        );
        emit(result, context);
      });
    },
  };
}

/** Makes the request and reports the answer; with `wait` also where the release came to rest. Throws ApiError and InputError. */
export async function request(
  client: RequestClient,
  clock: Clock,
  spec: VerbCommand,
  options: VerbOptions,
): Promise<CommandResult> {
  const canary = await readOne(client, 'Canary', options);
  const revision = options.revision ?? (await spec.revision(client, canary));
  const value = tokenFor(revision, clock.nowMs());
  await annotate(client, canary, spec.verb, value);
  const readStatus = async () => canaryStatus(await readOne(client, 'Canary', options));
  const answered = await pollUntil(clock, Math.min(answerMs, options.timeoutMs), async () => {
    const status = await readStatus();
    return status.handled?.[spec.verb] === value ? status : undefined;
  });
  const answer = answered?.answers?.[spec.verb];
  if (!answered || !answer || answer.result === 'Refused' || !options.wait)
    return report(canary, spec, options, { value, answer });
  const outcome = await pollUntil(clock, options.timeoutMs, async () => {
    const status = await readStatus();
    // The write that holds the answer says nothing of what follows from it: that comes with a later one, which may be there already.
    return status.lastTransitionTime === answer.time ? undefined : outcomeOf(status);
  });
  return report(canary, spec, options, { value, answer, outcome: outcome ?? 'TimedOut' });
}

/** Holdfast answers at its next reconcile; longer means that it does not run. */
const answerMs = 30_000;

interface Report {
  readonly value: string;
  readonly answer: RequestAnswer | undefined;
  readonly outcome?: Outcome | 'TimedOut';
}

function report(
  canary: KubernetesObject,
  spec: VerbCommand,
  { format }: VerbOptions,
  { value, answer, outcome }: Report,
): CommandResult {
  const { namespace, name } = canary.metadata;
  const exitCode = codeOf(spec, answer, outcome);
  if (format !== 'text') {
    const data = { canary: `${namespace}/${name}`, verb: spec.verb, value, ...answer, outcome };
    return { stdout: formatData(data, format), stderr: '', exitCode };
  }
  const subject = `${describe(canary)}: `;
  if (!answer) {
    const stderr = `${subject}${spec.verb} is requested but not handled yet; is Holdfast running?\n`;
    return { stdout: '', stderr, exitCode };
  }
  const line = `${subject}${answer.result === 'Refused' ? `refused (${answer.reason}): ` : ''}${answer.message}\n`;
  const ended = outcome === undefined ? '' : `${subject}${outcome}\n`;
  const stdout = answer.result === 'Refused' ? '' : line + ended;
  return { stdout, stderr: answer.result === 'Refused' ? line : '', exitCode };
}

function codeOf(spec: VerbCommand, answer: Report['answer'], outcome: Report['outcome']): 0 | 1 | 3 | 4 {
  if (!answer || answer.result === 'Refused') return 1;
  if (outcome === undefined) return 0;
  return outcome !== 'TimedOut' && spec.isWanted(outcome) ? 0 : exitCodes[outcome] || 1;
}

/** `holdfast promote`: skips the rest of the analysis, or of the checks after promotion. */
export const promote: VerbCommand = {
  name: 'promote',
  verb: 'promote',
  description:
    'skip the remaining checks and promote the current release; after promotion, accept it as good',
  flag: '--revision <commit>',
  flagMeaning: 'only if this commit or digest is being rolled out (default: any)',
  revision: (_client, canary) => releaseUnderWay(canary),
  isWanted: (outcome) => outcome === 'Succeeded',
};

/** Registered in commands.ts. */
export const promoteCommand = verbCommand(promote);

/** `holdfast abort`: the release under way ends and is rejected. */
export const abort: VerbCommand = {
  name: 'abort',
  verb: 'abort',
  description: 'stop the current release and go back to the last known good release',
  flag: '--revision <commit>',
  flagMeaning: 'only if this commit or digest is being rolled out (default: any)',
  revision: (_client, canary) => releaseUnderWay(canary),
  isWanted: (outcome) => outcome === 'Failed',
};

/** Registered in commands.ts. */
export const abortCommand = verbCommand(abort);

/** `holdfast retry`: what was rejected at head is tried again. */
export const retry: VerbCommand = {
  name: 'retry',
  verb: 'retry',
  description: 'retry the rejected release at head',
  flag: '--revision <commit>',
  flagMeaning: 'only if this commit or digest is at head (default: any)',
  revision(_client, canary) {
    const { rejected, lastAppliedSpec, run } = canaryStatus(canary);
    const digest = run?.digest ?? lastAppliedSpec;
    if (digest && rejected?.some((entry) => entry.digest === digest)) return digest;
    throw new InputError(`${describe(canary)}: the release at head was not rejected`);
  },
  isWanted: (outcome) => outcome === 'Succeeded',
};

/** Registered in commands.ts. */
export const retryCommand = verbCommand(retry);

/** `holdfast rollback`: a stored release serves again. */
export const rollback: VerbCommand = {
  name: 'rollback',
  verb: 'rollback-to',
  description: 'roll back to an earlier good release',
  flag: '--to <commit>',
  flagMeaning: 'commit or digest as listed by holdfast history (default: the previous good release)',
  async revision(client, canary) {
    const { run, rejected = [] } = canaryStatus(canary);
    const good = (await storedReleases(client, canary)).filter(
      ({ digest, promotedTime }) =>
        promotedTime !== undefined && !rejected.some((entry) => entry.digest === digest),
    );
    // With a release under way the last-known-good, else the good one before it.
    const wanted = run ? good[0] : good[1];
    if (wanted) return wanted.digest;
    throw new InputError(`${describe(canary)}: no earlier good release is stored; see holdfast history`);
  },
  // What was at head is rejected, so the phase is Failed once the older release serves.
  isWanted: (outcome) => outcome === 'Failed' || outcome === 'Succeeded',
};

/** Registered in commands.ts. */
export const rollbackCommand = verbCommand(rollback);

/** The digest of the release under way. Throws InputError when there is none. */
function releaseUnderWay(canary: KubernetesObject): string {
  const digest = canaryStatus(canary).run?.digest;
  if (digest) return digest;
  throw new InputError(`${describe(canary)}: no rollout is in progress`);
}
