import { afterEach, beforeEach, expect, test } from 'vitest';
import { imageOf } from '../objects.ts';
import {
  canary,
  condition,
  createSource,
  deployment,
  statusOf,
  untilAtRest,
  untilSeen,
} from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

function untilReason(reason: string): Promise<unknown> {
  return untilSeen(bed, reason, async () => condition(await bed.canary(), 'Ready')?.reason === reason);
}

async function imageOfWorkload(name: string): Promise<unknown> {
  return imageOf(await bed.get('apps/v1', 'Deployment', name));
}

/** Windows of the Source from now on. */
async function setWindows(windows: unknown): Promise<void> {
  const path = '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources/shop';
  const { status } = await bed.send('PATCH', path, { spec: { windows } });
  expect(status).toBe(200);
}

/** Noon is far away in the time of the bed. */
const closed = [{ kind: 'allow', schedule: '0 12 * * *', duration: '1h', timeZone: 'Europe/Oslo' }];
/** Each minute from its twentieth second: closed for most of the time, and open again soon. */
const frozen = [{ kind: 'deny', schedule: '20 * * * * *', duration: '50s' }];

test('outside its window a revision waits, starts by itself, and a revert goes through', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await createSource(bed, { windows: closed });
  await bed.start();
  await untilAtRest(bed, 'Initialized');

  await bed.commit('v2', {
    'web.json': deployment('shop/web:2'),
    'note.json': JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'note', namespace: 'shop' },
    }),
  });
  await untilReason('WaitingForWindow');
  const waiting = statusOf(await bed.canary()) as {
    phase?: string;
    next?: { time?: string };
    message?: string;
  };
  expect(waiting.phase).toBe('Waiting');
  expect(waiting.next?.time).toBe('2026-01-01T11:00:00.000Z');
  expect(waiting.message).toContain('waits for its window');
  await untilSeen(bed, 'everything else is applied', () => bed.get('v1', 'ConfigMap', 'note'));
  expect(await imageOfWorkload('web')).toBe('shop/web:1');

  await bed.commit('back', { 'web.json': deployment('shop/web:1') });
  await untilAtRest(bed, 'Succeeded');
  expect(await imageOfWorkload('web-primary')).toBe('shop/web:1');

  await bed.commit('v3', { 'web.json': deployment('shop/web:3') });
  await untilReason('WaitingForWindow');
  await setWindows(frozen);
  await untilAtRest(bed, 'Succeeded');
  expect(await imageOfWorkload('web-primary')).toBe('shop/web:3');

  await setWindows([...frozen, { kind: 'allow', schedule: '61 * * * *', duration: '1h' }]);
  await untilSeen(bed, 'the Source says what is wrong', async () => {
    const ready = condition(await bed.source(), 'Ready');
    return ready?.reason === 'InvalidSpec' && ready.message?.includes('spec.windows[1].schedule');
  });
});

test.each([403, 409])(
  'a fix behind a window is tried once it opens and the status can be written, also by another process, and nothing before (%i)',
  async (code) => {
    await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
    await createSource(bed);
    const first = await bed.start();
    await untilAtRest(bed, 'Initialized');
    const heal = bed.sandbox.behaviour.rule(({ metadata, spec }) => {
      const [container] = (spec as { containers: Array<{ image: string }> }).containers;
      return metadata.name.startsWith('web-primary-') && container?.image !== 'shop/web:3'
        ? { failure: 'CrashLoopBackOff' }
        : undefined;
    });
    await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
    await untilReason('LKGNotReady');
    await setWindows(closed);
    await bed.commit('v3', { 'web.json': deployment('shop/web:3') });
    await untilSeen(bed, 'it is named', async () => {
      const { next } = statusOf(await bed.canary()) as { next?: { action?: string } };
      return next?.action?.includes('is tried (at once with: holdfast ignore-window');
    });
    const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
    const allow = bed.sandbox.fault(({ method, path, userAgent }) =>
      method === 'PATCH' && path.endsWith('/canaries/web/status') && userAgent.startsWith('holdfast/')
        ? { code, message: 'denied by a webhook' }
        : undefined,
    );
    await setWindows([]);
    await bed.pass(20_000);
    await first.drain();
    await bed.start();
    await bed.pass(20_000);
    expect(await imageOfWorkload('web')).toBe('shop/web:2');
    expect(await imageOfWorkload('web-primary')).toBe('shop/web:1');
    allow();
    await untilAtRest(bed, 'Succeeded');
    expect(await imageOfWorkload('web-primary')).toBe('shop/web:3');
    sampler.stop();
    expect(sampler.totals().failed).toBe(0);
    heal();
  },
);
