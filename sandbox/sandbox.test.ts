import { KubeConfig } from '@kubernetes/client-node';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { KubernetesObject } from '../src/api/kubernetes.ts';
import { at } from './api-server/json.ts';
import { applyTo, deployment, service } from './sandbox.test-support.ts';
import { type Sandbox, startSandbox } from './sandbox.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

let clock: VirtualClock;
let sandbox: Sandbox;

const apply = (object: KubernetesObject) => applyTo(sandbox, object);

beforeEach(async () => {
  clock = createVirtualClock();
  sandbox = await startSandbox({ clock });
});

afterEach(() => sandbox.close());

function stored(key: string, name: string): KubernetesObject | undefined {
  return sandbox.store.get(key, 'default', name);
}

function reason(name: string, type: string): unknown {
  const conditions = at(stored('apps/deployments', name), 'status', 'conditions') as Array<
    Record<string, unknown>
  >;
  return conditions.find((each) => each.type === type)?.reason;
}

test('gives a kubeconfig that the client library loads', () => {
  const config = new KubeConfig();
  config.loadFromString(sandbox.kubeconfig);
  expect(config.getCurrentCluster()).toMatchObject({ server: sandbox.url, skipTLSVerify: true });
});

describe('pods', () => {
  test('become ready when their time has come, and not before', async () => {
    await apply(deployment('web', { START_DELAY_MS: '5000' }));
    clock.advance(4_900);
    expect(at(stored('apps/deployments', 'web'), 'status', 'readyReplicas')).toBeUndefined();
    clock.advance(200);
    expect(at(stored('apps/deployments', 'web'), 'status', 'readyReplicas')).toBe(1);
  });

  test('fail only in the primary when the variable says so', async () => {
    await apply(deployment('web', { PRIMARY_READY: 'false' }));
    await apply(deployment('web-primary', { PRIMARY_READY: 'false' }));
    clock.advance(590_000);
    expect(reason('web', 'Progressing')).toBe('NewReplicaSetAvailable');
    expect(reason('web-primary', 'Progressing')).toBe('ReplicaSetUpdated');
    clock.advance(15_000);
    expect(reason('web-primary', 'Progressing')).toBe('ProgressDeadlineExceeded');
  });

  test.each([
    ['missing/app:v1', {}, 'ImagePullBackOff'],
    ['fake/app:v1', { CRASH_AFTER_MS: '0' }, 'CrashLoopBackOff'],
  ])('image %s with %o waits with %s', async (image, env, expected) => {
    await apply(deployment('web', env as Record<string, string>, {}, image));
    clock.advance(35_000);
    const [pod] = sandbox.store.list('/pods', 'default');
    const statuses = at(pod, 'status', 'containerStatuses') as Array<{
      restartCount: number;
      state: { waiting: { reason: string } };
    }>;
    expect(statuses[0]?.state.waiting.reason).toBe(expected);
    expect(statuses[0]?.restartCount).toBe(expected === 'CrashLoopBackOff' ? 3 : 0);
  });

  test('recover as soon as a rule is removed', async () => {
    const remove = sandbox.behaviour.rule(() => ({ failure: 'Unschedulable' }));
    await apply(deployment('web'));
    clock.advance(1_000);
    expect(at(sandbox.store.list('/pods', 'default')[0], 'status', 'phase')).toBe('Pending');
    remove();
    clock.advance(1_000);
    expect(at(stored('apps/deployments', 'web'), 'status', 'availableReplicas')).toBe(1);
  });
});

describe('faults', () => {
  test('answer, cut or hang the requests a rule picks, and no others', async () => {
    const removeRule = sandbox.fault((request) => {
      return request.path.endsWith('/secrets')
        ? { code: 403, reason: 'Forbidden', message: 'no' }
        : undefined;
    });
    const forbidden = await fetch(`${sandbox.url}/api/v1/namespaces/default/secrets`);
    expect([forbidden.status, ((await forbidden.json()) as { reason: string }).reason]).toEqual([
      403,
      'Forbidden',
    ]);
    expect((await fetch(`${sandbox.url}/api/v1/namespaces/default/configmaps`)).status).toBe(200);
    removeRule();
    sandbox.fault(() => 'drop');
    await expect(fetch(`${sandbox.url}/version`)).rejects.toThrow();
  });

  test('log requests, and distinguish writes from dry runs', async () => {
    await apply(service('web', 'web'));
    await fetch(`${sandbox.url}/api/v1/namespaces/default/services/web?dryRun=All`, { method: 'DELETE' });
    expect(sandbox.requests.all().map((each) => each.method)).toEqual(['PATCH', 'DELETE']);
    expect(sandbox.requests.writes().map((each) => [each.method, each.code])).toEqual([['PATCH', 201]]);
  });
});

describe('watches on virtual time', () => {
  test('get a bookmark each minute when something changed, and end after their time', async () => {
    const answer = await fetch(
      `${sandbox.url}/api/v1/configmaps?watch=true&allowWatchBookmarks=true&resourceVersion=2&timeoutSeconds=180`,
    );
    clock.advance(60_000);
    clock.advance(59_000);
    await apply(service('web', 'web'));
    clock.advance(61_000);
    const lines = (await answer.text()).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).type)).toEqual(['BOOKMARK', 'BOOKMARK']);
  });

  test('break when they are cut', async () => {
    const answer = await fetch(`${sandbox.url}/api/v1/configmaps?watch=true`);
    sandbox.cutWatches('reset');
    await expect(answer.text()).rejects.toThrow();
  });
});
