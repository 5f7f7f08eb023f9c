import { syncAnnotation } from '../../api/annotations.ts';
import { type Clock, systemClock } from '../../api/clock.ts';
import {
  commandOn,
  conditionOf,
  describe,
  isSuspended,
  type KubernetesObject,
  namespacedName,
} from '../../api/kubernetes.ts';
import type { SourceStatus } from '../../api/source/source.ts';
import { type CommandResult, formatOutput, printable } from '../../terminal/output.ts';
import type { CliCommand } from '../command.ts';
import { exitCodes } from '../failure.ts';
import { readOne } from '../objects.ts';
import { commitLine } from '../status/rows.ts';
import {
  annotate,
  type Begun,
  type ObjectOptions,
  onTargets,
  pollUntil,
  type RequestClient,
  refused,
  tokenFor,
  type WaitFlags,
  withObjectFlags,
  withTimeout,
} from './request.ts';

/** What a sync needs. */
interface SyncOptions extends ObjectOptions {
  readonly timeoutMs: number;
}

/** `holdfast sync`: a Source looks at Git now. */
export const syncCommand: CliCommand = {
  register(command, context) {
    withTimeout(withObjectFlags(command, 'Source'), 60).action(
      (subject: string | undefined, flags: WaitFlags) =>
        onTargets(context, 'Source', { subject, flags }, (client, target) =>
          beginSync(client, systemClock, { ...target, timeoutMs: flags.timeout * 1000 }),
        ),
    );
  },
};

/** Asks for a look; what it gives waits until it was taken; exit code 1 when the Source is not ready after it. Throws ApiError and InputError. */
export async function beginSync(client: RequestClient, clock: Clock, options: SyncOptions): Promise<Begun> {
  const source = await readOne(client, 'Source', options);
  if (isSuspended(source)) {
    const why = `nothing is fetched until ${commandOn('resume', options, 'source')}`;
    return refused(source, { reason: 'Suspended', message: why }, options.format);
  }
  const askedMs = clock.nowMs();
  const value = tokenFor('now', askedMs);
  await annotate(client, source, 'sync', value);
  return () => synced(client, clock, { ...options, source, value, askedMs });
}

interface AskedSync extends SyncOptions {
  readonly source: KubernetesObject;
  readonly value: string;
  readonly askedMs: number;
}

async function synced(
  client: RequestClient,
  clock: Clock,
  { source, value, askedMs, ...options }: AskedSync,
): Promise<CommandResult> {
  const leftMs = askedMs + options.timeoutMs - clock.nowMs();
  let seen: SourceStatus = {};
  const status = await pollUntil(clock, leftMs, async () => {
    const { metadata, status: now } = await readOne(client, 'Source', options);
    seen = (now ?? {}) as SourceStatus;
    // Somebody may have asked a moment later, which replaces this request.
    const newest = metadata.annotations?.[syncAnnotation] ?? value;
    return [value, newest].includes(seen.handled?.sync ?? '') ? seen : undefined;
  });
  const { format } = options;
  if (!status) {
    const before = conditionOf(seen, 'Ready');
    const why =
      before?.reason === 'InvalidSpec'
        ? `its spec is refused: ${before.message}`
        : 'holdfast check says whether a controller runs';
    const stderr = `${describe(source)}: no fetch from Git yet; ${printable(why)}\n`;
    const body = { source: namespacedName(source), fetched: false };
    const stdout = format === 'text' ? '' : formatOutput('SyncResult', body, format);
    return { stdout, stderr, exitCode: exitCodes.timedOut };
  }
  const ready = conditionOf(status, 'Ready');
  const exitCode = ready?.status === 'True' ? exitCodes.good : exitCodes.bad;
  const { head, appliedCommit } = status;
  if (format !== 'text') {
    const body = { source: namespacedName(source), fetched: true, head, appliedCommit, ready };
    return { stdout: formatOutput('SyncResult', body, format), stderr: '', exitCode };
  }
  const at = commitLine(head?.commit, head?.subject) || 'no commit';
  const text = printable(`${describe(source)}: at ${at}; ${ready?.message ?? ''}`);
  return { stdout: `${text}\n`, stderr: '', exitCode };
}
