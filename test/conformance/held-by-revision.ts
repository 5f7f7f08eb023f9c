import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { deployment } from './bodies.ts';
import type { Suite } from './suite.ts';
import { eventually, freshNamespace, type Json, type Target } from './target.ts';

const MERGE = 'application/merge-patch+json';
/** Above every ordinal. */
const NO_ORDINAL = 2_147_483_647;

interface Running {
  /** Pods it asks for. */
  readonly count: number;
  patch(spec: Json): Promise<void>;
  remove(pod: string): Promise<void>;
  /** Waits for these images, by the name of the pod's ordinal or in order, and for a controller that has seen all. */
  runs(images: readonly string[], ready?: number): Promise<Json[]>;
}

interface Kind {
  readonly kind: string;
  readonly plural: string;
  /** Pods it asks for. */
  wanted(object: Json): number;
}

const statefulSet: Kind = {
  kind: 'StatefulSet',
  plural: 'statefulsets',
  wanted: ({ spec }) => spec.replicas,
};
const daemonSet: Kind = {
  kind: 'DaemonSet',
  plural: 'daemonsets',
  wanted: ({ status }) => status?.desiredNumberScheduled ?? 0,
};

async function start(target: Target, { kind, plural, wanted }: Kind, spec: Json = {}): Promise<Running> {
  const namespace = await freshNamespace(target);
  const list = `/apis/apps/v1/namespaces/${namespace}/${plural}`;
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  const created = await target.request('POST', list, {
    body: { ...deployment(namespace, 'web', spec), kind },
  });
  expect(created.code).toBe(201);
  const started = await eventually(
    () => target.request('GET', `${list}/web`),
    ({ body }) => {
      const { readyReplicas, numberReady = readyReplicas } = body.status ?? {};
      return wanted(body) > 0 && numberReady === wanted(body);
    },
  );
  return {
    count: wanted(started.body),
    async patch(change) {
      const answer = await target.request('PATCH', `${list}/web`, {
        body: { spec: change },
        contentType: MERGE,
      });
      expect(answer.code).toBe(200);
      const { generation } = answer.body.metadata;
      await eventually(
        () => target.request('GET', `${list}/web`),
        ({ body }) => body.status.observedGeneration >= generation,
      );
    },
    async remove(pod) {
      expect((await target.request('DELETE', `${pods}/${pod}`)).code).toBe(200);
    },
    async runs(images, ready = images.length) {
      const { body } = await eventually(
        () => target.request('GET', pods),
        ({ body: { items } }) => {
          const alive = items.filter((pod: Json) => !pod.metadata.deletionTimestamp);
          const found = alive.map((pod: Json) => pod.spec.containers[0].image);
          return (
            alive.length === items.length &&
            isDeepStrictEqual(found.sort(), [...images].sort()) &&
            alive.filter(isReady).length === ready
          );
        },
      );
      return body.items.sort((left: Json, right: Json) =>
        left.metadata.name.localeCompare(right.metadata.name),
      );
    },
  };
}

function isReady({ status }: Json): boolean {
  return status.conditions?.some(({ type, status: is }: Json) => type === 'Ready' && is === 'True') === true;
}

function template(image: string): Json {
  return deployment('', 'web', {}, { image }).spec.template;
}

function upTo(partition: number): Json {
  return { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition } } };
}

function imagesOf(pods: readonly Json[]): Array<[string, string]> {
  return pods.map((pod) => [pod.metadata.name, pod.spec.containers[0].image]);
}

const [v1, v2] = ['fake/app:v1', 'fake/app:v2'];

/** What provider native relies on for kinds without ReplicaSets (ADR 27). */
export function heldByRevisionTests({ target }: Suite): void {
  test('a StatefulSet starts no pod of a new template above its partition, also not for one that dies or is added', async () => {
    const web = await start(target(), statefulSet, { replicas: 2 });
    await web.patch({ template: template(v2), ...upTo(NO_ORDINAL) });
    await web.remove('web-1');
    await web.runs([v1, v1]);
    await web.patch({ replicas: 3 });
    await web.runs([v1, v1, v1]);
  });

  test('a StatefulSet replaces the ordinals from its partition on, counted from the first, and goes back', async () => {
    const web = await start(target(), statefulSet, { replicas: 3, ordinals: { start: 5 } });
    await web.patch({ template: template(v2), ...upTo(NO_ORDINAL) });
    await web.patch(upTo(2));
    const step = await web.runs([v1, v1, v2]);
    expect(imagesOf(step)).toEqual([
      ['web-5', v1],
      ['web-6', v1],
      ['web-7', v2],
    ]);
    await web.patch(upTo(1));
    await web.runs([v1, v2, v2]);
    await web.remove('web-5');
    await web.runs([v1, v2, v2]);
    await web.patch({ template: template(v1), ...upTo(0) });
    await web.runs([v1, v1, v1]);
  });

  test('a StatefulSet that goes by order waits for a pod of a bad template for ever, until somebody deletes it', async () => {
    const web = await start(target(), statefulSet, { replicas: 2 });
    await web.patch({ template: template('missing/app:v2'), ...upTo(1) });
    await web.runs([v1, 'missing/app:v2'], 1);
    await web.patch({ template: template(v1), ...upTo(0) });
    await web.runs([v1, 'missing/app:v2'], 1);
    await web.remove('web-1');
    await web.runs([v1, v1]);
  });

  test('a DaemonSet with OnDelete makes a pod from the template as it is, and replaces none by itself', async () => {
    const web = await start(target(), daemonSet);
    const all = Array<string>(web.count).fill(v1);
    const step = [...all.slice(1), v2];
    const [first, second] = await web.runs(all);
    await web.patch({ template: template(v2), updateStrategy: { type: 'OnDelete', rollingUpdate: null } });
    await web.remove(first.metadata.name);
    await web.runs(step);
    await web.patch({ template: template(v1) });
    await web.remove(second.metadata.name);
    await web.runs(step);
    await web.patch({ updateStrategy: { type: 'RollingUpdate' } });
    await web.runs(all);
  });
}
