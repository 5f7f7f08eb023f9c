/** What adapters report about the cluster, metric providers and webhooks, in the types of the pure core. */
import type { HookType } from './canary/analysis.ts';
import type { CanaryPhase } from './canary/status.ts';

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
  /** Backends in the route that do not belong to the Canary; undefined: none. */
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
  /** Backends that do not belong to the Canary stay in the route, with requests or without; undefined: they are removed. */
  others?: OtherBackends | undefined;
}

/**
 * Cookies of users, as `name=value`. `keep`: a user with one of these stays on that side, and a user without one gets one. `end`: affinity is
 * over, and the cookie is deleted in browsers that still have it.
 */
export type SessionCookies =
  | { kind: 'keep'; canary: string; primary?: string }
  | { kind: 'end'; previous: string };

/** The answer of a metric provider, before thresholds. No data and an error are separate results (S29). */
export type MetricReading =
  /**
   * `points`: of several moments, the value is the newest. `baseline`: the same query about the other side, where the metric compares the two;
   * that is the primary unless `baselineOf` says so. `p`: their points were compared, both values are medians, and a difference this large has
   * this probability by chance, from 0 to 1. `detail`: what people should know in addition to the value.
   */
  | {
      kind: 'value';
      value: number;
      points?: readonly number[];
      baseline?: number;
      baselineOf?: 'canary';
      p?: number;
      detail?: string;
    }
  /** `isPending`: the result is still to come, and its absence is no failure. */
  | { kind: 'noData'; detail: string; isPending?: true }
  | { kind: 'error'; detail: string };

// Checks: what is asked of metric providers and webhooks, and what they answer.

/**
 * The answer of a webhook. `refused`: it answered, and the answer is no. `unreachable`: its answer is unknown (no answer in time, no
 * connection, a redirect, garbage). For a gate both are no; after promotion only `refused` is held against a release (S29).
 */
export interface HookAnswer {
  name: string;
  type: HookType;
  verdict: 'approved' | 'refused' | 'unreachable';
  /** HTTP status, if there was an answer. */
  status?: number;
  /** One line for people; of the answer's body at most a short beginning. */
  detail: string;
}

/** Metrics and webhooks to ask in parallel. `role`: the side whose pods and Service the queries are about. */
export interface CheckRequest {
  /** Same key = same check: the engine runs it once and hands the outcome to the next step. */
  key: string;
  /** When the rollout began that asks: an attempt before it may have left a Job of the same release behind. */
  startTime?: string;
  role: 'canary' | 'primary';
  purpose: 'analysis' | 'postPromotion' | 'control';
  /** Ids (`metricsById`) of metrics in analysis.metrics or postPromotion.metrics. */
  metrics: readonly string[];
  /** Types of webhooks: all of a type, in the order of the spec, up to the first that does not approve. */
  hooks: readonly HookType[];
  /** What the webhooks receive. */
  facts: HookFacts;
}

/** Answers to a check request, before thresholds. */
export interface CheckOutcome {
  key: string;
  atMs: number;
  readings: ReadonlyArray<{ name: string; reading: MetricReading }>;
  /** Webhooks of the requested types; those after one that did not approve were not asked. */
  hooks: readonly HookAnswer[];
}

/** What a webhook is sent in addition to the name of the Canary. */
export interface HookFacts {
  phase: CanaryPhase;
  /** The release the question is about. */
  digest: string;
  /** Full SHA, or empty when the release came from no Source. */
  commit: string;
  /** The canary's share in percent, as read back. */
  canaryWeight: number;
}
