/** Webhooks of a Canary, in the types that core, engine and adapter share. */
import type { CanaryWebhook, PostPromotionWebhook, WebhookType } from './analysis.ts';
import type { Canary } from './canary.ts';
import type { CanaryPhase } from './status.ts';

/** When a webhook is called: Flagger's types with the empty one read as rollout, and ours after promotion. */
export type HookType = Exclude<WebhookType, ''> | 'post-promotion';

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
