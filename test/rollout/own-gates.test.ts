import { expect, test } from 'vitest';
import type { BuiltInGate } from '../../src/api/annotations.ts';
import type { HookType } from '../../src/api/canary/analysis.ts';
import { Model } from './model.ts';

/** `b` is committed on top of `a`; its analysis asks every 10 s. */
function withHook(type: HookType): Model {
  const webhooks = [{ name: type, type, url: 'http://holdfast.holdfast-system/gate/check' }];
  const model = new Model({
    analysis: { interval: '10s', threshold: 2, stepWeight: 50, maxWeight: 50, metrics: [], webhooks },
  } as never);
  model.commit('a');
  model.until('Initialized');
  model.hooks[type] = 'refused';
  model.commit('b');
  return model;
}

function open(model: Model, gate: BuiltInGate, type: HookType): void {
  model.canary.metadata.annotations = { [`holdfast.dev/${gate}`]: 'open' };
  model.hooks[type] = 'approved';
}

/** Passes as the engine makes them when the Canary changes, without any time going by. */
function looks(model: Model, count: number): void {
  for (let look = 0; look < count; look += 1) model.reconcile();
}

test.each([
  ['confirm-rollout', 'Waiting'],
  ['confirm-promotion', 'WaitingPromotion'],
] as const)(
  'a release that waits for %s goes on when the gate opens, not an interval later',
  (type, phase) => {
    const model = withHook(type);
    for (let count = 0; count < 100 && model.status.phase !== phase; count += 1) model.tick();
    looks(model, 3);
    expect(model.status.phase).toBe(phase);
    open(model, 'gate', type);
    looks(model, 5);
    expect(model.events.map(({ reason }) => reason)).toContain('GateOpened');
    model.until('Succeeded');
    expect(model.broken).toEqual([]);
  },
);

test('the gate of rollbacks takes a release back when it opens, not an interval later', () => {
  const model = withHook('rollback');
  while (model.route?.canaryWeight !== 50) model.tick();
  open(model, 'rollback-gate', 'rollback');
  looks(model, 8);
  expect(model.rejected.map(({ reason }) => reason)).toEqual(['RolledBackByWebhook']);
  model.until('Failed');
  expect(model.primary?.digest).toBe('a');
  expect(model.broken).toEqual([]);
});

test('checks go on while a promotion waits for another gate although our own is open', () => {
  const model = withHook('confirm-promotion');
  for (let count = 0; count < 100 && model.status.phase !== 'WaitingPromotion'; count += 1) model.tick();
  model.canary.metadata.annotations = { 'holdfast.dev/gate': 'open' };
  const checkNumber = Number(model.status.run?.checkNumber);
  for (let count = 0; count < 60; count += 1) model.tick();
  expect(model.status.run?.checkNumber).toBeGreaterThan(checkNumber + 10);
  expect(model.status.phase).toBe('WaitingPromotion');
});

test('an open gate of our own that a webhook does not confirm opens nothing, and is asked once per interval', () => {
  const model = withHook('confirm-rollout');
  model.canary.metadata.annotations = { 'holdfast.dev/gate': 'open' };
  for (let count = 0; count < 100 && model.status.phase !== 'Waiting'; count += 1) model.tick();
  const calls = model.hookCalls.get('confirm-rollout') ?? 0;
  looks(model, 20);
  expect(model.hookCalls.get('confirm-rollout')).toBe(calls);
  expect(model.status.phase).toBe('Waiting');
});
