import { describe, expect, it } from 'vitest';
import { type Behaviour, GOOD, Model } from './model.ts';
import { expectSafe, slowlyUntil } from './waits.ts';

/**
 * What Git may say while a release is in any state (design section 5): `o` and `a` proved themselves, `x` was rejected, `b` is under way,
 * and then head is another one.
 */
const metrics = [{ name: 'rate', thresholdRange: { min: 99 }, interval: '10s' }];
const gates = ['confirm-rollout', 'confirm-promotion'] as const;
const spec = {
  analysis: {
    interval: '10s',
    threshold: 2,
    stepWeight: 50,
    maxWeight: 50,
    metrics,
    webhooks: gates.map((type) => ({ name: type, type, url: 'http://hooks.test/' })),
  },
  postPromotion: { metrics, successThreshold: 3, threshold: 2, onFailure: 'hold' as const },
};

function withRelease(
  behaviour: Partial<Behaviour> = {},
  more: object = {},
  before?: (model: Model) => void,
): Model {
  const model = new Model({ ...spec, ...more } as never);
  model.commit('o');
  model.until('Initialized');
  model.commit('a');
  model.until('Succeeded');
  model.commit('x', { ...GOOD, canaryMetric: 50 });
  model.until('Failed');
  before?.(model);
  model.commit('b', { ...GOOD, ...behaviour });
  return model;
}

function untilState(model: Model, state: string): Model {
  return slowlyUntil(model, () => model.status.postPromotion?.state === state);
}

function untilPhase(model: Model, phase: string): Model {
  return slowlyUntil(model, () => model.status.phase === phase);
}

const revert = { postPromotion: { ...spec.postPromotion, onFailure: 'revert' } };

/** Brings `b` to a state. */
const states: Record<string, () => Model> = {
  Waiting: () =>
    untilPhase(
      withRelease({}, {}, (model) => {
        model.hooks['confirm-rollout'] = 'refused';
      }),
      'Waiting',
    ),
  'Progressing, before any traffic': () => {
    const model = withRelease();
    return slowlyUntil(model, () => model.target?.digest === 'b' && model.route?.canaryWeight === 0);
  },
  'Progressing at half the traffic': () => {
    const model = withRelease();
    return slowlyUntil(model, () => model.route?.canaryWeight === 50);
  },
  WaitingPromotion: () =>
    untilPhase(
      withRelease({}, {}, (model) => {
        model.hooks['confirm-promotion'] = 'refused';
      }),
      'WaitingPromotion',
    ),
  'Promoting, before the first write': () => {
    const model = withRelease();
    model.recreate = true;
    return slowlyUntil(
      model,
      () => model.status.postPromotion?.state === 'Converging' && model.primary?.digest === 'a',
    );
  },
  'Converging, not ready yet': () => {
    const model = withRelease();
    return slowlyUntil(
      model,
      () => model.status.postPromotion?.state === 'Converging' && model.primary?.digest === 'b',
    );
  },
  Verifying: () => untilState(withRelease(), 'Verifying'),
  'Verifying with a failed check': () => {
    const model = untilState(withRelease({ primaryMetric: 50 }), 'Verifying');
    return slowlyUntil(model, () => model.status.postPromotion?.failedChecks === 1);
  },
  'Held, the primary does not come up': () => untilState(withRelease({ primaryReady: false }), 'Held'),
  'Held, its checks failed': () => untilState(withRelease({ primaryMetric: 50 }), 'Held'),
  'Held, checks cannot be had': () => {
    const model = untilState(withRelease(), 'Verifying');
    model.providerDown = true;
    return untilState(model, 'Held');
  },
  Reverting: () => untilState(withRelease({ primaryReady: false }, revert), 'Reverting'),
  'Failed, reverted': () => {
    const model = withRelease({ primaryReady: false }, revert);
    slowlyUntil(model, () => rejected(model).includes('b'));
    model.until('Failed');
    return model;
  },
  'Failed and Held, the last-known-good fails the same check': () => {
    const model = untilState(withRelease({ primaryMetric: 50 }, revert), 'Reverting');
    model.behaviours.set('a', { ...GOOD, primaryMetric: 50 });
    return untilState(model, 'Held');
  },
  'Failed and Held, the last-known-good does not come up': () => {
    const model = untilState(withRelease({ primaryReady: false }, revert), 'Reverting');
    model.behaviours.set('a', { ...GOOD, primaryReady: false });
    return untilState(model, 'Held');
  },
  Suspended: () => {
    const model = withRelease();
    slowlyUntil(model, () => model.route?.canaryWeight === 50);
    model.canary.spec.suspend = true;
    model.tick();
    return model;
  },
};

/** Gates open, the provider answers, nobody is suspended: only Git is left to decide. */
function settleDown(model: Model): void {
  model.hooks = {};
  model.providerDown = false;
  delete model.canary.spec.suspend;
  const good = model.behaviours.get('a');
  if (good) model.behaviours.set('a', { ...good, primaryReady: true });
}

/** States in which `b` was found bad before Git said anything. */
const judged = new Set(Object.keys(states).filter((name) => /^Reverting|^Failed/.test(name)));

function rejected(model: Model): string[] {
  return model.rejected.map(({ digest }) => digest).filter((digest) => digest !== 'x');
}

describe.each(Object.entries(states))('%s', (name, create) => {
  it('head goes back to the last-known-good: Succeeded, and what was not found bad is not rejected', () => {
    const model = create();
    const startedBefore = model.events.filter(({ reason }) => reason === 'NewRevision').length;
    model.commit('a', model.behaviours.get('a'), 's1', 'sha-revert');
    settleDown(model);
    model.until('Succeeded');

    expect(model.primary?.digest).toBe('a');
    expect(model.target?.desired).toBe(0);
    expect(model.status.lastPromotedCommit).toBe('sha-revert');
    expect(rejected(model)).toEqual(judged.has(name) ? ['b'] : []);
    expect(model.events.filter(({ reason }) => reason === 'NewRevision')).toHaveLength(startedBefore);
    expectSafe(model);
  });

  it('head moves to a third revision: it gets through, and no request fails', () => {
    const model = create();
    model.commit('c');
    settleDown(model);
    slowlyUntil(model, () => model.status.lastKnownGood?.digest === 'c');
    model.until('Succeeded');

    expect(model.primary?.digest).toBe('c');
    expect(rejected(model)).not.toContain('c');
    expectSafe(model);
  });

  it('head moves to an older proven release: it gets through by the fast lane', () => {
    const model = create();
    model.commit('o', GOOD, 's1', 'sha-older');
    settleDown(model);
    slowlyUntil(model, () => model.status.run?.digest === 'o');
    const { run } = model.status;
    model.until('Succeeded');

    expect(run?.fastLane).toBe(true);
    expect(model.primary?.digest).toBe('o');
    expect(model.status.lastKnownGood?.digest).toBe('o');
    expectSafe(model);
  });

  it('head moves to a release that was rejected before: it is not tried again (S14)', () => {
    const model = create();
    model.commit('x', { ...GOOD, canaryMetric: 50 }, 's1', 'sha-again');
    settleDown(model);
    const started = new Set<unknown>();
    for (let count = 0; count < 400; count += 1) {
      model.tick(1000, 1000);
      started.add(model.status.run?.digest);
    }

    expect([...started]).not.toContain('x');
    expect(['a', 'b']).toContain(model.primary?.digest);
    expectSafe(model);
    model.tick();
    const { writes } = model;
    for (let count = 0; count < 50; count += 1) model.tick(30_000);
    expect(model.writes).toBe(writes);
  });

  it('Git says nothing any more after a restart: what is under way ends from the records', () => {
    const model = create();
    model.head = { kind: 'unknown', reason: 'SourceNotRead', message: 'Source shop/shop has not been read' };
    model.answer = undefined;
    settleDown(model);
    for (let count = 0; count < 200; count += 1) model.tick();

    const { phase } = model.status;
    // Nothing of it was written yet, and only Git has it.
    if (!model.records.some(({ digest }) => digest === 'b'))
      expect([phase, model.status.message]).toEqual([
        'Progressing',
        expect.stringContaining('waits for its record'),
      ]);
    else if (phase !== 'Failed') expect(phase).toMatch(/Succeeded|Promoting/);
    expect(['a', 'b']).toContain(model.primary?.digest);
    expect(model.refusals).toEqual([]);
    expectSafe(model);
    const { writes } = model;
    for (let count = 0; count < 50; count += 1) model.tick(30_000);
    expect(model.writes).toBe(writes);
  });
});

describe('a newer commit that confirm-rollout keeps waiting does not end the verification of the one before', () => {
  const waiting = () => {
    const model = withRelease({}, revert);
    untilState(model, 'Verifying');
    model.hooks['confirm-rollout'] = 'refused';
    model.commit('c');
    return model;
  };

  it('which is proven, and the newer one waits then', () => {
    const model = waiting();
    untilPhase(model, 'Waiting');
    expect(model.status).toMatchObject({ lastPromotedSpec: 'b', run: { digest: 'c' } });
    expect(model.broken).toEqual([]);
  });

  it.each([
    ['fails its checks', (model: Model) => model.behaviours.set('b', { ...GOOD, primaryMetric: 50 })],
    ['dies', (model: Model) => model.die('b')],
  ])('which is taken back if it %s', (_how, fail) => {
    const model = waiting();
    slowlyUntil(model, () => model.status.postPromotion?.passedChecks === 1);
    fail(model);
    untilPhase(model, 'Waiting');
    expect(model.primary?.digest).toBe('a');
    expect(model.rejected.map(({ digest }) => digest)).toEqual(['x', 'b']);
    expect(model.broken).toEqual([]);
  });
});

describe('head goes back to the last-known-good, whose Secret outside Git was rotated since', () => {
  const [before, since] = ['0000000000000000', '1111111111111111'];
  const released = (digest: string, behaviour: Behaviour = GOOD) => {
    const model = new Model({ ...spec, ...revert } as never);
    model.commit(`a+${before}`);
    model.until('Initialized');
    model.commit(digest, behaviour);
    return model;
  };

  it.each([
    ['Converging', { ...GOOD, primaryReady: false }],
    ['Verifying', GOOD],
  ])('in %s the release is reverted at once, and then the new Secret is tried', (state, behaviour) => {
    const model = released(`b+${before}`, behaviour);
    slowlyUntil(
      model,
      () => model.status.postPromotion?.state === state && model.primary?.digest === `b+${before}`,
    );
    model.commit(`a+${since}`);
    model.tick(1000);
    expect(model.reverts).toEqual([`b+${before}`]);
    slowlyUntil(model, () => model.status.lastPromotedSpec === `a+${since}`);
    expect(model.written).toEqual([`a+${before}`, `b+${before}`, `a+${before}`, `a+${since}`]);
    expect(model.rejected).toEqual([]);
    expect(model.broken).toEqual([]);
  });

  it('a Secret that is rotated again in the middle of its own release takes nothing back', () => {
    const model = released(`a+${since}`);
    untilState(model, 'Verifying');
    model.rotate('2222222222222222');
    slowlyUntil(model, () => model.status.lastPromotedSpec === 'a+2222222222222222');
    expect(model.reverts).toEqual([]);
    expect(model.broken).toEqual([]);
  });
});

describe('Holdfast ended before it saved the record of a release that begins', () => {
  it('waits for Git after its start, is refused nothing, and goes on', () => {
    const model = new Model();
    model.commit('a');
    model.until('Initialized');
    model.commit('b');
    model.tick(1000, 1);
    expect(model.records.map(({ digest }) => digest)).toEqual(['a']);
    const { head } = model;

    model.head = { kind: 'unknown', reason: 'SourceNotRead', message: 'Source shop/shop has not been read' };
    for (let count = 0; count < 3; count += 1) model.tick(1000);
    expect([model.status.message, model.refusals]).toEqual([
      expect.stringContaining('waits for its record: Source shop/shop has not been read'),
      [],
    ]);

    model.head = head;
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('b');
  });
});
