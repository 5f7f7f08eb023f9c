/** Webhooks in the words that the core, the engine and the adapter share. */
import type { Canary } from './canary.ts';
import type { CanaryWebhook, PostPromotionWebhook, WebhookType } from './canary-hooks.ts';
import type { CanaryPhase } from './canary-status.ts';

/** When a webhook is called: Flagger's types with the empty one read as rollout, and ours after promotion. */
export type HookType = Exclude<WebhookType, ''> | 'post-promotion';

/** A webhook of either list. */
export type Webhook = CanaryWebhook | PostPromotionWebhook;

/**
 * What a webhook said. `refused`: it answered, and the answer is no. `unreachable`: nobody knows what it would say (no answer in time, no
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

/** What a webhook is told beside the name of the Canary. */
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
