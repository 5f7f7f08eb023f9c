import { createHash } from 'node:crypto';
import type { HookFacts, HookType, Webhook } from '../api/hooks.ts';

/** News for webhooks of type event, as the Kubernetes Event says it. */
export interface HookEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly timeMs: number;
}

/** Everything one call depends on. */
export interface HookCall {
  readonly canary: { readonly metadata: { readonly name: string; readonly namespace?: string } };
  readonly webhook: Webhook;
  readonly type: HookType;
  readonly facts: HookFacts;
  /** Only for webhooks of type event. */
  readonly event?: HookEvent;
}

/**
 * The body of a call: Flagger's five fields with their meaning (flagger-behaviour 2.14), and beside them type, digest, commit and
 * canaryWeight, which Flagger's receivers pass over. The metadata of an event is the event's own and the user's; the event's wins.
 */
export function payloadOf({ canary, webhook, type, facts, event }: HookCall): Record<string, unknown> {
  const metadata = { ...webhook.metadata, ...(event ? eventMetadata(event) : {}) };
  return {
    name: canary.metadata.name,
    namespace: canary.metadata.namespace ?? '',
    phase: facts.phase,
    checksum: checksumOf(facts.digest),
    ...(Object.keys(metadata).length > 0 ? { metadata } : {}),
    type,
    digest: facts.digest,
    commit: facts.commit,
    canaryWeight: facts.canaryWeight,
  };
}

/** Equal for the same release and different for another; of no further meaning, as in Flagger. */
function checksumOf(digest: string): string {
  return createHash('sha256').update(digest).digest('hex').slice(0, 16);
}

function eventMetadata({ type, reason, message, timeMs }: HookEvent): Record<string, string> {
  return { eventMessage: message, eventType: type, eventReason: reason, timestamp: String(timeMs) };
}
