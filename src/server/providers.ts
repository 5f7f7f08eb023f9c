import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AlertProvider, AlertProviderSpec } from '../api/alert-provider.ts';
import type { Clock } from '../api/clock.ts';
import { parseKind } from '../api/kinds/parse.ts';
import type { MetricTemplate } from '../api/metric-template.ts';
import type { Cluster, Metrics, WatchedSet } from '../contracts/cluster.ts';
import type { AlertAnswer, Alerts } from '../contracts/notifications.ts';
import { forTenant } from '../http/client.ts';
import type { HttpClient } from '../http/types.ts';
import type { Notice } from '../providers/alerts/provider.ts';
import { sendAlert } from '../providers/alerts/send-alert.ts';
import { createPauses, type Pauses } from '../providers/metrics/pauses.ts';
import type { CloudIdentity, JobAccess, MetricAccess, MetricCluster } from '../providers/metrics/provider.ts';
import { type MetricSource, readMetric, templateOf } from '../providers/metrics/read-metric.ts';

/** What asking metrics needs. */
interface MetricsPortOptions {
  readonly http: HttpClient;
  /** Undefined: it is not lent to MetricTemplates. */
  readonly cloudIdentity?: CloudIdentity | undefined;
  readonly clock: Clock;
  readonly metricsServer: string;
  /** Routing provider of Canaries that name none. */
  readonly defaultProvider?: string | undefined;
  /** Folder with its credentials, read at each check. */
  readonly metricsServerCredentials?: string | undefined;
  /** All MetricTemplates, as watched. */
  readonly templates: WatchedSet;
  readonly cluster: Pick<Cluster, 'get'>;
  /** Of the controller: what queries of external metrics and Keptn ask. */
  readonly metricCluster?: MetricCluster | undefined;
  /** Of the controller: the client of an account, to create, find and delete Jobs. */
  readonly jobCluster?: ((account: string | undefined) => JobAccess['cluster']) | undefined;
  /** Whether these may name other namespaces than the template's. */
  readonly crossesNamespaces?: boolean;
}

/** The engine's view of metric providers. Secrets of templates are read when they are needed and never cached. */
export function createMetricsPort(options: MetricsPortOptions): Metrics {
  const { clock, http, metricsServer } = options;
  const pauses = new Map<string, Pauses>();
  /** The pauses of one namespace: only its Canaries share its quotas. */
  const pausesOf = (tenant: string): Pauses => {
    const known = pauses.get(tenant) ?? createPauses(clock);
    pauses.set(tenant, known);
    return known;
  };
  return {
    async read({ writer, release = '', ...question }, signal) {
      const { canary, metric, role } = question;
      const tenant = `metrics ${canary.metadata.namespace}`;
      const reference = templateOf(canary, metric);
      const template = reference && findTemplate(options.templates, reference);
      if (typeof template === 'string') return { kind: 'error', detail: template };
      const secret =
        template &&
        (await secretValues(
          options.cluster,
          template.metadata.namespace,
          template.spec.provider.secretRef?.name,
        ));
      const source = {
        ...question,
        metricsServer,
        defaultProvider: options.defaultProvider,
        metricsServerSecret: await folderValues(options.metricsServerCredentials),
        template,
        secret,
        nowMs: clock.nowMs(),
      };
      const asTenant: MetricAccess = {
        identity: options.cloudIdentity,
        cluster: options.metricCluster,
        jobs: options.jobCluster
          ? writer && {
              cluster: options.jobCluster(writer.account),
              canary,
              check: [release, role, metric.name],
              signal,
            }
          : 'notHere',
        crossesNamespaces: options.crossesNamespaces === true,
        send: (request) => {
          const both = request.signal ? AbortSignal.any([request.signal, signal]) : signal;
          return http.send({ ...request, tenant, signal: both });
        },
      };
      return readMetric(source, pausesOf(tenant).respectedBy(asTenant));
    },
  };
}

const credentialFiles = ['token', 'username', 'password', 'ca.crt', 'tls.crt', 'tls.key'];

/** A mounted Secret; the kubelet changes its files when the Secret changes. A file that is not there is a key that it lacks. */
async function folderValues(folder: string | undefined): Promise<MetricSource['metricsServerSecret']> {
  if (folder === undefined) return undefined;
  const read = credentialFiles.map(async (name) => {
    const text = await readFile(join(folder, name), 'utf8').catch(() => undefined);
    return text === undefined ? [] : [[name, text.trim()] as const];
  });
  return { name: `in ${folder}`, values: Object.fromEntries((await Promise.all(read)).flat()) };
}

/** A template that cannot be read says why. */
function findTemplate(
  templates: WatchedSet,
  { namespace, name }: { namespace: string; name: string },
): MetricTemplate | string | undefined {
  const object = templates.get(namespace, name);
  if (!object) return undefined;
  const parsed = parseKind('MetricTemplate', object);
  if (parsed.ok) return parsed.value;
  const [problem] = parsed.problems;
  return `MetricTemplate ${namespace}/${name}: ${problem?.path ?? ''} ${problem?.message ?? ''}`;
}

/** A receiver that flags and the environment name, as an AlertProvider would. */
export interface DefaultReceiver {
  readonly spec: AlertProviderSpec;
  readonly token: string | undefined;
}

/** What sending alerts needs. */
interface AlertsPortOptions {
  readonly http: HttpClient;
  /** All AlertProviders, as watched. */
  readonly providers: WatchedSet;
  readonly cluster: Pick<Cluster, 'get'>;
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
    async send({ about, alert, incident, later }, signal) {
      const { name: subject, namespace: home = '' } = about.metadata;
      const http = forTenant(options.http, `alerts ${home}`);
      const kind = about.kind === 'Source' ? ('Source' as const) : ('Canary' as const);
      const subjectOf = { kind, name: subject, namespace: home, cluster: clusterName };
      const notice = { incident, later, ...subjectOf, documentation };
      if (!alert) return sendDefault(notice, byDefault, http, signal);
      const namespace = alert.providerRef.namespace || home;
      const { name } = alert.providerRef;
      const object = providers.get(namespace, name);
      if (!object) return failed(`AlertProvider ${namespace}/${name} does not exist`);
      const parsed = parseKind('AlertProvider', object);
      if (!parsed.ok) {
        const [problem] = parsed.problems;
        return failed(`AlertProvider ${namespace}/${name}: ${problem?.path ?? ''} ${problem?.message ?? ''}`);
      }
      const provider = parsed.value;
      const secret = await secretValues(cluster, namespace, provider.spec.secretRef?.name);
      return sendAlert(notice, provider, secret, http, signal);
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
function failed(detail: string): AlertAnswer {
  return { kind: 'failed', detail, final: false };
}

/** Decoded values of a Secret, never cached; undefined when none is named or it does not exist. */
async function secretValues(
  cluster: Pick<Cluster, 'get'>,
  namespace: string | undefined,
  name: string | undefined,
): Promise<Record<string, string> | undefined> {
  if (!name) return undefined;
  const secret = await cluster.get({ apiVersion: 'v1', kind: 'Secret', namespace: namespace ?? '', name });
  if (!secret) return undefined;
  const data = (secret.data ?? {}) as Record<string, string>;
  const decoded = Object.entries(data).map(([key, value]) => [
    key,
    Buffer.from(value, 'base64').toString('utf8'),
  ]);
  return Object.fromEntries(decoded);
}
