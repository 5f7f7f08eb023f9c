/** Provider `knative`, with real requests through Knative: its gateway, its activator and its queue-proxy beside each pod. */
import { afterAll, beforeAll, test } from 'vitest';
import type { KubernetesObject } from '../../../src/api/kubernetes.ts';
import { type HookServer, startHookServer } from '../../hook-server.ts';
import { type BedClient, useBed } from '../bed/client.ts';
import { type Knative, startKnative } from '../bed/knative.ts';
import { dividesByShares, podsRate, podsTemplate, stepsOf } from './shares.ts';
import { shareHoldfast, untilRunning } from './shop.ts';

const namespace = 'by-knative';
const service = { apiVersion: 'serving.knative.dev/v1', kind: 'Service', name: 'podinfo' } as const;

const bed: BedClient = useBed();
const shops = shareHoldfast(bed, [namespace]);

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

async function primaryImage(): Promise<string | undefined> {
  const live = await bed.readObject('Service.serving.knative.dev', namespace, service.name);
  const revision = live?.metadata.annotations?.['flagger.app/primary-revision'] ?? '';
  const found = await bed.readObject('Revision', namespace, revision);
  const { containers } = (found?.spec ?? {}) as { containers?: Array<{ image: string }> };
  return containers?.[0]?.image;
}

test('knative: users are divided between the revisions as each step says, and a bad release goes back', async () => {
  const { url } = knative as Knative;
  const opened = await shops.open(namespace, {
    provider: 'knative',
    analysis: stepsOf(hooks, namespace, podsRate),
    postPromotion: { metrics: [podsRate] },
    entryUrl: url,
    targetOf: knativeService,
    files: { template: podsTemplate(bed) },
    spec: { targetRef: service, service: { port: 80 } },
  });
  const shop = await untilRunning(opened);
  await dividesByShares(bed, { shop, hooks, url, primaryImage });
  await bed.api.request(
    'DELETE',
    `/apis/${service.apiVersion}/namespaces/${namespace}/services/${service.name}`,
  );
  await shop.close();
});
