/** The examples of docs/guides/metrics.md, each run against a server that answers as the system does. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Canary } from '../../src/api/canary/canary.ts';
import { checkCanary } from '../../src/api/canary/validate.ts';
import { systemClock } from '../../src/api/clock.ts';
import { parseKind } from '../../src/api/kinds/parse.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import type { MetricTemplate } from '../../src/api/metric-template.ts';
import type { WatchedSet } from '../../src/contracts/cluster.ts';
import { createHttpClient } from '../../src/http/client.ts';
import { startTestServer } from '../../src/http/testing/servers.ts';
import type { MetricCluster } from '../../src/providers/metrics/provider.ts';
import { supportedMetricProviders } from '../../src/providers/metrics/table.ts';
import { askedOf, doubles } from '../../src/providers/metrics/testing/doubles.ts';
import { renderPlain } from '../../src/render/render.ts';
import { createMetricsPort } from '../../src/server/metrics-port.ts';

const page = 'docs/guides/metrics.md';
const text = readFileSync(resolve(import.meta.dirname, '../..', page), 'utf8');
const documents = [...text.matchAll(/```yaml\n([\s\S]*?)\n```/g)].map(([, yaml = '']) =>
  renderPlain([{ path: page, bytes: Buffer.from(yaml) }]).objects.map(({ object }) => object),
);
const hasTemplate = (objects: readonly KubernetesObject[]) =>
  objects.some(({ kind }) => kind === 'MetricTemplate');
const examples = documents.filter(hasTemplate).map((objects) => {
  const of = (kind: string) => objects.find((object) => object.kind === kind) as KubernetesObject;
  const { type } = (of('MetricTemplate') as MetricTemplate).spec.provider;
  return {
    type,
    canary: of('Canary') as Canary,
    template: of('MetricTemplate'),
    secret: of('Secret') as KubernetesObject | undefined,
  };
});

const options = { defaultProvider: 'kubernetes', intervalFloorMs: 10_000 };

/** Of providers whose answers have the shape that the example says. */
const answers: Readonly<Record<string, string>> = { web: '{"objectives": [{"burnRate": 0.5}]}' };

it('there is an example for every provider', () => {
  expect(examples.map(({ type }) => type).toSorted()).toEqual(supportedMetricProviders().toSorted());
});

it('Canaries without a template are taken as they are', () => {
  const alone = documents.filter((objects) => !hasTemplate(objects)).flat();
  expect(alone).not.toEqual([]);
  for (const object of alone) {
    expect(parseKind('Canary', object, { strict: true })).toMatchObject({ ok: true });
    expect(checkCanary(object as Canary, options)).toMatchObject({ problems: [], warnings: [] });
  }
});

describe.each(examples.map((one) => [one.type as string, one] as const))(
  'the example of %s',
  (type, example) => {
    const { canary, template, secret } = example;

    it('is taken as it is', () => {
      expect(parseKind('MetricTemplate', template, { strict: true })).toMatchObject({ ok: true });
      expect(parseKind('Canary', canary, { strict: true })).toMatchObject({ ok: true });
      expect(checkCanary(canary, options)).toMatchObject({ problems: [], warnings: [] });
    });

    const double = doubles.find((one) => one.type === type);
    if (double && secret)
      it('gives a value, with the credentials of its Secret', async () => {
        const given = secret.stringData as Record<string, string>;
        let stringData = given;
        const asked: string[] = [];
        const server = await startTestServer(async (request, response) => {
          const one = await askedOf(request);
          const aside = double.aside?.(one);
          if (aside !== undefined) return response.end(aside);
          asked.push(decodeURIComponent(`${one.url}${one.body}`));
          const isLetIn = double.isLetIn(one, stringData);
          response.writeHead(isLetIn ? 200 : 401);
          const answer = answers[type] ?? double.answer([0.5], Date.now() - 1_000);
          return response.end(isLetIn ? answer : '');
        });
        // A key that signs stands for the example's.
        stringData = double.secretAt?.(server.url, { ...given, ...double.secret }) ?? given;
        const http = createHttpClient({ allowLoopback: true });
        try {
          const reading = await portOf({ http, stringData }, moved(template, server.url)).read(
            questionOf(canary),
            new AbortController().signal,
          );
          expect(reading).toEqual({ kind: 'value', value: 0.5 });
          expect(asked).toHaveLength(1);
          expect(asked[0]).not.toContain('{{');
        } finally {
          await http.close();
          await server.close();
        }
      });
  },
);

it.each(['externalmetrics', 'keptn'])('the example of %s gives a value of the API server', async (type) => {
  const example = examples.find((one) => one.type === type);
  if (!example) throw new Error('there is no example');
  const asked: string[] = [];
  const http = createHttpClient();
  const status = { value: '0.5' };
  const metricCluster: MetricCluster = {
    async get({ kind, namespace, name }) {
      asked.push(`${kind} ${namespace}/${name}`);
      return { apiVersion: '', kind, metadata: { name }, status };
    },
    async externalMetric({ namespace, metric, labelSelector }) {
      asked.push(`${namespace}/${metric} ${labelSelector}`);
      return { items: [{ timestamp: new Date().toISOString(), value: '500m' }] };
    },
    create: (object) => Promise.resolve(object),
    delete: () => Promise.resolve(),
  };
  try {
    const port = portOf({ http, metricCluster }, example.template);
    const reading = await port.read(questionOf(example.canary), new AbortController().signal);
    expect(reading).toEqual({ kind: 'value', value: 0.5 });
    expect(asked).toEqual([
      type === 'keptn'
        ? 'KeptnMetric shop/response-time'
        : 'shop/s0-rabbitmq-orders scaledobject.keda.sh/name=web',
    ]);
  } finally {
    await http.close();
  }
});

function questionOf(canary: Canary) {
  const metric = canary.spec.analysis.metrics?.[0] as { name: string };
  return { canary, metric, role: 'canary', provider: 'gatewayapi:v1' } as const;
}

/** What the port is made of. */
interface PortGiven {
  readonly http: ReturnType<typeof createHttpClient>;
  readonly stringData?: Record<string, string>;
  readonly metricCluster?: MetricCluster;
}

/** The template at another host. */
function moved(template: KubernetesObject, url: string): KubernetesObject {
  const { provider, query } = (template as MetricTemplate).spec;
  return { ...template, spec: { provider: { ...provider, address: url }, query } };
}

function portOf({ http, stringData = {}, metricCluster }: PortGiven, template: KubernetesObject) {
  const encoded = Object.entries(stringData).map(([key, value]) => [
    key,
    Buffer.from(value).toString('base64'),
  ]);
  return createMetricsPort({
    http,
    metricCluster,
    clock: systemClock,
    metricsServer: '',
    templates: { get: () => template } as unknown as WatchedSet,
    cluster: {
      get: async ({ name, namespace = '' }) => ({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, namespace },
        data: Object.fromEntries(encoded),
      }),
    },
  });
}
