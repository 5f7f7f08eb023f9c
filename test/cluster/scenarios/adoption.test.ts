import { beforeAll, describe, expect, test } from 'vitest';
import type { Canary } from '../../../src/api/canary.ts';
import type { CanaryStatus } from '../../../src/api/canary-status.ts';
import { allCrds } from '../../../src/api/crd.ts';
import type { KubernetesObject } from '../../../src/api/kubernetes.ts';
import { leaveBehind, type Scene } from '../../flagger/left-behind.ts';
import { type BedClient, useBed, waitFor } from '../bed/client.ts';
import { gateway } from '../bed/gateway.ts';
import { deployment } from '../bed/manifests.ts';
import { createProgram } from './program.ts';
import { condition, imageOf, untilAnswered } from './shop.ts';

const bed: BedClient = useBed();

beforeAll(async () => {
  await bed.apply(allCrds());
  await bed.kubectl(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);
});

/** The application as another tool applies it: a version, and config that it reads. */
function workload(namespace: string, version: string, env: Record<string, string> = {}): KubernetesObject {
  const object = deployment({
    name: 'podinfo',
    image: `app:${version}`,
    env: { SHUTDOWN_DELAY_MS: '2000', ...env },
    container: { envFrom: [{ configMapRef: { name: 'settings' } }] },
    progressDeadlineSeconds: 600,
  });
  return { ...object, metadata: { ...object.metadata, namespace } };
}

function settings(namespace: string, mode: string): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'settings', namespace },
    data: { MODE: mode },
  };
}

function canary(namespace: string): KubernetesObject {
  return {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { name: 'podinfo', namespace },
    spec: {
      provider: 'gatewayapi:v1',
      targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'podinfo' },
      progressDeadlineSeconds: 60,
      service: {
        port: 80,
        targetPort: 'http',
        hosts: [`${namespace}.example.com`],
        gatewayRefs: [{ ...gateway }],
      },
      analysis: { interval: '2s', threshold: 2, stepWeights: [10, 40, 70] },
    },
  } as unknown as KubernetesObject;
}

/** Leaves a scene, waits until it answers, starts Holdfast under load, and ends both when the look was satisfied. */
async function adopt(
  namespace: string,
  left: Partial<Scene> & Pick<Scene, 'status'>,
  look: (seen: Seen) => Promise<void>,
): Promise<{ failed: number; requests: number }> {
  await bed.createNamespace(namespace);
  const send = async (method: string, path: string, body: unknown, contentType?: string) => {
    const headers: Record<string, string> = contentType ? { 'content-type': contentType } : {};
    return { status: 200, body: await bed.api.request(method, path, body, headers) };
  };
  const v1 = workload(namespace, 'v1');
  await leaveBehind(send, {
    canary: canary(namespace),
    target: v1,
    promoted: v1,
    configs: [settings(namespace, 'one')],
    targetReplicas: 0,
    ...left,
  });
  const startLoad = () => bed.startLoad({ hostHeader: `${namespace}.example.com`, requestsPerSecond: 25 });
  await untilAnswered(namespace, startLoad);
  const seen = watching(namespace);
  await seen.rollsOut();
  const program = createProgram(bed, namespace, undefined);
  const load = startLoad();
  program.start();
  await look(seen);
  const { failed, requests } = await load.stop();
  await program.stop();
  await bed.clearNamespace(namespace);
  return { failed, requests };
}

/** What a test looks at in one namespace. */
interface Seen {
  readonly pods: (name: RegExp) => Promise<string[]>;
  readonly primary: () => Promise<KubernetesObject | undefined>;
  readonly until: (what: string, holds: (status: CanaryStatus) => boolean) => Promise<CanaryStatus>;
  /** Until all pods of the scene are as their workloads want them. */
  readonly rollsOut: () => Promise<void>;
}

function watching(namespace: string): Seen {
  const status = async () =>
    ((await bed.readObject('Canary', namespace, 'podinfo')) as Canary | undefined)?.status ?? {};
  return {
    async pods(name) {
      const pods = await bed.listObjects('Pod', namespace);
      const alive = pods.filter(({ metadata }) => name.test(metadata.name) && !metadata.deletionTimestamp);
      return alive.map((pod) => `${pod.metadata.uid} ${restartsOf(pod)}`).sort();
    },
    primary: () => bed.readObject('Deployment', namespace, 'podinfo-primary'),
    until: (what, holds) =>
      waitFor(
        async () => {
          const now = await status();
          return holds(now) ? now : undefined;
        },
        { timeoutMs: 120_000, intervalMs: 100, what: `${namespace}: ${what}`, describe: status },
      ),
    rollsOut: async () => {
      await bed.kubectl(['-n', namespace, 'rollout', 'status', 'deployment/podinfo', '--timeout=60s']);
    },
  };
}

function templateOf(workload: KubernetesObject | undefined): unknown {
  return (workload?.spec as { template?: unknown } | undefined)?.template;
}

function restartsOf({ status }: KubernetesObject): number {
  const { containerStatuses = [] } = (status ?? {}) as {
    containerStatuses?: Array<{ restartCount: number }>;
  };
  return containerStatuses.reduce((sum, { restartCount }) => sum + restartCount, 0);
}

const primaryPods = /^podinfo-primary-/;
const canaryPods = /^podinfo-(?!primary-)/;
const isReady = (status: CanaryStatus) => condition(status, 'Ready') === 'True';

describe.concurrent('a cluster where Flagger ran', () => {
  test.each(['Initialized', 'Succeeded'])(
    'is taken over in phase %s without a restart and without a rollout',
    async (phase) => {
      const namespace = `adopt-${phase.toLowerCase()}`;
      const { failed, requests } = await adopt(namespace, { status: { phase } }, async (seen) => {
        const before = await seen.pods(primaryPods);
        const template = templateOf(await seen.primary());
        const status = await seen.until('at rest', isReady);
        await new Promise((resolve) => setTimeout(resolve, 5_000));
        expect(status).toMatchObject({ phase, lastAppliedSpec: expect.stringMatching(/^v1:/) });
        expect(status.history).toBeUndefined();
        expect(condition(status, 'Drifted')).toBe('False');
        expect(await seen.pods(primaryPods)).toEqual(before);
        expect(templateOf(await seen.primary())).toEqual(template);
        expect(await seen.pods(canaryPods)).toEqual([]);
      });
      expect(failed).toBe(0);
      expect(requests).toBeGreaterThan(100);
    },
  );

  test('is taken over in phase Failed: what failed is not tried again, and a fix gets through', async () => {
    const namespace = 'adopt-failed';
    const left = {
      target: workload(namespace, 'v2'),
      configs: [settings(namespace, 'two')],
      promotedConfigs: [settings(namespace, 'one')],
      status: { phase: 'Failed' },
    };
    const { failed } = await adopt(namespace, left, async (seen) => {
      const before = await seen.pods(primaryPods);
      const status = await seen.until('barred', ({ rejected }) => rejected?.length === 1);
      expect(status.rejected).toMatchObject([{ reason: 'FailedUnderFlagger' }]);
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      expect(await seen.pods(primaryPods)).toEqual(before);
      expect(await seen.pods(canaryPods)).toEqual([]);
      const flux = ['--server-side', '--force-conflicts', '--field-manager=kustomize-controller'];
      await bed.kubectl(['apply', ...flux, '-f', '-'], JSON.stringify(workload(namespace, 'v3')));
      await seen.until('v3 is promoted', ({ phase }) => phase === 'Succeeded');
      expect(imageOf(await seen.primary())).toBe('app:v3');
    });
    expect(failed).toBe(0);
  });

  test('is taken over in phase Progressing: the release is tried from the start', async () => {
    const namespace = 'adopt-progressing';
    const left = {
      target: workload(namespace, 'v2'),
      targetReplicas: 2,
      canaryWeight: 40,
      status: { phase: 'Progressing', canaryWeight: 40 },
    };
    const { failed } = await adopt(namespace, left, async (seen) => {
      const [primary, target] = [await seen.pods(primaryPods), await seen.pods(canaryPods)];
      await seen.until(
        'the first step',
        ({ lastKnownGood, canaryWeight }) => lastKnownGood !== undefined && canaryWeight === 10,
      );
      expect(await seen.pods(primaryPods)).toEqual(primary);
      expect(await seen.pods(canaryPods)).toEqual(target);
      await seen.until('v2 is promoted', ({ phase }) => phase === 'Succeeded');
      expect(imageOf(await seen.primary())).toBe('app:v2');
    });
    expect(failed).toBe(0);
  });

  test('is taken over in phase Promoting: the promotion is carried to its end', async () => {
    const namespace = 'adopt-promoting';
    const v2 = workload(namespace, 'v2');
    const left = {
      target: v2,
      promoted: v2,
      targetReplicas: 2,
      canaryWeight: 60,
      status: { phase: 'Promoting', canaryWeight: 60 },
    };
    const { failed } = await adopt(namespace, left, async (seen) => {
      const before = await seen.pods(primaryPods);
      const status = await seen.until('at rest', isReady);
      expect(status.canaryWeight).toBe(0);
      expect(await seen.pods(primaryPods)).toEqual(before);
    });
    expect(failed).toBe(0);
  });

  test('is taken over after a failed promotion: the canary serves until the primary is up', async () => {
    const namespace = 'adopt-stalled';
    const v2 = workload(namespace, 'v2', { PRIMARY_READY_AFTER_MS: '30000' });
    const left = {
      target: v2,
      promoted: v2,
      targetReplicas: 2,
      canaryWeight: 100,
      status: { phase: 'Failed', canaryWeight: 100 },
    };
    const { failed } = await adopt(namespace, left, async (seen) => {
      const before = await seen.pods(primaryPods);
      const status = await seen.until('at rest', isReady);
      expect(status).toMatchObject({ phase: 'Initialized', canaryWeight: 0 });
      expect(await seen.pods(primaryPods)).toEqual(before);
    });
    expect(failed).toBe(0);
  });
});
