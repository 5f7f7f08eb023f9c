import { parseAlertProvider } from '../api/parse.ts';
import type { AlertAnswer, Alerts } from '../engine/alert-port.ts';
import type { Cluster, WatchedSet } from '../engine/ports.ts';
import type { HttpClient } from '../http/types.ts';
import { sendAlert } from '../notify/send-alert.ts';
import { secretValues } from './secret-values.ts';

/** What sending alerts needs. */
export interface AlertsPortOptions {
  readonly http: HttpClient;
  /** All AlertProviders, as watched. */
  readonly providers: WatchedSet;
  readonly cluster: Pick<Cluster, 'get'>;
  /** Root of the pages that runbooks are linked to, with a slash at the end. */
  readonly documentation: string | undefined;
}

/** The engine's view of alert receivers. Secrets are read when they are needed and kept nowhere. */
export function createAlertsPort({ http, providers, cluster, documentation }: AlertsPortOptions): Alerts {
  return {
    async send({ canary, alert, incident }, signal) {
      const namespace = alert.providerRef.namespace || canary.metadata.namespace || '';
      const { name } = alert.providerRef;
      const object = providers.get(namespace, name);
      if (!object) return failed(`AlertProvider ${namespace}/${name} is not there`);
      const parsed = parseAlertProvider(object);
      if (!parsed.ok) {
        const [problem] = parsed.problems;
        return failed(`AlertProvider ${namespace}/${name}: ${problem?.path ?? ''} ${problem?.message ?? ''}`);
      }
      const provider = parsed.value;
      const secret = await secretValues(cluster, namespace, provider.spec.secretRef?.name);
      const about = { name: canary.metadata.name, namespace: canary.metadata.namespace ?? '' };
      return sendAlert({ incident, ...about, documentation }, provider, secret, http, signal);
    },
  };
}

/** It may be there, or be right, by the next attempt. */
function failed(detail: string): AlertAnswer {
  return { kind: 'failed', detail, final: false };
}
