import { describe, expect, it } from 'vitest';
import type { RouteTarget } from '../../src/api/observed.ts';
import { GOOD, Model } from './model.ts';
import { untilWeight } from './waits.ts';

const analysis = {
  interval: '10s',
  threshold: 2,
  stepWeight: 50,
  sessionAffinity: { cookieName: 'side', primaryCookieName: 'other' },
  metrics: [{ name: 'rate', thresholdRange: { min: 99 }, interval: '10s' }],
};
const value = /^side=[a-z]{10}$/;

/** `b` is on its way, `a` is the last-known-good. */
function withRelease(behaviour = GOOD, spec = {}): Model {
  const model = new Model({ analysis, ...spec });
  model.commit('a');
  model.until('Initialized');
  model.commit('b', behaviour);
  return model;
}

const sessionsOf = (model: Model) => (model.route as RouteTarget | undefined)?.sessions;

describe('session affinity', () => {
  it('has no cookie of the primary where its name is empty, as Flagger reads it', () => {
    const sessionAffinity = { cookieName: 'side', primaryCookieName: '' };
    const model = withRelease(GOOD, { analysis: { ...analysis, sessionAffinity } });
    untilWeight(model, 50);
    expect(model.status.sessionAffinityCookie).toMatch(value);
    expect(model.status).not.toHaveProperty('primarySessionAffinityCookie');
    expect(sessionsOf(model)).not.toHaveProperty('primary');
  });

  it('gives a release cookies of its own while the canary has a share, and takes them back at its end', () => {
    const model = withRelease();
    untilWeight(model, 50);
    const first = model.status.sessionAffinityCookie ?? '';
    expect(first).toMatch(value);
    expect(model.status.primarySessionAffinityCookie).toMatch(/^other=[a-z]{10}$/);
    expect(sessionsOf(model)).toEqual({
      kind: 'keep',
      canary: first,
      primary: model.status.primarySessionAffinityCookie,
    });

    model.until('Succeeded');
    expect(model.status).not.toHaveProperty('sessionAffinityCookie');
    expect(model.status).not.toHaveProperty('primarySessionAffinityCookie');
    expect(model.status.previousSessionAffinityCookie).toBe(first);
    expect(sessionsOf(model)).toEqual({ kind: 'end', previous: first });

    model.commit('c');
    untilWeight(model, 50);
    expect(model.status.sessionAffinityCookie).toMatch(value);
    expect(model.status.sessionAffinityCookie).not.toBe(first);
  });

  it('takes them back when the release fails', () => {
    const model = withRelease({ ...GOOD, canaryMetric: 10 });
    untilWeight(model, 50);
    const cookie = model.status.sessionAffinityCookie;
    model.until('Failed');
    expect(sessionsOf(model)).toEqual({ kind: 'end', previous: cookie });
  });

  it.each([0, 1, 2, 3])('gives the same cookies again after a crash at write %i', (after) => {
    const model = withRelease();
    for (let count = 0; count < 200 && model.route?.canaryWeight !== 50; count += 1) {
      model.tick(1000, after);
      model.tick(0);
    }
    const { sessionAffinityCookie } = model.status;
    expect(sessionAffinityCookie).toMatch(value);
    expect(sessionsOf(model)).toMatchObject({ kind: 'keep', canary: sessionAffinityCookie });
  });

  it('keeps the cookie through the steps of one release', () => {
    const model = withRelease(GOOD, { analysis: { ...analysis, stepWeight: 25 } });
    untilWeight(model, 25);
    const cookie = model.status.sessionAffinityCookie;
    untilWeight(model, 75);
    expect(model.status.sessionAffinityCookie).toBe(cookie);
  });

  it('is left out where the provider has none, and forgotten when the field goes', () => {
    const other = withRelease(GOOD, { provider: 'contour' });
    untilWeight(other, 50);
    expect(sessionsOf(other)).toBeUndefined();
    expect(other.status).not.toHaveProperty('sessionAffinityCookie');

    const model = withRelease();
    model.until('Succeeded');
    const { sessionAffinity: _, ...without } = analysis;
    model.canary.spec.analysis = without;
    model.tick();
    expect(sessionsOf(model)).toBeUndefined();
    expect(model.status).not.toHaveProperty('previousSessionAffinityCookie');
  });
});
