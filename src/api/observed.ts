/** What adapters report back about the cluster, in words the pure core understands. */

/** Traffic as read back from the routing objects. Weights are integers in percent and add up to 100. */
export interface RouteView {
  primaryWeight: number;
  canaryWeight: number;
  /** Requests are copied to the canary; their answers are dropped. */
  mirrored: boolean;
  /** A/B: only requests that match go to the canary; `canaryWeight` is 100 then, and the primary serves the rest. */
  matched: boolean;
  /** The data plane took this configuration (Gateway API: Accepted for the current generation; HTTPProxy: valid). */
  accepted: boolean;
  /** Why it is not accepted or cannot be read, for people. */
  problem?: string;
  /** Backends of somebody else that the route names, too; undefined: none. */
  others?: OtherBackends | undefined;
}

/**
 * Backends in a Canary's route that are not its own. `alone`: they have the requests, and the route does not name both sides yet, so that
 * proxies may not know them. `serving`: they still have them, and both sides are named with weight 0. `idle`: both sides have the requests,
 * and the others are named with weight 0.
 */
export type OtherBackends = 'alone' | 'serving' | 'idle';

/** Traffic to set. `matched`: A/B, only requests that match `analysis.match` go to the canary. */
export interface RouteTarget {
  primaryWeight: number;
  canaryWeight: number;
  mirrored: boolean;
  matched: boolean;
  /** Session affinity, where the Canary asks for it. */
  sessions?: SessionCookies | undefined;
  /** Backends of somebody else stay in the route, with the requests or without; undefined: they go. */
  others?: OtherBackends | undefined;
}

/**
 * Cookies of users, as `name=value`. `keep`: who has one of these stays on that side, and who has none gets one. `end`: nobody stays any
 * more, and who still has this cookie is told to drop it.
 */
export type SessionCookies =
  | { kind: 'keep'; canary: string; primary?: string }
  | { kind: 'end'; previous: string };

/** The one answer of a metric provider, before thresholds. Not knowing is a value of its own (S29). */
export type MetricReading =
  /** `baseline`: the same query about the other side, where the metric compares the two; that is the primary unless `baselineOf` says so. */
  | { kind: 'value'; value: number; baseline?: number; baselineOf?: 'canary' }
  | { kind: 'noData'; detail: string }
  | { kind: 'error'; detail: string };

/** Where a release came from. */
export interface CommitInfo {
  /** Full SHA, or empty when the release came from no Source. */
  commit: string;
  subject: string;
  author: string;
  /** RFC 3339. */
  time: string;
}
