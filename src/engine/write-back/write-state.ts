import { writtenCondition } from '../../api/canary/status.ts';
import { type KubernetesObject, liveCondition } from '../../api/kubernetes.ts';
import type { Facts } from '../../writeback/decide.ts';
import {
  formatGitRecords,
  type GitRecord,
  ledgerRecord,
  messageWithoutRecords,
  openRequests,
  parseGitRecords,
  refusalRecord,
  withGitRecord,
} from '../../writeback/records.ts';
import { codeOf, failureOf } from '../failure.ts';
import type { ConditionNews } from '../status-patch.ts';

/** Why something is not in Git. */
export interface Problem {
  readonly reason: 'GitRefused' | 'GitUnavailable' | 'RevertByHand';
  readonly message: string;
  /** For so long the server wants no further try. */
  readonly pauseMs?: number | undefined;
}

/** One write: what it is called for counting, and how it is done; the result says what is in Git then. */
export interface Write {
  readonly id: string;
  readonly perform: () => Promise<GitRecord | undefined>;
}

/** What is known about one Canary; what must survive a restart is in its condition, too. */
export interface Memory {
  records: readonly GitRecord[];
  problem: Problem | undefined;
  /** Writes that failed and are tried again, by their ids: one that fails holds up no other. */
  readonly waiting: Map<string, WaitingWrite>;
  isWanted: boolean;
}

interface WaitingWrite {
  readonly failures: number;
  readonly notBeforeMs: number;
  readonly problem: Problem;
}

/** A push that was refused is tried again twice; after that a person must act (issue 4). */
const maximumTries = 3;
/** No right, no such repository, a protected branch: another try would change nothing. */
const refusedCodes = new Set([
  'Rejected',
  'Unauthorized',
  'Forbidden',
  'NotFound',
  'Invalid',
  'Refused',
  'Redirected',
]);

/** Whether another try would change nothing. */
export function isRefusal(error: unknown): boolean {
  return refusedCodes.has(codeOf(error) ?? '');
}

/** Nothing done yet, on top of what the Canary's condition says. */
export function newMemory(canary: KubernetesObject): Memory {
  const { reason, message = '' } = liveCondition(canary, writtenCondition) ?? {};
  const records = parseGitRecords(message);
  const problem: Problem | undefined =
    reason === 'GitRefused' ? { reason, message: messageWithoutRecords(message) } : undefined;
  return { records, problem, waiting: new Map(), isWanted: false };
}

/** The problem of a write that was refused so often that only a person can help; undefined while it is worth another try. */
export function givenUp(memory: Memory, write: string, request: string): Problem | undefined {
  if (timesRefused(memory, write, request) < maximumTries) return undefined;
  // The problem that is remembered may be of another write.
  if (memory.problem?.reason === 'GitRefused') return memory.problem;
  return { reason: 'GitRefused', message: `${write} was refused ${maximumTries} times` };
}

function timesRefused({ records }: Memory, write: string, request: string): number {
  const found = records.find((entry) => entry.kind === 'refused' && entry.write === write);
  return found?.kind === 'refused' && found.request === request ? found.times : 0;
}

/** Does one write that `request` asks for, and remembers what came of it; the problem, if there is one. */
export async function attempt(memory: Memory, write: Write, request: string): Promise<Problem | undefined> {
  try {
    const record = await write.perform();
    if (record) memory.records = withGitRecord(memory.records, record);
    memory.records = memory.records.filter((entry) => entry.kind !== 'refused' || entry.write !== write.id);
    return undefined;
  } catch (error) {
    const { message } = failureOf(error);
    // Errors of Git and of forges carry the time that the server asked for.
    const { pauseMs, retryAfterMs = pauseMs } = (error ?? {}) as { pauseMs?: number; retryAfterMs?: number };
    if (!isRefusal(error)) return { reason: 'GitUnavailable', message, pauseMs: retryAfterMs };
    const tries = timesRefused(memory, write.id, request) + 1;
    memory.records = withGitRecord(memory.records, refusalRecord(write.id, request, tries));
    if (tries < maximumTries) return { reason: 'GitUnavailable', message };
    return { reason: 'GitRefused', message: `${message} (tried ${tries} times)` };
  }
}

/** The records without those that are over: reverts, unless their pull request is still open, and the like. */
export function currentRecords(
  records: readonly GitRecord[],
  { write, status, head, ledger }: Omit<Facts, 'records' | 'where'>,
): readonly GitRecord[] {
  if (!head) return records;
  const open = new Set(openRequests(records).map(({ text }) => text));
  const current = records.filter((entry) => {
    if (entry.kind === 'ledger') return false;
    if (entry.kind === 'status') return write.status === true;
    if (entry.kind === 'refused') return true;
    if (entry.kind === 'bump') return entry.commit === status.lastAppliedCommit;
    return open.has(entry.text) || status.phase === 'Failed';
  });
  return write.ledger && ledger !== undefined ? [ledgerRecord(ledger), ...current] : current;
}

/** The condition of what is remembered; `absent` when the Source asks for nothing or nothing happened yet. */
export function conditionFrom({ records, problem, isWanted }: Memory): ConditionNews | 'absent' {
  if (!isWanted || (records.length === 0 && !problem)) return 'absent';
  const type = writtenCondition;
  if (!problem) return { type, status: 'True', reason: 'WrittenToGit', message: formatGitRecords(records) };
  const { reason, message } = problem;
  const whole = formatGitRecords(records, reason === 'RevertByHand' ? '' : message);
  return { type, status: reason === 'GitUnavailable' ? 'Unknown' : 'False', reason, message: whole };
}
