import type { Canary } from '../../api/canary.ts';
import type { HookAnswer, HookFacts, HookType, Webhook } from '../../api/hooks.ts';

/** News for webhooks of type event, as the Kubernetes Event says it. */
export interface HookNews {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** One webhook to call, with everything its payload says. */
export interface HookCall {
  readonly canary: Canary;
  readonly webhook: Webhook;
  readonly type: HookType;
  readonly facts: HookFacts;
  /** Only for webhooks of type event. `timeMs` is since the epoch. */
  readonly event?: HookNews & { readonly timeMs: number };
}

/** Calls webhooks, with their timeouts and retries. Never rejects: no answer is an answer (S29). */
export interface Hooks {
  call(call: HookCall, signal: AbortSignal): Promise<HookAnswer>;
}
