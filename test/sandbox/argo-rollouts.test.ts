/** From Argo Rollouts: its Rollouts become Deployments and Canaries by commits, and users notice nothing. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { makeJourney, type SaidMove } from '../move/journey.ts';
import { applyAsFlux, playRollouts, rolloutCrd } from '../move/rollouts.ts';
import { commitChanges, toolCrds } from '../move/tools.ts';
import { imageOf } from '../objects.ts';
import { run } from './cli-run.ts';
import { createSource, eventually, notesOf, statusOf, waitForPhase } from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
let tree: string;
beforeEach(async () => {
  bed = await startQuickBed();
  tree = await mkdtemp(join(tmpdir(), 'holdfast-rollouts-'));
  await bed.send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', rolloutCrd);
});
afterEach(async () => {
  await bed.close();
  await rm(tree, { recursive: true, force: true });
});

function rollout(strategy: string): string {
  return `# the shop
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web, namespace: shop}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        # one at a time
        - {name: app, image: "shop/web:1", ports: [{containerPort: 8080}]}
  strategy:
${strategy.replace(/^/gm, '    ')}
`;
}

function service(name: string): string {
  const spec = '{selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}';
  return `apiVersion: v1\nkind: Service\nmetadata: {name: ${name}, namespace: shop}\nspec: ${spec}\n`;
}

const route = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop}
spec:
  parentRefs: [{name: gateway, namespace: gateways}]
  rules:
    - backendRefs:
        - {name: web, port: 80, weight: 100} # stable
        - {name: web-canary, port: 80, weight: 0}
`;

const blueGreen =
  'blueGreen: {activeService: web-active, previewService: web-preview, autoPromotionSeconds: 10}';
const strategies: ReadonlyArray<readonly [string, string, readonly string[], string]> = [
  ['blue/green in a Source', blueGreen, [service('web-active'), service('web-preview')], 'web-active'],
  ['blue/green', blueGreen, [service('web-active'), service('web-preview')], 'web-active'],
  [
    'a canary behind a Gateway',
    `canary:
  stableService: web
  canaryService: web-canary
  trafficRouting: {plugins: {argoproj-labs/gatewayAPI: {httpRoute: web, namespace: shop}}}
  steps: [{setWeight: 25}, {pause: {duration: 10s}}, {setWeight: 50}, {pause: {duration: 10s}}]`,
    [service('web'), service('web-canary'), route],
    'web',
  ],
  [
    'a canary without a router',
    'canary: {maxSurge: 1, maxUnavailable: 0, steps: [{setWeight: 25}, {pause: {duration: 10s}}]}',
    [service('web')],
    'web',
  ],
];

async function say(): Promise<SaidMove> {
  const { stdout } = await run(
    ...[
      'migrate',
      'steps',
      '--from',
      'argo-rollouts',
      tree,
      '--kubeconfig',
      bed.kubeconfigPath,
      '-o',
      'json',
    ],
  );
  const [first = { name: '', stops: [], steps: [] }] = (JSON.parse(stdout) as { moves: SaidMove[] }).moves;
  return first;
}

/** A Source applies the folder: each change of its file is a commit. */
function applyBySource(): () => Promise<void> {
  let before = '';
  return async () => {
    const text = await readFile(join(tree, 'web.yaml'), 'utf8');
    if (text !== before) await bed.commit('next', { 'web.yaml': text });
    if (before === '') await createSource(bed, { prune: true });
    before = text;
  };
}

const primaryOf = (name: string) => (name === 'a canary without a router' ? 'web' : 'web-primary');

test.each(strategies)(
  '%s comes to Holdfast by three commits, and its next release goes through: no request fails',
  async (name, strategy, others, apex) => {
    await writeFile(join(tree, 'web.yaml'), [rollout(strategy), ...others].join('---\n'));
    const bySource = name.endsWith('Source') || name === 'a canary without a router';
    if (bySource) await bed.start();
    const argo = playRollouts(bed, bySource ? applyBySource() : applyAsFlux(bed, tree));
    await eventually('the Rollout has its pods', async () => {
      await argo.look();
      return (await argo.ready()) === 4;
    });
    if (!bySource) await bed.start();
    const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: apex });

    const titles = await makeJourney({ api: bed, say, look: () => argo.look(), timeoutMs: 120_000 });
    expect(titles).toHaveLength(3);
    await eventually('the pods of the Rollout are gone', async () => (await argo.pods()).length === 0);

    // Nor does a Source contend with Argo Rollouts, or miss the target of the suspended Canary.
    expect([notesOf(bed, 'DriftCorrected'), notesOf(bed, 'InvalidManifests')]).toEqual([[], []]);

    const text = await readFile(join(tree, 'web.yaml'), 'utf8');
    expect(text).toContain('# one at a time');
    const check = await run('validate', tree);
    expect([check.code, check.text]).toEqual([0, check.text]);

    await writeFile(join(tree, 'web.yaml'), text.replace('shop/web:1', 'shop/web:2'));
    await argo.look();
    await waitForPhase(bed, 'Succeeded');
    expect(imageOf(await bed.get('apps/v1', 'Deployment', primaryOf(name)))).toBe('shop/web:2');
    expect(statusOf(await bed.canary()).lastKnownGood).toBeDefined();
    expect(sampler.worst().successShare).toBe(1);
  },
  120_000,
);

test('a Rollout of Argo CD waits until its Application leaves the selector alone, and one with a release under way for its end', async () => {
  for (const crd of toolCrds)
    await bed.send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd);
  const marked = rollout('blueGreen: {activeService: web-active}').replace(
    'namespace: shop}',
    'namespace: shop, annotations: {argocd.argoproj.io/tracking-id: "shop:argoproj.io/Rollout:shop/web"}}',
  );
  await writeFile(join(tree, 'web.yaml'), [marked, service('web-active')].join('---\n'));
  const argo = playRollouts(bed, applyAsFlux(bed, tree));
  await argo.look();
  await bed.start();
  const application = (spec: object) =>
    bed.send(
      'PATCH',
      '/apis/argoproj.io/v1alpha1/namespaces/default/applications/shop?fieldManager=person&force=true',
      { apiVersion: 'argoproj.io/v1alpha1', kind: 'Application', metadata: { name: 'shop' }, spec },
      'application/apply-patch+yaml',
    );
  const phase = (status: object) =>
    bed.send('PATCH', '/apis/argoproj.io/v1alpha1/namespaces/shop/rollouts/web/status', { status });
  const current = async () => (await say()).steps.find(({ state }) => state !== 'done');
  const missing = async () =>
    (await current())?.requires.flatMap(({ holds, found }) => (holds ? [] : [found]));

  await application({});
  await phase({ phase: 'Paused' });
  expect(await missing()).toEqual([expect.stringMatching(/^it is Paused: let it finish/)]);
  await phase({ phase: 'Healthy', observedGeneration: '0' });
  expect(await missing()).toEqual(['Argo Rollouts has not seen its newest change yet']);
  await argo.look();
  await phase({ replicas: 8, updatedReplicas: 4 });
  expect(await missing()).toEqual([
    expect.stringMatching(/^4 pods of earlier releases are kept, to which the Services would lead as well/),
  ]);
  await phase({ replicas: 4, updatedReplicas: 4 });
  commitChanges((await current())?.changes ?? []);
  await argo.look();
  expect([(await current())?.state, await missing()]).toEqual([
    'refused',
    [expect.stringMatching(/^Application shop needs ignoreDifferences .*\[\/spec\/selector\]/)],
  ]);
  await application({
    ignoreDifferences: [{ kind: 'Service', name: 'web-active', jsonPointers: ['/spec/selector'] }],
    syncPolicy: { syncOptions: ['RespectIgnoreDifferences=true'] },
  });
  expect((await current())?.state).toBe('next');
});

test('where no tool applies the files, every file of a step is applied, and not again while Holdfast takes over', async () => {
  const [web, scaler] = ['web.yaml', 'scaler.yaml'].map((name) => join(tree, name)) as [string, string];
  const text = rollout('canary: {}').replace('replicas: 4', 'minReadySeconds: 0');
  await writeFile(web, text);
  const target = '{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web}';
  await writeFile(
    scaler,
    `apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web, namespace: shop}\nspec: {minReplicas: 2, maxReplicas: 4, scaleTargetRef: ${target}}\n`,
  );
  const path = '/apis/argoproj.io/v1alpha1/namespaces/shop/rollouts/web?fieldManager=person';
  await bed.send('PATCH', path, parse(text), 'application/apply-patch+yaml');
  const commands = async () => (await say()).steps.map((step) => step.commands);
  const [first, second] = (await say()).steps;
  expect([first?.commands, second?.commands]).toEqual([
    [`kubectl apply -f ${web}`],
    [`kubectl apply -f ${web}`, `kubectl apply -f ${scaler}`],
  ]);

  commitChanges([...(first?.changes ?? []), ...(second?.changes ?? [])]);
  expect((await commands())[1]).toEqual([`kubectl apply -f ${web}`]);
  const canary = parseAllDocuments(await readFile(web, 'utf8'))
    .map((one) => one.toJS() as KubernetesObject)
    .find(({ kind }) => kind === 'Canary');
  await bed.send(
    'PATCH',
    '/apis/flagger.app/v1beta1/namespaces/shop/canaries/web?fieldManager=person',
    canary,
    'application/apply-patch+yaml',
  );
  expect((await commands())[1]).toEqual([]);
});

test('a Rollout that left the files is told of until it has left the cluster', async () => {
  const canary = {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { name: 'web', namespace: 'shop' },
    spec: {
      provider: 'native',
      targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
      analysis: { interval: '10s', threshold: 1, stepWeights: [50] },
      suspend: true,
    },
  };
  const at = (path: string) => `/apis/${path}?fieldManager=person&force=true`;
  const canaryPath = 'flagger.app/v1beta1/namespaces/shop/canaries/web';
  const rolloutPath = 'argoproj.io/v1alpha1/namespaces/shop/rollouts/web';
  const applied = 'application/apply-patch+yaml';
  await writeFile(
    join(tree, 'web.yaml'),
    JSON.stringify(canary).replace('"suspend":true', '"suspend":false'),
  );
  expect(await say()).toMatchObject({ name: '' });
  const live = parse(rollout('canary: {}')) as Record<string, unknown>;
  await bed.send('PATCH', at(canaryPath), canary, applied);
  await bed.send('PATCH', at(rolloutPath), live, applied);
  const only = async () => (await say()).steps.map(({ state, commands }) => [state, commands]);

  expect((await say()).name).toBe('Rollout shop/web');
  expect(await only()).toEqual([['refused', expect.anything()]]);
  await bed.send('PATCH', at(canaryPath), { ...canary, spec: { ...canary.spec, suspend: false } }, applied);
  const status = { phase: 'Initialized' };
  await bed.send('PATCH', `/apis/${canaryPath}/status`, { status });
  expect(await only()).toEqual([['next', ['kubectl -n shop delete rollouts.argoproj.io web']]]);
  await bed.send(
    'PATCH',
    at(rolloutPath),
    { ...live, metadata: { name: 'web', labels: { 'kustomize.toolkit.fluxcd.io/name': 'apps' } } },
    applied,
  );
  expect(await only()).toEqual([['waits', []]]);
  expect((await say()).steps[0]?.ends[0]?.found).toMatch(
    /^it still exists; if Kustomization .* does not prune, kubectl -n shop delete rollouts.argoproj.io web$/,
  );
  await bed.send('DELETE', `/apis/${rolloutPath}`);
  expect(await say()).toMatchObject({ name: '' });
});
