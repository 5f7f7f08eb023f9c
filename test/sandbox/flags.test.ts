import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../src/api/clock.ts';
import { silentLogger } from '../../src/cluster/log.ts';
import { connect } from '../../src/server/connection.ts';
import {
  type Bed,
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  runUntilInitialized,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { otherTool } from './other-tool.ts';
import { startQuickBed } from './quick-bed.ts';

let bed: Bed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

const flags = (dark: string) =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'flags', namespace: 'shop' },
    data: { dark },
  });

/** The Deployment of the bed with a ConfigMap as its environment. */
function withFlags(image: string): string {
  const object = JSON.parse(deployment(image)) as { spec: { template: { spec: { containers: object[] } } } };
  const [container] = object.spec.template.spec.containers;
  Object.assign(container ?? {}, { envFrom: [{ configMapRef: { name: 'flags' } }] });
  return JSON.stringify(object);
}

test('with --enable-config-tracking=false config is applied, never copied, and starts no release', async () => {
  await bed.commit('v1', {
    'web.json': withFlags('shop/web:1'),
    'flags.json': flags('off'),
    'canary.json': canary(),
  });
  await runUntilInitialized(bed, {}, { tracksConfig: false });
  await bed.commit('dark', { 'flags.json': flags('on') });
  await eventually('the ConfigMap as in Git', async () => {
    const live = await bed.get('v1', 'ConfigMap', 'flags');
    return (live?.data as { dark?: string } | undefined)?.dark === 'on';
  });
  expect(await bed.get('v1', 'ConfigMap', 'flags-primary')).toBeUndefined();
  const primary = await bed.get('apps/v1', 'Deployment', 'web-primary');
  expect(JSON.stringify(primary?.spec)).toContain('"configMapRef":{"name":"flags"}');
  expect(statusOf(await bed.canary())).toMatchObject({ phase: 'Initialized', failedChecks: 0 });
});

test('with it a live target of another tool keeps the names of its config too', async () => {
  await otherTool(bed).apply(flags('off'), withFlags('shop/web:1'), canary());
  await bed.start({ tracksConfig: false });
  await waitForPhase(bed, 'Initialized');
  await otherTool(bed).apply(flags('on'));
  await otherTool(bed).apply(withFlags('shop/web:2'));
  await waitForPhase(bed, 'Succeeded');
  expect(await bed.get('v1', 'ConfigMap', 'flags-primary')).toBeUndefined();
  const primary = await bed.get('apps/v1', 'Deployment', 'web-primary');
  expect(JSON.stringify(primary?.spec)).toContain('"configMapRef":{"name":"flags"}');
  expect(statusOf(await bed.canary()).history).toHaveLength(1);
});

test('without --cross-namespace-refs a Canary that refers elsewhere waits and says where', async () => {
  const alerts = [{ name: 'chat', providerRef: { name: 'chat', namespace: 'ops' } }];
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1'),
    'canary.json': canary({ analysis: { alerts } }),
    'cart.json': deployment('shop/cart:1', { name: 'cart' }),
    'cart-canary.json': canary({ name: 'cart' }),
  });
  await createSource(bed);
  await bed.start();
  await eventually('refused', async () => condition(await bed.canary(), 'Ready')?.reason === 'InvalidSpec');
  expect(condition(await bed.canary(), 'Ready')?.message).toContain(
    'spec.analysis.alerts[0].providerRef.namespace: is ops',
  );
  await eventually('the other one', async () => statusOf(await bed.canary('cart')).phase === 'Initialized');
});

test('without --cross-namespace-refs a Source that refers elsewhere is not followed and says where, with it it is', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1') });
  const alerts = [{ name: 'chat', providerRef: { name: 'chat', namespace: 'ops' } }];
  await createSource(bed, { dependsOn: [{ name: 'shop', namespace: 'base' }], alerts });
  const first = await bed.start();
  await eventually('refused', async () => condition(await bed.source(), 'Ready')?.reason === 'InvalidSpec');
  const { message } = condition(await bed.source(), 'Ready') ?? {};
  expect(message).toContain('spec.dependsOn[0].namespace: is base; references to other namespaces need');
  expect(message).toContain('spec.alerts[0].providerRef.namespace: is ops');
  await first.drain();
  await bed.start({ forbidsOtherNamespaces: false });
  await eventually(
    'it is read',
    async () => condition(await bed.source(), 'Ready')?.reason === 'DependencyNotFound',
    { seen: bed.source },
  );
});

test('what Sources apply has a request budget of its own, and a rollout does not wait for it', async () => {
  const options = {
    kubeconfig: bed.kubeconfigPath,
    version: 'test',
    sourceRate: { perSecond: 10, burst: 1 },
  };
  const connection = await connect(options, systemClock, silentLogger);
  const reference = { apiVersion: 'v1', kind: 'Namespace', name: 'shop' };
  let answered = 0;
  const ofSources = Array.from({ length: 30 }, () =>
    connection.sourceClient.get(reference).then(() => {
      answered += 1;
    }),
  );
  await Promise.all(Array.from({ length: 30 }, () => connection.client.get(reference)));
  expect(answered).toBeLessThan(30);
  await Promise.all(ofSources);
  await connection.close();
});
