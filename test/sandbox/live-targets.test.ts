import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { imageOf, replicasOf } from '../objects.ts';
import {
  canary,
  condition,
  configMap,
  createSource,
  deployment,
  eventually,
  isNotIdle,
  podUids,
  runUntilInitialized,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { fieldsOfHoldfast, type OtherTool, otherTool } from './other-tool.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
let flux: OtherTool;
beforeEach(async () => {
  bed = await startQuickBed();
  flux = otherTool(bed);
});
afterEach(() => bed.close());

/** A Deployment that says nothing of replicas, as Flagger's users write it. */
function target(image: string, more: { replicas?: number; config?: string } = {}): string {
  const object = JSON.parse(deployment(image)) as { spec: Record<string, unknown> };
  const { replicas: _, ...spec } = object.spec as {
    replicas: number;
    template: { spec: { containers: object[] } };
  };
  const [container] = spec.template.spec.containers;
  const envFrom = more.config ? { envFrom: [{ configMapRef: { name: more.config } }] } : {};
  spec.template.spec.containers = [{ ...container, ...envFrom }];
  return JSON.stringify({
    ...object,
    spec: more.replicas === undefined ? spec : { ...spec, replicas: more.replicas },
  });
}

const workload = (name: string) => bed.get('apps/v1', 'Deployment', name);

const primaryPods = () => podUids(bed, /^web-primary-/);

async function runFirst(first = target('shop/web:1'), more: string[] = []): Promise<void> {
  await flux.apply(...more, first, canary());
  await bed.start();
  await waitForPhase(bed, 'Initialized');
}

describe('a Canary whose target another tool applies', () => {
  test('is initialized from the live target, of which only the pods are written', async () => {
    await runFirst();
    const status = statusOf(await bed.canary());
    expect(imageOf(await workload('web-primary'))).toBe('shop/web:1');
    expect(status.lastKnownGood).toMatchObject({ commit: '', digest: expect.stringMatching(/^v1:/) });
    expect(condition(await bed.canary(), 'RollbackReady')?.status).toBe('True');
    expect(replicasOf(await workload('web'))).toBe(0);
    expect(fieldsOfHoldfast(await workload('web'))).toEqual(['spec.replicas']);
  });

  test('rolls a new template out, and takes a bad one back while the bad one stays on the target', async () => {
    await runFirst();
    await flux.apply(target('shop/web:2'));
    await waitForPhase(bed, 'Succeeded');
    expect(imageOf(await workload('web-primary'))).toBe('shop/web:2');

    const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
    bed.sandbox.behaviour.rule((pod) => {
      const isBad = imageOf({ spec: { template: { spec: pod.spec } } }) === 'shop/web:3';
      return isBad && pod.metadata.name.startsWith('web-primary-')
        ? { failure: 'CrashLoopBackOff' }
        : undefined;
    });
    await flux.apply(target('shop/web:3'));
    await waitForPhase(bed, 'Failed');
    sampler.stop();

    expect(sampler.totals().failed).toBe(0);
    expect(condition(await bed.canary(), 'Reverted')?.status).toBe('True');
    expect(imageOf(await workload('web-primary'))).toBe('shop/web:2');
    expect(imageOf(await workload('web'))).toBe('shop/web:3');
    expect(fieldsOfHoldfast(await workload('web'))).toEqual(['spec.replicas']);
  });

  test('stays quiet while the bad template is applied 200 times, and rolls a fix out', async () => {
    await runFirst();
    bed.sandbox.behaviour.rule((pod) => {
      const isBad = imageOf({ spec: { template: { spec: pod.spec } } }) === 'shop/web:2';
      return isBad ? { failure: 'ImagePullBackOff' } : undefined;
    });
    await flux.apply(target('shop/web:2'));
    await waitForPhase(bed, 'Failed');
    await eventually('the target rests', async () => replicasOf(await workload('web')) === 0);
    const before = { pods: primaryPods(), status: statusOf(await bed.canary()) };
    bed.sandbox.requests.clear();

    const kubectl = otherTool(bed, 'kubectl');
    for (let count = 0; count < 200; count += 1) {
      const tool = count % 2 === 0 ? flux : kubectl;
      await tool.apply(target('shop/web:2', { replicas: 2 }));
      if (count % 10 === 0) await bed.pass(1_000);
    }
    await bed.pass(20_000);

    const writes = bed.sandbox.requests.all().filter(({ method, userAgent, path }) => {
      return userAgent.startsWith('holdfast/') && method !== 'GET' && !path.includes('/leases');
    });
    // Once in a while, however often they write.
    expect(writes.length).toBeLessThanOrEqual(12);
    expect(primaryPods()).toEqual(before.pods);
    expect(statusOf(await bed.canary()).rejected).toEqual(before.status.rejected);
    expect(statusOf(await bed.canary()).phase).toBe('Failed');

    await flux.apply(target('shop/web:3'));
    await waitForPhase(bed, 'Succeeded');
    expect(imageOf(await workload('web-primary'))).toBe('shop/web:3');
  });

  test('goes back to rest without analysis when the tool puts the good template back', async () => {
    await runFirst();
    await flux.apply(target('shop/web:2'));
    await eventually(
      'the release is under way',
      async () => statusOf(await bed.canary()).phase === 'Progressing',
    );
    await flux.apply(target('shop/web:1'));
    await waitForPhase(bed, 'Succeeded');
    expect(imageOf(await workload('web-primary'))).toBe('shop/web:1');
    const [newest] = statusOf(await bed.canary()).history as Array<{ reason: string }>;
    expect(newest?.reason).toBe('RevertedInGit');
  });

  test('rolls a changed ConfigMap out, and gives the primary its old copy back when that fails', async () => {
    await runFirst(target('shop/web:1', { config: 'settings' }), [configMap('settings', { mode: 'one' })]);
    const copy = async () => {
      return ((await bed.get('v1', 'ConfigMap', 'settings-primary')) as { data?: object } | undefined)?.data;
    };
    expect(await copy()).toEqual({ mode: 'one' });
    await flux.apply(configMap('settings', { mode: 'two' }));
    await waitForPhase(bed, 'Succeeded');
    expect(await copy()).toEqual({ mode: 'two' });

    bed.sandbox.behaviour.rule((pod) =>
      pod.metadata.name.startsWith('web-primary-') ? { failure: 'CrashLoopBackOff' } : undefined,
    );
    await flux.apply(configMap('settings', { mode: 'three' }));
    await eventually(
      'the primary has the copy of before',
      async () => {
        const reverting = statusOf(await bed.canary()).postPromotion as { state?: string } | undefined;
        return reverting?.state === 'Reverting' && JSON.stringify(await copy()) === '{"mode":"two"}';
      },
      { timeoutMs: 120_000, seen: async () => [await copy(), statusOf(await bed.canary())] },
    );
    expect(fieldsOfHoldfast(await bed.get('v1', 'ConfigMap', 'settings'))).toEqual([]);
  });

  test('gives the canary new pods when only its config changes during the analysis', async () => {
    await runFirst(target('shop/web:1', { config: 'settings' }), [configMap('settings', { mode: 'one' })]);
    await flux.apply(configMap('settings', { mode: 'two' }));
    const pods = await eventually('the canary is ready', async () => {
      const found = podUids(bed, /^web-(?!primary)/);
      return found.length > 0 && statusOf(await bed.canary()).iterations === 1 && found;
    });
    await flux.apply(configMap('settings', { mode: 'three' }));
    await waitForPhase(bed, 'Progressing');
    await eventually('the pods with the old config are gone', async () => {
      const found = podUids(bed, /^web-(?!primary)/);
      return found.length > 0 && found.every((uid) => !pods.includes(uid));
    });
    await waitForPhase(bed, 'Succeeded');
    expect(statusOf(await bed.canary()).history).toHaveLength(1);
  });

  test('is brought up as a DaemonSet by its node selector alone', async () => {
    const { kind: _, ...rest } = JSON.parse(target('shop/web:1')) as KubernetesObject;
    const daemonSet = (image: string) => {
      const { spec } = JSON.parse(target(image)) as KubernetesObject;
      return JSON.stringify({ ...rest, kind: 'DaemonSet', spec });
    };
    const targetRef = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'web' };
    await flux.apply(daemonSet('shop/web:1'), canary({ spec: { targetRef } }));
    await bed.start();
    await waitForPhase(bed, 'Initialized');
    await flux.apply(daemonSet('shop/web:2'));
    await waitForPhase(bed, 'Succeeded');
    expect(imageOf(await bed.get('apps/v1', 'DaemonSet', 'web-primary'))).toBe('shop/web:2');
    const written = fieldsOfHoldfast(await bed.get('apps/v1', 'DaemonSet', 'web'));
    expect(written.filter((path) => !path.startsWith('spec.template.spec.nodeSelector'))).toEqual([]);
  });

  test.each([
    ['its manifest says', { replicas: 3 }],
    ['somebody gave it', {}],
  ])('gets a deleted primary back with as many pods as %s', async (_name, manifest) => {
    await runFirst(target('shop/web:1', manifest));
    const path = '/apis/apps/v1/namespaces/shop/deployments/web-primary';
    const scaled = { spec: { replicas: 3 } };
    await bed.send('PATCH', path, scaled);
    const seen = async () => statusOf(await bed.canary());
    const serving = async () => ((await seen()) as CanaryStatus).serving?.[0]?.ready === 3;
    await eventually('three pods of the primary', serving, { seen });
    const { uid } = (await workload('web-primary'))!.metadata;

    await bed.send('DELETE', path);

    const isNew = async () => ![undefined, uid].includes((await workload('web-primary'))?.metadata.uid);
    await eventually('the primary is made anew', isNew, { seen });
    expect(replicasOf(await workload('web-primary'))).toBe(3);
    await eventually('three pods of the new one', serving, { seen });
  });

  test('costs no request at rest', async () => {
    await runFirst(target('shop/web:1', { config: 'settings' }), [configMap('settings', { mode: 'one' })]);
    await bed.pass(10_000);
    bed.sandbox.requests.clear();
    await bed.pass(40_000);
    expect(bed.sandbox.requests.all().filter(isNotIdle)).toEqual([]);
  });

  test('is served the same when the Canary itself comes from a Source', async () => {
    await flux.apply(target('shop/web:1'));
    await bed.commit('the Canary alone', { 'canary.json': canary() });
    await runUntilInitialized(bed);
    expect(fieldsOfHoldfast(await workload('web'))).toEqual(['spec.replicas']);
  });

  test('is rolled out after a restart though a Source that might hold it cannot be read', async () => {
    await flux.apply(target('shop/web:1'), canary());
    const app = await bed.start();
    await waitForPhase(bed, 'Initialized');
    await app.drain();
    await createSource(bed, { url: `${bed.git.url}/nowhere.git` });
    await bed.start();
    await eventually('Git is asked in vain', async () => condition(await bed.source(), 'Ready')?.status);

    await flux.apply(target('shop/web:2'));

    await waitForPhase(bed, 'Succeeded');
    expect(imageOf(await workload('web-primary'))).toBe('shop/web:2');
  });

  test('takes a change that reaches no copy of the pods for no release', async () => {
    await runFirst();
    const { template } = (JSON.parse(target('shop/web:1')) as { spec: { template: { metadata: object } } })
      .spec;
    const annotations = { 'kustomize.toolkit.fluxcd.io/checksum': 'new' };
    const changed = JSON.parse(target('shop/web:1')) as { spec: object };
    changed.spec = {
      ...changed.spec,
      template: { ...template, metadata: { ...template.metadata, annotations } },
    };
    const before = { pods: primaryPods(), good: statusOf(await bed.canary()).lastKnownGood };
    await flux.apply(JSON.stringify(changed));
    await eventually('the last-known-good has its new name', async () => {
      const status = statusOf(await bed.canary());
      return JSON.stringify(status.lastKnownGood) !== JSON.stringify(before.good) && status;
    });
    expect(statusOf(await bed.canary())).toMatchObject({ phase: 'Initialized' });
    expect(statusOf(await bed.canary()).history).toBeUndefined();
    expect(primaryPods()).toEqual(before.pods);
  });

  test('goes over to a Source that holds the same manifests without a rollout', async () => {
    await runFirst();
    const before = { pods: primaryPods(), good: statusOf(await bed.canary()).lastKnownGood };
    const manifest = JSON.parse(target('shop/web:1', { replicas: 1 })) as KubernetesObject;
    const commit = await bed.commit('the same', {
      'web.json': JSON.stringify(manifest),
      'canary.json': canary(),
    });
    await createSource(bed);
    await eventually('the last-known-good is a commit', async () => {
      return statusOf(await bed.canary()).lastPromotedCommit === commit;
    });
    expect(statusOf(await bed.canary()).history).toBeUndefined();
    expect(primaryPods()).toEqual(before.pods);
  });

  test('names the commit that the tool applies', async () => {
    const commit = 'c0ffee'.padEnd(40, '0');
    const labelled = JSON.parse(target('shop/web:1')) as KubernetesObject;
    labelled.metadata.annotations = { 'holdfast.dev/commit': commit };
    await runFirst(JSON.stringify(labelled));
    expect(statusOf(await bed.canary()).lastPromotedCommit).toBe(commit);
    // Who stamps manifests stamps them with each commit, whatever it is about.
    await bed.pass(3_000);
    const before = await bed.canary();
    labelled.metadata.annotations = { 'holdfast.dev/commit': 'bad'.padEnd(40, '0') };
    await flux.apply(JSON.stringify(labelled));
    await bed.pass(3_000);
    expect((await bed.canary())?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
  });
});

describe('a Canary that was deleted and made again', () => {
  beforeEach(async () => {
    await runFirst();
    await flux.apply(target('shop/web:2'));
    await waitForPhase(bed, 'Succeeded');
    await bed.send('DELETE', '/apis/flagger.app/v1beta1/namespaces/shop/canaries/web');
    await bed.send('DELETE', '/apis/apps/v1/namespaces/shop/deployments/web');
    await eventually(
      'both are gone',
      async () => !(await bed.get('flagger.app/v1beta1', 'Canary', 'web')) && !(await workload('web')),
    );
    await bed.pass(2_000);
  });

  async function expectImageOfTarget(): Promise<void> {
    await waitForPhase(bed, 'Initialized');
    expect(imageOf(await workload('web-primary'))).toBe('shop/web:3');
    expect(replicasOf(await workload('web'))).toBe(0);
  }

  test('with its Deployment comes up with the image of that', async () => {
    await flux.apply(target('shop/web:3'), canary());
    await expectImageOfTarget();
  });

  test('before its Deployment comes up with the image of that', async () => {
    await flux.apply(canary());
    await bed.pass(2_000);
    await flux.apply(target('shop/web:3'), canary());
    await expectImageOfTarget();
  });

  test('comes up with the image of its Deployment though its first status, behind its primary, is lost', async () => {
    let lost: KubernetesObject | undefined;
    bed.sandbox.fault(({ method, path }) => {
      if (lost || method === 'GET' || !path.endsWith('/canaries/web/status')) return undefined;
      const primary = bed.sandbox.store.get('apps/deployments', 'shop', 'web-primary');
      // That of the Canary before may still be there.
      if (imageOf(primary) === 'shop/web:3') lost = primary;
      return 'drop';
    });
    await flux.apply(target('shop/web:3'), canary());
    await expectImageOfTarget();
    expect(imageOf(lost)).toBe('shop/web:3');
  });
});
