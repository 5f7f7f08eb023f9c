import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { LoggedRequest } from '../../sandbox/api-server/server.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { leaveBehind, type Scene } from '../flagger/left-behind.ts';
import { run } from './cli-run.ts';
import { scene, settings, version } from './flagger-scenes.ts';
import { condition, eventually, statusOf } from './holdfast-bed.ts';
import { otherTool } from './other-tool.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

/** As the controller of these tests, which runs in no Deployment, is started. */
const asController = ['--min-analysis-interval', '100ms', '--selector-labels', 'app'];
const toFlagger = ['handback', '--to', 'flagger'];
const plan = ['migrate', 'plan'];

function holdfast(command: readonly string[], ...words: string[]): ReturnType<typeof run> {
  const place = ['--kubeconfig', bed.kubeconfigPath, '--holdfast-namespace', 'default'];
  return run(...command, ...place, ...asController, ...words);
}

interface Row {
  readonly canary: string;
  readonly outcome: string;
  readonly what: string;
  readonly why: string;
  readonly differences: ReadonlyArray<{
    readonly path: string;
    readonly expected: string;
    readonly actual?: string;
  }>;
  readonly notActedOn: readonly string[];
  readonly waitsFor?: string;
}

async function foretold(): Promise<{ code: number; rows: readonly Row[] }> {
  const { code, stdout } = await holdfast(plan, '-o', 'json');
  return { code, rows: (JSON.parse(stdout) as { canaries: Row[] }).canaries };
}

/** The same scene in a namespace of its own. */
async function leaveIn(namespace: string, left: Scene): Promise<void> {
  await bed.send('POST', '/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
  });
  const place = (object: KubernetesObject) => ({ ...object, metadata: { ...object.metadata, namespace } });
  const { canary, target, promoted, configs, promotedConfigs } = left;
  await leaveBehind(bed.send, {
    ...left,
    ...{ canary: place(canary), target: place(target), promoted: place(promoted) },
    ...(configs ? { configs: configs.map(place) } : {}),
    ...(promotedConfigs ? { promotedConfigs: promotedConfigs.map(place) } : {}),
  });
}

const tried = { target: version(2), configs: [settings('two')], promotedConfigs: [settings('one')] };
const onCanary = { target: version(2), targetReplicas: 2 };
const written = { target: version(2), promoted: version(2), targetReplicas: 2 };

/** What Flagger left, what becomes of it, and in which words. */
const stories: ReadonlyArray<readonly [string, Parameters<typeof scene>[0], string, RegExp]> = [
  ['initialized', { status: { phase: 'Initialized' } }, 'takenOver', /no pod restarts/],
  ['succeeded', { status: { phase: 'Succeeded' } }, 'takenOver', /no pod restarts/],
  ['failed', { ...tried, status: { phase: 'Failed' } }, 'takenOver', /not retried/],
  ['waiting', { target: version(2), status: { phase: 'Waiting' } }, 'carriedOn', /gates are checked again/],
  [
    'progressing',
    { ...onCanary, canaryWeight: 40, status: { phase: 'Progressing', canaryWeight: 40 } },
    'carriedOn',
    /from the first step.*Progressing with 40 %/s,
  ],
  [
    'waiting-promotion',
    { ...onCanary, canaryWeight: 80, status: { phase: 'WaitingPromotion', iterations: -1 } },
    'carriedOn',
    /from the first step/,
  ],
  [
    'promoting',
    { ...written, canaryWeight: 60, status: { phase: 'Promoting', canaryWeight: 60 } },
    'carriedOn',
    /promotion continues/,
  ],
  ['finalising', { ...written, status: { phase: 'Finalising' } }, 'carriedOn', /promotion continues/],
  [
    'stalled',
    { ...written, canaryWeight: 100, status: { phase: 'Failed', canaryWeight: 100 } },
    'carriedOn',
    /canary serves until the primary is up/,
  ],
  [
    'initializing',
    { targetReplicas: 2, status: { phase: 'Initializing' } },
    'carriedOn',
    /initialization continues/,
  ],
  ['new-revision', { target: version(2), status: { phase: 'Succeeded' } }, 'rolledOut', /new analysis/],
  [
    'new-config',
    { configs: [settings('two')], promotedConfigs: [settings('one')], status: { phase: 'Succeeded' } },
    'rolledOut',
    /new analysis/,
  ],
];

describe('migrate plan', () => {
  test('tells of each phase what the controller then does, and writes nothing', async () => {
    for (const [namespace, left] of stories) await leaveIn(namespace, scene(left));
    const foreign = scene({ status: { phase: 'Succeeded' } });
    const incomplete = {
      ...foreign.canary,
      spec: { ...(foreign.canary.spec as object), provider: 'appmesh' },
    };
    await leaveIn('incomplete', { ...foreign, canary: incomplete });
    bed.sandbox.requests.clear();

    const { code, rows } = await foretold();

    expect(code).toBe(1);
    const of = (namespace: string) => rows.find(({ canary }) => canary === `${namespace}/web`);
    const said = stories.map(([namespace]) => [namespace, of(namespace)?.outcome]);
    expect(said).toEqual(stories.map(([namespace, , outcome]) => [namespace, outcome]));
    for (const [namespace, , , words] of stories)
      expect(`${of(namespace)?.what} ${of(namespace)?.why}`).toMatch(words);
    expect(of('new-revision')?.differences).toEqual([
      { path: 'spec.template.spec.containers[app].image', expected: 'shop/web:2', actual: 'shop/web:1' },
    ]);
    expect(of('new-config')?.differences).toEqual([
      { path: 'ConfigMap/settings: data.mode', expected: 'two', actual: 'one' },
    ]);
    expect(of('incomplete')).toMatchObject({
      outcome: 'refused',
      why: expect.stringMatching(/^spec\.service\.meshName: /),
      notActedOn: ['spec.service.gatewayRefs'],
    });
    expect(bed.sandbox.requests.all().filter(writes)).toEqual([]);
  });

  test('of what is taken over: exit code 0, in words, also while Flagger runs', async () => {
    await leaveBehind(bed.send, scene({ status: { phase: 'Succeeded' } }));
    await startFlagger();
    const { code, text } = await holdfast(plan);
    expect(flat(text)).toContain(
      'flagger-system/flagger is running: Holdfast waits until that ends, and then: ',
    );
    expect(flat(text)).toContain(
      'shop/web: taken over no pod restarts and nothing is rolled out: Flagger left it in Succeeded',
    );
    expect(text).toContain('1 Canary: 1 taken over');
    expect(code).toBe(0);
  });

  test('of what Holdfast has taken over already: that it has', async () => {
    await leaveBehind(bed.send, scene({ status: { phase: 'Succeeded' } }));
    await bed.start();
    await untilReady();
    expect((await foretold()).rows).toMatchObject([{ outcome: 'ours' }]);
  });

  test('of a cluster without our kinds: what is missing', async () => {
    const crd = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/sources.holdfast.dev';
    await bed.send('DELETE', crd);
    await leaveBehind(bed.send, scene({ status: { phase: 'Succeeded' } }));
    const { code, text } = await holdfast(plan);
    expect(flat(text)).toContain('shop/web: taken over');
    expect(flat(text)).toContain(
      'Source: failed the cluster has no sources.holdfast.dev; run: holdfast install --crds-only',
    );
    expect(code).toBe(1);
  });

  test('takes the flags of the controller from its Deployment, and a given one before that', async () => {
    await leaveIn('elsewhere', scene({ status: { phase: 'Succeeded' } }));
    const unnamed = scene({ status: { phase: 'Succeeded' } });
    const { provider: _, ...spec } = unnamed.canary.spec as { provider?: string };
    await leaveBehind(bed.send, { ...unnamed, canary: { ...unnamed.canary, spec } });
    const asked = ['--kubeconfig', bed.kubeconfigPath, '-o', 'json'];
    const canaries = async (...words: string[]) => {
      const { stdout, text } = await run(...plan, ...asked, ...words);
      const rows = (JSON.parse(stdout) as { canaries: Row[] }).canaries;
      return { text, said: rows.map(({ canary, why }) => `${canary}: ${why}`) };
    };

    const without = await canaries();
    expect(without.text).toContain(
      'there is no Deployment holdfast-system/holdfast, which says how the controller runs; assumed: --watch-namespaces=none --min-analysis-interval=10s --mesh-provider=kubernetes',
    );
    expect(without.said).toHaveLength(2);

    await installed([
      'run',
      '--listen=0.0.0.0:80',
      '--mesh-provider',
      'nginx',
      '--watch-namespaces=$(WHERE)',
    ]);
    const { text, said } = await canaries();
    expect(text).not.toContain('note:');
    expect(said).toEqual([expect.stringMatching(/^shop\/web: spec\.ingressRef: .*nginx/)]);
    const { said: other } = await canaries('--watch-namespaces', 'elsewhere');
    expect(other).toEqual([expect.stringMatching(/^elsewhere\/web: /)]);
  });

  test('of a controller whose arguments it would refuse itself: says so', async () => {
    await installed(['run', '--mesh-provider=ngnix']);
    const { code, text } = await run(...plan, '--kubeconfig', bed.kubeconfigPath);
    expect(code).toBe(2);
    expect(flat(text)).toMatch(/Deployment holdfast-system\/holdfast: holdfast run would refuse .*ngnix/);
  });
});

describe('adopt, as it was called before', () => {
  test.each([
    [['--dry-run', '-o', 'json'], ['migrate plan'], /"outcome": "takenOver"/],
    [['--to', 'flagger', '--dry-run'], ['handback --to flagger --dry-run'], /Flagger's already/],
  ] as const)('%j still works, and names what it is now', async (words, [now], said) => {
    await leaveBehind(bed.send, scene({ status: { phase: 'Succeeded' } }));
    const { code, stdout, text } = await holdfast(['adopt'], ...words);
    expect(stdout).toMatch(said);
    expect(text).toContain(`holdfast adopt is now: holdfast ${now}`);
    expect(text.match(/is now/g)).toHaveLength(1);
    expect(code).toBe(0);
  });

  test.each([
    [[], 'holdfast migrate plan shows what it would do'],
    [['--back'], '--back needs --from'],
    [['--from', 'flux', '--dry-run'], '--from flux never writes'],
    [['--from', 'flux'], "missing required argument 'path'"],
    [['--from', 'argocd', '--back'], '--to argocd needs PATH'],
  ])('%j is refused', async (words, message) => {
    const { code, text } = await run('adopt', ...words);
    expect(code).toBe(2);
    expect(flat(text)).toContain(message);
  });
});

describe('handback --to flagger', () => {
  test('leaves a Canary at rest as Flagger begins, and costs nothing when Holdfast goes on instead', async () => {
    await leaveBehind(bed.send, scene({ status: { phase: 'Succeeded' } }));
    const app = await bed.start();
    await untilReady();
    expect(await holdfast(toFlagger)).toMatchObject({
      code: 2,
      text: expect.stringContaining('Holdfast is running'),
    });
    await app.drain();
    const before = await podNames();

    expect(await holdfast(toFlagger, '--dry-run')).toMatchObject({ code: 0 });
    expect(statusOf(await bed.canary()).phase).toBe('Succeeded');
    const { code, text } = await holdfast(toFlagger);
    expect(text).toContain('shop/web: handed back');
    expect(code).toBe(0);
    expect(statusOf(await bed.canary())).toMatchObject({ phase: 'Initializing', canaryWeight: 0 });
    expect(statusOf(await bed.canary()).lastAppliedSpec).toBeUndefined();
    expect(await holdfast(toFlagger)).toMatchObject({ code: 0 });

    await bed.start();
    await eventually(
      'it is Holdfast’s again',
      async () => statusOf(await bed.canary()).phase === 'Succeeded',
    );
    expect(statusOf(await bed.canary()).history).toBeUndefined();
    expect(await podNames()).toEqual(before);
  });

  test('is no loss: what Flagger finds bad afterwards is not tried again when Holdfast comes back', async () => {
    await leaveBehind(bed.send, scene({ status: { phase: 'Succeeded' } }));
    const app = await bed.start();
    await untilReady();
    await app.drain();
    expect(await holdfast(toFlagger)).toMatchObject({ code: 0 });
    const before = await podNames();
    await otherTool(bed).apply(JSON.stringify(version(2)));
    await eventually('its ReplicaSet', async () => {
      const { body } = await bed.send('GET', '/apis/apps/v1/namespaces/shop/replicasets');
      return JSON.stringify(body).includes('shop/web:2');
    });
    await bed.pass(20_000);
    await asFlagger({ phase: 'Failed', lastAppliedSpec: '85d557f47b', lastPromotedSpec: '6c9f8b44d5' });
    expect((await foretold()).rows).toMatchObject([
      { outcome: 'ours', what: expect.stringContaining('not retried') },
    ]);
    await bed.start();
    await eventually('barred', async () => {
      const { rejected = [] } = statusOf(await bed.canary()) as { rejected?: Array<{ reason: string }> };
      return rejected[0]?.reason === 'FailedUnderFlagger';
    });
    expect(statusOf(await bed.canary()).history).toBeUndefined();
    expect(await podNames()).toEqual(before);
  });

  test('refuses a Canary whose target holds what nobody analysed', async () => {
    await leaveBehind(bed.send, scene({ status: { phase: 'Succeeded' } }));
    const app = await bed.start();
    await untilReady();
    await app.drain();
    await otherTool(bed).apply(JSON.stringify(version(2)));
    const { code, text } = await holdfast(toFlagger);
    expect(code).toBe(1);
    expect(flat(text)).toMatch(/refused .* Flagger would treat as promoted/);
    expect(statusOf(await bed.canary()).phase).toBe('Succeeded');
  });

  test('leaves what Holdfast never took over as it is, and refuses while Flagger runs', async () => {
    await leaveBehind(bed.send, scene({ status: { phase: 'Succeeded' } }));
    const before = statusOf(await bed.canary());
    expect(await holdfast(toFlagger)).toMatchObject({
      code: 0,
      text: expect.stringContaining("Flagger's already"),
    });
    await startFlagger();
    expect(await holdfast(toFlagger)).toMatchObject({
      code: 2,
      text: expect.stringContaining('scale Flagger to zero'),
    });
    expect(statusOf(await bed.canary())).toEqual(before);
  });
});

/** Holdfast's Deployment, scaled to zero. */
async function installed(args: readonly string[]): Promise<void> {
  const env = [{ name: 'WHERE', value: 'shop' }];
  const labels = { app: 'holdfast' };
  const template = {
    metadata: { labels },
    spec: { containers: [{ name: 'holdfast', image: 'h:1', args, env }] },
  };
  const spec = { replicas: 0, selector: { matchLabels: labels }, template };
  const namespace = 'holdfast-system';
  await bed.send('POST', '/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
  });
  const metadata = { name: 'holdfast', namespace };
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments`;
  await bed.send('POST', path, { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec });
}

/** The status as Flagger's client writes it: with the fields that it knows, and no others. */
async function asFlagger(status: Record<string, unknown>): Promise<void> {
  const canary = await bed.canary();
  const lastTransitionTime = new Date().toISOString().replace(/\.\d+Z/, 'Z');
  const path = '/apis/flagger.app/v1beta1/namespaces/shop/canaries/web/status?fieldManager=flagger';
  await bed.send('PUT', path, { ...canary, status: { canaryWeight: 0, ...status, lastTransitionTime } });
}

/** One line, wherever the screen breaks it. */
function flat(text: string): string {
  return text.replace(/\s+/g, ' ');
}

/** Asking for one's rights stores nothing. */
function writes({ method, path }: LoggedRequest): boolean {
  return method !== 'GET' && !path.endsWith('/selfsubjectaccessreviews');
}

async function untilReady(): Promise<void> {
  await eventually('ready', async () => condition(await bed.canary(), 'Ready')?.status === 'True', {
    seen: async () => statusOf(await bed.canary()),
  });
}

async function podNames(): Promise<string[]> {
  const { body } = await bed.send('GET', '/api/v1/namespaces/shop/pods');
  return (body as { items: KubernetesObject[] }).items.map(({ metadata }) => metadata.name).sort();
}

async function startFlagger(): Promise<void> {
  const labels = { 'app.kubernetes.io/name': 'flagger' };
  const metadata = { name: 'flagger', namespace: 'flagger-system', labels };
  const containers = [{ name: 'flagger', image: 'flagger:1.44.0' }];
  const template = { metadata: { labels }, spec: { containers } };
  const spec = { replicas: 1, selector: { matchLabels: labels }, template };
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'flagger-system' } };
  await bed.send('POST', '/api/v1/namespaces', namespace);
  const path = '/apis/apps/v1/namespaces/flagger-system/deployments';
  await bed.send('POST', path, { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec });
  await eventually('Flagger is available', async () => {
    const flagger = await bed.get('apps/v1', 'Deployment', 'flagger', 'flagger-system');
    return statusOf(flagger).availableReplicas === 1;
  });
}
