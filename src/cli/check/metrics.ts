import type { CanaryMetric } from '../../api/canary/analysis.ts';
import { type Canary, metricsById } from '../../api/canary/canary.ts';
import { systemClock } from '../../api/clock.ts';
import { describe, type KubernetesObject } from '../../api/kubernetes.ts';
import type { MetricReading } from '../../api/observed.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { isApiError } from '../../cluster/errors.ts';
import type { Transport } from '../../cluster/transport/transport.ts';
import type { Metrics } from '../../contracts/cluster.ts';
import type { HttpClient } from '../../http/types.ts';
import { type MetricCluster, NotHereError } from '../../providers/metrics/provider.ts';
import { templateOf } from '../../providers/metrics/question.ts';
import { listed } from '../../review/plan/metrics.ts';
import { createMetricsPort } from '../../server/metrics-port.ts';
import { bad, type CheckLine, ok } from '../../terminal/check-report.ts';
import type { CanaryRules } from './canaries.ts';
import { type Asker, mayI } from './rights.ts';

/** How the controller asks metrics. */
export interface MetricOptions extends CanaryRules {
  readonly metricsServer: string;
  /** The controller has credentials for that server, which are in its pod alone. */
  readonly needsCredentials?: boolean;
  /** The controller lends its cloud identity to MetricTemplates. */
  readonly lendsIdentity?: boolean;
}

/** What asking metrics takes. */
interface MetricChecks extends MetricOptions, Asker {
  readonly client: Pick<ClusterClient, 'get'>;
  readonly http: HttpClient;
  readonly transport: Transport;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** All MetricTemplates. */
  readonly templates: readonly KubernetesObject[];
}

const deadlineMs = 15_000;

/**
 * Asks each metric of each Canary once, of the workload that serves: the primary. No data is a warning, since there may be no traffic now;
 * a server that does not answer, or a template that does not exist, would keep every release from ending well.
 */
export async function checkMetrics(checks: MetricChecks, canaries: readonly Canary[]): Promise<CheckLine[]> {
  const external = new Map<string, ExternalMetric>();
  const metrics = createMetricsPort({
    ...checks,
    clock: systemClock,
    templates: listed(checks.templates),
    cluster: checks.client,
    cloudIdentity: checks.lendsIdentity ? 'notHere' : undefined,
    crossesNamespaces: !checks.forbidsOtherNamespaces,
    metricCluster: {
      ...{ get: notHere, create: notHere, delete: notHere },
      externalMetric(question) {
        external.set(`${question.namespace}/${question.metric}`, question);
        return notHere();
      },
    },
  });
  const lines = canaries.flatMap((canary) => {
    const { analysis, postPromotion } = canary.spec;
    // Each id once: the same metric is queried in the same way before and after promotion.
    const byId = new Map([...metricsById(analysis.metrics), ...metricsById(postPromotion?.metrics)]);
    return [...byId].map(([id, metric]) => checkOne(metrics, checks, canary, { id, metric }));
  });
  const asked = await Promise.all(lines);
  const refused = [...external.values()].map((question) => refusedMetric(checks, question));
  return [...asked, ...(await Promise.all(refused)).flat()];
}

type ExternalMetric = Pick<Parameters<MetricCluster['externalMetric']>[0], 'namespace' | 'metric'>;

async function notHere(): Promise<never> {
  throw new NotHereError();
}

/** The resources of external.metrics.k8s.io have the names of the metrics, so `install` cannot grant them. */
async function refusedMetric(
  { transport, asUser }: MetricChecks,
  { namespace, metric }: ExternalMetric,
): Promise<CheckLine[]> {
  const group = 'external.metrics.k8s.io';
  const right = { group, resource: metric, verb: 'list', namespace };
  const may = await mayI(transport, right, asUser).catch((error: unknown) => {
    // The section about rights tells why rights cannot be asked for.
    if (isApiError(error)) return true;
    throw error;
  });
  if (may) return [];
  const detail = `cannot list ${metric}.${group} in ${namespace} (MetricTemplates of type externalmetrics)`;
  const act = `bind a role that may, as docs/guides/metrics.md#external-metrics shows, or check the user that Holdfast runs as with holdfast check --as USER`;
  return [bad('failed', asUser ?? 'you', detail, { actor: 'administrator', act })];
}

async function checkOne(
  metrics: Metrics,
  checks: MetricChecks,
  canary: Canary,
  { id, metric }: { readonly id: string; readonly metric: CanaryMetric },
): Promise<CheckLine> {
  const { defaultProvider, metricsServer, needsCredentials } = checks;
  const subject = `${describe(canary)}, metric ${id}`;
  const repair = repairOf(canary, metric, checks);
  if (repair.actor === 'administrator' && needsCredentials)
    return ok(subject, `the controller asks ${metricsServer} with its credentials at each check`);
  const provider = canary.spec.provider ?? defaultProvider;
  const question = { canary, metric, role: 'primary', provider } as const;
  const reading = await metrics
    .read(question, AbortSignal.timeout(deadlineMs))
    .catch((error: Error): MetricReading => ({ kind: 'error', detail: error.message }));
  switch (reading.kind) {
    case 'value':
      return ok(subject, `is ${Number(reading.value.toPrecision(6))} now`);
    case 'noData':
      if (reading.isPending) return ok(subject, reading.detail);
      return bad('warning', subject, `no data now: ${reading.detail}`, {
        actor: 'author',
        act: 'send some traffic, or check the query and the labels it selects',
      });
    case 'error':
      return bad('failed', subject, reading.detail, repair);
  }
}

/** Who names the server of a metric, and where. */
function repairOf(
  canary: Canary,
  metric: CanaryMetric,
  { metricsServer, ownNamespace, env }: MetricChecks,
): { readonly actor: 'author' | 'administrator'; readonly act: string } {
  const template = templateOf(canary, metric);
  // A pod reaches what the controller does.
  const inPod = env.KUBERNETES_SERVICE_HOST
    ? ''
    : `; if only pods reach the server, run: kubectl -n ${ownNamespace} exec deployment/holdfast -- node /app/main.js check`;
  if (template)
    return {
      actor: 'author',
      act: `correct MetricTemplate ${template.namespace}/${template.name} or its Secret${inPod}`,
    };
  if (canary.spec.metricsServer)
    return { actor: 'author', act: `correct spec.metricsServer or the metric${inPod}` };
  const query = metric.query ? 'the query, or ' : '';
  return { actor: 'administrator', act: `correct ${query}--metrics-server (${metricsServer})${inPod}` };
}
