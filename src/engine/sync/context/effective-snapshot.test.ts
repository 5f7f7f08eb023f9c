import { describe, expect, it } from 'vitest';
import type { CanaryStatus } from '../../../api/canary/status.ts';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import { buildRelease } from '../../../release/build.ts';
import {
  configMap,
  container,
  deployment,
  releaseInput,
  secret,
  template,
} from '../../../release/fixtures.test-support.ts';
import type { Release } from '../../../release/release.ts';
import type { RenderedObject } from '../../../render/rendered-object.ts';
import { effectiveRest, inForceKey, inForceOf, withTargetHeld } from './effective-snapshot.ts';

const canary = { namespace: 'shop', name: 'pay' };
const run = (digest: string, more = {}) => ({ digest, commit: digest, ...more });
const good = (digest: string) => ({
  digest,
  commit: digest,
  promotedTime: '2026-01-01T00:00:00Z',
  record: 'r',
});
const rejected = (digest: string) => ({
  digest,
  commit: digest,
  reason: 'ChecksFailed',
  time: '2026-01-01T00:00:00Z',
});

/** Digests that are applied in the place of head's, and those that are only kept. */
function inForce(status: CanaryStatus, head: string | undefined) {
  const found = inForceOf(canary, status, head);
  return {
    applied: found.filter(({ isApplied }) => isApplied).map(({ digest }) => digest),
    kept: found.filter(({ isApplied }) => !isApplied).map(({ digest }) => digest),
  };
}

describe('what a Canary lives by beside head', () => {
  it('is nothing while head is the last-known-good, or nothing has proved itself yet', () => {
    expect(inForce({ lastKnownGood: good('v1') }, 'v1')).toEqual({ applied: [], kept: [] });
    expect(inForce({}, 'v1')).toEqual({ applied: [], kept: [] });
  });

  it('is the last-known-good while head is rejected, broken or gone', () => {
    const status = { lastKnownGood: good('v1'), rejected: [rejected('v2')] };

    expect(inForce(status, 'v2')).toEqual({ applied: ['v1'], kept: [] });
    expect(inForce(status, undefined)).toEqual({ applied: ['v1'], kept: [] });
  });

  it('is head, with the last-known-good kept, while a newer release is tried and until a failed one has ended', () => {
    const status = { lastKnownGood: good('v1'), run: run('v2') };

    expect(inForce({ lastKnownGood: good('v1') }, 'v2')).toEqual({ applied: [], kept: ['v1'] });
    expect(inForce(status, 'v2')).toEqual({ applied: [], kept: ['v1'] });
    expect(inForce({ ...status, rejected: [rejected('v2')] }, 'v2')).toEqual({ applied: [], kept: ['v1'] });
  });

  it('is the release under way while a newer revision waits for its end, or while it goes back on request', () => {
    const lastKnownGood = good('v1');
    const postPromotion = { state: 'Held' as const };
    const rollback = run('v0', { rollback: { digest: 'v2', commit: 'v2' } });

    expect(inForce({ lastKnownGood, run: run('v2'), postPromotion }, 'v3')).toEqual({
      applied: ['v2'],
      kept: ['v1'],
    });
    expect(inForce({ lastKnownGood, run: rollback, rejected: [rejected('v2')] }, 'v2')).toEqual({
      applied: ['v0'],
      kept: ['v1'],
    });
  });

  it('is the newer revision at once while the older one is still analysed', () => {
    expect(inForce({ lastKnownGood: good('v1'), run: run('v2') }, 'v3')).toEqual({
      applied: [],
      kept: ['v1'],
    });
  });

  it('has another key whenever other config is to be applied', () => {
    const key = (status: CanaryStatus, head: string) => inForceKey(inForceOf(canary, status, head));
    const status = { lastKnownGood: good('v1'), rejected: [rejected('v2')] };

    expect(key(status, 'v2')).not.toBe(key(status, 'v3'));
    expect(key(status, 'v3')).toBe(key(status, 'v1'));
  });
});

describe('the effective snapshot', () => {
  const pods = template({
    containers: [
      container({
        envFrom: [
          { configMapRef: { name: 'flags' } },
          { secretRef: { name: 'token' } },
          { configMapRef: { name: 'untracked' } },
        ],
      }),
    ],
  });

  function release(): Release {
    const configs = [configMap('flags', { value: 'one' }), secret('token', { value: 'one' })];
    const built = buildRelease(releaseInput({ target: deployment(pods), configs }));
    if (!built.ok) throw new Error(built.problem.message);
    return built.ok;
  }

  function rendered(object: KubernetesObject): RenderedObject {
    return { object, origin: { file: 'shop.yaml', document: 0, items: [], line: 1 } };
  }

  it('holds a Service that is the target as the last-known-good says, until another release is that', () => {
    const service = (app: string): KubernetesObject => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'pay', namespace: 'shop', labels: { of: app } },
      spec: { selector: { app }, ports: [{ port: 80 }] },
    });
    const built = buildRelease(releaseInput({ target: service('one') }));
    if (!built.ok) throw new Error(built.problem.message);
    const status = { lastKnownGood: good('v1'), run: run('v2') };
    const held = withTargetHeld(inForceOf(canary, status, 'v2'), status);
    const releases = held.map((one) => ({ ...one, release: built.ok }));
    const [entry] = effectiveRest([rendered(service('two'))], releases).rest;

    expect(entry?.object).toMatchObject({
      metadata: { labels: { of: 'two' } },
      spec: { selector: { app: 'one' } },
    });
    const later = { lastKnownGood: good('v2') };
    expect(withTargetHeld(inForceOf(canary, later, 'v2'), later)).toEqual([]);
    expect(inForceKey(held)).not.toBe(inForceKey([]));
  });

  it('takes what the release tracks from the release, and everything else from head', () => {
    const head = [
      configMap('flags', { value: 'two' }),
      secret('token', { value: 'two' }),
      configMap('other', { value: 'two' }),
    ];

    const { rest } = effectiveRest(head.map(rendered), [
      { canary, digest: 'v1', isApplied: true, release: release() },
    ]);

    expect(rest.map(({ object }) => object.data)).toEqual([
      { value: 'one' },
      { value: Buffer.from('one').toString('base64') },
      { value: 'two' },
    ]);
  });

  it('adds nothing that head does not hold: the rollout has copies of its own', () => {
    const { rest } = effectiveRest([], [{ canary, digest: 'v1', isApplied: true, release: release() }]);

    expect(rest).toEqual([]);
  });

  it('keeps everything the template names, also what is not tracked and what is not applied in the place of head', () => {
    const { rest, keep } = effectiveRest(
      [rendered(configMap('flags', { value: 'two' }))],
      [{ canary, digest: 'v1', isApplied: false, release: release() }],
    );

    expect([...keep].sort()).toEqual([
      '|ConfigMap|shop|flags',
      '|ConfigMap|shop|untracked',
      '|Secret|shop|token',
    ]);
    expect(rest.map(({ object }) => object.data)).toEqual([{ value: 'two' }]);
  });
});
