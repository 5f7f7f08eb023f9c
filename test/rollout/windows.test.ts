import { describe, expect, it } from 'vitest';
import { opensFor } from '../../src/api/canary/summary.ts';
import { conditionOf } from '../../src/api/kubernetes.ts';
import { step } from '../../src/rollout/step.ts';
import { GOOD, Model } from './model.ts';
import { expectSafe, untilLive, untilState, untilWeight } from './waits.ts';

const hourMs = 3_600_000;

/** `a` is the last-known-good, and the window is closed for an hour. */
function behindWindow(spec = {}): Model {
  const model = new Model(spec);
  model.commit('a');
  model.until('Initialized');
  model.closeWindow(hourMs);
  return model;
}

function waiting(model: Model, digest: string): void {
  model.tick();
  expect(model.status).toMatchObject({ phase: 'Waiting', run: { digest, awaitsWindow: true } });
  expect([model.primary?.digest, model.target?.desired, model.route?.canaryWeight]).toEqual(['a', 0, 0]);
}

/** `c` is at head, and the window closed while `b` was tried. */
function newerBehindClosing(): Model {
  const model = new Model();
  model.commit('a');
  model.until('Initialized');
  model.commit('b');
  untilWeight(model, 50);
  model.closeWindow(hourMs);
  model.commit('c');
  return model;
}

const reasonOf = (model: Model) => conditionOf(model.status, 'Ready')?.reason;

describe('a closed window', () => {
  it('keeps a new revision waiting, says until when, and lets it start by itself', () => {
    const model = behindWindow();
    const opens = new Date(model.nowMs + hourMs).toISOString();
    model.commit('b');
    waiting(model, 'b');
    expect(reasonOf(model)).toBe('WaitingForWindow');
    expect(model.status.next).toEqual({ action: 'the rollout starts', time: opens });
    expect(model.status.message).toContain(`waits for its window, which opens at ${opens}`);
    const { writes } = model;
    for (let count = 0; count < 10; count += 1) model.tick(60_000);
    expect(model.writes).toBe(writes);
    model.tick(50 * 60_000);
    expect(model.status.phase).toBe('Progressing');
    expect(model.events.map(({ reason }) => reason)).toContain('WindowOpened');
    untilLive(model, 'b');
    expectSafe(model);
  });

  it.each([
    ['a window', ['window'], 'once its window is open'],
    ['a freeze', ['freeze'], 'once the freeze is over'],
    ['both', ['window', 'freeze'], 'once the freeze is over and its window is open'],
    ['a freeze and a gate', ['freeze', 'gate'], 'once the freeze is over and confirm-rollout is open'],
  ])('the event of a new revision says what it waits for: %s', (_, what, ending) => {
    const model = new Model();
    model.commit('a');
    model.until('Initialized');
    if (what.includes('window')) model.closeWindow(hourMs);
    if (what.includes('freeze')) model.freezeFor(hourMs);
    const webhooks = [{ name: 'gate', type: 'confirm-rollout' as const, url: 'http://hooks.test/' }];
    if (what.includes('gate')) model.canary.spec.analysis = { ...model.canary.spec.analysis, webhooks };
    model.commit('b');
    model.tick();
    const event = model.events.findLast(({ reason }) => reason === 'NewRevision');
    expect(event?.message.split(': starting its rollout, ').at(-1)).toBe(ending);
  });

  it.each(['window', 'freeze'])(
    'opens by the calendar, which may be set while deadlines go on: %s',
    (what) => {
      const model = behindWindow();
      if (what === 'freeze') {
        model.window = undefined;
        model.freezeFor(hourMs);
      }
      model.commit('b');
      waiting(model, 'b');
      const world = model.world();
      const before = step({ ...world, calendarAheadMs: -24 * hourMs });
      expect(before.status.phase).toBe('Waiting');
      expect(before.wakeAfterMs).toBeLessThanOrEqual(hourMs);
      const window = what === 'window' ? { window: { open: true } } : {};
      const after = step({ ...world, ...window, calendarAheadMs: 24 * hourMs });
      expect(after.status.phase).toBe('Progressing');
    },
  );

  it('does not keep the first release of all', () => {
    const model = new Model();
    model.closeWindow(hourMs);
    model.commit('a');
    model.until('Initialized');
    expectSafe(model);
  });

  it('does not hold up what began, and then keeps the newer revision', () => {
    const model = newerBehindClosing();
    for (let count = 0; count < 100 && model.status.lastKnownGood?.digest !== 'b'; count += 1) model.tick();
    expect(model.primary?.digest).toBe('b');
    for (let count = 0; count < 10; count += 1) model.tick();
    expect(model.status).toMatchObject({ phase: 'Waiting', run: { digest: 'c' } });
    model.tick(hourMs);
    untilLive(model, 'c');
    expectSafe(model);
  });

  it('lets a release be verified to its end although a newer one waits', () => {
    const model = new Model({ postPromotion: { successThreshold: 4, interval: '10s' } });
    model.commit('a');
    model.until('Initialized');
    model.commit('b');
    untilState(model, 'Verifying');
    model.closeWindow(hourMs);
    model.commit('c');
    for (let count = 0; count < 100 && model.status.phase !== 'Waiting'; count += 1) model.tick();
    expect(model.status.lastKnownGood?.digest).toBe('b');
    expect(model.events.map(({ reason }) => reason)).not.toContain('Superseded');
    expectSafe(model);
  });

  it('does not hold up a revert', () => {
    const model = new Model();
    model.commit('a');
    model.until('Initialized');
    model.commit('b', { ...GOOD, primaryMetric: 50 });
    untilState(model, 'Verifying');
    model.closeWindow(hourMs);
    model.until('Failed');
    expect(model.primary?.digest).toBe('a');
    expectSafe(model);
  });

  it('does not hold up Git that goes back to the last-known-good', () => {
    const model = new Model();
    model.commit('a');
    model.until('Initialized');
    model.commit('b');
    untilWeight(model, 50);
    model.closeWindow(hourMs);
    model.commit('a');
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('a');
    expectSafe(model);
  });

  it('does not hold up Git that moves to a proven release', () => {
    const model = new Model();
    for (const digest of ['a', 'b']) {
      model.commit(digest);
      untilLiveOrFirst(model, digest);
    }
    model.closeWindow(hourMs);
    model.commit('a');
    untilLive(model, 'a');
    expect(model.nowMs).toBeLessThan(model.window?.nextOpeningMs ?? 0);
    expectSafe(model);
  });

  it('lets a newer revision take the place of the one that waits', () => {
    const model = behindWindow();
    model.commit('b');
    waiting(model, 'b');
    model.commit('c');
    waiting(model, 'c');
    model.commit('a');
    model.until('Succeeded');
    expectSafe(model);
  });

  it('and confirm-rollout must be open together', () => {
    const webhooks = [{ name: 'gate', type: 'confirm-rollout' as const, url: 'http://hooks.test/' }];
    const model = behindWindow({ analysis: { interval: '10s', threshold: 2, iterations: 1, webhooks } });
    model.hooks['confirm-rollout'] = 'refused';
    model.commit('b');
    waiting(model, 'b');
    model.tick(hourMs);
    expect(reasonOf(model)).toBe('Waiting');
    model.closeWindow(hourMs);
    model.hooks['confirm-rollout'] = 'approved';
    model.tick();
    expect(reasonOf(model)).toBe('WaitingForWindow');
    model.tick(hourMs);
    untilLive(model, 'b');
    expectSafe(model);
  });

  it('and a gate that the spec got meanwhile is approved by a person, as any other', () => {
    const model = behindWindow();
    model.commit('b');
    waiting(model, 'b');
    const webhooks = [{ name: 'gate', type: 'confirm-rollout' as const, url: 'http://hooks.test/' }];
    model.canary.spec.analysis = { ...model.canary.spec.analysis, webhooks };
    model.hooks['confirm-rollout'] = 'refused';
    model.tick(hourMs);
    expect(reasonOf(model)).toBe('Waiting');
    model.ask('approve', 'b');
    untilLive(model, 'b');
    expect(model.status.answers?.approve?.result).toBe('Done');
    expectSafe(model);
  });

  it('opens for everything once the Source has no windows any more', () => {
    const model = behindWindow();
    model.commit('b');
    waiting(model, 'b');
    model.window = undefined;
    untilLive(model, 'b');
    expectSafe(model);
  });
});

/** `b` was reverted, `a` does not come up any more, and the fix `c` comes outside the window. */
function fixBehindWindow(close: (model: Model) => void): Model {
  const model = new Model();
  model.commit('a');
  model.until('Initialized');
  model.commit('b', { ...GOOD, primaryReady: false });
  untilState(model, 'Held');
  model.behaviours.set('a', { ...GOOD, primaryReady: false });
  for (let count = 0; count < 200 && reasonOf(model) !== 'LKGNotReady'; count += 1) model.tick();
  close(model);
  model.commit('c', GOOD, 's1', 'cccccccccc');
  model.tick();
  expect(reasonOf(model)).toBe('LKGNotReady');
  return model;
}

describe('a fix behind a closed window while the last-known-good does not come up', () => {
  const command = '(at once with: holdfast ignore-window -n test canary/podinfo --revision ccccccc)';

  it('is named with the time from which it is tried, and tried then', () => {
    const model = fixBehindWindow((one) => one.closeWindow(hourMs));
    const { action, time } = model.status.next ?? {};
    expect(action).toBe(`the newer ccccccc is tried ${command}`);
    const leftMs = Date.parse(time ?? '') - model.nowMs;
    expect(leftMs).toBeGreaterThan(hourMs / 2);
    // Nothing else may happen until then.
    expect(step(model.world()).wakeAfterMs).toBeLessThanOrEqual(leftMs);
    model.tick(leftMs);
    untilLive(model, 'c');
  });

  it('is named under a freeze without an end, and tried on request', () => {
    const model = fixBehindWindow((one) => one.freezeFor(undefined));
    expect(model.status.next).toEqual({
      action: `the newer ccccccc is tried once the freeze is lifted ${command}`,
    });
    model.ask('ignore-window', 'ccccccc');
    untilLive(model, 'c');
  });

  it('is named where a release is held until a person decides', () => {
    const model = new Model({ postPromotion: { onFailure: 'hold' } });
    model.commit('a');
    model.until('Initialized');
    model.commit('b', { ...GOOD, primaryReady: false });
    untilState(model, 'Held');
    model.closeWindow(hourMs);
    model.commit('c', GOOD, 's1', 'cccccccccc');
    model.tick();
    expect(model.status.next?.action).toBe(`the newer ccccccc is tried ${command}`);
  });
});

describe('ignore-window', () => {
  /** b waits: a request that names another commit is refused, and one that names b lets it start. */
  function letThroughByItsName(model: Model): void {
    model.ask('ignore-window', 'sha-ccc@1');
    model.tick();
    expect(model.status.answers?.['ignore-window']).toMatchObject({ result: 'Refused', reason: 'Stale' });
    waiting(model, 'b');
    model.ask('ignore-window', 'b@2');
    untilLive(model, 'b');
    expect(model.status.answers?.['ignore-window']?.result).toBe('Done');
  }

  it('lets one revision start, by commit, and no other', () => {
    const model = behindWindow();
    model.commit('b');
    waiting(model, 'b');
    letThroughByItsName(model);
    model.commit('c');
    for (let count = 0; count < 5; count += 1) model.tick();
    expect(model.status).toMatchObject({ phase: 'Waiting', run: { digest: 'c' } });
    expectSafe(model);
  });

  it('lasts while another commit has the same release', () => {
    const model = behindWindow();
    model.commit('b', GOOD, 's1', 'sha-bbbbbbb');
    waiting(model, 'b');
    model.ask('ignore-window', 'sha-bbbbbbb');
    model.commit('b', GOOD, 's1', 'sha-another');
    untilLive(model, 'b');
    expectSafe(model);
  });

  it('lets a release start that waits while Git cannot be read', () => {
    const model = behindWindow();
    model.commit('b');
    waiting(model, 'b');
    model.head = { kind: 'unknown', reason: 'FetchFailed', message: 'git.example.com does not answer' };
    letThroughByItsName(model);
    expectSafe(model);
  });

  it('is asked for what waits behind a release under way', () => {
    const model = newerBehindClosing();
    model.tick();
    expect(model.status.run).toMatchObject({ digest: 'b' });
    model.ask('ignore-window', 'c');
    untilLive(model, 'c');
    expectSafe(model);
  });

  it('is not what approve does, but promote begins at once', () => {
    const model = behindWindow();
    model.commit('b');
    waiting(model, 'b');
    model.ask('approve', 'b');
    model.tick();
    expect(model.status.answers?.approve?.message).toContain('ignore-window');
    waiting(model, 'b');
    model.ask('promote', 'b');
    untilLive(model, 'b');
    expectSafe(model);
  });
});

/** What a release waits for, as people see it in the status, and how the controller answers what would let it go on. */
describe('a request that the status says would open what a release waits at is accepted, and the other one refused', () => {
  const hook = (type: 'confirm-rollout' | 'confirm-promotion') => ({
    ...{ interval: '10s', threshold: 2, stepWeight: 50, maxWeight: 50 },
    metrics: [{ name: 'rate', thresholdRange: { min: 99 }, interval: '10s' }],
    webhooks: [{ name: 'gate', type, url: 'http://hooks.test/' }],
  });
  const at = (analysis: object, prepare: (model: Model) => void): Model => {
    const model = new Model(analysis as never);
    model.commit('a');
    model.until('Initialized');
    prepare(model);
    model.commit('b');
    for (let count = 0; count < 40; count += 1) model.tick();
    return model;
  };
  const closed = (type: 'confirm-rollout' | 'confirm-promotion') => (model: Model) => {
    model.hooks[type] = 'refused';
    // The Source has windows, of which one is open.
    model.closeWindow(0);
  };

  it.each<[string, Model, 'approve' | 'ignore-window']>([
    ['a window', at({}, (model) => model.closeWindow(hourMs)), 'ignore-window'],
    ['a freeze', at({}, (model) => model.freezeFor(hourMs)), 'ignore-window'],
    [
      'a gate, in an open window',
      at({ analysis: hook('confirm-rollout') }, closed('confirm-rollout')),
      'approve',
    ],
    [
      'a gate before promotion',
      at({ analysis: hook('confirm-promotion') }, closed('confirm-promotion')),
      'approve',
    ],
  ])('%s', (_, model, verb) => {
    const other = verb === 'approve' ? 'ignore-window' : 'approve';
    expect(opensFor(model.status)).toEqual({
      approve: verb === 'approve',
      ignoreWindow: verb === 'ignore-window',
    });

    model.ask(other, 'b');
    model.tick();
    model.ask(verb, 'b');
    model.tick();

    const { answers } = model.status;
    expect([answers?.[verb]?.result, answers?.[other]?.result]).toEqual(['Done', 'Refused']);
  });
});

function untilLiveOrFirst(model: Model, digest: string): void {
  if (digest === 'a') model.until('Initialized');
  else untilLive(model, digest);
}
