import { knativeCrds } from '../../knative/crds.ts';
import { type Ask, playKnative } from '../../knative/player.ts';
import { deployment, onGateway } from '../../sandbox/holdfast-bed.ts';
import type { Scenario, Seen } from '../scenario.ts';
import type { World } from '../world.ts';
import {
  byIterations,
  bySteps,
  common,
  follow,
  isAtRest,
  isInitialized,
  isLive,
  isNothing,
  metric,
  push,
  release,
  service,
  v,
  web,
} from './parts.ts';

/** Two Deployments that nobody rolls out, and the Service that selects one of them. */
const workloads = {
  'one.json': deployment('shop/web:1', { name: 'one' }),
  'two.json': deployment('shop/web:2', { name: 'two' }),
};
const selecting = (app: string) => ({
  'web.json': JSON.stringify({ ...service, spec: { ...service.spec, selector: { app } } }),
});
const ofService = { targetRef: { apiVersion: 'v1', kind: 'Service', name: 'web' } };
const alive = { ...bySteps, metrics: metric('alive') };
const isSelected = (app: string) => (seen: Seen) =>
  isAtRest(seen, 'Succeeded') &&
  ['web', 'web-primary'].every(
    (name) => (seen.find('/services', name)?.spec as { selector?: { app?: string } })?.selector?.app === app,
  );

const apiVersion = 'gateway.networking.k8s.io/v1';
const storefront = {
  apiVersion,
  kind: 'HTTPRoute',
  metadata: { name: 'storefront', namespace: 'shop' },
  spec: {
    parentRefs: [{ name: 'gateway', namespace: 'gateways' }],
    rules: [{ backendRefs: [{ name: 'web', port: 80 }] }],
  },
};

const header = [{ headers: { 'x-canary': { exact: 'yes' } } }];

/** Serves Istio's kinds, with any content. */
async function serveIstio(world: World): Promise<void> {
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  for (const kind of ['VirtualService', 'DestinationRule']) {
    const plural = `${kind.toLowerCase()}s`;
    const version = { name: 'v1beta1', served: true, storage: true, subresources: { status: {} } };
    const schema = { openAPIV3Schema: { ...open, properties: { spec: open, status: open } } };
    await world.send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.networking.istio.io` },
      spec: {
        group: 'networking.istio.io',
        names: { kind, plural, singular: kind.toLowerCase() },
        scope: 'Namespaced',
        versions: [{ ...version, schema }],
      },
    });
  }
}
const onIstio = { provider: 'istio' };
const withIstio = { acts: [{ when: isNothing, act: serveIstio }, follow, push(1, isInitialized)] };

/** Serves Knative's kinds, and plays its controllers whenever one of its objects changes. */
async function serveKnative({ sandbox, send }: World): Promise<void> {
  for (const crd of knativeCrds)
    await send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd);
  const ask: Ask = async (method, path, body, type = 'application/json') => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${sandbox.url}${path}`, {
      method,
      headers: { 'content-type': type },
      ...sent,
    });
    return answer.json();
  };
  let wake: () => void = () => undefined;
  let hasChanged = false;
  sandbox.store.subscribe(({ storageKey }) => {
    if (!storageKey.startsWith('serving.knative.dev')) return;
    hasChanged = true;
    wake();
  });
  playKnative(ask, 'shop', {
    fails: ({ spec }) => JSON.stringify(spec).includes(':2-broken'),
    async pause() {
      if (!hasChanged) await new Promise<void>((resolve) => (wake = resolve));
      hasChanged = false;
    },
  });
}
const knativeService = (version: string) => ({
  'web.json': JSON.stringify({
    apiVersion: 'serving.knative.dev/v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { template: { spec: { containers: [{ image: `shop/web:${version}` }] } } },
  }),
});
const onKnative = {
  provider: 'knative',
  targetRef: { apiVersion: 'serving.knative.dev/v1', kind: 'Service', name: 'web' },
  service: { port: 80 },
};
/** No pod runs there, and no request is divided. */
const withKnative = {
  usersMayFail: true,
  acts: [{ when: isNothing, act: serveKnative }, follow, push(1, isInitialized)],
} as const;
const primaryRevision = (seen: Seen) =>
  seen.find('serving.knative.dev/services', 'web')?.metadata.annotations?.['flagger.app/primary-revision'];

/** Routes of all kinds. */
export const routes: readonly Scenario[] = [
  release(
    'release of a Service on contour',
    [
      {
        ...common(web({ provider: 'contour', ...ofService, service: { port: 80 } }, alive)),
        ...workloads,
        ...selecting('one'),
      },
      selecting('two'),
    ],
    isSelected('two'),
  ),
  release(
    'release of a Service on a gateway',
    [
      { ...common(web({ ...onGateway, ...ofService }, alive)), ...workloads, ...selecting('one') },
      selecting('two'),
    ],
    isSelected('two'),
  ),
  release(
    'release that is mirrored',
    [{ ...common(web(onGateway, { ...byIterations, mirror: true })), ...v(1) }, v(2)],
    isLive(2),
  ),
  release(
    'release with session affinity',
    [
      {
        ...common(web(onGateway, { ...bySteps, sessionAffinity: { cookieName: 'side', maxAge: 3600 } })),
        ...v(1),
      },
      v(2),
    ],
    isLive(2),
  ),
  release(
    'release on a route that people keep',
    [
      {
        ...common(
          web(
            {
              provider: 'gatewayapi:v1',
              service: { port: 80, targetPort: 8080 },
              routeRef: { apiVersion, kind: 'HTTPRoute', name: 'storefront' },
            },
            bySteps,
          ),
        ),
        'route.json': JSON.stringify(storefront),
        ...v(1),
      },
      v(2),
    ],
    isLive(2),
  ),
  release(
    'release to some users by a header on contour',
    [
      {
        ...common(web({ provider: 'contour' }, { ...byIterations, match: header })),
        ...v(1),
      },
      v(2),
    ],
    isLive(2),
  ),
  release(
    'release to some users by a header on istio',
    [{ ...common(web(onIstio, { ...byIterations, match: header })), ...v(1) }, v(2)],
    isLive(2),
    withIstio,
  ),
  release(
    'release that is mirrored first on istio',
    [
      {
        ...common(web(onIstio, { ...alive, mirror: true, sessionAffinity: { cookieName: 'side' } })),
        ...v(1),
      },
      v(2),
    ],
    isLive(2),
    withIstio,
  ),
  release(
    'release on Knative',
    [{ ...common(web(onKnative, alive)), ...knativeService('1') }, knativeService('2')],
    (seen) => isAtRest(seen, 'Succeeded') && primaryRevision(seen) === 'web-00002',
    withKnative,
  ),
  release(
    'bad release on Knative',
    [
      { ...common(web({ ...onKnative, progressDeadlineSeconds: 120 }, alive)), ...knativeService('1') },
      knativeService('2-broken'),
    ],
    (seen) => isAtRest(seen, 'Failed') && primaryRevision(seen) === 'web-00001',
    withKnative,
  ),
  release(
    'promotion by steps',
    [{ ...common(web(onGateway, { ...bySteps, stepWeightPromotion: 40 })), ...v(1) }, v(2)],
    isLive(2),
  ),
];
