/** Provider `knative`, with real requests through Knative: its gateway, its activator and its queue-proxy beside each pod. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubernetesObject } from '../../../src/api/kubernetes.ts';
import { type HookServer, startHookServer } from '../../hook-server.ts';
import { type BedClient, useBed } from '../bed/client.ts';
import { type Knative, startKnative } from '../bed/knative.ts';
import type { LoadFailure } from '../bed/load.ts';
import { dividesByShares, podsRate, podsTemplate, stepsOf } from './shares.ts';
import { type Shop, type ShopOptions, shareHoldfast, untilAnswered, untilRunning } from './shop.ts';

const service = { apiVersion: 'serving.knative.dev/v1', kind: 'Service', name: 'podinfo' } as const;

const bed: BedClient = useBed();
const shops = shareHoldfast(bed, ['by-knative', 'knative-back']);

let hooks: HookServer;
let knative: Knative | undefined;

beforeAll(async () => {
  hooks = await startHookServer();
  knative = await startKnative(bed);
}, 2_500_000);

afterAll(async () => {
  await knative?.stop();
  await hooks.close();
});

/** The same container as a Knative Service, whose ports have no names of one's own. */
function knativeService({ spec }: KubernetesObject): KubernetesObject {
  const { template } = spec as { template: { spec: { containers: [{ image: string; env: unknown }] } } };
  const [{ image, env }] = template.spec.containers;
  const readinessProbe = { httpGet: { path: '/ready', port: 8080 } };
  const container = { image, env, ports: [{ containerPort: 8080 }], readinessProbe };
  return {
    ...{ apiVersion: service.apiVersion, kind: service.kind },
    metadata: { name: service.name },
    spec: { template: { spec: { containers: [container] } } },
  } as KubernetesObject;
}

async function primaryImage(namespace: string): Promise<string | undefined> {
  const live = await bed.readObject('Service.serving.knative.dev', namespace, service.name);
  const revision = live?.metadata.annotations?.['flagger.app/primary-revision'] ?? '';
  const found = await bed.readObject('Revision', namespace, revision);
  const { containers } = (found?.spec ?? {}) as { containers?: Array<{ image: string }> };
  return containers?.[0]?.image;
}

function open(namespace: string, options: Pick<ShopOptions, 'analysis' | 'postPromotion'>): Promise<Shop> {
  return shops.open(namespace, {
    provider: 'knative',
    ...options,
    entryUrl: (knative as Knative).url,
    targetOf: knativeService,
    files: { template: podsTemplate(bed) },
    spec: { targetRef: service, service: { port: 80 } },
  });
}

/** With the Service all that Knative has made for it goes. */
async function close(shop: Shop): Promise<void> {
  const path = `/apis/${service.apiVersion}/namespaces/${shop.namespace}/services/${service.name}`;
  await bed.api.request('DELETE', path);
  await shop.close();
}

/** More than the moments of one release in which a revision leaves the route. */
const GAPS = 3;

/**
 * Without what Envoy answers by itself (503 and no body, response flag NC): Knative takes a revision that has no share out of the route,
 * and Contour sends clusters and routes apart, so that for a moment a route may name a cluster that is gone.
 */
function withoutGaps(failures: readonly LoadFailure[]): readonly LoadFailure[] {
  const isGap = ({ status, detail }: LoadFailure) => status === 503 && detail === '';
  expect(failures.filter(isGap).length).toBeLessThanOrEqual(GAPS);
  return failures.filter((failure) => !isGap(failure));
}

// Knative's own programs need a newer Kubernetes than the oldest of the bed.
describe.runIf(!process.env.HOLDFAST_BED_KUBERNETES).concurrent('through Knative', () => {
  test('knative: users are divided between the revisions as each step says, and a bad release goes back', async () => {
    const namespace = 'by-knative';
    const postPromotion = { metrics: [podsRate] };
    const opened = await open(namespace, { analysis: stepsOf(hooks, namespace, podsRate), postPromotion });
    const shop = await untilRunning(opened);
    const { url } = knative as Knative;
    await dividesByShares(bed, {
      shop,
      hooks,
      url,
      ofRelease: withoutGaps,
      primaryImage: () => primaryImage(namespace),
    });
    await close(shop);
  });

  test('knative: a revision that fails after promotion gives way to the one before, and one that is never ready gets nothing', async () => {
    const namespace = 'knative-back';
    const verification = { name: 'verification', url: hooks.url(namespace) };
    const analysis = { interval: '1s', threshold: 2, iterations: 1 };
    const postPromotion = { threshold: 1, successThreshold: 1_000, metrics: [], webhooks: [verification] };
    const shop = await untilRunning(await open(namespace, { analysis, postPromotion }));
    const load = shop.startLoad();
    const commit = await shop.release('v2');
    await shop.until('v2 is verified', ({ postPromotion: at }) => at?.state === 'Verifying');
    const promoted = await primaryImage(namespace);
    hooks.answer(namespace, (call) => (call.commit === commit ? 500 : 200));
    const failed = await shop.until('v2 failed', ({ phase, run }) => phase === 'Failed' && !run);
    expect(promoted).toBe('app:v2');
    expect(failed.rejected?.map(({ reason }) => reason)).toEqual(['ChecksFailed']);
    expect(await primaryImage(namespace)).toBe('app:v1');
    await untilAnswered('v1 alone', () => shop.startLoad(), ['v1']);

    await shop.release('v3', { READY: 'false' }, { canaryDeadlineSeconds: 10 });
    await shop.until(
      'v3 failed',
      ({ phase, run, rejected }) => phase === 'Failed' && !run && rejected?.length === 2,
    );
    const { byVersion, failures } = await load.stop();
    expect(withoutGaps(failures)).toEqual([]);
    expect(Object.keys(byVersion).sort()).toEqual(['v1', 'v2']);
    expect(await primaryImage(namespace)).toBe('app:v1');
    await close(shop);
  });
});
