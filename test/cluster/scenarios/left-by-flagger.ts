import type { Canary } from '../../../src/api/canary/canary.ts';
import type { KubernetesObject } from '../../../src/api/kubernetes.ts';
import { leaveBehind, type Scene } from '../../flagger/left-behind.ts';
import { type BedClient, waitFor } from '../bed/client.ts';
import { gateway } from '../bed/gateway.ts';
import type { Load } from '../bed/load.ts';
import { deployment } from '../bed/manifests.ts';
import { untilAnswered } from './shop.ts';
import { followStatus, type StatusTrail } from './status-trail.ts';

/** What Flagger left of one application; at rest with v1, unless said otherwise. */
export interface Left extends Pick<Scene, 'status'>, Partial<Pick<Scene, 'canaryWeight' | 'targetReplicas'>> {
  /** What the target holds, and what was promoted last. */
  readonly version?: string;
  readonly promotedVersion?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Of the analysis. */
  readonly webhooks?: readonly unknown[];
  /** With `revertOnDeletion` and Flagger's finalizer; deleted when Flagger stopped. */
  readonly isDeleted?: boolean;
}

/** An application in a namespace of its own, with traffic on it, and what a test looks at. */
export interface Adopted {
  readonly namespace: string;
  readonly load: Load;
  /** Names of pods, each with its number of restarts, before Holdfast came. */
  readonly before: readonly string[];
  /** Of the primary, then. */
  readonly template: unknown;
  /** The same of the pods that are there now and not on their way out; the pattern is about the whole of it. */
  pods(pattern: RegExp): Promise<string[]>;
  primary(): Promise<KubernetesObject | undefined>;
  readonly until: StatusTrail['until'];
  untilGone(): Promise<void>;
  /** Looks no more. */
  close(): void;
}

/** The application as another tool applies it: a version, and config that it reads. */
export function workload(
  namespace: string,
  version: string,
  env: Readonly<Record<string, string>> = {},
): KubernetesObject {
  const object = deployment({
    name: 'podinfo',
    image: `app:${version}`,
    env: { SHUTDOWN_DELAY_MS: '2000', ...env },
    container: { envFrom: [{ configMapRef: { name: 'settings' } }] },
    progressDeadlineSeconds: 600,
  });
  return { ...object, metadata: { ...object.metadata, namespace } };
}

/** The ConfigMap of its pods. */
export function settings(mode: string): KubernetesObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' }, data: { MODE: mode } };
}

const quick = { interval: '1s', threshold: 2, stepWeights: [10, 40, 70] };

/** Its Canary. */
export function canaryIn(namespace: string, spec: Readonly<Record<string, unknown>> = {}): KubernetesObject {
  return {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { name: 'podinfo', namespace },
    spec: {
      provider: 'gatewayapi:v1',
      targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'podinfo' },
      // All that is left behind must stand before Holdfast starts, which takes a busy machine its time.
      progressDeadlineSeconds: 600,
      service: {
        port: 80,
        targetPort: 'http',
        hosts: [`${namespace}.example.com`],
        gatewayRefs: [{ ...gateway }],
      },
      analysis: quick,
      ...spec,
    },
  };
}

/** Leaves it, and puts load on it once its pods are up and it answers. */
export async function leaveUnderLoad(bed: BedClient, namespace: string, left: Left): Promise<Adopted> {
  await bed.createNamespace(namespace);
  const send = async (method: string, path: string, body: unknown, contentType?: string) => {
    const headers: Record<string, string> = contentType ? { 'content-type': contentType } : {};
    return { status: 200, body: await bed.api.request(method, path, body, headers) };
  };
  await leaveBehind(send, sceneOf(namespace, left));
  if (left.isDeleted) await bed.kubectl(['-n', namespace, 'delete', 'canary', 'podinfo', '--wait=false']);
  const startLoad = () => bed.startLoad({ hostHeader: `${namespace}.example.com`, requestsPerSecond: 20 });
  await bed.kubectl(['-n', namespace, 'rollout', 'status', 'deployment/podinfo', '--timeout=60s']);
  await untilAnswered(namespace, startLoad);
  const look = looksAt(bed, namespace);
  const before = await look.pods(/./);
  const { template } = ((await look.primary())?.spec ?? {}) as { template?: unknown };
  return { namespace, ...look, before, template, load: startLoad() };
}

function sceneOf(namespace: string, left: Left): Scene {
  const { version = 'v1', promotedVersion = 'v1', env, isDeleted, webhooks = [], ...rest } = left;
  const place = (object: KubernetesObject) => ({ ...object, metadata: { ...object.metadata, namespace } });
  const analysis = { ...quick, webhooks };
  const canary = canaryIn(namespace, { analysis, ...(isDeleted ? { revertOnDeletion: true } : {}) });
  const finalizers = isDeleted ? { finalizers: ['finalizer.flagger.app'] } : {};
  return {
    targetReplicas: 0,
    ...rest,
    canary: { ...canary, metadata: { ...canary.metadata, ...finalizers } },
    target: workload(namespace, version, env),
    promoted: workload(namespace, promotedVersion, env),
    configs: [place(settings('one'))],
    promotedConfigs: [place(settings('one'))],
  };
}

/** What a test looks at in that namespace. */
export function looksAt(
  bed: BedClient,
  namespace: string,
): Pick<Adopted, 'pods' | 'primary' | 'until' | 'untilGone' | 'close'> {
  const canary = async () => (await bed.readObject('Canary', namespace, 'podinfo')) as Canary | undefined;
  const trail = followStatus(bed, namespace);
  return {
    until: trail.until,
    close: trail.close,
    async pods(pattern) {
      const pods = await bed.listObjects('Pod', namespace);
      const alive = pods.filter(({ metadata }) => !metadata.deletionTimestamp);
      const named = alive.map((pod) => `${pod.metadata.name} ${restartsOf(pod)}`);
      return named.filter((pod) => pattern.test(pod)).sort();
    },
    primary: () => bed.readObject('Deployment', namespace, 'podinfo-primary'),
    untilGone: async () =>
      void (await waitFor(async () => (await canary()) === undefined, {
        timeoutMs: 120_000,
        what: `${namespace}: gone`,
        describe: async () => (await canary())?.status,
      })),
  };
}

function restartsOf({ status }: KubernetesObject): number {
  const { containerStatuses = [] } = (status ?? {}) as {
    containerStatuses?: Array<{ restartCount: number }>;
  };
  return containerStatuses.reduce((sum, { restartCount }) => sum + restartCount, 0);
}
