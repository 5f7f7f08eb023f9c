/** What is really promoted of a Canary, and how that compares with base. Pure. */
import type { CanaryStatus } from '../../api/canary/status.ts';

/** The state of one Canary in the cluster or in the ledger. */
export interface PromotedState {
  /** Where it was read: the status in the cluster, or a ledger ref in the repository. */
  readonly from: 'cluster' | 'ledger';
  /** The last known good release; undefined: there is none yet. */
  readonly promoted?: { readonly commit: string; readonly subject: string };
  readonly phase?: string;
  /** Where a release stands after the first write to the primary. */
  readonly state?: string;
  /** The line of the status. */
  readonly message?: string;
  /** Who answers requests. */
  readonly serving: ReadonlyArray<{
    readonly workload: string;
    readonly commit: string;
    readonly weight: number;
  }>;
  readonly rejected: ReadonlyArray<{
    readonly digest: string;
    readonly commit: string;
    readonly reason: string;
  }>;
  /** Whether base is what is promoted; undefined where they cannot be compared. */
  readonly isBase?: boolean;
  /** One sentence where base is not what runs, or cannot be compared. */
  readonly deviation?: string;
}

/** What a look at the cluster or the ledger found. */
export interface PromotedStates {
  readonly states: ReadonlyMap<string, PromotedState>;
  /** What could not be read, and why. */
  readonly notes: readonly string[];
}

/** From a Canary's status. */
export function promotedStateOf(status: CanaryStatus): PromotedState {
  const { lastKnownGood, phase, postPromotion, message, serving = [], rejected = [], history = [] } = status;
  const subject = history.find(({ digest }) => digest === lastKnownGood?.digest)?.subject ?? '';
  return {
    from: 'cluster',
    ...(lastKnownGood ? { promoted: { commit: lastKnownGood.commit, subject } } : {}),
    ...(phase ? { phase } : {}),
    ...(postPromotion ? { state: postPromotion.state } : {}),
    ...(message ? { message } : {}),
    serving: serving.map(({ workload, commit, weight }) => ({ workload, commit, weight })),
    rejected: rejected.map(({ digest, commit, reason }) => ({ digest, commit, reason })),
  };
}

/** Base's release and the promoted one. */
interface Compared {
  /** Of the Canary's release at the promoted commit; undefined: that commit is not in this clone, or gives no release. */
  readonly promotedDigest: string | undefined;
  readonly baseDigest: string | undefined;
  /** The rejection of what base holds. */
  readonly baseRejected?: { readonly reason: string } | undefined;
}

/** The state with the result of the comparison with base. */
export function compareWithBase(
  known: PromotedState,
  { promotedDigest, baseDigest, baseRejected }: Compared,
): PromotedState {
  const { promoted, state, phase } = known;
  const who = known.from === 'cluster' ? 'the cluster' : 'the ledger';
  if (!promoted)
    return {
      ...known,
      isBase: false,
      deviation: `${who} has no promoted release of this Canary yet`,
    };
  const name = commitWords(promoted);
  if (promotedDigest === undefined || baseDigest === undefined) {
    const why = `${who} has ${name} promoted; it cannot be read here, so it was not compared with base`;
    return { ...known, deviation: why };
  }
  const isBase = promotedDigest === baseDigest;
  if (isBase && state !== 'Held' && state !== 'Reverting') return { ...known, isBase };
  const rejected = baseRejected ? `: the release at base was rejected (${baseRejected.reason})` : '';
  const stands = state
    ? `; it is ${state.toLowerCase()}`
    : phase === 'Progressing'
      ? '; a rollout is in progress'
      : '';
  const what = isBase
    ? `base is promoted in ${who}, but a newer release is already there${stands}`
    : `base is not what runs: ${who} has ${name} promoted${rejected}${stands}`;
  return { ...known, isBase, deviation: what };
}

/** `1a2b3c4 "subject"`. */
export function commitWords({
  commit,
  subject,
}: {
  readonly commit: string;
  readonly subject: string;
}): string {
  const id = commit === '' ? 'a release without a commit' : commit.slice(0, 7);
  return subject ? `${id} ${JSON.stringify(subject)}` : id;
}
