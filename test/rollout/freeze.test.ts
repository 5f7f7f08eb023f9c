import { describe, expect, it } from 'vitest';
import { conditionOf } from '../../src/api/kubernetes.ts';
import { Model } from './model.ts';
import { expectSafe, until, untilLive, untilWeight } from './waits.ts';

const hourMs = 3_600_000;

/** `a` is the last-known-good. */
function atRest(): Model {
  const model = new Model();
  model.commit('a');
  model.until('Initialized');
  return model;
}

function ticks(model: Model, count: number): void {
  for (let index = 0; index < count; index += 1) model.tick();
}

const condition = (model: Model, wanted: string) => conditionOf(model.status, wanted);

describe('a freeze', () => {
  it('keeps a new release from starting, says until when and why, and lets it start when it ends', () => {
    const model = atRest();
    model.freezeFor(hourMs);
    const until = new Date(model.nowMs + hourMs).toISOString();
    model.commit('b');
    ticks(model, 5);
    expect(model.status).toMatchObject({ phase: 'Waiting', run: { digest: 'b' } });
    expect([model.primary?.digest, model.target?.desired]).toEqual(['a', 0]);
    expect(condition(model, 'Ready')).toMatchObject({ reason: 'Frozen' });
    expect(condition(model, 'Frozen')).toMatchObject({ status: 'True' });
    expect(condition(model, 'Frozen')?.message).toMatch(/^by ConfigMap shop\/sale until .*Z: the sale$/);
    expect(model.status.next?.time?.slice(0, 16)).toBe(until.slice(0, 16));

    model.freeze = undefined;
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('b');
    expect(condition(model, 'Frozen')).toMatchObject({ status: 'False' });
    expectSafe(model);
  });

  it('keeps a release from being promoted on request, whose answer says so', () => {
    const model = atRest();
    model.commit('b');
    untilWeight(model, 50);
    model.freezeFor(undefined);
    model.ask('promote', 'b');
    ticks(model, 10);
    expect(model.status).toMatchObject({ phase: 'Progressing', run: { digest: 'b' } });
    expect(model.status.answers?.promote?.message).toBe(
      'sha-b "release b" is promoted on request with a ready canary, once the freeze is over, or holdfast ignore-window lets it through',
    );

    model.ask('ignore-window', 'b');
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('b');
    expectSafe(model);
  });

  it.each([
    ['a freeze', (model: Model) => model.freezeFor(hourMs)],
    ['a pause', (model: Model) => model.ask('pause', 'true')],
    [
      'a suspension',
      (model: Model) => {
        model.canary.spec.suspend = true;
      },
    ],
  ])(
    '%s takes nothing of the deadline of a release whose traffic leaves the primary before that is written',
    (_, begin) => {
      const model = atRest();
      model.recreate = true;
      model.commit('b');
      untilWeight(model, 50);
      model.refused.add('SetTraffic');
      for (let count = 0; count < 30 && model.status.phase !== 'Promoting'; count += 1) model.tick(1000);
      expect(model.status.phase).toBe('Promoting');
      begin(model);
      model.tick(1000);
      model.refused.clear();
      ticks(model, hourMs / 5000 - 2);
      expect(model.route?.canaryWeight).toBe(50);

      model.freeze = undefined;
      model.ask('pause', '');
      model.canary.spec.suspend = false;
      model.until('Succeeded');
      expect(model.primary?.digest).toBe('b');
      expectSafe(model);
    },
  );

  it('keeps a release at its step, whose checks go on, and continues from there', () => {
    const model = atRest();
    model.commit('b');
    untilWeight(model, 50);
    model.freezeFor(undefined);
    ticks(model, 30);
    expect(model.route?.canaryWeight).toBe(50);
    expect(condition(model, 'Ready')).toMatchObject({ reason: 'Frozen' });
    expect(condition(model, 'Ready')?.message).toContain('until it is lifted');

    model.freeze = undefined;
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('b');
    expectSafe(model);
  });

  it('of starts only lets what has begun go on to its end, and holds the next one', () => {
    const model = atRest();
    model.commit('b');
    untilWeight(model, 50);
    model.freezesStartsOnly = true;
    model.freezeFor(undefined);
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('b');
    expect(condition(model, 'Frozen')).toMatchObject({ status: 'True', reason: 'StartsFrozen' });

    model.commit('c');
    ticks(model, 5);
    expect(model.status).toMatchObject({ phase: 'Waiting', run: { digest: 'c' } });
    expectSafe(model);
  });

  it('holds up no release that was proven before: a revert in Git is a way back', () => {
    const model = atRest();
    model.commit('b');
    model.until('Succeeded');
    model.freezeFor(undefined);
    model.commit('a');
    for (let count = 0; count < 100 && model.primary?.digest !== 'a'; count += 1) model.tick();
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('a');
    expectSafe(model);
  });

  it('holds up no abort', () => {
    const model = atRest();
    model.commit('b');
    untilWeight(model, 50);
    model.freezeFor(undefined);
    model.tick();
    model.ask('abort', 'b');
    model.until('Failed');
    expect([model.primary?.digest, model.route?.canaryWeight]).toEqual(['a', 0]);
    expectSafe(model);
  });

  it('lets the one release through that ignore-window names', () => {
    const model = atRest();
    model.freezeFor(undefined);
    model.commit('b');
    ticks(model, 5);
    expect(model.status.phase).toBe('Waiting');
    model.ask('approve', 'b');
    model.tick();
    expect(model.status.answers?.approve?.message).toBe(
      'sha-b "release b" is held by a window or a freeze; use ignore-window',
    );
    model.ask('ignore-window', 'b');
    model.tick();
    expect(model.status.answers?.['ignore-window']?.message).toBe(
      'sha-b "release b" is let through windows and freezes on request',
    );
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('b');

    model.commit('c');
    ticks(model, 5);
    expect(model.status).toMatchObject({ phase: 'Waiting', run: { digest: 'c' } });
    expectSafe(model);
  });

  it.each([
    ['names another revision', 'sha-zzz@2'],
    ['repeats it', 'b@2'],
  ])('still lets a release through after a later request that %s', (_, request) => {
    const model = atRest();
    model.freezeFor(undefined);
    model.commit('b');
    ticks(model, 5);
    model.ask('ignore-window', 'b');
    untilWeight(model, 50);

    model.ask('ignore-window', request);
    model.tick();
    const { answers } = model.status;
    untilLive(model, 'b');

    expect(answers?.['ignore-window']?.result).toBe('Refused');
    model.commit('c');
    ticks(model, 5);
    expect(model.status).toMatchObject({ phase: 'Waiting', run: { digest: 'c' } });
    expectSafe(model);
  });

  it('lets a release through that is frozen at its step while a newer one waits behind it', () => {
    const model = atRest();
    model.commit('b');
    untilWeight(model, 50);
    model.freezeFor(undefined);
    model.commit('c');
    ticks(model, 5);
    expect(model.status).toMatchObject({ phase: 'Progressing', run: { digest: 'b' } });

    model.ask('ignore-window', 'b');
    model.tick();
    expect(model.status.answers?.['ignore-window']).toMatchObject({
      result: 'Done',
      message: 'sha-b "release b" is let through windows and freezes on request',
    });
    until(model, () => model.status.phase === 'Waiting');

    expect(model.primary?.digest).toBe('b');
    expect(model.status.run?.digest).toBe('c');
    expectSafe(model);
  });
});
