import type { AlertProvider } from '../api/alert-provider.ts';
import { passes } from '../api/canary/canary.ts';
import { otherNamespace } from '../api/canary/validate.ts';
import type { Cluster, WatchedSet } from '../contracts/cluster.ts';
import type { AlertAnswer, Alerts } from '../contracts/notifications.ts';
import { forTenant } from '../http/client.ts';
import type { HttpClient } from '../http/types.ts';
import type { Notice } from '../providers/alerts/provider.ts';
import { sendAlert } from '../providers/alerts/send-alert.ts';
import { namedObject, secretValues } from './cluster.ts';
import type { DefaultReceiver } from './options.ts';

/** What sending alerts needs. */
interface AlertsPortOptions {
  readonly http: HttpClient;
  /** All AlertProviders, as watched. */
  readonly providers: WatchedSet;
  readonly cluster: Pick<Cluster, 'get'>;
  /** A Canary or Source may name AlertProviders of other namespaces. */
  readonly crossesNamespaces: boolean;
  /** Receiver of Canaries without alerts. */
  readonly byDefault: DefaultReceiver | undefined;
  /** Name of this cluster, for people; undefined: it has none. */
  readonly clusterName: string | undefined;
  /** Root of the pages that runbooks are linked to, with a slash at the end. */
  readonly documentation: string | undefined;
}

/** The engine's view of alert receivers. Secrets are read when they are needed and never cached. */
export function createAlertsPort(options: AlertsPortOptions): Alerts {
  const { providers, cluster, byDefault, clusterName, documentation } = options;
  return {
    async send({ about, alert, incident, later, endsOnly = false }, signal) {
      const { name: subject, namespace: home = '' } = about.metadata;
      const http = forTenant(options.http, `alerts ${home}`);
      const kind = about.kind === 'Source' ? ('Source' as const) : ('Canary' as const);
      const subjectOf = { kind, name: subject, namespace: home, cluster: clusterName };
      const notice = { incident, later, endsOnly, ...subjectOf, documentation };
      if (!alert) return sendDefault(notice, byDefault, http, signal);
      const namespace = alert.providerRef.namespace || home;
      const { name } = alert.providerRef;
      // A spec that is refused for this is reported to its alerts, too.
      if (namespace !== home && !options.crossesNamespaces)
        return { ...failed(`its providerRef.namespace ${otherNamespace(namespace)}`), final: true };
      const provider = namedObject(providers, 'AlertProvider', { namespace, name });
      if (typeof provider === 'string') return failed(provider);
      const secret = await secretValues(cluster, namespace, provider.spec.secretRef?.name);
      const isEndOnly = endsOnly || !passes(alert.severity, incident.severity);
      return sendAlert({ ...notice, endsOnly: isEndOnly }, provider, secret, http, signal);
    },
  };
}

async function sendDefault(
  notice: Notice,
  receiver: DefaultReceiver | undefined,
  http: HttpClient,
  signal: AbortSignal,
): Promise<AlertAnswer> {
  if (!receiver) return { kind: 'failed', detail: 'no flag names a receiver any longer', final: true };
  const provider: AlertProvider = {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'AlertProvider',
    metadata: { name: 'set by flags' },
    spec: receiver.spec,
  };
  return sendAlert(notice, provider, receiver.token ? { token: receiver.token } : undefined, http, signal);
}

/** It may be there, or be right, by the next attempt. */
function failed(detail: string): AlertAnswer & { kind: 'failed' } {
  return { kind: 'failed', detail, final: false };
}
