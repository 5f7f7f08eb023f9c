/** Another client changed a target so that it gives no release, no Source holds it, and all that was made for its Canary is deleted. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  canary,
  condition,
  createSource,
  deployment,
  onGateway,
  primaryImage,
  waitForPhase,
} from './holdfast-bed.ts';
import { otherTool } from './other-tool.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

const byName = canary({
  spec: { ...onGateway, service: { ...onGateway.service, targetPort: 'http' } },
});

/** A workload whose one port has this name. */
function workload(image: string, port: string): string {
  const object = JSON.parse(deployment(image)) as { spec: { template: { spec: { containers: object[] } } } };
  const pod = object.spec.template.spec;
  pod.containers = pod.containers.map((one) => ({ ...one, ports: [{ name: port, containerPort: 8080 }] }));
  return JSON.stringify(object);
}

const source = '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources/shop';
const target = '/apis/apps/v1/namespaces/shop/deployments/web';
const generated = [
  `${target}-primary`,
  '/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes/web',
  ...['web', 'web-primary', 'web-canary'].map((name) => `/api/v1/namespaces/shop/services/${name}`),
];

/** Who had applied the target, and what is deleted with what was generated. */
const worlds: Readonly<Record<string, { begin: () => Promise<void>; deleted: readonly string[] }>> = {
  'another tool': {
    begin: () => otherTool(bed).apply(workload('shop/web:1', 'http'), byName),
    deleted: generated,
  },
  'a Source that is gone': {
    async begin() {
      await bed.commit('v1', { 'web.json': workload('shop/web:1', 'http') });
      await otherTool(bed).apply(byName);
      await createSource(bed);
    },
    deleted: [source, target, ...generated],
  },
};

test.each(Object.keys(worlds))(
  'the last-known-good of a target that %s applied is restored with Services and route, and then nothing is written',
  async (name) => {
    const { begin, deleted } = worlds[name] ?? expect.fail();
    await begin();
    const app = await bed.start();
    await waitForPhase(bed, 'Initialized');
    await app.drain();
    const none = { metadata: { finalizers: [] } };
    await bed.send('PATCH', source, none);
    for (const path of deleted) await bed.send('DELETE', path);
    await otherTool(bed, 'kubectl').apply(workload('shop/web:2', 'web'));

    await bed.start();
    await bed.pass(60_000);
    bed.sandbox.requests.clear();
    await bed.pass(60_000);

    const writes = bed.sandbox.requests.writes().filter(({ path }) => !path.includes('/leases/'));
    expect(writes.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
    for (const path of generated) expect([path, (await bed.send('GET', path)).status]).toEqual([path, 200]);
    expect(await primaryImage(bed)).toBe('shop/web:1');
    expect(condition(await bed.canary(), 'Stalled')).toMatchObject({
      status: 'True',
      reason: 'InvalidManifests',
    });
  },
);
