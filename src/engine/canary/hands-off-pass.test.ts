import { expect, test } from 'vitest';
import { createVirtualClock } from '../../../sandbox/virtual-clock.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { unknownController } from './context/flagger-watch.ts';
import { deferToFlagger } from './hands-off-pass.ts';

const web: KubernetesObject = {
  apiVersion: 'flagger.app/v1beta1',
  kind: 'Canary',
  metadata: { namespace: 'shop', name: 'web' },
};

/** A Canary, and what the watch of Flagger says. */
function world() {
  const clock = createVirtualClock();
  const told: string[] = [];
  const passed: string[] = [];
  const flagger = {
    controller: unknownController as string | undefined,
    actsOn: () => flagger.controller,
    problem: (): string | undefined => 'list deployments: 500 etcd is away',
  };
  const parts = {
    clock,
    flagger,
    canaries: { get: () => web, list: () => [web] },
    events: { emit: (_: KubernetesObject, { message }: { message: string }) => void told.push(message) },
  };
  const pass = deferToFlagger(parts as never, async (key) => {
    passed.push(key);
    return { againAfterMs: undefined };
  });
  return { clock, flagger, told, passed, look: () => pass('shop/web', () => undefined) };
}

test('a wait to see whether Flagger runs is told once it has lasted, with its cause, and ends by itself', async () => {
  const { clock, flagger, told, passed, look } = world();
  await look();
  await clock.advance(29_000);
  await look();
  expect(told).toEqual([]);

  await clock.advance(2_000);
  for (let count = 0; count < 3; count += 1) await look();

  expect(told).toEqual([
    'it is not known whether Flagger runs (list deployments: 500 etcd is away); Holdfast writes nothing until it is',
  ]);
  expect(passed).toEqual([]);
  flagger.controller = undefined;
  await look();
  expect(passed).toEqual(['shop/web']);
});

test('a Flagger that is found to run after that is told as well', async () => {
  const { clock, flagger, told, look } = world();
  await look();
  await clock.advance(31_000);
  await look();
  flagger.controller = 'Deployment flagger-system/flagger is running';
  await look();
  await look();
  expect(told).toEqual([
    expect.stringContaining('not known'),
    'Deployment flagger-system/flagger is running; Holdfast writes nothing until it is scaled to zero',
  ]);
});
