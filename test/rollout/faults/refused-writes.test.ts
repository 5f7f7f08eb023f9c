/** A refused write of bookkeeping keeps nobody from saving the traffic, and is not forgotten (issue 11, 5). */
import { describe, expect, it } from 'vitest';
import { GOOD, type Model } from '../model.ts';
import { pass, standing } from '../waits.ts';
import { analysis, atWeight, expectBack, expectLive, fallen, live, until, untilOver } from './worlds.ts';

const { stepWeight: _, maxWeight: __, ...checks } = analysis;
const blueGreen = { ...checks, iterations: 2 };
const strategies = [
  ['A/B', 'istio', { ...blueGreen, match: [{ headers: { beta: { exact: 'yes' } } }] }],
  ['blue/green', 'gatewayapi:v1', blueGreen],
  ['blue/green with a mirror', 'gatewayapi:v1', { ...blueGreen, mirror: true }],
  ['steps after a mirror', 'istio', { ...analysis, mirror: true }],
] as const;

const FORBIDDEN = 'Secret podinfo-rejections: forbidden';

function rejectedInStatus({ status }: Model): string[] {
  return (status.rejected ?? []).map(({ digest }) => digest);
}

it('a release that passed its checks, and whose record cannot be marked, is not checked on and on', () => {
  const model = live();
  model.refused.add('MarkProven');
  model.commit('b');
  until(model, 'a passed check', () => model.status.postPromotion?.passedChecks === 1);
  const { length } = model.asks;
  const { status } = model;
  pass(model, 120_000);
  expect(model.asks).toHaveLength(length);
  expect(model.status).toEqual(status);
  expect(status.message).toContain('1 of 1 checks passed');
  model.refused.clear();
  untilOver(model);
  expectLive(model, 'b');
});

describe('the rejection cannot be written', () => {
  it('and a failed analysis ends all the same; the rejection is in the status, and written later', () => {
    const model = live();
    model.refused.add('Reject');
    model.commit('b', { ...GOOD, canaryMetric: 50 });
    until(model, 'b under way', () => model.status.run?.digest === 'b');
    pass(model, 180_000, () => model.status.run === undefined);
    expect(model.status.phase).toBe('Failed');
    expect(model.route?.canaryWeight).toBe(0);
    expect(model.target?.desired).toBe(0);
    expect(rejectedInStatus(model)).toEqual(['b']);
    model.refused.clear();
    pass(model, 120_000, () => model.rejected.length > 0);
    pass(model, 30_000);
    expectBack(model, { rejected: 'b' });
    expect(model.outages).toEqual([]);
  });

  it('and a release that failed after promotion is not tried again meanwhile', () => {
    const model = live();
    model.refused.add('Reject');
    model.commit('b', { ...GOOD, primaryMetric: 50 });
    pass(model, 600_000);
    expect(model.written).toEqual(['b', 'a']);
    expect(model.reverts).toEqual(['b']);
    expect(rejectedInStatus(model)).toEqual(['b']);
    expect(model.status.phase).toBe('Failed');
    expect(model.broken).toEqual([]);
  });

  it('and abort takes the canary away', () => {
    const model = live();
    atWeight(model, 'b');
    model.refused.add('Reject');
    model.ask('abort', 'b');
    pass(model, 120_000, () => model.status.run === undefined);
    expect(model.status.phase).toBe('Failed');
    expect(model.target?.desired).toBe(0);
    pass(model, 120_000);
    expect(model.status.run).toBeUndefined();
    expect(model.broken).toEqual([]);
  });
});

describe('the rejections cannot be read', () => {
  it('and what the status says of them counts: nothing is tried again', () => {
    const model = live();
    model.commit('b', { ...GOOD, canaryMetric: 50 });
    until(model, 'Failed', () => model.status.phase === 'Failed' && model.status.run === undefined);
    model.rejectionsProblem = FORBIDDEN;
    model.leadAnew();
    pass(model, 300_000);
    expect(model.target?.desired).toBe(0);
    expect(rejectedInStatus(model)).toEqual(['b']);
    expect(model.status.phase).toBe('Failed');
    model.rejectionsProblem = undefined;
    pass(model, 10_000);
    expectBack(model, { rejected: 'b' });
  });

  it('and a canary that fails is taken away', () => {
    const model = live();
    atWeight(model, 'b');
    model.rejectionsProblem = FORBIDDEN;
    model.behaviours.set('b', { ...GOOD, canaryMetric: 50 });
    pass(model, 180_000, () => model.status.run === undefined);
    expect(model.status.phase).toBe('Failed');
    expect(model.route?.canaryWeight).toBe(0);
    expect(model.outages).toEqual([]);
    expect(model.broken).toEqual([]);
  });
});

describe('other writes are refused', () => {
  it('a Service that is there already keeps no traffic where it is', () => {
    const model = live();
    atWeight(model, 'b');
    model.refused.add('EnsureServices');
    model.breakPods('primary', 2);
    pass(model, 3000);
    expect(model.route?.canaryWeight).toBe(100);
    expect(model.broken).toEqual([]);
  });

  it('a record of the last-known-good that cannot be written anew keeps no traffic where it is', () => {
    const model = live();
    atWeight(model, 'b');
    model.damaged.add('a');
    model.inGit.add('a');
    model.refused.add('SaveRecord');
    model.breakPods('primary', 2);
    pass(model, 3000);
    expect(model.refusals).toContain('SaveRecord');
    expect(model.route?.canaryWeight).toBe(100);
    expect(model.broken).toEqual([]);
  });

  it.each(strategies)(
    '%s: a release that never gets its traffic is not promoted',
    (_name, provider, spec) => {
      const model = live({ provider, analysis: spec });
      model.refused.add('SetTraffic');
      model.commit('b');
      pass(model, 300_000);
      expect(standing(model)).toMatch(
        /^Progressing, 0 % on the canary, primary a .* gets the traffic of iteration/,
      );
      model.refused.clear();
      until(
        model,
        'the promotion',
        () => model.status.phase === 'Succeeded' && model.status.run === undefined,
      );
      expectLive(model, 'b');
    },
  );

  it('a mirror whose route was refused once is there before the release is checked', () => {
    const model = live({ provider: 'istio', analysis: { ...blueGreen, mirror: true } });
    model.commit('b');
    model.refused.add('SetTraffic');
    until(model, 'a refusal', () => model.refusals.includes('SetTraffic'));
    model.refused.clear();
    expectMirrorBeforeChecks(model);
  });

  it('a mirror whose route somebody deleted is there again before the next check', () => {
    const model = live({ provider: 'istio', analysis: { ...blueGreen, mirror: true } });
    model.commit('b');
    until(model, 'the mirror', () => model.route?.mirrored === true);
    model.route = undefined;
    expectMirrorBeforeChecks(model);
  });

  it('a copy of config that cannot be restored while the release is verified holds it until it is there', () => {
    const model = live();
    model.commit('b');
    until(model, 'verification', () => model.status.postPromotion?.state === 'Verifying');
    model.copy = undefined;
    model.refused.add('RestoreConfigs');
    until(model, 'the hold', () => model.status.postPromotion?.state === 'Held');
    const events = model.events.filter(({ reason }) => reason === 'Resumed').length;
    pass(model, 300_000);
    expect(standing(model)).toMatch(
      /^Promoting\/Held ChecksUnavailable, 0 % on the canary, primary b 2\/2, .*settings-primary/,
    );
    expect(model.events.filter(({ reason }) => reason === 'Resumed').length).toBe(events);
    model.refused.clear();
    until(model, 'the end', () => model.status.phase === 'Succeeded' && model.status.run === undefined);
    expectLive(model, 'b');
  });

  it('a release that is to be tried on the primary waits there for as long as the route that leaves it is refused', () => {
    const model = fallen();
    model.refused.add('ApplyPrimary');
    model.commit('c');
    until(model, 'c before the primary', () => model.status.run?.side === 'primary');
    model.behaviours.set('a', GOOD);
    until(model, 'a', () => model.primary?.ready === 2);
    model.refused.add('SetTraffic');
    Object.assign(model.route ?? {}, { primaryWeight: 50, canaryWeight: 50 });
    pass(model, 300_000);
    expect([model.status.run?.digest, model.status.run?.side]).toEqual(['c', 'primary']);
    expect(model.events.map(({ reason }) => reason)).not.toContain('CapacityNotReached');
    model.refused.clear();
    until(model, 'the promotion', () => model.status.phase === 'Succeeded');
    expectLive(model, 'c');
  });

  it('a newer release gets through while the bounds of a scaler cannot be given back', () => {
    const model = live({ progressDeadlineSeconds: 60 }, (begun) => begun.scale('HorizontalPodAutoscaler', 4));
    model.commit('b');
    until(model, 'the end of b', () => model.status.run?.ending !== undefined);
    model.refused.add('SetScalerFloor');
    pass(model, 60_000);
    expect(model.refusals).toContain('SetScalerFloor');
    model.commit('c');
    until(model, 'the start of c', () => model.status.run?.digest === 'c');
    model.refused.clear();
    until(model, 'the end of c', () => model.status.lastKnownGood?.digest === 'c');
    untilOver(model);
    pass(model, 30_000);
    expect(model.scalers?.view?.primary).toMatchObject({ restoreMinReplicas: undefined });
    expect([model.primary?.digest, model.outages, model.broken]).toEqual(['c', [], []]);
  });
});

/** Requests are copied before anything more is asked, for a whole interval, and the release gets through. */
function expectMirrorBeforeChecks(model: Model): void {
  const asked = model.asks.length;
  until(model, 'the mirror', () => model.route?.mirrored === true);
  pass(model, 8000);
  expect(model.asks.length).toBe(asked);
  until(model, 'the end', () => model.status.phase === 'Succeeded' && model.status.run === undefined);
  expectLive(model, 'b');
}
