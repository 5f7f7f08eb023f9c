import type { CanaryAlert } from '../api/canary/analysis.ts';
import type { Canary } from '../api/canary/canary.ts';
import type { HookAnswer, HookFacts, HookType, Webhook } from '../api/canary/webhooks.ts';
import type { Incident } from '../api/incident.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';

/** One piece of news for one alert of a Canary or Source. */
export interface AlertNews {
  readonly about: KubernetesObject;
  /** Undefined: the receiver that flags name. */
  readonly alert: CanaryAlert | undefined;
  readonly incident: Incident;
}

/** What came of one sending. `final`: trying the same again cannot help. The detail holds no secret. */
export type AlertAnswer =
  | { readonly kind: 'sent' }
  | { readonly kind: 'failed'; readonly detail: string; readonly final: boolean };

/** Sends alerts; one call is one attempt. */
export interface Alerts {
  send(news: AlertNews, signal: AbortSignal): Promise<AlertAnswer>;
}

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
