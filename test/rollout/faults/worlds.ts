import { expect } from 'vitest';
import type { Canary } from '../../../src/api/canary/canary.ts';
import { type Behaviour, GOOD, Model } from '../model.ts';
import { pass, standing } from '../waits.ts';

export const metrics = [{ name: 'rate', thresholdRange: { min: 99 }, interval: '10s' }];
/** One step at 50 %, a check every 10 s, two failed ones end it. */
export const analysis = { interval: '10s', threshold: 2, stepWeight: 50, maxWeight: 50, metrics };

/** Longer than any deadline of these worlds (60 s) several times over. */
export const LONG_MS = 600_000;

/** `a` is live and proven. */
export function live(spec: object = {}, before?: (model: Model) => void): Model {
  const model = new Model(spec as Partial<Canary['spec']>);
  before?.(model);
  model.commit('a');
  model.until('Initialized');
  model.outages.length = 0;
  model.written.length = 0;
  return model;
}

/** Second by second until this holds; fails with what the status says when it never does. */
export function until(model: Model, what: string, holds: () => boolean): void {
  if (!pass(model, LONG_MS, holds)) expect.fail(`never reached: ${what}. ${standing(model)}`);
}

/** `new` is at head and has this share of the traffic. */
export function atWeight(model: Model, digest: string, weight = 50, behaviour: Behaviour = GOOD): void {
  model.commit(digest, behaviour);
  until(model, `${digest} at ${weight} %`, () => model.route?.canaryWeight === weight);
}

/** Until nothing is under way any more; then this is how it ended. */
export function untilOver(model: Model): void {
  until(model, 'the end of the release', () => model.status.run === undefined);
}

/** How a good release ends: it is live, proven, alone, and nothing was broken on the way. */
export function expectLive(model: Model, digest: string): void {
  const { status, primary, route, target } = model;
  expect({
    ...{ phase: status.phase, promoted: status.lastPromotedSpec, commit: status.lastPromotedCommit },
    ...{ primary: primary?.digest, canaryWeight: route?.canaryWeight, canaryPods: target?.desired },
  }).toEqual({
    ...{ phase: 'Succeeded', promoted: digest, commit: `sha-${digest}` },
    ...{ primary: digest, canaryWeight: 0, canaryPods: 0 },
  });
  expect(model.broken).toEqual([]);
}

/** How a bad one ends: rejected, with all traffic on what was good before. */
export function expectBack(
  model: Model,
  { rejected, good = 'a' }: { rejected: string; good?: string },
): void {
  const { status, primary, route } = model;
  expect({
    ...{ phase: status.phase, promoted: status.lastPromotedSpec, primary: primary?.digest },
    ...{ canaryWeight: route?.canaryWeight, rejected: model.rejected.map((one) => one.digest) },
  }).toEqual({
    ...{ phase: 'Failed', promoted: good, primary: good, canaryWeight: 0, rejected: [rejected] },
  });
  expect(model.broken).toEqual([]);
}

/** `Status reason` of a condition. */
export function conditionOf({ status }: Model, type: string): string | undefined {
  const found = status.conditions?.find((condition) => condition.type === type);
  return found && `${found.status} ${found.reason}`;
}

/** What `look` gives after each step of the core, without repetitions; undefined: nothing. */
export function seenBy<T>(model: Model, look: () => T | undefined): T[] {
  const seen: T[] = [];
  const { reconcile } = model;
  model.reconcile = (crashAfter) => {
    const again = reconcile.call(model, crashAfter);
    const now = look();
    if (now !== undefined && JSON.stringify(now) !== JSON.stringify(seen.at(-1))) seen.push(now);
    return again;
  };
  return seen;
}

/** `b` does not come up on the primary, nor does `a` when it is written again: the canary serves on with `b`, which was rejected. */
export function fallen(spec: object = {}, before?: (model: Model) => void): Model {
  const model = live(spec, before);
  model.commit('b', { ...GOOD, primaryReady: false });
  until(model, 'the revert', () => model.status.postPromotion?.state === 'Reverting');
  model.behaviours.set('a', { ...GOOD, primaryReady: false });
  until(model, 'Failed and Held', () => standing(model).startsWith('Failed/Held LKGNotReady'));
  model.outages.length = 0;
  model.written.length = 0;
  return model;
}
