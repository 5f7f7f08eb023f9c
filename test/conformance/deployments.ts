import { expect, test } from 'vitest';
import { deployment } from './bodies.ts';
import type { Suite } from './suite.ts';
import { type Answer, eventually, freshNamespace, type Json, type Target } from './target.ts';

const MERGE = 'application/merge-patch+json';

interface Running {
  readonly path: string;
  readonly pods: string;
  read(): Promise<Answer>;
  patch(spec: Json): Promise<Answer>;
}

async function start(target: Target, spec: Json, container: Json = {}): Promise<Running> {
  const namespace = await freshNamespace(target);
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments`;
  const created = await target.request('POST', path, { body: deployment(namespace, 'web', spec, container) });
  expect(created.code).toBe(201);
  return {
    path: `${path}/web`,
    pods: `/api/v1/namespaces/${namespace}/pods?labelSelector=app%3Dweb`,
    read: () => target.request('GET', `${path}/web`),
    patch: (change) => target.request('PATCH', `${path}/web`, { body: { spec: change }, contentType: MERGE }),
  };
}

function withContainer(container: Json): Json {
  return { template: { spec: { containers: [{ name: 'app', image: 'fake/app:v1', ...container }] } } };
}

function condition(answer: Answer, type: string): Json {
  return (answer.body.status?.conditions ?? []).find((each: Json) => each.type === type);
}

function stuckIn(pods: Answer): Json {
  return pods.body.items.find((pod: Json) => pod.spec.containers[0].image === 'missing/app:v2');
}

function complete(answer: Answer): boolean {
  const { metadata, spec, status } = answer.body;
  const counts = [status?.replicas, status?.updatedReplicas, status?.availableReplicas];
  const settled = condition(answer, 'Progressing')?.reason === 'NewReplicaSetAvailable';
  return (
    status?.observedGeneration === metadata.generation &&
    settled &&
    counts.every((count) => count === spec.replicas)
  );
}

/** The controller's behaviour: rollouts, their conditions, and pods that fail. */
export function deploymentTests({ target }: Suite): void {
  test('brings up ready pods and reports completion', async () => {
    const running = await start(target(), { replicas: 2 });
    const done = await eventually(running.read, complete);
    expect(done.body.status).toMatchObject({
      replicas: 2,
      updatedReplicas: 2,
      readyReplicas: 2,
      availableReplicas: 2,
    });
    expect(done.body.status.unavailableReplicas).toBeUndefined();
    expect(condition(done, 'Available')).toMatchObject({
      status: 'True',
      reason: 'MinimumReplicasAvailable',
      message: 'Deployment has minimum availability.',
    });
    expect(condition(done, 'Progressing').message).toMatch(
      /^ReplicaSet "web-[a-z0-9]+" has successfully progressed\.$/,
    );
    expect(done.body.metadata.annotations['deployment.kubernetes.io/revision']).toBe('1');
    const { body } = await target().request('GET', running.pods);
    const [pod] = body.items;
    expect(pod.metadata.labels['pod-template-hash']).toMatch(/^[a-z0-9]+$/);
    expect(pod.metadata.ownerReferences[0]).toMatchObject({ kind: 'ReplicaSet', controller: true });
    expect(pod.status).toMatchObject({
      phase: 'Running',
      containerStatuses: [{ name: 'app', ready: true, restartCount: 0 }],
    });
    expect(pod.status.containerStatuses[0].imageID).not.toBe('');
  });

  test('replaces pods step by step, never below the wanted availability', async () => {
    const running = await start(target(), {
      replicas: 3,
      strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    });
    await eventually(running.read, complete);
    await running.patch(withContainer({ image: 'fake/app:v2' }));
    let fewest = 3;
    let most = 0;
    await eventually(running.read, (answer) => {
      fewest = Math.min(fewest, answer.body.status.availableReplicas ?? 0);
      most = Math.max(most, answer.body.status.replicas ?? 0);
      return complete(answer);
    });
    // One more than wanted, and one of the old ReplicaSet that its controller counts until it has looked again.
    expect([fewest, most <= 5]).toEqual([3, true]);
    const alive = (answer: Answer) =>
      answer.body.items.filter((each: Json) => !each.metadata.deletionTimestamp);
    const images = ({ body }: Answer) =>
      alive({ code: 200, body }).map((each: Json) => each.spec.containers[0].image);
    const pods = await eventually(
      () => target().request('GET', running.pods),
      (answer) => alive(answer).length === 3,
    );
    expect(images(pods)).toEqual(['fake/app:v2', 'fake/app:v2', 'fake/app:v2']);
  });

  test('keeps old pods serving when new ones never become ready, and says so at the deadline', async () => {
    const running = await start(target(), { replicas: 2, progressDeadlineSeconds: 3 });
    await eventually(running.read, complete);
    await running.patch(withContainer({ image: 'missing/app:v2' }));
    // A busy machine may make pods after the deadline.
    const late = await eventually(
      running.read,
      (answer) =>
        condition(answer, 'Progressing')?.status === 'False' &&
        answer.body.status.replicas === 3 &&
        answer.body.status.availableReplicas === 2,
    );
    expect(condition(late, 'Progressing')).toMatchObject({
      reason: 'ProgressDeadlineExceeded',
      message: expect.stringMatching(/^ReplicaSet "web-[a-z0-9]+" has timed out progressing\.$/),
    });
    expect(late.body.status).toMatchObject({ updatedReplicas: 1, unavailableReplicas: 1 });
    expect(condition(late, 'Available').status).toBe('True');
    const pods = await eventually(
      () => target().request('GET', running.pods),
      (answer) => stuckIn(answer)?.status.containerStatuses?.[0]?.state.waiting !== undefined,
    );
    const stuck = stuckIn(pods);
    expect(stuck.status.phase).toBe('Pending');
    expect(stuck.status.containerStatuses[0].state.waiting.reason).toMatch(
      /^(ErrImagePull|ImagePullBackOff)$/,
    );
  });

  test('comes back from a failed rollout to the old template', async () => {
    const running = await start(target(), { replicas: 2, progressDeadlineSeconds: 3 });
    const first = await eventually(running.read, complete);
    await running.patch(withContainer({ image: 'missing/app:v2' }));
    await eventually(running.read, (answer) => condition(answer, 'Progressing')?.status === 'False');
    const { spec } = first.body;
    await running.patch({ template: spec.template });
    const back = await eventually(running.read, complete);
    expect(back.body.metadata.annotations['deployment.kubernetes.io/revision']).toBe('3');
    expect(back.body.spec.template).toEqual(spec.template);
  });

  test('stops all old pods before it starts new ones when the strategy is Recreate', async () => {
    const running = await start(target(), { replicas: 2, strategy: { type: 'Recreate' } });
    await eventually(running.read, complete);
    await running.patch(withContainer({ image: 'fake/app:v2' }));
    let mixed = false;
    await eventually(
      async () => {
        const { body } = await target().request('GET', running.pods);
        const images = body.items.map((each: Json) => each.spec.containers[0].image);
        mixed ||= new Set(images).size > 1;
        return running.read();
      },
      (answer) => complete(answer) && answer.body.status.updatedReplicas === 2,
    );
    expect(mixed).toBe(false);
  });

  test('counts a pod as available only after minReadySeconds', async () => {
    const running = await start(target(), { replicas: 1, minReadySeconds: 3 });
    const ready = await eventually(running.read, (answer) => answer.body.status?.readyReplicas === 1);
    expect(ready.body.status.availableReplicas).toBeUndefined();
    expect(condition(ready, 'Available')).toMatchObject({
      status: 'False',
      reason: 'MinimumReplicasUnavailable',
    });
    await eventually(running.read, complete);
  });

  test('scales up and down without a rollout', async () => {
    const running = await start(target(), { replicas: 1 });
    await eventually(running.read, complete);
    await running.patch({ replicas: 3 });
    await eventually(
      running.read,
      (answer) => answer.body.status.availableReplicas === 3 && complete(answer),
    );
    await running.patch({ replicas: 0 });
    const idle = await eventually(running.read, (answer) => {
      return (
        answer.body.status.replicas === undefined &&
        answer.body.status.observedGeneration === answer.body.metadata.generation
      );
    });
    expect(idle.body.metadata.annotations['deployment.kubernetes.io/revision']).toBe('1');
  });

  test('starts nothing while it is paused', async () => {
    const running = await start(target(), { replicas: 1 });
    await eventually(running.read, complete);
    await running.patch({ paused: true });
    const { body } = await running.patch(withContainer({ image: 'fake/app:v2' }));
    const seen = await eventually(
      running.read,
      (answer) => answer.body.status.observedGeneration === body.metadata.generation,
    );
    expect(seen.body.status).toMatchObject({ replicas: 1, availableReplicas: 1 });
    expect(seen.body.status.updatedReplicas).toBeUndefined();
    await running.patch({ paused: false });
    await eventually(running.read, complete);
  });

  test('lists ready pods in the EndpointSlices of a Service', async () => {
    const running = await start(target(), { replicas: 2 });
    const namespace = running.path.split('/')[5] ?? '';
    const spec = { selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] };
    const body = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace }, spec };
    await target().request('POST', `/api/v1/namespaces/${namespace}/services`, { body });
    const slices = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dweb`;
    const ready = (answer: Answer) =>
      answer.body.items
        .flatMap((each: Json) => each.endpoints ?? [])
        .filter((each: Json) => each.conditions.ready);
    const filled = await eventually(
      () => target().request('GET', slices),
      (answer) => ready(answer).length === 2,
    );
    expect(filled.body.items[0].ports).toEqual([{ name: 'http', port: 8080, protocol: 'TCP' }]);
  });

  test('takes pods and ReplicaSets away with the Deployment', async () => {
    const running = await start(target(), { replicas: 1 });
    await eventually(running.read, complete);
    await target().request('DELETE', running.path);
    await eventually(
      () => target().request('GET', running.pods),
      (answer) => answer.body.items.length === 0,
    );
  });
}
