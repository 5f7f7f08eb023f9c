import type { PodOutcome } from '../../sandbox/controllers/pod-behaviour.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { canary, deployment, imageOf, onGateway, statusOf } from '../sandbox/holdfast-bed.ts';
import { sourceOf, type World } from './world.ts';

/** What a scenario and its end are told by. */
export interface Seen {
  readonly canary: KubernetesObject | undefined;
  readonly status: Readonly<Record<string, unknown>>;
  /** Image of a workload. */
  image(name: string): string | undefined;
  readonly hasRoute: boolean;
}

/** One thing that people do, as soon as something is there to be seen. */
interface Act {
  readonly when: (seen: Seen) => boolean;
  readonly act: (world: World) => unknown;
}

/** A reference scenario: what people commit and do, and what the pods do. */
export interface Scenario {
  readonly name: string;
  readonly commits: ReadonlyArray<Readonly<Record<string, string | null>>>;
  readonly acts: readonly Act[];
  readonly isOver: (seen: Seen) => boolean;
  readonly pods?: (pod: KubernetesObject) => PodOutcome | undefined;
  /** Requests of users fail in the undisturbed run, too. */
  readonly usersMayFail?: true;
  /** What becomes of the releases on the way depends on when Git is read. */
  readonly historyMayDiffer?: true;
  /** Another tool applies the target. */
  readonly hasForeignTarget?: true;
  /** The target moves to another Source with its next release, which may be written before that one was read again after a start. */
  readonly memberMayDiffer?: true;
  /** What stays in the end would not come back: old pods that serve beside new ones, Services without a Canary. */
  readonly leavesSome?: true;
}

const workloads = ['apps/deployments', 'apps/daemonsets', 'apps/statefulsets'];

/** What is there now, read from the store itself. */
export function look({ sandbox: { store } }: World): Seen {
  const found = store.get('flagger.app/canaries', 'shop', 'web');
  return {
    canary: found,
    status: statusOf(found),
    image: (name) =>
      imageOf(workloads.map((kind) => store.get(kind, 'shop', name)).find((one) => one !== undefined)),
    hasRoute: store.get('gateway.networking.k8s.io/httproutes', 'shop', 'web') !== undefined,
  };
}

/** What Canaries ask for: what users of a workload see, and something that is always there. */
const queries = {
  success: 'sandbox_success_rate{namespace="{{ namespace }}",workload="{{ target }}"}',
  alive: 'vector(100)',
};

function metric(name: keyof typeof queries) {
  return [{ name, templateRef: { name }, thresholdRange: { min: 99 }, interval: '10s' }];
}

/** The objects of these metrics. */
export function metricTemplates(address: string): unknown[] {
  return Object.entries(queries).map(([name, query]) => ({
    apiVersion: 'flagger.app/v1beta1',
    kind: 'MetricTemplate',
    metadata: { name, namespace: 'shop' },
    spec: { provider: { type: 'prometheus', address }, query },
  }));
}

/** Checks that fail for as long as a fault of Prometheus lasts. */
const patience = { interval: '10s', threshold: 12 };
const byIterations = { ...patience, iterations: 3, metrics: metric('alive') };
const bySteps = {
  ...patience,
  iterations: undefined,
  stepWeight: 25,
  maxWeight: 50,
  metrics: metric('success'),
};

/** A Canary whose deadlines leave time for every fault that passes. */
function web(spec: Record<string, unknown> = {}, analysis: Record<string, unknown> = byIterations): string {
  return canary({
    analysis,
    spec: {
      progressDeadlineSeconds: 600,
      postPromotion: { interval: '10s', successThreshold: 2 },
      ...spec,
    },
  });
}

/** The application with a ConfigMap in its environment. */
function withConfig(image: string, colour: string): Record<string, string> {
  const workload = JSON.parse(deployment(image));
  workload.spec.template.spec.containers[0].envFrom = [{ configMapRef: { name: 'settings' } }];
  const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'shop' } };
  return {
    'web.json': JSON.stringify(workload),
    'config.json': JSON.stringify({ ...config, data: { colour } }),
  };
}

const image = (version: number) => `shop/web:${version}`;
const v = (version: number, env: Record<string, string> = {}) => ({
  'web.json': deployment(image(version), { env }),
});
const common = (manifest = web()) => ({ 'canary.json': manifest });

const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'shop' },
  spec: { selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
};

const sources = '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources';
const isNothing = () => true;
const isAtRest = ({ status }: Seen, phase: string) => status.phase === phase && status.run === undefined;
const isInitialized = (seen: Seen) => isAtRest(seen, 'Initialized');
const isLive = (version: number) => (seen: Seen) =>
  isAtRest(seen, 'Succeeded') && seen.image('web-primary') === image(version);
const isBackOn = (version: number) => (seen: Seen) =>
  isAtRest(seen, 'Failed') && seen.image('web-primary') === image(version);
const follow: Act = {
  when: isNothing,
  act: (world) => world.send('POST', sources, sourceOf(world)),
};
const push = (commit: number, when: Act['when']): Act => ({ when, act: ({ git }) => git.setHead(commit) });

/** Of two commits, the second one when the first has become the primary. */
function release(
  name: string,
  commits: Scenario['commits'],
  isOver: Scenario['isOver'],
  more: Partial<Scenario> = {},
): Scenario {
  return { name, commits, acts: [follow, push(1, isInitialized)], isOver, ...more };
}

const canaries = '/apis/flagger.app/v1beta1/namespaces/shop/canaries';

const deployments = '/apis/apps/v1/namespaces/shop/deployments';
const mergePatch = 'application/merge-patch+json';
const targetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
const scaler = { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler', name: 'web' };

const providerOf = ({ canary: found }: Seen) => (found?.spec as { provider?: string } | undefined)?.provider;

function autoscaler() {
  return {
    apiVersion: scaler.apiVersion,
    kind: scaler.kind,
    metadata: { name: 'web', namespace: 'shop' },
    spec: { scaleTargetRef: targetRef, minReplicas: 2, maxReplicas: 4 },
  };
}

function daemonSet(name: string): string {
  const { kind: _, spec, ...object } = JSON.parse(deployment(name));
  return JSON.stringify({ ...object, kind: 'DaemonSet', spec: { ...spec, replicas: undefined } });
}

/** What changes a Deployment to this version. */
function withImage(version: number, env: Record<string, string> = {}): unknown {
  const { template } = JSON.parse(deployment(image(version), { env })).spec;
  return { spec: { template } };
}

/** The commit with this subject whose release is on record. */
function commitOf({ sandbox: { store } }: World, subject: string): string {
  const annotations = store.list('/secrets', 'shop').map(({ metadata }) => metadata.annotations ?? {});
  const record = annotations.find((each) => each['holdfast.dev/subject'] === subject);
  return record?.['holdfast.dev/commit'] ?? '';
}

function annotate(world: World, annotations: Record<string, string | null>): Promise<void> {
  return world.send('PATCH', `${canaries}/web`, { metadata: { annotations } }, mergePatch);
}

const isUnderWay = ({ status }: Seen) => status.phase === 'Progressing' && Number(status.iterations) > 0;

function statefulSet(name: string): string {
  const { kind: _, spec, ...object } = JSON.parse(deployment(name));
  return JSON.stringify({ ...object, kind: 'StatefulSet', spec: { ...spec, serviceName: 'web' } });
}

/** Another tool applies the target, and changes it when the first release is there. */
function releaseOfAnotherTool(
  name: string,
  manifest: string,
  change: unknown,
  isOver: Scenario['isOver'],
): Scenario {
  return {
    name,
    hasForeignTarget: true,
    commits: [common(manifest)],
    acts: [
      { when: isNothing, act: (world) => world.send('POST', deployments, JSON.parse(deployment(image(1)))) },
      follow,
      {
        when: isInitialized,
        act: (world) => world.send('PATCH', `${deployments}/web`, change, mergePatch),
      },
    ],
    isOver,
  };
}

/** The reference scenarios. */
export const scenarios: readonly Scenario[] = [
  {
    name: 'first rollout',
    commits: [{ ...common(), ...v(1) }],
    acts: [follow],
    isOver: isInitialized,
  },
  release('healthy release', [{ ...common(), ...v(1) }, v(2)], isLive(2)),
  release('healthy release by steps', [{ ...common(web(onGateway, bySteps)), ...v(1) }, v(2)], isLive(2)),
  release(
    'healthy release of the native provider',
    [
      {
        ...common(web({ provider: 'native', service: undefined }, { ...bySteps, metrics: undefined })),
        ...v(1),
        'service.json': JSON.stringify(service),
      },
      v(2),
    ],
    (seen) => isAtRest(seen, 'Succeeded') && seen.image('web') === image(2),
  ),
  release(
    'bad release stopped',
    [{ ...common(web(onGateway, bySteps)), ...v(1) }, v(2, { ERROR_PERCENT: '50' })],
    isBackOn(1),
    { usersMayFail: true },
  ),
  release(
    'primary that does not come up',
    [{ ...common(web({ progressDeadlineSeconds: 120 })), ...v(1) }, v(2, { PRIMARY_READY: 'false' })],
    isBackOn(1),
  ),
  release(
    'checks that fail after the promotion',
    [
      {
        ...common(
          web({ ...onGateway, postPromotion: { interval: '10s', metrics: metric('success') } }, bySteps),
        ),
        ...v(1),
      },
      v(2, { PRIMARY_ERROR_PERCENT: '50' }),
    ],
    isBackOn(1),
    { usersMayFail: true },
  ),
  release(
    'release that is held',
    [
      {
        ...common(
          web({ progressDeadlineSeconds: 120, postPromotion: { interval: '10s', onFailure: 'hold' } }),
        ),
        ...v(1),
      },
      v(2, { PRIMARY_READY: 'false' }),
    ],
    ({ status }) => (status.postPromotion as { state?: string } | undefined)?.state === 'Held',
    { leavesSome: true },
  ),
  release(
    'git revert',
    [
      { ...common(web({ progressDeadlineSeconds: 120 })), ...v(1) },
      v(2, { PRIMARY_READY: 'false' }),
      v(1),
      v(3),
    ],
    isLive(3),
    {
      acts: [
        follow,
        push(1, isInitialized),
        push(2, isBackOn(1)),
        push(3, ({ status }) => status.phase === 'Succeeded' && status.run === undefined),
      ],
    },
  ),
  release(
    'config change',
    [{ ...common(), ...withConfig(image(1), 'blue') }, withConfig(image(1), 'green')],
    isLive(1),
  ),
  release('two releases in a row', [{ ...common(), ...v(1) }, v(2), v(3)], isLive(3), {
    historyMayDiffer: true,
    acts: [follow, push(1, isInitialized), push(2, isUnderWay)],
  }),
  {
    name: 'deletion',
    leavesSome: true,
    // Git holds no Canary, so that nobody creates it again.
    commits: [v(1)],
    acts: [
      {
        when: isNothing,
        act: (world) => world.send('POST', canaries, JSON.parse(web({ revertOnDeletion: true }))),
      },
      follow,
      { when: isInitialized, act: (world) => world.send('DELETE', `${canaries}/web`) },
    ],
    isOver: (seen) => seen.canary === undefined && seen.image('web-primary') === undefined,
  },
  release(
    'takeover of what runs, and pruning',
    [
      { ...common(), ...withConfig(image(1), 'blue'), 'old.json': JSON.stringify(old()) },
      { 'old.json': null, ...v(2) },
    ],
    isLive(2),
    {
      acts: [
        {
          when: isNothing,
          act: (world) =>
            world.send('POST', '/apis/apps/v1/namespaces/shop/deployments', JSON.parse(deployment(image(1)))),
        },
        { ...follow, when: () => true },
        push(1, isInitialized),
      ],
    },
  ),
  release(
    'bad release of the native provider',
    [
      {
        ...common(
          web(
            { provider: 'native', service: undefined, progressDeadlineSeconds: 120 },
            { ...bySteps, metrics: undefined },
          ),
        ),
        ...v(1),
        'service.json': JSON.stringify(service),
      },
      v(2, { READY: 'false' }),
    ],
    (seen) => isAtRest(seen, 'Failed') && seen.image('web') === image(1),
  ),
  release(
    'release with a scaler',
    [
      { ...common(web({ autoscalerRef: scaler })), ...v(1), 'scaler.json': JSON.stringify(autoscaler()) },
      v(2),
    ],
    isLive(2),
  ),
  release(
    'release of a DaemonSet',
    [
      { ...common(web({ targetRef: { ...targetRef, kind: 'DaemonSet' } })), 'web.json': daemonSet(image(1)) },
      { 'web.json': daemonSet(image(2)) },
    ],
    isLive(2),
  ),
  release(
    'release to some users by a header',
    [
      {
        ...common(
          web(onGateway, {
            ...byIterations,
            match: [{ headers: { 'x-canary': { exact: 'yes' } } }],
          }),
        ),
        ...v(1),
      },
      v(2),
    ],
    isLive(2),
  ),
  release(
    'change of the provider',
    [{ ...common(), ...v(1) }, common(web(onGateway))],
    (seen) => isInitialized(seen) && providerOf(seen) === onGateway.provider && seen.hasRoute,
  ),
  release(
    'Canary that leaves Git',
    [{ ...common(web({ revertOnDeletion: true })), ...v(1) }, { 'canary.json': null }],
    (seen) => seen.canary === undefined && seen.image('web-primary') === undefined,
    { leavesSome: true },
  ),
  releaseOfAnotherTool('release of a target that another tool applies', web(), withImage(2), isLive(2)),
  releaseOfAnotherTool(
    'bad release of a target that another tool applies',
    web({ progressDeadlineSeconds: 120 }),
    withImage(2, { PRIMARY_READY: 'false' }),
    isBackOn(1),
  ),
  release('rollback that a person asks for', [{ ...common(), ...v(1) }, v(2)], isBackOn(1), {
    acts: [
      follow,
      push(1, isInitialized),
      {
        when: isLive(2),
        act: (world) => annotate(world, { 'holdfast.dev/rollback-to': commitOf(world, 'commit 1') }),
      },
    ],
  }),
  {
    name: 'Canary that moves to another Source',
    memberMayDiffer: true,
    commits: [
      { ...within('a', { ...common(), ...v(1) }), ...within('b', { 'old.json': JSON.stringify(old()) }) },
      {
        ...within('a', { 'canary.json': null, 'web.json': null, 'old.json': JSON.stringify(old('new')) }),
        ...within('b', { 'canary.json': adopted(web()), 'web.json': adopted(deployment(image(1))) }),
      },
      within('b', { 'web.json': adopted(deployment(image(2))) }),
    ],
    acts: [
      {
        when: isNothing,
        act: (world) => world.send('POST', sources, sourceOf(world, 'shop', { path: 'a' })),
      },
      {
        when: isNothing,
        act: (world) => world.send('POST', sources, sourceOf(world, 'other', { path: 'b' })),
      },
      push(1, isInitialized),
      push(2, ({ canary: found }) => found?.metadata.annotations?.['holdfast.dev/adopt'] === 'true'),
    ],
    isOver: isLive(2),
  },
  release(
    'Canary that is invalid for a while during a release',
    [{ ...common(), ...v(1) }, v(2), common(web({ provider: 'unheard-of' })), common()],
    isLive(2),
    {
      acts: [
        follow,
        push(1, isInitialized),
        push(2, isUnderWay),
        push(3, ({ status }) => JSON.stringify(status.conditions).includes('unheard-of')),
      ],
    },
  ),
  release('release that a person pauses', [{ ...common(), ...v(1) }, v(2)], isLive(2), {
    acts: [
      follow,
      push(1, isInitialized),
      { when: isUnderWay, act: (world) => annotate(world, { 'holdfast.dev/pause': 'true' }) },
      {
        when: ({ status }) =>
          (status.run as { paused?: unknown } | undefined)?.paused !== undefined ||
          String(status.message).includes('paused'),
        act: (world) => annotate(world, { 'holdfast.dev/pause': null }),
      },
    ],
  }),
  release(
    'release of a StatefulSet',
    [
      {
        ...common(
          web(
            { provider: 'native', service: undefined, targetRef: { ...targetRef, kind: 'StatefulSet' } },
            { ...bySteps, metrics: undefined },
          ),
        ),
        'web.json': statefulSet(image(1)),
        'service.json': JSON.stringify(service),
      },
      { 'web.json': statefulSet(image(2)) },
    ],
    (seen) => isAtRest(seen, 'Succeeded') && seen.image('web') === image(2),
  ),
];

/** These files in a folder. */
function within(folder: string, files: Readonly<Record<string, string | null>>) {
  return Object.fromEntries(Object.entries(files).map(([name, content]) => [`${folder}/${name}`, content]));
}

/** A manifest that its Source takes over from another one. */
function adopted(manifest: string): string {
  const { metadata, ...object } = JSON.parse(manifest);
  return JSON.stringify({
    ...object,
    metadata: { ...metadata, annotations: { 'holdfast.dev/adopt': 'true' } },
  });
}

function old(name = 'old') {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'shop' },
    data: { is: 'old' },
  };
}
