import { expect } from 'vitest';
import type { Model } from './model.ts';

/** Time passes second by second, `forMs` or until this holds; true when it does. */
export function pass(model: Model, forMs: number, holds: () => boolean = () => false): boolean {
  for (let passedMs = 0; passedMs < forMs; passedMs += 1000) {
    if (holds()) return true;
    model.tick(1000);
  }
  return holds();
}

/** The same for at most 400 s; fails with what the status says when it never does. */
export function until(model: Model, holds: () => boolean): void {
  const isThere = pass(model, 400_000, holds);
  if (!isThere) expect.fail(`never seen: ${standing(model)}`);
}

export function untilWeight(model: Model, weight: number): void {
  until(model, () => model.route?.canaryWeight === weight);
}

export function untilState(model: Model, state: string): void {
  until(model, () => model.status.postPromotion?.state === state);
}

/** Until this release is the last-known-good and nothing is under way. */
export function untilLive(model: Model, digest: string): void {
  for (let count = 0; count < 200 && model.status.lastKnownGood?.digest !== digest; count += 1) model.tick();
  model.until('Succeeded');
  expect(model.primary?.digest).toBe(digest);
}

/** One decision at a time, so that states that last for one are met too. */
export function slowlyUntil(model: Model, isThere: () => boolean, stepMs = 1000): Model {
  for (let count = 0; count < 5000; count += 1) {
    if (isThere()) return model;
    model.tick(stepMs, 1000);
  }
  return expect.fail(`never seen: ${standing(model)}`);
}

/** No rule was broken, and no request would have failed. */
export function expectSafe({ broken, outages }: Model): void {
  expect(broken).toEqual([]);
  expect(outages).toEqual([]);
}

/** Phase, state and reason; who serves. */
export function standing({ status, route, primary, target }: Model): string {
  const { phase, postPromotion: post, message } = status;
  const state = post ? `${phase}/${post.state} ${post.reason}` : `${phase}`;
  const pods = [primary, target].map((copy) => copy && `${copy.digest} ${copy.ready}/${copy.desired}`);
  return `${state}, ${route?.canaryWeight} % on the canary, primary ${pods[0]}, canary ${pods[1]}: ${message}`;
}
