import { expect, test } from 'vitest';
import { deployment } from './bodies.ts';
import type { Suite } from './suite.ts';
import { type Answer, eventually, freshNamespace, type Json, type Target } from './target.ts';

const MERGE = 'application/merge-patch+json';

async function start(target: Target, replicas: number, bounds: Json) {
  const namespace = await freshNamespace(target);
  const workload = `/apis/apps/v1/namespaces/${namespace}/deployments`;
  const scaler = `/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers`;
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
  const body = {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'web', namespace },
    spec: { scaleTargetRef, ...bounds },
  };
  await target.request('POST', workload, { body: deployment(namespace, 'web', { replicas }) });
  const created = await target.request('POST', scaler, { body });
  const patch = (path: string, spec: Json) =>
    target.request('PATCH', `${path}/web`, { body: { spec }, contentType: MERGE });
  return {
    created,
    read: () => target.request('GET', `${workload}/web`),
    bound: (spec: Json) => patch(scaler, spec),
    scale: (count: number) => patch(workload, { replicas: count }),
    /** A real server would look at it until its end. */
    remove: () => target.request('DELETE', `${scaler}/web`),
  };
}

const replicasAre = (count: number) => (answer: Answer) => answer.body.spec.replicas === count;

/** Without metrics: replicas are kept within the bounds, and at zero nothing is done. */
export function autoscalerTests({ target }: Suite): void {
  test('scales to minReplicas, and follows it up but not down', async () => {
    const running = await start(target(), 1, { minReplicas: 2, maxReplicas: 6 });
    await eventually(running.read, replicasAre(2));
    await running.bound({ minReplicas: 4 });
    await eventually(running.read, replicasAre(4));
    await running.bound({ minReplicas: 1 });
    await running.scale(9);
    await eventually(running.read, replicasAre(6));
    await running.remove();
  });

  test('leaves a workload at zero alone, and takes it up again when somebody else does', async () => {
    const running = await start(target(), 0, { minReplicas: 3, maxReplicas: 6 });
    await new Promise((resolve) => setTimeout(resolve, 3000));
    expect((await running.read()).body.spec.replicas).toBe(0);
    await running.scale(1);
    await eventually(running.read, replicasAre(3));
    await running.remove();
  });

  test('is refused with a minimum above its maximum, or below one', async () => {
    const running = await start(target(), 1, { maxReplicas: 2 });
    expect(running.created.body.spec.minReplicas).toBe(1);
    expect((await running.bound({ minReplicas: 3 })).code).toBe(422);
    expect((await running.bound({ minReplicas: 0 })).code).toBe(422);
    await running.remove();
  });
}
