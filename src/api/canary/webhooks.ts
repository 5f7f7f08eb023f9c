/** Webhooks of a Canary, and the questions and answers of checks, in the types that core, engine and adapter share. */

import type { MetricReading } from '../observed.ts';
import type { CanaryWebhook, HookType, PostPromotionWebhook } from './analysis.ts';
import type { Canary } from './canary.ts';
import type { CanaryPhase } from './status.ts';

/** A webhook of either list. */
export type Webhook = CanaryWebhook | PostPromotionWebhook;

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

/** The webhooks of a type, in the order of the spec. */
export function hooksOf({ spec }: Canary, type: HookType): readonly Webhook[] {
  if (type === 'post-promotion') return spec.postPromotion?.webhooks ?? [];
  return (spec.analysis?.webhooks ?? []).filter((webhook) => (webhook.type || 'rollout') === type);
}
