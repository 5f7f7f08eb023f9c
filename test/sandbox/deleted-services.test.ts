/** Services, routes and workloads of a Canary that a person deletes. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { imageOf } from '../objects.ts';
import { run } from './cli-run.ts';
import { canary, createSource, deployment, eventually, onGateway, statusOf } from './holdfast-bed.ts';
import { otherTool } from './other-tool.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

interface State {
  readonly spec: Record<string, unknown>;
  /** Pods of version 2 are never ready on the primary. */
  readonly fails: boolean;
  readonly isThere: (status: CanaryStatus) => boolean;
}

const inState = (wanted: string) => (status: CanaryStatus) => status.postPromotion?.state === wanted;
const patient = { progressDeadlineSeconds: 600 };

/** A Canary for each, of this name. */
const states: Readonly<Record<string, State>> = {
  converging: { spec: patient, fails: true, isThere: inState('Converging') },
  verifying: {
    spec: { postPromotion: { interval: '1s', successThreshold: 600 } },
    fails: false,
    isThere: inState('Verifying'),
  },
  held: { spec: { postPromotion: { onFailure: 'hold' } }, fails: true, isThere: inState('Held') },
  reverting: { spec: { progressDeadlineSeconds: 30 }, fails: true, isThere: inState('Reverting') },
  failed: { spec: {}, fails: true, isThere: ({ phase, run: release }) => phase === 'Failed' && !release },
};
const apps = Object.keys(states);

function workload(app: string, image: string): string {
  const object = JSON.parse(deployment(image, { name: app }));
  // Nothing of the last-known-good is left when it is to come back.
  if (app === 'reverting') object.spec.strategy = { type: 'Recreate' };
  return JSON.stringify(object);
}

function filesOf(image: string): Record<string, string> {
  return Object.fromEntries(apps.map((app) => [`${app}.json`, workload(app, image)]));
}

async function until(app: string, isThere: State['isThere']): Promise<CanaryStatus> {
  const status = async () => statusOf(await bed.canary(app)) as CanaryStatus;
  await eventually(app, async () => isThere(await status()), { seen: status, timeoutMs: 120_000 });
  return status();
}

const routes = '/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes';
const pathsOf = (app: string) => [
  ...[app, `${app}-primary`, `${app}-canary`].map((name) => `/api/v1/namespaces/shop/services/${name}`),
  `${routes}/${app}`,
];

async function uidsOf(app: string): Promise<Array<string | undefined>> {
  const answers = await Promise.all(pathsOf(app).map((path) => bed.send('GET', path)));
  return answers.map(({ status, body }) =>
    status === 200 ? (body as KubernetesObject).metadata.uid : undefined,
  );
}

/** Deletes all of it, and waits until it is there anew. */
async function deleteAll(app: string): Promise<void> {
  const before = await uidsOf(app);
  await Promise.all(pathsOf(app).map((path) => bed.send('DELETE', path)));
  await eventually(
    `Services and route of ${app}`,
    async () => {
      const now = await uidsOf(app);
      return now.every((uid, index) => uid !== undefined && uid !== before[index]);
    },
    { seen: () => uidsOf(app) },
  );
}

test('Services and routes that somebody deletes are there again while the release is where it was, and are no cause', async () => {
  const service = { port: 80, targetPort: 8080, gatewayRefs: [{ name: 'gateway', namespace: 'gateways' }] };
  const canaries = Object.entries(states).map(([name, { spec }]) => {
    return [`${name}-canary.json`, canary({ name, spec: { provider: 'gatewayapi:v1', service, ...spec } })];
  });
  await bed.commit('v1', { ...filesOf('shop/web:1'), ...Object.fromEntries(canaries) });
  await createSource(bed);
  await bed.start();
  for (const app of apps) await until(app, ({ phase }) => phase === 'Initialized');
  let isGoodLost = false;
  bed.sandbox.behaviour.rule((pod) => {
    const image = imageOf({ spec: { template: { spec: pod.spec } } });
    const app = apps.find((name) => pod.metadata.name.startsWith(`${name}-primary-`));
    const fails =
      (image === 'shop/web:2' && app && states[app]?.fails) || (isGoodLost && app === 'reverting');
    return fails ? { failure: 'NotReady' } : undefined;
  });
  await bed.commit('v2', filesOf('shop/web:2'));
  // From here on the last-known-good does not come up either, so that going back to it takes its time.
  const lost = until('reverting', inState('Held')).then(() => {
    isGoodLost = true;
  });

  await Promise.all([
    lost,
    ...Object.entries(states).map(async ([app, { isThere }]) => {
      const before = await until(app, isThere);
      await deleteAll(app);
      const after = statusOf(await bed.canary(app)) as CanaryStatus;
      expect([app, isThere(after), after.failedChecks]).toEqual([app, true, before.failedChecks]);
      const isRejected = app === 'reverting' || app === 'failed';
      expect([app, after.rejected?.length ?? 0]).toEqual([app, isRejected ? 1 : 0]);
    }),
  ]);
  const place = ['--kubeconfig', bed.kubeconfigPath, '-n', 'shop', '-o', 'json'];
  const { stdout } = await run('explain', 'verifying', ...place);
  expect(JSON.parse(stdout)).not.toHaveProperty('judgement');
  await until('held', ({ canaryWeight }) => canaryWeight === 100);
});

const deployments = '/apis/apps/v1/namespaces/shop/deployments';

/** A Canary at rest whose target no Source holds. */
async function atRestWithoutSource(): Promise<void> {
  await otherTool(bed).apply(deployment('shop/web:1'), canary({ spec: onGateway }));
  await bed.start();
  await until('web', ({ phase }) => phase === 'Initialized');
}

/** Whether a person is called because the target is gone. */
const isCalledFor = ({ conditions }: CanaryStatus) =>
  conditions?.some(
    ({ type, status, reason }) => type === 'Stalled' && status === 'True' && reason === 'TargetMissing',
  ) === true;

test('without a Source, a deleted target takes nothing from the primary: its Services and route come back', async () => {
  await atRestWithoutSource();
  await bed.send('DELETE', `${deployments}/web`);
  await until('web', isCalledFor);

  await deleteAll('web');

  const { body } = await bed.send('GET', `${routes}/web`);
  const { rules } = (body as { spec: { rules: Array<{ backendRefs: unknown }> } }).spec;
  expect(rules[0]?.backendRefs).toMatchObject([
    { name: 'web-primary', weight: 100 },
    { name: 'web-canary', weight: 0 },
  ]);
  const serves = (status: CanaryStatus) => isCalledFor(status) && status.serving?.length === 1;
  const status = await until('web', serves);
  expect(status.serving).toMatchObject([{ workload: 'web-primary', weight: 100, ready: 2 }]);
});

test('without a Source, a target that is deleted with its primary and route is reported once, and nothing is written any more', async () => {
  await atRestWithoutSource();

  const all = [`${deployments}/web`, `${deployments}/web-primary`, `${routes}/web`];
  await Promise.all(all.map((path) => bed.send('DELETE', path)));

  await until('web', isCalledFor);
  await bed.pass(5_000);
  const reported = await bed.canary('web');
  await bed.pass(60_000);
  const later = await bed.canary('web');
  expect(later?.metadata.resourceVersion).toBe(reported?.metadata.resourceVersion);
  const { incidents = [] } = statusOf(later) as CanaryStatus;
  expect(incidents.filter(({ outcome }) => outcome === 'Stopped')).toHaveLength(1);
});
