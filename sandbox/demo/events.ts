import type { RolloutNews } from '../../src/terminal/timeline/news.ts';

/** What happens in the demo, as `--output json` prints it: one object a line. `docs/demo.md` promises these names. */
export type DemoEvent = Moment & DemoEventBody;

/** When it was seen. */
interface Moment {
  /** RFC 3339. */
  readonly time: string;
  /** Milliseconds since the demo began. */
  readonly elapsedMs: number;
}

/** The things that happen, by type. */
export type DemoEventBody = Started | Committed | ClusterEvent | RolloutNews | Quiet | Note | Ended;

/** The stage is set; nothing is committed yet. */
export interface Started {
  readonly type: 'started';
  readonly stage: string;
  readonly namespace: string;
  readonly provider: string;
  /** Requests are sampled all along. */
  readonly sampled: boolean;
}

/** A commit is on the branch. */
interface Committed {
  readonly type: 'commit';
  readonly name: string;
  readonly commit: string;
  readonly subject: string;
  readonly intent: string;
}

/** A Kubernetes Event that Holdfast wrote about the Canary. */
interface ClusterEvent {
  readonly type: 'event';
  readonly severity: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** The rejected commit stayed at head for a while: what that caused. */
export interface Quiet {
  readonly type: 'quiet';
  readonly gitRequests: number;
  readonly seconds: number;
  /** Objects that changed meanwhile; none is expected. */
  readonly written: readonly string[];
}

/** Something the user should know about the demo itself. */
interface Note {
  readonly type: 'note';
  readonly message: string;
}

/** Something that is not as it should be at the end. */
export interface Difference {
  readonly what: string;
  readonly expected: string;
  readonly found: string;
}

/** The last line. */
export interface Ended {
  readonly type: 'ended';
  readonly ok: boolean;
  readonly differences: readonly Difference[];
  readonly promoted: readonly string[];
  readonly reverted: string;
  readonly revertReason: string;
  /** From the moment the failure was found until the last-known-good carried all traffic again; null if that was not seen. */
  readonly failureToGoodMs: number | null;
  /** Of it: how long the healthy canary carried the traffic meanwhile; null if it was not seen. */
  readonly heldMs: number | null;
  /** Null when no requests were sampled. */
  readonly requests: number | null;
  readonly failedRequests: number | null;
  /** File with the program's log when the demo failed, else empty. */
  readonly log: string;
}
