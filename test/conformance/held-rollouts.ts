import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { deployment } from './bodies.ts';
import type { Suite } from './suite.ts';
import { eventually, freshNamespace, type Json, type Target } from './target.ts';

const MERGE = 'application/merge-patch+json';
/** Ready pods of a held Deployment never become available: a year. */
const HELD_SECONDS = 31_536_000;
/** No deadline at all; the API wants it to be longer than minReadySeconds. */
const NO_DEADLINE = 2_147_483_647;

/** Pods that a Deployment asks for, and of those of its newest template how many are ready. */
interface Counts {
  readonly old: number;
  readonly updated: number;
  readonly ready: number;
}

interface Held {
  patch(spec: Json): Promise<void>;
  /** Waits for these pods; fails when one was asked for beyond `most` of the new template at any look. */
  reaches(wanted: Omit<Counts, 'ready'>, most: number): Promise<void>;
  /** Waits for pods with these images, in order of their names. */
  runs(images: readonly string[]): Promise<void>;
}

async function start(target: Target, replicas: number): Promise<Held> {
  const namespace = await freshNamespace(target);
  const apps = `/apis/apps/v1/namespaces/${namespace}`;
  const created = await target.request('POST', `${apps}/deployments`, {
    body: deployment(namespace, 'web', { replicas }),
  });
  expect(created.code).toBe(201);
  const held: Held = {
    async patch(spec) {
      const answer = await target.request('PATCH', `${apps}/deployments/web`, {
        body: { spec },
        contentType: MERGE,
      });
      expect(answer.code).toBe(200);
    },
    async reaches(wanted, most) {
      const look = async () => ({ code: 200, body: await count(target, apps) });
      await eventually(look, ({ body }) => {
        expect(body.updated).toBeLessThanOrEqual(most);
        return body.old === wanted.old && body.updated === wanted.updated && body.ready === wanted.updated;
      });
    },
    async runs(images) {
      await eventually(
        () => target.request('GET', `/api/v1/namespaces/${namespace}/pods`),
        ({ body }) => {
          const alive = body.items.filter((pod: Json) => !pod.metadata.deletionTimestamp);
          const found = alive.map((pod: Json) => pod.spec.containers[0].image).sort();
          return isDeepStrictEqual(found, images);
        },
      );
    },
  };
  await held.reaches({ old: 0, updated: replicas }, replicas);
  return held;
}

async function count(target: Target, apps: string): Promise<Counts> {
  const [{ body: web }, { body: sets }] = await Promise.all([
    target.request('GET', `${apps}/deployments/web`),
    target.request('GET', `${apps}/replicasets`),
  ]);
  const image = (object: Json) => object.spec.template.spec.containers[0].image;
  const isNew = (set: Json) => image(set) === image(web);
  const sum = (list: Json[], of: (set: Json) => number) => list.reduce((all, set) => all + of(set), 0);
  return {
    old: sum(
      sets.items.filter((set: Json) => !isNew(set)),
      (set) => set.spec.replicas,
    ),
    updated: sum(sets.items.filter(isNew), (set) => set.spec.replicas),
    ready: sum(sets.items.filter(isNew), (set) => set.status.readyReplicas ?? 0),
  };
}

function template(image: string): Json {
  return deployment('', 'web', {}, { image }).spec.template;
}

/** In percent of the wanted number, so that a share stays one when that number changes. */
function bounds(surge: number, unavailable: number): Json {
  const rollingUpdate = { maxSurge: `${surge}%`, maxUnavailable: `${unavailable}%` };
  return { type: 'RollingUpdate', rollingUpdate };
}

/** The new template with no pod of it, and everything set so that none follows by itself. */
function brought(image: string): Json {
  return {
    paused: true,
    template: template(image),
    minReadySeconds: HELD_SECONDS,
    progressDeadlineSeconds: NO_DEADLINE,
  };
}

const released = {
  paused: false,
  minReadySeconds: 0,
  progressDeadlineSeconds: 600,
  strategy: bounds(1, 1),
};

/** What provider native relies on (ADR 21): a rolling update that stands still between two exact bounds. */
export function heldRolloutTests({ target }: Suite): void {
  test('starts exactly as many new pods as maxSurge lets, ready but never available, and stands still', async () => {
    const web = await start(target(), 5);
    await web.patch(brought('fake/app:v2'));
    await web.reaches({ old: 5, updated: 0 }, 0);
    await web.patch({ paused: false, strategy: bounds(40, 0) });
    await web.reaches({ old: 5, updated: 2 }, 2);
    await web.patch({ strategy: bounds(0, 40) });
    await web.reaches({ old: 3, updated: 2 }, 2);
    await web.patch({ strategy: bounds(20, 40) });
    await web.reaches({ old: 3, updated: 3 }, 3);
    await web.patch({ strategy: bounds(0, 60) });
    await web.reaches({ old: 2, updated: 3 }, 3);
    await web.runs(['fake/app:v1', 'fake/app:v1', 'fake/app:v2', 'fake/app:v2', 'fake/app:v2']);
    await web.patch(released);
    await web.reaches({ old: 0, updated: 5 }, 5);
  });

  test('goes back to the old template, whose pods were never all gone', async () => {
    const web = await start(target(), 4);
    await web.patch({ ...brought('fake/app:v2'), paused: false, strategy: bounds(50, 0) });
    await web.reaches({ old: 4, updated: 2 }, 2);
    await web.patch({ strategy: bounds(0, 50) });
    await web.reaches({ old: 2, updated: 2 }, 2);
    await web.patch({ ...released, template: template('fake/app:v1') });
    await web.reaches({ old: 0, updated: 4 }, 4);
  });

  test('keeps the share when somebody changes the number of pods meanwhile', async () => {
    const web = await start(target(), 4);
    await web.patch({ ...brought('fake/app:v2'), paused: false, strategy: bounds(50, 0) });
    await web.reaches({ old: 4, updated: 2 }, 2);
    await web.patch({ strategy: bounds(0, 50) });
    await web.reaches({ old: 2, updated: 2 }, 2);
    await web.patch({ replicas: 8 });
    await web.reaches({ old: 4, updated: 4 }, 4);
    await web.patch({ replicas: 2 });
    await web.reaches({ old: 1, updated: 1 }, 4);
  });
}
