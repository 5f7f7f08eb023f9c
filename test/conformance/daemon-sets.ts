import { expect, test } from 'vitest';
import { deployment } from './bodies.ts';
import type { Suite } from './suite.ts';
import { type Answer, eventually, freshNamespace, type Json, type Target } from './target.ts';

const MERGE = 'application/merge-patch+json';
const APPLY = 'application/apply-patch+yaml';
const HASH = 'controller-revision-hash';
const zero = 'flagger.app/scale-to-zero';

interface Running {
  read(): Promise<Answer>;
  patch(spec: Json): Promise<Answer>;
  apply(spec: Json): Promise<Answer>;
  pods(): Promise<Json[]>;
  revisions(): Promise<Json[]>;
}

function body(namespace: string, spec: Json = {}): Json {
  return { ...deployment(namespace, 'web', spec), kind: 'DaemonSet' };
}

async function start(target: Target, spec: Json = {}): Promise<Running> {
  const namespace = await freshNamespace(target);
  const list = `/apis/apps/v1/namespaces/${namespace}`;
  const path = `${list}/daemonsets/web`;
  const created = await target.request('POST', `${list}/daemonsets`, { body: body(namespace, spec) });
  expect(created.code).toBe(201);
  const items = async (where: string) => (await target.request('GET', where)).body.items as Json[];
  return {
    read: () => target.request('GET', path),
    patch: (change) => target.request('PATCH', path, { body: { spec: change }, contentType: MERGE }),
    apply: (change) =>
      target.request('PATCH', `${path}?fieldManager=tester&force=true`, {
        body: body(namespace, change),
        contentType: APPLY,
      }),
    pods: async () => {
      const all = await items(`/api/v1/namespaces/${namespace}/pods?labelSelector=app%3Dweb`);
      return all.filter((pod) => !pod.metadata.deletionTimestamp);
    },
    revisions: () => items(`${list}/controllerrevisions`),
  };
}

function template(image: string, nodeSelector: Json = {}): Json {
  return { spec: { nodeSelector, containers: [{ name: 'app', image }] } };
}

function complete({ body: { metadata, status } }: Answer): boolean {
  const wanted = status?.desiredNumberScheduled ?? 0;
  const counts = [status?.currentNumberScheduled, status?.updatedNumberScheduled, status?.numberAvailable];
  return (
    status?.observedGeneration === metadata.generation &&
    wanted > 0 &&
    counts.every((count) => count === wanted)
  );
}

/** The controller's behaviour: one pod a node, revisions, and the way to zero and back. */
export function daemonSetTests({ target }: Suite): void {
  test('runs one pod on each node and says which revision it is of', async () => {
    const running = await start(target());
    const done = await eventually(running.read, complete);
    const pods = await running.pods();
    expect(pods.length).toBe(done.body.status.desiredNumberScheduled);
    expect(new Set(pods.map((pod) => pod.spec.nodeName)).size).toBe(pods.length);
    expect(done.body.spec.updateStrategy).toEqual({
      type: 'RollingUpdate',
      rollingUpdate: { maxSurge: 0, maxUnavailable: 1 },
    });
    const [revision] = await running.revisions();
    expect(revision.revision).toBe(1);
    expect(revision.metadata.ownerReferences[0]).toMatchObject({ kind: 'DaemonSet', controller: true });
    expect(new Set(pods.map((pod) => pod.metadata.labels[HASH]))).toEqual(
      new Set([revision.metadata.labels[HASH]]),
    );
  });

  test('replaces the pods node by node', async () => {
    const running = await start(target());
    const nodes = (await eventually(running.read, complete)).body.status.desiredNumberScheduled;
    await running.patch({ template: template('fake/app:v2') });
    let fewest = nodes;
    await eventually(running.read, (answer) => {
      fewest = Math.min(fewest, answer.body.status.numberReady);
      return complete(answer);
    });
    expect(fewest).toBeGreaterThanOrEqual(nodes - 1);
    expect(new Set((await running.pods()).map((pod) => pod.spec.containers[0].image))).toEqual(
      new Set(['fake/app:v2']),
    );
  });

  test('stops at the first node when pods never become ready, and goes back to the revision before', async () => {
    const running = await start(target());
    const first = await eventually(running.read, complete);
    const nodes = first.body.status.desiredNumberScheduled;
    await running.patch({ template: template('missing/app:v2') });
    const stuck = await eventually(running.read, ({ body: { metadata, status } }) => {
      const { observedGeneration, updatedNumberScheduled, numberUnavailable } = status;
      return (
        observedGeneration === metadata.generation && updatedNumberScheduled === 1 && numberUnavailable === 1
      );
    });
    expect(stuck.body.status).toMatchObject({ numberReady: nodes - 1, numberAvailable: nodes - 1 });
    await running.patch({ template: first.body.spec.template });
    await eventually(running.read, complete);
    const revisions = await running.revisions();
    const newest = revisions.find((revision) => revision.revision === 3);
    expect(revisions.map(({ revision }) => revision).sort()).toEqual([2, 3]);
    // Pods that were never replaced carry the hash of the revision that is current again.
    expect(new Set((await running.pods()).map((pod) => pod.metadata.labels[HASH]))).toEqual(
      new Set([newest.metadata.labels[HASH]]),
    );
  });

  test('goes to zero by a node selector that no node answers to, and back', async () => {
    const running = await start(target());
    await eventually(running.read, complete);
    await running.patch({ template: { spec: { nodeSelector: { [zero]: 'true' } } } });
    const resting = await eventually(
      running.read,
      ({ body: { metadata, status } }) =>
        status.observedGeneration === metadata.generation && status.desiredNumberScheduled === 0,
    );
    expect(resting.body.status).toMatchObject({ currentNumberScheduled: 0, numberReady: 0 });
    await eventually(
      async () => ({ code: 200, body: await running.pods() }),
      (answer) => answer.body.length === 0,
    );
    await running.patch({ template: { spec: { nodeSelector: { [zero]: null } } } });
    await eventually(running.read, complete);
  });

  test('an applied empty node selector takes away the one that another writer left', async () => {
    const running = await start(target());
    await running.patch({ template: { spec: { nodeSelector: { [zero]: 'true' } } } });
    const labels = { app: 'web' };
    const { code, body: applied } = await running.apply({
      selector: { matchLabels: labels },
      template: { metadata: { labels }, ...template('fake/app:v1') },
    });
    expect(code).toBe(200);
    expect(applied.spec.template.spec.nodeSelector ?? {}).toEqual({});
    await eventually(running.read, complete);
  });
}
