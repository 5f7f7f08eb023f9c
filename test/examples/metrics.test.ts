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
import { supportedMetricProviders } from '../../src/providers/metrics/table.ts';
import { askedOf, doubles } from '../../src/providers/metrics/testing/doubles.ts';
import { renderPlain } from '../../src/render/render.ts';
import { createMetricsPort } from '../../src/server/providers.ts';

const page = 'docs/guides/metrics.md';
const text = readFileSync(resolve(import.meta.dirname, '../..', page), 'utf8');
const examples = [...text.matchAll(/```yaml\n([\s\S]*?)\n```/g)].map(([, yaml = '']) => {
  const objects = renderPlain([{ path: page, bytes: Buffer.from(yaml) }]).objects.map(({ object }) => object);
  const of = (kind: string) => objects.find((object) => object.kind === kind) as KubernetesObject;
  const { type } = (of('MetricTemplate') as MetricTemplate).spec.provider;
  return { type, canary: of('Canary') as Canary, template: of('MetricTemplate'), secret: of('Secret') };
});

/** Of providers whose answers have the shape that the example says. */
const answers: Readonly<Record<string, string>> = { web: '{"objectives": [{"burnRate": 0.5}]}' };

it('there is an example for every provider', () => {
  expect(examples.map(({ type }) => type).toSorted()).toEqual(supportedMetricProviders().toSorted());
});

describe.each(examples.map((one) => [one.type as string, one] as const))(
  'the example of %s',
  (type, example) => {
    const { canary, template, secret } = example;

    it('is taken as it is', () => {
      expect(parseKind('MetricTemplate', template, { strict: true })).toMatchObject({ ok: true });
      expect(parseKind('Canary', canary, { strict: true })).toMatchObject({ ok: true });
      const options = { defaultProvider: 'kubernetes', intervalFloorMs: 10_000 };
      expect(checkCanary(canary, options)).toMatchObject({ problems: [], warnings: [] });
    });

    const double = doubles.find((one) => one.type === type);
    if (double)
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
          const reading = await portOf(http, moved(template, server.url), stringData).read(
            {
              canary,
              metric: canary.spec.analysis.metrics?.[0] as { name: string },
              role: 'canary',
              provider: 'gatewayapi:v1',
            },
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

/** The template at another host. */
function moved(template: KubernetesObject, url: string): KubernetesObject {
  const { provider, query } = (template as MetricTemplate).spec;
  return { ...template, spec: { provider: { ...provider, address: url }, query } };
}

function portOf(
  http: ReturnType<typeof createHttpClient>,
  template: KubernetesObject,
  stringData: Record<string, string>,
) {
  const encoded = Object.entries(stringData).map(([key, value]) => [
    key,
    Buffer.from(value).toString('base64'),
  ]);
  return createMetricsPort({
    http,
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
