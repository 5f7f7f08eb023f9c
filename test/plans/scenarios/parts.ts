import { canary, deployment } from '../../sandbox/holdfast-bed.ts';
import type { Act, Scenario, Seen } from '../scenario.ts';
import { sourceOf, type World } from '../world.ts';

/** What Canaries ask for: what users of a workload see, and something that is always there. */
const queries = {
  success: 'sandbox_success_rate{namespace="{{ namespace }}",workload="{{ target }}"}',
  alive: 'vector(100)',
};

export function metric(name: keyof typeof queries) {
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
export const byIterations = { ...patience, iterations: 3, metrics: metric('alive') };
export const bySteps = {
  ...patience,
  iterations: undefined,
  stepWeight: 25,
  maxWeight: 50,
  metrics: metric('success'),
};

/** A Canary whose deadlines leave time for every fault that passes. */
export function web(
  spec: Record<string, unknown> = {},
  analysis: Record<string, unknown> = byIterations,
): string {
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
export function withConfig(image: string, colour: string): Record<string, string> {
  const workload = JSON.parse(deployment(image));
  workload.spec.template.spec.containers[0].envFrom = [{ configMapRef: { name: 'settings' } }];
  const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'shop' } };
  return {
    'web.json': JSON.stringify(workload),
    'config.json': JSON.stringify({ ...config, data: { colour } }),
  };
}

export const image = (version: number) => `shop/web:${version}`;
export const v = (version: number, env: Record<string, string> = {}) => ({
  'web.json': deployment(image(version), { env }),
});
export const common = (manifest = web()) => ({ 'canary.json': manifest });

export const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'shop' },
  spec: { selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
};

export const sources = '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources';
export const isNothing = () => true;
export const isAtRest = ({ status }: Seen, phase: string) =>
  status.phase === phase && status.run === undefined;
export const isInitialized = (seen: Seen) => isAtRest(seen, 'Initialized');
export const isLive = (version: number) => (seen: Seen) =>
  isAtRest(seen, 'Succeeded') && seen.image('web-primary') === image(version);
export const isBackOn = (version: number) => (seen: Seen) =>
  isAtRest(seen, 'Failed') && seen.image('web-primary') === image(version);
export const follow: Act = {
  when: isNothing,
  act: (world) => world.send('POST', sources, sourceOf(world)),
};
export const push = (commit: number, when: Act['when']): Act => ({
  when,
  act: ({ git }) => git.setHead(commit),
});

/** Of two commits, the second one when the first has become the primary. */
export function release(
  name: string,
  commits: Scenario['commits'],
  isOver: Scenario['isOver'],
  more: Partial<Scenario> = {},
): Scenario {
  return { name, commits, acts: [follow, push(1, isInitialized)], isOver, ...more };
}

export const canaries = '/apis/flagger.app/v1beta1/namespaces/shop/canaries';

export const deployments = '/apis/apps/v1/namespaces/shop/deployments';
export const mergePatch = 'application/merge-patch+json';
export const targetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
export const scaler = { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler', name: 'web' };

export const providerOf = ({ canary: found }: Seen) =>
  (found?.spec as { provider?: string } | undefined)?.provider;

export function autoscaler() {
  return {
    apiVersion: scaler.apiVersion,
    kind: scaler.kind,
    metadata: { name: 'web', namespace: 'shop' },
    spec: { scaleTargetRef: targetRef, minReplicas: 2, maxReplicas: 4 },
  };
}

export function daemonSet(name: string, env: Record<string, string> = {}): string {
  const { kind: _, spec, ...object } = JSON.parse(deployment(name, { env }));
  return JSON.stringify({ ...object, kind: 'DaemonSet', spec: { ...spec, replicas: undefined } });
}

/** What changes a Deployment to this version. */
export function withImage(version: number, env: Record<string, string> = {}): unknown {
  const { template } = JSON.parse(deployment(image(version), { env })).spec;
  return { spec: { template } };
}

/** The commit with this subject whose release is on record. */
export function commitOf({ sandbox: { store } }: World, subject: string): string {
  const annotations = store.list('/secrets', 'shop').map(({ metadata }) => metadata.annotations ?? {});
  const record = annotations.find((each) => each['holdfast.dev/subject'] === subject);
  return record?.['holdfast.dev/commit'] ?? '';
}

export function annotate(world: World, annotations: Record<string, string | null>): Promise<void> {
  return world.send('PATCH', `${canaries}/web`, { metadata: { annotations } }, mergePatch);
}

/** What comes after the promotion is in this state. */
export const isAfter =
  (state: string) =>
  ({ status }: Seen) =>
    (status.postPromotion as { state?: string } | undefined)?.state === state;

export const isUnderWay = ({ status }: Seen) =>
  status.phase === 'Progressing' && Number(status.iterations) > 0;

export function statefulSet(name: string, env: Record<string, string> = {}): string {
  const { kind: _, spec, ...object } = JSON.parse(deployment(name, { env }));
  return JSON.stringify({ ...object, kind: 'StatefulSet', spec: { ...spec, serviceName: 'web' } });
}

/** Another tool applies the target, and changes it when the first release is there. */
export function releaseOfAnotherTool(
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

/** These files in a folder. */
export function within(folder: string, files: Readonly<Record<string, string | null>>) {
  return Object.fromEntries(Object.entries(files).map(([name, content]) => [`${folder}/${name}`, content]));
}

/** A manifest that its Source takes over from another one. */
export function adopted(manifest: string): string {
  const { metadata, ...object } = JSON.parse(manifest);
  return JSON.stringify({
    ...object,
    metadata: { ...metadata, annotations: { 'holdfast.dev/adopt': 'true' } },
  });
}

export function old(name = 'old') {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'shop' },
    data: { is: 'old' },
  };
}
