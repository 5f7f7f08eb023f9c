import { expect, it } from 'vitest';
import { canaryDocument } from '../../../test/documents/builders.ts';
import type { Canary } from '../../api/canary/canary.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { localError } from '../../cluster/errors.ts';
import { checkGatewayFeatures } from './gateways.ts';

/** A cluster with Gateway infra/public of the class `edge`, which has these features. */
function clusterWith(supportedFeatures: unknown[] | 'forbidden') {
  const gateway = { spec: { gatewayClassName: 'edge' } };
  const get = async ({ kind }: { kind: string }) => {
    if (supportedFeatures === 'forbidden') throw localError('forbidden', 'you may not');
    return (kind === 'Gateway' ? gateway : { status: { supportedFeatures } }) as unknown as KubernetesObject;
  };
  return { get };
}

function canary(spec: object): Canary {
  const analysis = { interval: '1m', threshold: 1, iterations: 2, mirror: true };
  const service = {
    port: 80,
    gatewayRefs: [{ name: 'public', namespace: 'infra' }],
    corsPolicy: { allowOrigin: ['*'] },
  };
  const document = canaryDocument({ provider: 'gatewayapi:v1', service, analysis, ...spec }, { name: 'web' });
  return document as unknown as Canary;
}

/** Fields that a line warns of. */
async function warned(supportedFeatures: unknown[] | 'forbidden', spec: object = {}) {
  const lines = await checkGatewayFeatures(clusterWith(supportedFeatures), [canary(spec)], 'kubernetes');
  return lines.map(({ state, detail }) => `${state} ${detail.split(':')[0]}`);
}

it('warns of fields for which the class of the Gateway names no feature', async () => {
  const lines = await checkGatewayFeatures(clusterWith([{ name: 'HTTPRouteCORS' }]), [canary({})], '');

  expect(lines).toMatchObject([
    {
      state: 'warning',
      subject: 'Canary default/web',
      actor: 'author',
      detail:
        'spec.analysis.mirror: GatewayClass edge of Gateway infra/public does not name the feature HTTPRouteRequestMirror; requests may fail, or the field has no effect',
    },
  ]);
});

it('reads the Gateway and its class once for all Canaries', async () => {
  const cluster = clusterWith([]);
  const asked: string[] = [];
  const get: typeof cluster.get = (reference) => {
    asked.push(reference.kind);
    return cluster.get(reference);
  };

  await checkGatewayFeatures({ get }, [canary({}), canary({}), canary({})], '');

  expect(asked).toEqual(['Gateway', 'GatewayClass']);
});

it('takes features for names also where they are texts, as before Gateway API 1.2', async () => {
  expect(await warned(['HTTPRouteRequestMirror'])).toEqual(['warning spec.service.corsPolicy']);
});

it.each([
  ['the class names no feature at all', [], {}],
  ['the Gateway may not be read', 'forbidden' as const, {}],
  ['the provider ignores the fields', ['HTTPRouteRequestMirror'], { provider: 'gatewayapi:v1beta1' }],
  ['another provider writes the route', ['HTTPRoute'], { provider: 'contour' }],
  ['the route is kept in Git', ['HTTPRoute'], { routeRef: { kind: 'HTTPRoute', name: 'front' } }],
])('says nothing where %s', async (_, supportedFeatures, spec) => {
  expect(await warned(supportedFeatures, spec)).toEqual([]);
});
