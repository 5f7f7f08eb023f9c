/** The Kubernetes API of external metrics, as KEDA and adapters serve it (flagger-behaviour.md 4). */
import * as z from 'zod';
import type { MetricReading } from '../../../api/observed.ts';
import { onlyOne, timedReading } from '../points.ts';
import {
  clusterFor,
  failedReading,
  type MetricProvider,
  type MetricRequest,
  unanswered,
} from '../provider.ts';
import { below, credentials, restProvider } from '../rest.ts';

const answerSchema = z.object({
  items: z.array(
    z.object({ timestamp: z.string().nullish(), value: z.union([z.string().max(64), z.number()]) }),
  ),
});

/** With an address it is queried like any other server. */
const elsewhere = restProvider({
  type: 'externalmetrics',
  title: 'a list of external metrics',
  answer: answerSchema,
  question(request, base) {
    const { namespace, metric, labelSelector } = metricIn(request);
    const path = `/apis/external.metrics.k8s.io/v1beta1/namespaces/${namespace}/${encodeURIComponent(metric)}`;
    return {
      url: below(base, path, labelSelector ? { labelSelector } : {}),
      auth: credentials(request),
    };
  },
  reading: readingOf,
});

/** Its entry of the table: `[namespace/]metric[?labelSelector=...]`, of the template's namespace where it names none. */
export const externalmetrics: MetricProvider = {
  type: 'externalmetrics',
  async query(request, access) {
    if (request.address) return elsewhere.query(request, access);
    try {
      const question = metricIn(request);
      const cluster = clusterFor(question.namespace, request, access);
      const answer = await cluster.externalMetric(question, AbortSignal.timeout(request.timeoutMs));
      const parsed = answerSchema.safeParse(answer);
      if (!parsed.success) return failedReading('the answer is not a list of external metrics');
      return readingOf(parsed.data, request);
    } catch (error) {
      return unanswered(error);
    }
  },
};

/** Throws for another shape of query. */
function metricIn({ query, namespace: own }: MetricRequest) {
  const [path = '', parameters] = query
    .replace(/\s+/g, ' ')
    .trim()
    .split(/\?(.*)/s);
  const [first = '', second, ...more] = path.split('/');
  const [namespace, metric] = second === undefined ? [own, first] : [first, second];
  if (more.length > 0 || !/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(namespace) || !/^[^.][^\s%]*$/.test(metric))
    throw new Error('the query must be like [namespace/]metric[?labelSelector=app%3Dshop]');
  const labelSelector = new URLSearchParams(parameters ?? '').get('labelSelector') ?? '';
  return { namespace, metric, labelSelector };
}

function readingOf({ items }: z.infer<typeof answerSchema>, request: MetricRequest): MetricReading {
  return onlyOne(items, 'a labelSelector that selects one', ({ value, timestamp }) =>
    timedReading(numberOf(String(value)), timestamp, request),
  );
}

const factors: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** A Kubernetes quantity (`1500m`, `2Ki`, `1e3`) as a number; anything else stays as it is, and is no value. */
function numberOf(quantity: string): number | string {
  const { groups } =
    /^(?<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?<unit>[a-zA-Z]{0,2})$/.exec(quantity) ?? {};
  const factor = factors[groups?.unit ?? 'none'];
  return factor === undefined ? quantity : Number(groups?.number) * factor;
}
