/** What people change on a primary, as the rollout sees it, and how it is written back. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../src/api/clock.ts';
import { silentLogger } from '../../src/cluster/log.ts';
import { createApplied } from '../../src/engine/applied.ts';
import type { ActionContext, CanaryParts } from '../../src/engine/canary/context/context.ts';
import { performAll } from '../../src/engine/canary/perform/perform.ts';
import { readCanaryWith } from '../../src/review/read-canary.ts';
import type { Action } from '../../src/rollout/outcome.ts';
import type { World } from '../../src/rollout/world.ts';
import { createClusterPort } from '../../src/server/cluster.ts';
import { type Connection, connect } from '../../src/server/connection.ts';
import { createWriteGate } from '../../src/server/write-gate.ts';
import { canary, deployment, primaryImage, runUntilInitialized } from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
let connection: Connection;
beforeEach(async () => {
  bed = await startQuickBed();
  connection = await connect({ kubeconfig: bed.kubeconfigPath, version: 'test' }, systemClock, silentLogger);
});
afterEach(async () => {
  await connection.close();
  await bed.close();
});

const options = {
  minIntervalMs: 100,
  defaultProvider: 'kubernetes',
  selectorLabels: ['app'],
  includeLabelPrefixes: [],
};
const applied = createApplied('holdfast-rollout');

/** A look as the controller's, with what it then does. */
async function look(decide: (world: World) => readonly Action[] = () => []): Promise<World> {
  const query = { namespace: 'shop', name: 'web', options };
  return readCanaryWith(connection, query, async ({ parts, observation }) => {
    const cluster = createClusterPort(
      connection.client,
      createWriteGate(() => true),
    );
    const writing = { ...parts, cluster, applied } as unknown as CanaryParts;
    const context: ActionContext = { parts: writing, observation };
    await performAll(context, decide(observation.world));
    return observation.world;
  });
}

/** Released once; nobody looks after it any more. */
async function released(
  more: Record<string, string> = {},
  spec: Record<string, unknown> = {},
): Promise<void> {
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1', { replicas: 3 }),
    'canary.json': canary({ spec }),
    ...more,
  });
  const app = await runUntilInitialized(bed);
  await bed.pass(3_000);
  await app.drain();
}

const primary = '/apis/apps/v1/namespaces/shop/deployments/web-primary';

async function patch(path: string, body: object, manager: string): Promise<void> {
  const { status } = await bed.send(
    'PATCH',
    `${path}?fieldManager=${manager}`,
    body,
    'application/strategic-merge-patch+json',
  );
  expect(status).toBe(200);
}

const scaleByHand = (replicas: number) => patch(`${primary}/scale`, { spec: { replicas } }, 'kubectl');

async function replicas(): Promise<number | undefined> {
  const { spec } = ((await bed.get('apps/v1', 'Deployment', 'web-primary')) ?? {}) as {
    spec?: { replicas?: number };
  };
  return spec?.replicas;
}

test.each([0, 7])(
  '%i pods by hand are not what Git asks for, and can be put back (issue 11, 22)',
  async (count) => {
    await released();
    expect((await look()).primary).toMatchObject({ wantedReplicas: 3, desiredReplicas: 3 });
    await scaleByHand(count);
    const seen = await look(({ primary: view }) => [
      { type: 'ScalePrimary', replicas: view?.wantedReplicas ?? -1 },
    ]);
    expect(seen.primary).toMatchObject({ wantedReplicas: 3, desiredReplicas: count, drift: undefined });
    expect(await replicas()).toBe(3);
  },
);

test('pods are put back over exactly the primary that was seen', async () => {
  await released();
  await scaleByHand(0);
  await expect(
    readCanaryWith(
      connection,
      { namespace: 'shop', name: 'web', options },
      async ({ parts, observation }) => {
        await look(() => [{ type: 'ScalePrimary', replicas: 3 }]);
        const cluster = createClusterPort(
          connection.client,
          createWriteGate(() => true),
        );
        const writing = { ...parts, cluster, applied } as unknown as CanaryParts;
        return performAll({ parts: writing, observation }, [{ type: 'ScalePrimary', replicas: 5 }]);
      },
    ),
  ).rejects.toMatchObject({ kind: 'conflict' });
  expect(await replicas()).toBe(3);
});

test('a number that a scaler owns is nobody’s wish', async () => {
  const scaler = {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'web', namespace: 'shop' },
    spec: {
      ...{ minReplicas: 1, maxReplicas: 12 },
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
    },
  };
  const { apiVersion, kind } = scaler;
  await released(
    { 'hpa.json': JSON.stringify(scaler) },
    { autoscalerRef: { apiVersion, kind, name: 'web' } },
  );
  expect((await look()).primary).not.toHaveProperty('wantedReplicas');
});

test.each(['kubectl-set', 'holdfast-rollout'])(
  'an image that was set by hand as %s is overwritten by the release that the primary has already (issue 11, 11)',
  async (manager) => {
    await released();
    const containers = [{ name: 'app', image: 'shop/web:by-hand' }];
    await patch(primary, { spec: { minReadySeconds: 5, template: { spec: { containers } } } }, manager);
    const seen = await look(({ primary: view }) => {
      const { digest = '', uid = '', resourceVersion = '' } = view ?? {};
      return [{ type: 'ApplyPrimary', digest, precondition: { uid, resourceVersion } }];
    });
    expect(seen.primary?.drift?.fields[0]).toEqual({
      path: 'spec.template.spec.containers[app].image',
      expected: 'shop/web:1',
      actual: 'shop/web:by-hand',
    });
    expect(await primaryImage(bed)).toBe('shop/web:1');
    expect((await look()).primary?.drift).toBeUndefined();
  },
);
