import type { CanaryAlert } from '../../api/canary-hooks.ts';
import type { Incident } from '../../api/incident.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';

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
