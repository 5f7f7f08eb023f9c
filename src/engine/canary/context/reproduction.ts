import { type CanaryStatus, revertMessageSeparator, whyReverted } from '../../../api/canary/status.ts';
import type { Clock } from '../../../api/clock.ts';
import { gitPart, livePart } from '../../../api/commit.ts';
import { type Condition, conditionOf, namespacedName } from '../../../api/kubernetes.ts';
import { limits, shorten } from '../../../api/limits.ts';
import { type Release, withLivePart } from '../../../release/release.ts';
import type { World } from '../../../rollout/world.ts';
import type { ConditionNews } from '../../status-patch.ts';
import type { Heads } from './heads.ts';

/** Condition that compares Git with the record after a revert; reported, never waited for (design section 5). */
export const reproducedCondition = 'RecordReproduced';

/** What rendering an older commit again gave. */
export type Reproduced =
  | {
      readonly digest: string;
      readonly release: Release;
      /** Objects of no Canary that differ at head, see `otherChanges`. */
      readonly others: readonly string[] | undefined;
      readonly problem?: never;
    }
  | { readonly digest?: never; readonly release?: never; readonly others?: never; readonly problem: string };

/** Renders the last-known-good's commit again after a revert and remembers how it compares with the record, and with head. */
export interface AfterRevert {
  /**
   * Starts the comparison if this status says that a revert ended, once Git was read; once per Canary, release and commit that the Source
   * stands at, `at`: what else a commit changed may stay, too.
   */
  compareOnce(world: Pick<World, 'canary' | 'head'>, status: CanaryStatus, at?: string): void;
  /** The result for a Canary that is reverted now, if there is one. */
  conditionOf(canaryKey: string, status: CanaryStatus): ConditionNews | undefined;
  /** Objects of no Canary that differ from the last-known-good's commit and stay as head says; undefined until it was compared. */
  othersOf(canaryKey: string, status: CanaryStatus): readonly string[] | undefined;
}

interface Result {
  readonly digest: string;
  /** Head when it was compared; undefined where Git held no release then. */
  readonly head: string | undefined;
  readonly news: ConditionNews | undefined;
  readonly others?: readonly string[] | undefined;
  /** How often in a row the commit could not be read. */
  readonly failures?: number;
}

/** Git may be away for a while; a commit that is gone stays away. */
const mostFailures = 6;
const firstRetryMs = 60_000;

/** A comparison that is under way. */
interface Pending extends Result {
  readonly wasReported: boolean;
}

/** Starts without results. `onDone` is called when a result is there. */
export function createAfterRevert(
  reproduce: (canaryKey: string, commit: string) => Promise<Reproduced>,
  onDone: (canaryKey: string) => void,
  clock: Clock,
): AfterRevert {
  const results = new Map<string, Result>();

  async function compare(canaryKey: string, commit: string, pending: Pending): Promise<void> {
    const { digest, head, wasReported, failures: before = 0 } = pending;
    results.set(canaryKey, pending);
    const again = await reproduce(canaryKey, commit);
    // Head moved on meanwhile: the newer comparison counts.
    if (results.get(canaryKey) !== pending) return;
    // A former answer stays when it cannot be found out again.
    const keepsAnswer = again.problem !== undefined && wasReported;
    const news = keepsAnswer ? undefined : newsOf(again, commit, digest);
    const failures = again.problem === undefined ? 0 : before + 1;
    const result = { digest, head, news, others: again.others, failures };
    results.set(canaryKey, result);
    onDone(canaryKey);
    if (failures === 0 || failures >= mostFailures) return;
    clock.after(firstRetryMs * 2 ** (failures - 1), () => {
      if (results.get(canaryKey) === result)
        void compare(canaryKey, commit, { ...result, wasReported: keepsAnswer });
    });
  }

  function resultOf(canaryKey: string, status: CanaryStatus): Result | undefined {
    const result = results.get(canaryKey);
    return isReverted(status) && result?.digest === status.lastKnownGood?.digest ? result : undefined;
  }

  return {
    compareOnce({ canary, head }, status, standsAt) {
      if (head.kind === 'unknown' && head.reason === 'SourceNotRead') return;
      const good = status.lastKnownGood;
      const key = namespacedName(canary);
      if (!isReverted(status) || !good?.commit) return;
      const at = sourceCommit(head, standsAt);
      const before = results.get(key);
      if (before?.digest === good.digest && (at === undefined || before.head === at)) return;
      const wasReported = conditionOf(canary.status, reproducedCondition) !== undefined;
      if (wasReported && at === undefined) return;
      void compare(key, good.commit, { digest: good.digest, head: at, news: undefined, wasReported });
    },
    conditionOf: (canaryKey, status) => resultOf(canaryKey, status)?.news,
    othersOf: (canaryKey, status) => resultOf(canaryKey, status)?.others,
  };
}

/** The commit that the Source stands at; undefined where Git holds no release. */
function sourceCommit(head: World['head'], standsAt: string | undefined): string | undefined {
  return head.kind === 'release' ? (standsAt ?? head.release.commit.commit) : undefined;
}

/** Whether the Canary is reverted now; RecordReproduced is removed together with that condition. */
export function isReverted(status: CanaryStatus): boolean {
  return conditionOf(status, 'Reverted')?.status === 'True';
}

function newsOf(again: Reproduced, commit: string, digest: string): ConditionNews {
  const type = reproducedCondition;
  const short = commit.slice(0, 7);
  if (again.problem !== undefined)
    return {
      type,
      status: 'Unknown',
      reason: 'CommitUnavailable',
      message: `${short} could not be rendered again: ${again.problem}`,
    };
  if (again.digest !== undefined && gitPart(again.digest) === gitPart(digest))
    return {
      type,
      status: 'True',
      reason: 'SameDigest',
      message: `${short} renders to exactly what the record holds`,
    };
  return {
    type,
    status: 'False',
    reason: 'DigestDiffers',
    message: `${short} renders to something else than the record now; the record's bytes were applied`,
  };
}

/** Looks in Git for releases whose record is damaged. A release is taken only when its digest is the one that was lost. */
export interface LostRecords {
  /** The release with this digest, if Git gives it; asks for `commit` in the background when head is another one. */
  find(canaryKey: string, lost: { readonly digest: string; readonly commit: string }): Release | undefined;
  /** The release, if it was found before. */
  of(canaryKey: string, digest: string): Release | undefined;
  forget(canaryKey: string): void;
}

/** A commit that could not be rendered is tried again after this time. */
const retryMs = 240_000;

interface Search {
  readonly digest: string;
  readonly startedMs: number;
  release?: Release;
}

/** Starts without results. `onFound` is called when a release is there. */
export function createLostRecords(
  heads: Pick<Heads, 'of' | 'earlier'>,
  reproduce: (canaryKey: string, commit: string) => Promise<Reproduced>,
  clock: Clock,
  onFound: (canaryKey: string) => void,
): LostRecords {
  const searches = new Map<string, Search>();

  async function search(canaryKey: string, commit: string, entry: Search): Promise<void> {
    const again = await reproduce(canaryKey, commit);
    if (!again.release || gitPart(again.release.digest) !== gitPart(entry.digest)) return;
    entry.release = withLivePart(again.release, livePart(entry.digest));
    onFound(canaryKey);
  }

  function of(canaryKey: string, digest: string): Release | undefined {
    const head = heads.of(canaryKey).release;
    if (head?.digest === digest) return head;
    const found = searches.get(canaryKey);
    return heads.earlier(canaryKey, digest) ?? (found?.digest === digest ? found.release : undefined);
  }

  return {
    of,
    find(canaryKey, { digest, commit }) {
      const known = of(canaryKey, digest);
      if (known || commit === '') return known;
      // A Source that is read for the first time may have it at head, with its author and subject.
      const { view } = heads.of(canaryKey);
      if (view.kind === 'unknown' && view.reason === 'SourceNotRead') return undefined;
      const before = searches.get(canaryKey);
      if (before?.digest === digest && clock.nowMs() - before.startedMs < retryMs) return undefined;
      const entry: Search = { digest, startedMs: clock.nowMs() };
      searches.set(canaryKey, entry);
      void search(canaryKey, commit, entry);
      return undefined;
    },
    forget: (canaryKey) => void searches.delete(canaryKey),
  };
}

/** The finding comes first and has at least this much of the message. */
const findingCharacters = 500;
/** Room for how many are not named. */
const moreCharacters = 20;

/** The conditions with Reverted naming what a revert left as head says (design section 5, Scope); the same list where nothing is new. */
export function withRemainingChanges(
  conditions: Condition[],
  others: readonly string[],
  nowMs: number,
): Condition[] {
  const reverted = conditionOf({ conditions }, 'Reverted');
  if (reverted?.status !== 'True') return conditions;
  const finding = whyReverted(reverted.message ?? '');
  const message =
    others.length === 0
      ? finding
      : withNames(`${shorten(finding, findingCharacters)}${revertMessageSeparator}`, others);
  if (message === reverted.message) return conditions;
  const next = { ...reverted, message, lastUpdateTime: new Date(nowMs).toISOString() };
  return conditions.map((condition) => (condition === reverted ? next : condition));
}

/** As many names as fit; the others are counted. */
function withNames(start: string, names: readonly string[]): string {
  let text = start;
  for (const [index, name] of names.entries()) {
    const next = `${text}${index > 0 ? ', ' : ''}${name}`;
    if (next.length + moreCharacters > limits.conditionMessageCharacters)
      return `${text} and ${names.length - index} more`;
    text = next;
  }
  return text;
}
