import { setTimeout } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { parse as parseYaml } from 'yaml';
import type { Canary } from '../../api/canary/canary.ts';
import {
  type Condition,
  type KubernetesObject,
  type ObjectReference,
  objectKey,
} from '../../api/kubernetes.ts';
import type { WatchedSet } from '../../contracts/cluster.ts';
import { createBuildCache } from '../../render/build/builder.ts';
import { createApplied } from '../applied.ts';
import { createClaims } from '../apply-set.ts';
import { createHeads } from '../canary/context/heads.ts';
import { createRoom } from './context/room.ts';
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

const withCanary = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "shop/web:1"}]}
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: web, namespace: shop}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  service: {port: 80}
  analysis: {interval: 10s, threshold: 3, maxWeight: 50, stepWeight: 10}
`;

/** A cluster with one ConfigMap of variables and whatever is applied, and a repository with one file. */
function createWorld() {
  const variables = { region: 'north', version: 1 };
  const objects = new Map<string, KubernetesObject>();
  const listeners: Array<() => void> = [];
  const meanwhile: Array<() => void> = [];
  const beginning: Array<() => Promise<void>> = [];
  const applying: Array<() => Promise<void>> = [];
  const telling: Array<() => Promise<void>> = [];
  const timers: Array<() => void> = [];
  const said: string[] = [];
  const events: string[] = [];
  const logged: string[] = [];
  const canaries = (): Canary[] => [];
  const synced: boolean[] = [];
  const commits = [head];
  const cluster = {
    as: () => cluster,
    kindOf: async () => ({ namespaced: true }),
    servedKind: async () => undefined,
    capabilities: async () => undefined,
    async patch(_: unknown, { status }: { status?: { conditions: readonly Condition[] } }) {
      if (status) await telling.shift()?.();
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
    expectNews: () => undefined,
    poll: async () => ({ kind: 'moved', head: commits.at(-1), refName: 'refs/heads/main' }),
    treeOidAt: async (commit: string) => commit,
    readCommit: async (commit: string) => ({ ...head, commit }),
    readFiles: async (commit: string) => ({
      files: [{ path: 'app.yaml', oid: commit, bytes: Buffer.from(`${manifest}# ${commit}`) }],
      problems: [] as Array<{ path: string; reason: string; message: string }>,
    }),
  };
  return {
    cluster,
    inputs,
    repository,
    objects,
    meanwhile,
    beginning,
    applying,
    telling,
    timers,
    said,
    events,
    logged,
    canaries,
    synced,
    commits,
    set,
    begin: () => listeners.forEach((one) => void one()),
  };
}

/** Keeps the status of a Source, as the API server does. `ready`: the reasons of its condition, one for each write. */
function storing({ cluster }: ReturnType<typeof createWorld>, followed: KubernetesObject) {
  let stored = followed;
  const ready: string[] = [];
  cluster.patch = async (_, { status }) => {
    const said = status?.conditions.find(({ type }) => type === 'Ready');
    if (said) ready.push(said.reason);
    stored = { ...stored, status: { ...(stored.status as object), ...status } };
    return stored as typeof source;
  };
  return { live: () => stored, ready };
}

/** A poller that polls when the test says so, as long as it is woken. */
function createPoller() {
  const state = { sync: async (_: AbortSignal) => {}, isWoken: true };
  const abort = new AbortController();
  return {
    open: (_: unknown, sync: (signal: AbortSignal) => Promise<void>) => {
      state.sync = sync;
      return {
        start: () => undefined,
        wake: () => void Object.assign(state, { isWoken: true }),
        stop: async () => abort.abort(),
      };
    },
    async pollWhileWoken() {
      while (state.isWoken) {
        state.isWoken = false;
        await state.sync(abort.signal);
      }
    },
  };
}

/** Follows the Source; nothing is polled yet. */
function startRunner(
  world: ReturnType<typeof createWorld>,
  poller: ReturnType<typeof createPoller>,
  followed = source,
  {
    heads = createHeads(),
    claims = createClaims(),
    live = () => followed,
    tell = (_: unknown, __: { reason: string }) => {},
  } = {},
) {
  const { cluster } = world;
  const after = (_: number, work: () => void) => {
    world.timers.push(work);
    return () => undefined;
  };
  const parts = {
    cluster,
    heads,
    applied: createApplied('holdfast'),
    claims,
    room: createRoom(Number.POSITIVE_INFINITY),
    presence: { read: (object: KubernetesObject) => cluster.get({ ...object, name: object.metadata.name }) },
    secretKey: new Uint8Array(32),
    rights: { isTrusted: () => true, protectedNamespaces: [], crossNamespaceRefs: true },
    clock: { nowMs: () => 0, after },
    sources: () => [followed],
    source: live,
    sourceAlerts: { tell },
    canaries: () => world.canaries(),
    canary: () => undefined,
    bindings: { ensure: async () => void (await world.beginning.shift()?.()) },
    events: {
      emit: (_: unknown, { reason, message }: { reason: string; message: string }) =>
        void world.events.push(`${reason}: ${message}`),
    },
    log: {
      error: (_: unknown, message: string) => void world.logged.push(message),
      warn: () => undefined,
      debug: () => undefined,
    },
    wakeCanary: () => undefined,
    onSync: (_: string, succeeded: boolean) => void world.synced.push(succeeded),
    builders: {},
    builds: createBuildCache(),
    refreshSoon: () => undefined,
    rereadFor: () => undefined,
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

test('a sync that ends because the Source is changed or Holdfast stops neither succeeded nor failed', async () => {
  const world = createWorld();
  const poller = createPoller();
  const runner = startRunner(world, poller);
  await poller.pollWhileWoken();
  runner.wake();
  world.repository.poll = async () => {
    await runner.stop();
    throw new Error('Git does not answer');
  };

  await poller.pollWhileWoken();

  expect(world.synced).toEqual([true]);
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

test('a kind that is served in another scope, since its definition was made again, is placed anew without a commit', async () => {
  const world = createWorld();
  const poller = createPoller();
  const runner = startRunner(world, poller);
  await poller.pollWhileWoken();
  const before = world.objects.get('app')?.metadata.namespace;
  world.cluster.kindOf = async () => ({ namespaced: false });

  runner.wake();
  await poller.pollWhileWoken();

  expect([before, world.objects.get('app')?.metadata.namespace]).toEqual(['shop', undefined]);
});

test('a Source that cannot be read says so also while it is tried again', async () => {
  const world = createWorld();
  const poller = createPoller();
  const { live, ready } = storing(world, source);
  const runner = startRunner(world, poller, source, { live });
  await poller.pollWhileWoken();
  for (const meanwhile of [async () => {}, () => runner.refreshStatus()]) {
    world.cluster.get = async () => {
      await meanwhile();
      return undefined;
    };
    runner.reread();
    await poller.pollWhileWoken().catch(() => undefined);
  }

  expect(ready).toEqual(['Applied', 'VariablesNotFound']);
});

/** A Source with an alert whose object works until `break`; what it tells, and the reasons of its condition Ready as stored. */
async function startAlerting() {
  const world = createWorld();
  const poller = createPoller();
  const alerts = [{ name: 'team', providerRef: { name: 'team' } }];
  const followed = { ...source, spec: { ...(source.spec as object), wait: true, alerts } };
  const { live, ready } = storing(world, followed);
  const told: string[] = [];
  let conditions: object[] = [];
  const metadata = { name: 'app', resourceVersion: '1' };
  world.inputs.get = () => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata, status: { conditions } });
  const tell = (_: unknown, { reason }: { reason: string }) => void told.push(reason);
  const runner = startRunner(world, poller, followed, { live, tell });
  await poller.pollWhileWoken();
  const fail = () => {
    conditions = [{ type: 'Stalled', status: 'True' }];
  };
  return { world, poller, runner, told, ready, fail };
}

test('two writes of the status at a time send one alert, and one event', async () => {
  const { world, runner, told, ready, fail } = await startAlerting();
  const { patch } = world.cluster;
  world.cluster.patch = async (...asked) => {
    await setTimeout(5);
    return patch(...asked);
  };
  fail();

  await Promise.all([runner.refreshStatus(), runner.refreshStatus()]);

  expect([told, ready]).toEqual([['Unhealthy'], ['Applied', 'Unhealthy']]);
});

test.each([
  ['took', true],
  ['did not take', false],
])(
  'an alert comes once although the API server gave no answer to the status, which it %s',
  async (_, isTaken) => {
    const { world, runner, told, fail } = await startAlerting();
    const { patch } = world.cluster;
    world.cluster.patch = async (...asked) => {
      if (isTaken) await patch(...asked);
      world.cluster.patch = patch;
      throw new Error('the connection was reset');
    };
    fail();
    await runner.refreshStatus();
    expect(told).toEqual([]);

    await runner.refreshStatus();
    await runner.refreshStatus();

    expect(told).toEqual(['Unhealthy']);
  },
);

test('an alert that is sent while a sync of the Source is under way is not sent again at its end', async () => {
  const { world, poller, runner, told, fail } = await startAlerting();
  const { poll } = world.repository;
  world.repository.poll = async () => {
    fail();
    await runner.refreshStatus();
    return poll();
  };

  runner.wake();
  await poller.pollWhileWoken();

  expect(told).toEqual(['Unhealthy']);
});

test('a file that breaks withholds nothing of a Canary that left Git before', async () => {
  const world = createWorld();
  const poller = createPoller();
  const deployment = (image: string) => (withCanary.split('---')[0] ?? '').replace('shop/web:1', image);
  const commits: Record<string, Record<string, string>> = {
    a: { 'web.yaml': withCanary.replace('Canary\nmetadata: {name: web', 'Canary\nmetadata: {name: app') },
    b: { 'web.yaml': deployment('shop/web:2') },
    c: { 'web.yaml': deployment('shop/web:3'), 'broken.yaml': 'apiVersion: {' },
  };
  world.repository.readFiles = async (commit) => ({
    files: Object.entries(commits[commit.slice(0, 1)] ?? {}).map(([path, text]) => ({
      path,
      oid: `${commit} ${path}`,
      bytes: Buffer.from(text),
    })),
    problems: [],
  });
  const runner = startRunner(world, poller);
  for (const letter of ['b', 'c']) {
    await poller.pollWhileWoken();
    world.commits.push({ ...head, commit: letter.repeat(40) });
    runner.reread();
  }
  await poller.pollWhileWoken();

  expect(world.said.at(-1)).toBe('InvalidManifests');
  expect(JSON.stringify(world.objects.get('web')?.spec)).toContain('shop/web:3');
});

describe('a status that the API server does not take', () => {
  const overloaded = async () => {
    throw Object.assign(new Error('the API server is overloaded'), { kind: 'tooManyRequests' });
  };
  /** What the status says once a timer has run, and the timers that are left. */
  async function laterSaid(world: ReturnType<typeof createWorld>) {
    await vi.waitFor(() => expect(world.timers).toHaveLength(1));
    expect(world.said).toEqual([]);
    for (const timer of world.timers.splice(0)) timer();
    await vi.waitFor(() => expect(world.said).toHaveLength(1));
    return [world.said, world.timers];
  }

  test.each([
    ['is suspended', { suspend: true }, 'Suspended'],
    ['cannot be followed', { ref: { branch: 'main', tag: 'v1' } }, 'InvalidSpec'],
  ])('is written later for a Source that %s, which is never polled', async (_, more, reason) => {
    const world = createWorld();
    world.telling.push(overloaded);
    startRunner(world, createPoller(), { ...source, spec: { ...(source.spec as object), ...more } });

    expect(await laterSaid(world)).toEqual([[reason], []]);
  });

  test('is written before the next poll, which may be far away', async () => {
    const world = createWorld();
    const poller = createPoller();
    world.telling.push(overloaded);
    startRunner(world, poller);
    await poller.pollWhileWoken();

    expect(await laterSaid(world)).toEqual([['Applied'], []]);
  });
});

test('a status that an admission policy refuses is an Event, and the sync counts as failed until it is written', async () => {
  const world = createWorld();
  const poller = createPoller();
  const refusal = Object.assign(new Error('policy says no'), { kind: 'invalid' });
  world.telling.push(() => Promise.reject(refusal));

  const runner = startRunner(world, poller);
  await poller.pollWhileWoken();
  const events = world.events.splice(0);
  runner.wake();
  await poller.pollWhileWoken();

  expect(events).toEqual([expect.stringMatching(/^Invalid: the status of the Source .*: policy says no$/)]);
  expect(world.synced).toEqual([false, true]);
});

test('a fault in what is to be said of one Source is logged, and ends neither the program nor the Source', async () => {
  const world = createWorld();
  const { canaries } = world;
  world.canaries = () => {
    throw new Error('a fault');
  };

  const runner = startRunner(world, createPoller(), {
    ...source,
    spec: { ...(source.spec as object), suspend: true },
  });
  await vi.waitFor(() => expect(world.logged).toEqual(['could not say how a Source is: a fault']));
  world.canaries = canaries;
  runner.stop();
});

test('objects that are refused are reported in one order, whichever answer comes first', async () => {
  const world = createWorld();
  const poller = createPoller();
  const manifests = ['first', 'second'].map((name) => manifest.replace('name: app', `name: ${name}`));
  world.repository.readFiles = async (commit) => ({
    files: [{ path: 'app.yaml', oid: commit, bytes: Buffer.from(manifests.join('---\n')) }],
    problems: [],
  });
  const refusal = (kind: string, afterMs: number) => async () => {
    await setTimeout(afterMs);
    throw Object.assign(new Error(`${kind} by the API server`), { kind });
  };
  const runner = startRunner(world, poller);
  world.applying.push(refusal('forbidden', 30), refusal('invalid', 0));
  await poller.pollWhileWoken();
  world.applying.push(refusal('forbidden', 0), refusal('invalid', 30));
  runner.reread();
  await poller.pollWhileWoken();

  expect(world.said).toEqual(['Forbidden', 'Forbidden']);
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

test.each([
  ['TooLarge', 'data/large.json', ['data/']],
  ['Submodule', 'docs/theme', ['docs/theme/']],
  ['InvalidManifests', 'data/large.json', ['docs/']],
])('what cannot be read and is left out by spec.ignore is no problem: %s', async (reason, path, ignore) => {
  const world = createWorld();
  const poller = createPoller();
  const { readFiles } = world.repository;
  world.repository.readFiles = async (commit) => ({
    ...(await readFiles(commit)),
    problems: [{ path, reason, message: `${path}: it cannot be read` }],
  });
  startRunner(world, poller, { ...source, spec: { ...(source.spec as object), ignore } });

  await poller.pollWhileWoken();

  expect(world.said).toEqual([reason === 'InvalidManifests' ? reason : 'Applied']);
});

describe('a Source that is deleted while a commit of it is being applied', () => {
  /** What one that holds a Canary with its target says after its deletion. */
  async function afterDeletion(spec: object) {
    const world = createWorld();
    const poller = createPoller();
    const [heads, claims] = [createHeads(), createClaims()];
    heads.listed();
    world.repository.readFiles = async (commit) => ({
      files: [{ path: 'web.yaml', oid: commit, bytes: Buffer.from(withCanary) }],
      problems: [],
    });
    const followed = { ...source, spec: { ...(source.spec as object), ...spec } };
    const runner = startRunner(world, poller, followed, { heads, claims });
    world.beginning.push(async () => {
      void runner.stop();
      claims.forget('shop/shop');
      heads.forget('shop/shop');
    });
    await poller.pollWhileWoken();
    return { heads, claims };
  }

  test('speaks for no Canary', async () => {
    const { heads } = await afterDeletion({ apply: false });

    expect(heads.of('shop/web').view).toMatchObject({ reason: 'NoSource' });
  });

  test('keeps no object from being pruned by others', async () => {
    const { claims } = await afterDeletion({});

    expect(claims.holdersOf(objectKey(parseYaml(withCanary.split('---')[0] ?? '')), '')).toEqual([]);
  });
});
