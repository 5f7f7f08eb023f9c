import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../api/clock.ts';
import type { Cluster, Metrics, WatchedSet } from '../contracts/cluster.ts';
import type { HttpClient } from '../http/types.ts';
import { createPauses, type Pauses } from '../providers/metrics/pauses.ts';
import type { JobAccess, MetricAccess, MetricCluster } from '../providers/metrics/provider.ts';
import { type MetricSource, templateOf } from '../providers/metrics/question.ts';
import { readMetric } from '../providers/metrics/read-metric.ts';
import { namedObject, secretValues } from './cluster.ts';

/** What asking metrics needs. */
interface MetricsPortOptions {
  readonly http: HttpClient;
  /** `notHere`: it is lent by the controller alone. Undefined: it is not lent to MetricTemplates. */
  readonly cloudIdentity?: MetricAccess['identity'];
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
      const template = reference && namedObject(options.templates, 'MetricTemplate', reference);
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
