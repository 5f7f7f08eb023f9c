import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Condition, KubernetesObject, ObjectReference } from '../../api/kubernetes.ts';
import type { WatchedSet } from '../../contracts/cluster.ts';
import { createBuildCache } from '../../render/build/builder.ts';
import { createApplied } from '../applied.ts';
import { createClaims } from '../apply-set.ts';
import { createHeads } from '../canary/context/heads.ts';
import { type SourceRunnerParts, startSourceRunner } from './source-runner.ts';

const source: KubernetesObject = {
  apiVersion: 'holdfast.dev/v1alpha1',
  kind: 'Source',
  metadata: { name: 'shop', namespace: 'shop', uid: '1', generation: 1 },
  spec: {
    url: 'https://git.example.com/shop.git',
    ref: { branch: 'main' },
    substitute: { from: [{ kind: 'ConfigMap', name: 'cluster' }] },
  },
};

const head = { commit: 'a'.repeat(40), subject: 'first', author: 'Ada', time: '2026-01-01T00:00:00Z' };

const manifest = `apiVersion: v1
kind: ConfigMap
metadata: {name: app, namespace: shop}
data: {region: "\${region}"}
`;

/** A cluster with one ConfigMap of variables and whatever is applied, and a repository with one file. */
function createWorld() {
  const variables = { region: 'north', version: 1 };
  const objects = new Map<string, KubernetesObject>();
  const listeners: Array<() => void> = [];
  const meanwhile: Array<() => void> = [];
  const applying: Array<() => Promise<void>> = [];
  const said: string[] = [];
  const commits = [head];
  const cluster = {
    as: () => cluster,
    kindOf: async () => ({ namespaced: true }),
    servedKind: async () => undefined,
    capabilities: async () => undefined,
    async patch(_: unknown, { status }: { status?: { conditions: readonly Condition[] } }) {
      const ready = status?.conditions.find(({ type }) => type === 'Ready');
      if (ready) said.push(ready.reason);
      return source;
    },
    async get({ name }: ObjectReference) {
      if (name !== 'cluster') return objects.get(name);
      const answer = { ...source, kind: 'ConfigMap', data: { region: variables.region } };
      meanwhile.shift()?.();
      return answer;
    },
    async apply(object: KubernetesObject) {
      await applying.shift()?.();
      objects.set(object.metadata.name, object);
      return object;
    },
  };
  const inputs = {
    get: () => ({ metadata: { name: 'cluster', resourceVersion: `${variables.version}` } }),
    synced: () => true,
    problem: () => undefined,
    list: () => [],
    onChange: (listener: () => void) => void listeners.push(listener),
    close: () => undefined,
  } as unknown as WatchedSet;
  const set = (region: string) => {
    variables.region = region;
    variables.version += 1;
    for (const listener of listeners) listener();
  };
  const repository = {
    keep: () => undefined,
    onNews: () => () => undefined,
    poll: async () => ({ kind: 'moved', head: commits.at(-1), refName: 'refs/heads/main' }),
    treeOidAt: async (commit: string) => commit,
    readFiles: async (commit: string) => ({
      files: [{ path: 'app.yaml', oid: commit, bytes: Buffer.from(`${manifest}# ${commit}`) }],
      problems: [],
    }),
  };
  return {
    cluster,
    inputs,
    repository,
    objects,
    meanwhile,
    applying,
    said,
    commits,
    set,
    begin: () => listeners.forEach((one) => void one()),
  };
}

/** A poller that polls when the test says so, as long as it is woken. */
function createPoller() {
  const state = { sync: async (_: AbortSignal) => {}, isWoken: true };
  return {
    open: (_: unknown, sync: (signal: AbortSignal) => Promise<void>) => {
      state.sync = sync;
      return {
        start: () => undefined,
        wake: () => void Object.assign(state, { isWoken: true }),
        stop: async () => {},
      };
    },
    async pollWhileWoken() {
      while (state.isWoken) {
        state.isWoken = false;
        await state.sync(new AbortController().signal);
      }
    },
  };
}

/** Follows the Source; nothing is polled yet. */
function startRunner(
  world: ReturnType<typeof createWorld>,
  poller: ReturnType<typeof createPoller>,
  followed = source,
) {
  const { cluster } = world;
  const parts = {
    cluster,
    heads: createHeads(),
    applied: createApplied(),
    claims: createClaims(),
    presence: { read: (object: KubernetesObject) => cluster.get({ ...object, name: object.metadata.name }) },
    rights: { isTrusted: () => true, protectedNamespaces: [], crossNamespaceRefs: true },
    clock: { nowMs: () => 0, after: () => () => undefined },
    sources: () => [followed],
    source: () => followed,
    canaries: () => [],
    canary: () => undefined,
    bindings: { ensure: async () => undefined },
    events: { emit: () => undefined },
    log: { warn: () => undefined, debug: () => undefined },
    wakeCanary: () => undefined,
    builders: {},
    builds: createBuildCache(),
    refreshSoon: () => undefined,
    openWatch: () => world.inputs,
    openMembers: () => world.inputs,
    openPoller: poller.open,
    repositories: { open: () => world.repository },
  } as unknown as SourceRunnerParts;
  const runner = startSourceRunner(parts, 'shop/shop', followed, Promise.resolve());
  world.begin();
  return runner;
}

test('a variable that changes while the commit is rendered is applied, too', async () => {
  const world = createWorld();
  const poller = createPoller();
  startRunner(world, poller);
  world.meanwhile.push(() => world.set('south'));

  await poller.pollWhileWoken();

  expect(world.objects.get('app')?.data).toEqual({ region: 'south' });
});

test('while a commit is being applied its status is not written, whatever changes meanwhile', async () => {
  const world = createWorld();
  const poller = createPoller();
  const runner = startRunner(world, poller);
  await poller.pollWhileWoken();
  world.commits.push({ ...head, commit: 'b'.repeat(40) });
  world.applying.push(() => runner.refreshStatus());
  world.set('south');

  await poller.pollWhileWoken();

  expect(world.said).toEqual(['Applied', 'Applied']);
});

test.each([
  ['longer than timers can wait', '600h'],
  ['longer than a deadline may be', '2000h'],
  ['of no whole number of milliseconds', '1.1h'],
])('a timeout that is %s lets syncs end, and earlier commits be read', async (_, timeout) => {
  const world = createWorld();
  const poller = createPoller();
  const runner = startRunner(world, poller, { ...source, spec: { ...(source.spec as object), timeout } });
  world.applying.push(() => setTimeout(20));

  await poller.pollWhileWoken();

  expect(world.said).toEqual(['Applied']);
  expect(await runner.reproduce('shop/web', head.commit)).toEqual({ problem: 'it does not hold the Canary' });
});
