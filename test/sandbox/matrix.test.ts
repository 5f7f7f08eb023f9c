import { afterEach, describe, expect, test } from 'vitest';
import { imageOf } from '../objects.ts';
import { canary, createSource, deployment, eventually, statusOf } from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

/**
 * Events that need more than the core, in the states that the engine handles differently: one Canary for each event, all of them in the same
 * state at once. The whole matrix is played on the core (test/rollout/matrix).
 */
interface Event {
  happens: (app: string) => Promise<unknown>;
  /** It takes a copy or its traffic away by itself: requests may fail until that was seen. */
  breaks?: true;
}

interface State {
  spec: Record<string, unknown>;
  /** v2 does not come up as the primary. */
  fails?: true;
  isThere: (status: Record<string, unknown>) => boolean;
  /** The phase it ends in, and what serves then. */
  ends: { phase: string; image: string };
}

let bed: QuickBed;
afterEach(() => bed.close());

const remove = (kind: string, name: string) => bed.send('DELETE', `${pathOf(kind)}/${name}`);

const events: Readonly<Record<string, Event>> = {
  nothing: { happens: async () => undefined },
  'primary-deleted': { happens: (app) => remove('deployments', `${app}-primary`), breaks: true },
  'target-deleted': { happens: (app) => remove('deployments', app), breaks: true },
  'apex-deleted': { happens: (app) => remove('services', app), breaks: true },
  'copy-deleted': { happens: (app) => remove('configmaps', `${app}-config-primary`) },
  'record-deleted': { happens: (app) => removeRecord(app) },
  'canary-deleted': { happens: (app) => remove('canaries', app) },
};

const apps = Object.keys(events);
const post = (status: Record<string, unknown>) => (status.postPromotion ?? {}) as { state?: string };

const states: Readonly<Record<string, State>> = {
  Progressing: {
    spec: { analysis: { interval: '1s', threshold: 2, iterations: 10 } },
    isThere: ({ phase, iterations }) => phase === 'Progressing' && Number(iterations) > 0,
    ends: { phase: 'Succeeded', image: 'shop/web:2' },
  },
  Verifying: {
    spec: { postPromotion: { interval: '1s', successThreshold: 8 } },
    isThere: (status) => post(status).state === 'Verifying',
    ends: { phase: 'Succeeded', image: 'shop/web:2' },
  },
  Held: {
    spec: { postPromotion: { onFailure: 'hold' } },
    fails: true,
    isThere: (status) => post(status).state === 'Held',
    ends: { phase: 'Promoting', image: 'shop/web:2' },
  },
  Failed: {
    spec: {},
    fails: true,
    isThere: ({ phase, run }) => phase === 'Failed' && run === undefined,
    ends: { phase: 'Failed', image: 'shop/web:1' },
  },
};

describe.each(Object.entries(states))('in state %s', (_name, state) => {
  test('every event ends as the table of the core says, and what was taken away is there again', async () => {
    bed = await startQuickBed();
    await reach(state);
    const samplers = apps.map((app) => ({ app, users: users(app) }));
    await Promise.all(apps.map((app) => events[app]?.happens(app)));
    for (const app of apps) {
      if (app === 'canary-deleted') await expectHandedBack(app);
      else await expectEnd(app, state);
    }
    for (const { users } of samplers) users.stop();
    const failed = samplers.filter(({ app, users }) => !events[app]?.breaks && users.totals().failed > 0);
    expect(failed.map(({ app, users }) => [app, users.totals()])).toEqual([]);
  });
});

/** v1 of every app has proven itself, and v2 is in this state. */
async function reach({ spec, fails, isThere }: State): Promise<void> {
  const files = (image: string) =>
    Object.fromEntries(apps.map((app) => [`${app}.json`, withConfig(app, image)]));
  const canaries = Object.fromEntries(apps.map((app) => [`${app}-config.json`, JSON.stringify(config(app))]));
  for (const app of apps) {
    const manifest = canary({ name: app, spec: { revertOnDeletion: true, ...spec } });
    await bed.send('POST', pathOf('canaries'), JSON.parse(manifest));
  }
  await bed.commit('v1', { ...files('shop/web:1'), ...canaries });
  await createSource(bed);
  await bed.start();
  await all((status) => status.phase === 'Initialized');
  if (fails)
    bed.sandbox.behaviour.rule((pod) =>
      pod.metadata.name.includes('-primary-') &&
      imageOf({ spec: { template: { spec: pod.spec } } }) === 'shop/web:2'
        ? { failure: 'ImagePullBackOff' }
        : undefined,
    );
  await bed.commit('v2', files('shop/web:2'));
  await all(isThere);
}

/** Each app came there; those that got there first may have gone on. */
async function all(isThere: State['isThere']): Promise<void> {
  for (const app of apps) {
    await eventually(app, async () => isThere(statusOf(await bed.canary(app))), {
      seen: async () => statusOf(await bed.canary(app)),
    });
  }
}

async function expectEnd(app: string, { ends, fails }: State): Promise<void> {
  const name = (more: string) => `${app}${more}`;
  await eventually(
    `${app} ends as ${ends.phase}`,
    async () => {
      const primary = await bed.get('apps/v1', 'Deployment', name('-primary'));
      const parts = await Promise.all([
        bed.get('apps/v1', 'Deployment', app),
        bed.get('v1', 'Service', app),
        bed.get('v1', 'Service', name('-primary')),
        bed.get('v1', 'ConfigMap', name('-config-primary')),
      ]);
      const serves = !(fails && ends.phase === 'Promoting') || isOnCanary(parts[1], app);
      const isEnd = statusOf(await bed.canary(app)).phase === ends.phase;
      return isEnd && serves && imageOf(primary) === ends.image && parts.every((part) => part !== undefined);
    },
    { seen: async () => statusOf(await bed.canary(app)) },
  );
}

async function expectHandedBack(app: string): Promise<void> {
  await eventually(`${app} is gone`, async () => (await bed.canary(app)) === undefined, {
    seen: async () => statusOf(await bed.canary(app)),
  });
  const target = await bed.get('apps/v1', 'Deployment', app);
  expect([app, target?.status]).toMatchObject([app, { readyReplicas: 2 }]);
}

function isOnCanary(apex: unknown, app: string): boolean {
  const { spec } = (apex ?? {}) as { spec?: { selector?: Record<string, string> } };
  return spec?.selector?.app === app;
}

async function removeRecord(app: string): Promise<void> {
  const { lastKnownGood } = statusOf(await bed.canary(app)) as { lastKnownGood?: { record: string } };
  await remove('secrets', lastKnownGood?.record ?? '');
}

function users(app: string) {
  return bed.sandbox.sampleTraffic({ namespace: 'shop', service: app });
}

function pathOf(kind: string): string {
  const group = { deployments: 'apis/apps/v1', canaries: 'apis/flagger.app/v1beta1' }[kind] ?? 'api/v1';
  return `/${group}/namespaces/shop/${kind}`;
}

function config(app: string) {
  const metadata = { name: `${app}-config`, namespace: 'shop' };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { colour: 'blue' } };
}

function withConfig(app: string, image: string): string {
  const object = JSON.parse(deployment(image, { name: app })) as {
    spec: { template: { spec: Record<string, unknown> } };
  };
  object.spec.template.spec.volumes = [{ name: 'config', configMap: { name: `${app}-config` } }];
  return JSON.stringify(object);
}
