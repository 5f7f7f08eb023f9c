import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { type HookServer, startHookServer } from '../hook-server.ts';
import { imageOf } from '../objects.ts';
import { type BuiltProgram, buildProgram, type Run } from './built-program.ts';
import {
  type Bed,
  canary,
  createSource,
  deployment,
  eventually,
  onGateway,
  primaryImage,
  startBed,
  statusOf,
} from './holdfast-bed.ts';
import { hasPrevious, previousVersion } from './previous-version.ts';

/**
 * One Canary for each state, all of them in their state while one version of the program ends and another one begins: each stays in its state, goes
 * on from there, and no request fails.
 */
interface State {
  readonly spec?: Record<string, unknown>;
  /** A webhook that keeps it in this state. */
  readonly gate?: { readonly type: string; readonly answers: readonly number[] };
  /** Pods that do not become ready until both versions have seen the state. */
  readonly stuck?: (pod: {
    readonly isPrimary: boolean;
    readonly image: string;
    readonly isNew: boolean;
  }) => boolean;
  readonly strategy?: 'Recreate';
  /** Set once v2 is on the primary. */
  readonly isAborted?: true;
  readonly isThere: (status: Status) => boolean;
  /** The phase that it ends in, and the image of the primary then. */
  readonly ends: readonly [phase: string, image: string];
}

interface Status {
  readonly phase?: string;
  readonly iterations?: number;
  readonly canaryWeight?: number;
  readonly run?: object;
  readonly postPromotion?: { readonly state: string };
}

const [v1, v2] = ['shop/web:1', 'shop/web:2'];
const patient = { progressDeadlineSeconds: 600 };
const after = (state: string) => (status: Status) => status.postPromotion?.state === state;

const states: Readonly<Record<string, State>> = {
  initializing: {
    spec: patient,
    stuck: ({ isPrimary }) => isPrimary,
    isThere: ({ phase }) => phase === 'Initializing',
    ends: ['Initialized', v1],
  },
  waiting: {
    gate: { type: 'confirm-rollout', answers: [403] },
    isThere: ({ phase }) => phase === 'Waiting',
    ends: ['Succeeded', v2],
  },
  starting: {
    spec: patient,
    stuck: ({ isPrimary, image }) => !isPrimary && image === v2,
    isThere: ({ phase, run, iterations }) => phase === 'Progressing' && run !== undefined && !iterations,
    ends: ['Succeeded', v2],
  },
  analysing: {
    spec: {
      ...onGateway,
      ...patient,
      analysis: { interval: '1s', threshold: 2, stepWeight: 20, maxWeight: 60 },
    },
    gate: { type: 'confirm-traffic-increase', answers: [200, 403] },
    isThere: ({ phase, canaryWeight }) => phase === 'Progressing' && canaryWeight === 20,
    ends: ['Succeeded', v2],
  },
  'waiting-promotion': {
    gate: { type: 'confirm-promotion', answers: [403] },
    isThere: ({ phase }) => phase === 'WaitingPromotion',
    ends: ['Succeeded', v2],
  },
  converging: {
    spec: patient,
    stuck: ({ isPrimary, image }) => isPrimary && image === v2,
    isThere: after('Converging'),
    ends: ['Succeeded', v2],
  },
  verifying: {
    spec: { postPromotion: { interval: '1s', successThreshold: 30 } },
    isThere: after('Verifying'),
    ends: ['Succeeded', v2],
  },
  held: {
    spec: { postPromotion: { onFailure: 'hold' } },
    stuck: ({ isPrimary, image }) => isPrimary && image === v2,
    isThere: after('Held'),
    ends: ['Succeeded', v2],
  },
  reverting: {
    spec: patient,
    strategy: 'Recreate',
    stuck: ({ isPrimary, image, isNew }) => isPrimary && (image === v2 || isNew),
    isAborted: true,
    isThere: after('Reverting'),
    ends: ['Failed', v1],
  },
  'revert-failed': {
    strategy: 'Recreate',
    stuck: ({ isPrimary, image, isNew }) => isPrimary && (image === v2 || isNew),
    isThere: (status) => status.phase === 'Failed' && after('Held')(status),
    ends: ['Failed', v1],
  },
  resting: {
    isThere: ({ phase, run }) => phase === 'Succeeded' && run === undefined,
    ends: ['Succeeded', v2],
  },
};
const apps = Object.keys(states);
const released = apps.filter((app) => app !== 'initializing');

let hooks: HookServer;
let bed: Bed;
let programs: Readonly<Record<'previous' | 'current', BuiltProgram>>;

beforeAll(async () => {
  if (!hasPrevious)
    console.warn('upgrade and downgrade are skipped: no history here; run git fetch --unshallow');
  const current = buildProgram();
  const previous = hasPrevious ? buildProgram(previousVersion) : current;
  programs = { previous: await previous, current: await current };
});
afterAll(() => Promise.all([...new Set(Object.values(programs))].map((program) => program.remove())));
beforeEach(async () => {
  hooks = await startHookServer();
  bed = await startBed();
});
afterEach(async () => {
  for (const program of Object.values(programs)) program.killAll();
  await bed.close();
  await hooks.close();
});

const directions = [
  ['an upgrade', 'previous', 'current'],
  ['a downgrade', 'current', 'previous'],
] as const;

describe.skipIf(!hasPrevious).each(directions)('%s by one version', (_, before, next) => {
  test('leaves every Canary in its state, from which the other version goes on without a failed request', async () => {
    await installCrds(before);
    const first = await start(before);
    const unstick = await reachAll(first);
    const users = released.map((app) => bed.sandbox.sampleTraffic({ namespace: 'shop', service: app }));
    first.stop('SIGTERM');
    expect(await first.ended).toBe(0);
    const left = await Promise.all(apps.map(statusIn));

    if (next === 'current') await installCrds(next);
    await start(next);
    await eventually('the other version leads', async () => (await leaseTransitions()) > 0);
    // Every Canary is read again after a start: a gate that is asked again has been seen by the new one.
    const asked = () => ['waiting', 'analysing', 'waiting-promotion'].map((app) => hooks.seen(app).length);
    const askedBefore = asked();
    await eventually('gates are asked again', async () =>
      asked().every((count, index) => count > (askedBefore[index] ?? 0) + 1),
    );
    for (const [index, app] of apps.entries()) {
      const now = await statusIn(app);
      expect([app, states[app]?.isThere(now), now.phase]).toEqual([app, true, left[index]?.phase]);
    }

    unstick();
    for (const app of apps) hooks.answer(app, 200);
    for (const app of apps) await expectEnd(app);
    for (const sampler of users) sampler.stop();
    const failed = users.map((sampler, index) => [released[index], sampler.totals().failed]);
    expect(failed.filter(([, count]) => count !== 0)).toEqual([]);
    // Each version writes what it reads itself (ADR 47).
    for (const app of apps) {
      const { specInForce, bookkeeping } = ((await bed.canary(app))?.status ?? {}) as CanaryStatus;
      const isPacked = next === 'current' && bookkeeping !== undefined;
      expect([app, specInForce === undefined, isPacked]).toEqual([
        app,
        next === 'current',
        next === 'current',
      ]);
    }
  });
});

test('fields of a status that a newer version wrote stay while this one works with the object', async () => {
  const crdPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/canaries.flagger.app';
  const { body } = await bed.send('GET', crdPath);
  const { versions } = (body as KubernetesObject).spec as {
    versions: Array<{ schema: { openAPIV3Schema: Schema } }>;
  };
  for (const { schema } of versions)
    schema.openAPIV3Schema.properties.status = {
      type: 'object',
      'x-kubernetes-preserve-unknown-fields': true,
    };
  expect((await bed.send('PATCH', crdPath, { spec: { versions } })).status).toBe(200);
  const app = 'waiting';
  hooks.answer(app, 200, 403);
  await bed.commit('v1', { 'web.json': deployment(v1, { name: app }), 'canary.json': canaryOf(app) });
  await createSource(bed);
  await bed.start();
  await each([app], ({ phase }) => phase === 'Initialized');
  hooks.answer(app, 403);
  await bed.commit('v2', { 'web.json': deployment(v2, { name: app }) });
  await each([app], ({ phase }) => phase === 'Waiting');

  const later = { laterField: { since: 'version 9' }, run: { laterPart: 'of the run' } };
  const path = `/apis/flagger.app/v1beta1/namespaces/shop/canaries/${app}`;
  const annotations = { 'holdfast.dev/later': 'a request of version 9' };
  await bed.send('PATCH', path, { metadata: { annotations } });
  expect((await bed.send('PATCH', `${path}/status`, { status: later })).status).toBe(200);
  hooks.answer(app, 200);
  await each([app], ({ phase }) => phase === 'Progressing');
  expect(await statusIn(app)).toMatchObject(later);
  await expectEnd(app);
  expect(await statusIn(app)).toMatchObject({ laterField: later.laterField });
  expect((await bed.canary(app))?.metadata.annotations).toMatchObject(annotations);
});

/** The part of a CRD's schema that is changed. */
interface Schema {
  readonly properties: Record<string, object>;
}

async function statusIn(app: string): Promise<Status> {
  return statusOf(await bed.canary(app)) as Status;
}

async function start(version: keyof typeof programs): Promise<Run> {
  const program = programs[version];
  const data = await mkdtemp(join(program.folder, 'data-'));
  const places = ['--kubeconfig', bed.kubeconfigPath, '--data-dir', data, '--listen', '127.0.0.1:0'];
  const metrics = ['--metrics-server', bed.sandbox.prometheusUrl];
  return program.run(['run', ...places, ...metrics, '--min-analysis-interval', '100ms']);
}

/** As `holdfast install --crds-only | kubectl replace -f -`. */
async function installCrds(version: keyof typeof programs): Promise<void> {
  const main = join(programs[version].folder, 'dist/main.js');
  const args = [main, 'install', '--crds-only', '-o', 'json'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 26 });
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  for (const crd of (JSON.parse(stdout) as { items: KubernetesObject[] }).items) {
    const { body } = await bed.send('GET', `${path}/${crd.metadata.name}`);
    const { resourceVersion } = (body as KubernetesObject).metadata;
    const changed = { ...crd, metadata: { ...crd.metadata, resourceVersion } };
    const { status } = await bed.send('PUT', `${path}/${crd.metadata.name}`, changed);
    expect([crd.metadata.name, status]).toEqual([crd.metadata.name, 200]);
  }
}

/** v1 of every app has proven itself, and v2 is in the state of the app's name. The result ends what keeps pods from becoming ready. */
async function reachAll(program: Run): Promise<() => void> {
  let v2Ms = Number.POSITIVE_INFINITY;
  const unstick = bed.sandbox.behaviour.rule((pod) => {
    const {
      name,
      labels = {},
      creationTimestamp = '',
    } = pod.metadata as KubernetesObject['metadata'] & {
      creationTimestamp?: string;
    };
    const app = apps.find((each) => [each, `${each}-primary`].includes(labels.app ?? ''));
    const image = imageOf({ spec: { template: { spec: pod.spec } } }) ?? '';
    const isNew = Date.parse(creationTimestamp) >= v2Ms;
    const isStuck = states[app ?? '']?.stuck?.({ isPrimary: name.includes('-primary-'), image, isNew });
    return isStuck ? { failure: 'NotReady' } : undefined;
  });
  const manifests = (names: readonly string[], image: string) =>
    Object.fromEntries(
      names.map((app) => [`${app}.json`, withStrategy(deployment(image, { name: app }), app)]),
    );
  const canaries = Object.fromEntries(apps.map((app) => [`${app}-canary.json`, canaryOf(app)]));
  await bed.commit('v1', { ...manifests(apps, v1), ...canaries });
  await createSource(bed);
  await each(released, ({ phase }) => phase === 'Initialized');
  for (const app of released) hooks.answer(app, ...(states[app]?.gate?.answers ?? [200]));
  // Creation times are in whole seconds.
  v2Ms = Math.ceil(Date.now() / 1000) * 1000;
  await eventually('the next second', async () => Date.now() >= v2Ms);
  const commit = await bed.commit('v2', manifests(released, v2));
  for (const app of released.filter((each) => states[each]?.isAborted)) {
    await eventually(`v2 on the primary of ${app}`, async () => (await primaryImage(bed, app)) === v2, {
      seen: async () => [await statusIn(app), program.output().slice(-4_000)],
    });
    const annotations = { 'holdfast.dev/abort': `${commit}@upgrade` };
    const path = `/apis/flagger.app/v1beta1/namespaces/shop/canaries/${app}`;
    await bed.send('PATCH', path, { metadata: { annotations } });
  }
  for (const app of apps) await each([app], (status) => states[app]?.isThere(status) === true);
  return unstick;
}

function canaryOf(app: string): string {
  const { spec = {}, gate } = states[app] ?? {};
  const { analysis = { interval: '1s', threshold: 2, iterations: 2 }, ...rest } = spec as {
    analysis?: object;
  };
  const webhooks = gate ? [{ name: 'gate', type: gate.type, url: hooks.url(app) }] : [];
  return canary({ name: app, spec: { ...rest, analysis: { ...analysis, webhooks } } });
}

function withStrategy(manifest: string, app: string): string {
  const type = states[app]?.strategy;
  if (!type) return manifest;
  const object = JSON.parse(manifest) as { spec: object };
  return JSON.stringify({ ...object, spec: { ...object.spec, strategy: { type } } });
}

async function each(names: readonly string[], isThere: (status: Status) => boolean): Promise<void> {
  for (const app of names)
    await eventually(app, async () => isThere(await statusIn(app)), { seen: () => statusIn(app) });
}

async function expectEnd(app: string): Promise<void> {
  const [phase, image] = states[app]?.ends ?? ['', ''];
  await eventually(
    `${app} ends as ${phase}`,
    async () => {
      const status = await statusIn(app);
      return status.phase === phase && status.run === undefined && (await primaryImage(bed, app)) === image;
    },
    { seen: () => statusIn(app) },
  );
}

async function leaseTransitions(): Promise<number> {
  const lease = await bed.get('coordination.k8s.io/v1', 'Lease', 'holdfast', 'default');
  const { holderIdentity, leaseTransitions: count = 0 } = (lease?.spec ?? {}) as {
    holderIdentity?: string;
    leaseTransitions?: number;
  };
  return holderIdentity ? count : 0;
}
