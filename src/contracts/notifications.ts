import type { CanaryAlert, HookType } from '../api/canary/analysis.ts';
import type { Canary, Webhook } from '../api/canary/canary.ts';
import type { Incident } from '../api/incident.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { HookAnswer, HookFacts } from '../api/observed.ts';
import type { EventNews } from './cluster.ts';

/** One piece of news for one alert of a Canary or Source. */
export interface AlertNews {
  readonly about: KubernetesObject;
  /** Undefined: the receiver that flags name. */
  readonly alert: CanaryAlert | undefined;
  readonly incident: Incident;
  /** What was reported since. */
  readonly later?: readonly Incident[];
  /** Only for receivers whose alerts fire until they are told of an end. */
  readonly endsOnly?: boolean;
}

/** What came of one sending. `final`: trying the same again cannot help. The detail holds no address, token or body. */
export type AlertAnswer =
  | { readonly kind: 'sent' }
  | {
      readonly kind: 'failed';
      readonly detail: string;
      readonly final: boolean;
      /** How long the receiver asks to be left alone (Retry-After). */
      readonly retryAfterMs?: number | undefined;
    };

/** Sends alerts; one call is one attempt. */
export interface Alerts {
  send(news: AlertNews, signal: AbortSignal): Promise<AlertAnswer>;
}

/** News for webhooks of type event, with its time in milliseconds since the epoch. */
export interface HookEvent extends EventNews {
  readonly timeMs: number;
}

/** One webhook to call, with everything its payload says. */
export interface HookCall {
  readonly canary: Pick<Canary, 'metadata'>;
  readonly webhook: Webhook;
  readonly type: HookType;
  readonly facts: HookFacts;
  /** Only for webhooks of type event. */
  readonly event?: HookEvent;
}

/** Calls webhooks, with their timeouts and retries. Never rejects: no answer is an answer (S29). */
export interface Hooks {
  call(call: HookCall, signal: AbortSignal): Promise<HookAnswer>;
}
