import { expect, it } from 'vitest';
import { canaryDocument } from '../../../test/documents/builders.ts';
import type { Canary } from '../../api/canary/canary.ts';
import { localError } from '../../cluster/errors.ts';
import type { Transport } from '../../cluster/transport/transport.ts';
import { checkMetrics } from './metrics.ts';

const canary = canaryDocument({
  analysis: {
    ...{ interval: '1m', threshold: 5, stepWeight: 10, maxWeight: 50 },
    metrics: [{ name: 'queue', templateRef: { name: 'queue' }, thresholdRange: { max: 100 } }],
  },
}) as unknown as Canary;
const template = (query: string) => ({
  apiVersion: 'flagger.app/v1beta1',
  kind: 'MetricTemplate',
  metadata: { name: 'queue', namespace: 'default' },
  spec: { provider: { type: 'externalmetrics' }, query },
});

/** What the check says where the user that Holdfast runs as may read these external metrics of its own namespace. */
async function linesFor(query: string, granted: readonly string[] | 'forbidden') {
  const transport = {
    async request({ body }: { body: { spec: { resourceAttributes: Record<string, string> } } }) {
      if (granted === 'forbidden') throw localError('forbidden', 'bob may not impersonate');
      const { group, resource = '', verb, namespace } = body.spec.resourceAttributes;
      const isOurs = group === 'external.metrics.k8s.io' && verb === 'list' && namespace === 'default';
      return { status: { allowed: isOurs && granted.includes(resource) } };
    },
  } as unknown as Transport;
  const checks = {
    ...{ transport, client: { get: async () => undefined }, templates: [template(query)], env: {} },
    http: {
      async send() {
        throw new Error('nothing is sent');
      },
    },
    ...{ asUser: 'system:serviceaccount:holdfast-system:holdfast', ownNamespace: 'holdfast-system' },
    ...{ metricsServer: 'http://prometheus', defaultProvider: 'kubernetes', forbidsOtherNamespaces: true },
  };
  return checkMetrics(checks as unknown as Parameters<typeof checkMetrics>[0], [canary]);
}

it('names an external metric that Holdfast may not read, which every check of a release would fail for', async () => {
  const query = 'queue-length?labelSelector=app%3D{{ target }}';

  expect(await linesFor(query, ['queue-length'])).toMatchObject([{ state: 'ok' }]);
  expect(await linesFor(query, [])).toMatchObject([
    { state: 'ok', subject: 'Canary default/shop, metric queue' },
    {
      ...{ state: 'failed', subject: 'system:serviceaccount:holdfast-system:holdfast' },
      detail:
        'cannot list queue-length.external.metrics.k8s.io in default (MetricTemplates of type externalmetrics)',
      actor: 'administrator',
    },
  ]);
});

it('names an external metric of a namespace that the template may not read', async () => {
  expect(await linesFor('other/queue-length', ['queue-length'])).toMatchObject([
    { state: 'failed', detail: expect.stringContaining('--cross-namespace-refs') },
  ]);
});

it('keeps what it says of metrics where rights cannot be asked for', async () => {
  expect(await linesFor('queue-length', 'forbidden')).toMatchObject([{ state: 'ok' }]);
});
