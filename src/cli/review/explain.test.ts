import { describe, expect, it } from 'vitest';
import type { Canary } from '../../api/canary/canary.ts';
import { type Cause, causes } from '../../health/causes.ts';
import { causeOf } from '../../health/diagnosis.ts';
import { explain } from '../../review/explain/explanation.ts';
import { applyHypothesis, parseHypothesis, sampleFaults } from '../../review/explain/hypothesis.ts';
import { aWorkload } from '../../rollout/fixtures.test-support.ts';
import { step } from '../../rollout/step.ts';
import type { World } from '../../rollout/world.ts';
import { explainWorld } from './explain.ts';

const commit = { commit: 'a'.repeat(40), subject: 'Good', author: 'dev', time: '2026-01-01T00:00:00Z' };
const nowMs = Date.parse('2026-01-01T01:00:00Z');
const screen = { columns: 100, colour: false };

/** A Canary at rest: release `a` is the last-known-good and serves. */
function atRest(): World {
  const promotedTime = '2026-01-01T00:00:00.000Z';
  return {
    nowMs,
    canary: {
      apiVersion: 'flagger.app/v1beta1',
      kind: 'Canary',
      metadata: { name: 'web', namespace: 'shop' },
      spec: {
        provider: 'gatewayapi:v1',
        targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
        service: { port: 80 },
        progressDeadlineSeconds: 60,
        analysis: { interval: '10s', threshold: 1, stepWeight: 50, maxWeight: 50 },
        postPromotion: { metrics: [{ name: 'errors', thresholdRange: { max: 1 } }] },
      },
    } as Canary,
    status: {
      phase: 'Succeeded',
      lastKnownGood: { commit: commit.commit, digest: 'v1:a', promotedTime, record: 'r' },
    },
    head: { kind: 'unknown', reason: 'Unknown', message: 'not asked' },
    records: [{ digest: 'v1:a', commit, name: 'r', promotedTime }],
    rejected: [],
    primary: aWorkload(),
    target: aWorkload({ name: 'web', desiredReplicas: 0, podContainers: [] }),
    route: { primaryWeight: 100, canaryWeight: 0, mirrored: false, matched: false, accepted: true },
    checks: undefined,
    peers: { verifying: 0, failingNow: 0, failedTimes: [] },
    options: { minIntervalMs: 1000, defaultProvider: 'kubernetes' },
  };
}

function explained(...whatIf: string[]) {
  return explain(applyHypothesis(atRest(), parseHypothesis(whatIf)), whatIf);
}

function statesOf({ forecast }: ReturnType<typeof explain>): Array<readonly [number, string | undefined]> {
  const seen = forecast.moments.map(({ timeMs, state }) => [(timeMs - nowMs) / 1000, state] as const);
  return seen.filter(([, state], index) => state !== seen[index - 1]?.[1]);
}

it('says what stops a Canary, which no decision can foretell', () => {
  const said = 'apply Deployment shop/web: 422 spec.selector: field is immutable';
  const stalled = { type: 'Stalled', status: 'True', reason: 'Invalid', message: said } as const;
  const world = atRest();
  const stopped = { ...world, status: { ...world.status, message: 'starting', conditions: [stalled] } };
  const text = explainWorld(stopped as World, {}, { assumed: [], format: 'text', screen }).stdout;
  expect(text).toContain(`What stops it\n  ${said}`);
  const data = explainWorld(stopped as World, {}, { assumed: [], format: 'json', screen }).stdout;
  expect(JSON.parse(data)).toMatchObject({ stops: said });
  expect(explainWorld(world, {}, { assumed: [], format: 'text', screen }).stdout).not.toContain('stops');
});

it('says what stops a Canary also where the line of its status says it', () => {
  const said = 'the target Deployment shop/web is in no Source and does not exist';
  const stalled = { type: 'Stalled', status: 'True', reason: 'TargetMissing', message: said } as const;
  const message = `${said}; commit the workload, or delete the Canary`;
  const status = { phase: 'Initializing', message, conditions: [stalled] };
  const text = explainWorld({ ...atRest(), status } as World, {}, { assumed: [], format: 'text', screen });
  expect(text.stdout).toContain(`What stops it\n  ${said}`);
});

it('tells once what stops a Canary, and of one without a phase what comes next', () => {
  const world = atRest();
  const canary = { ...world.canary, spec: { ...world.canary.spec, suspend: true } };
  const message = 'suspended: nothing is written until spec.suspend is removed';
  const stalled = { type: 'Stalled', status: 'True', reason: 'Suspended', message } as const;
  const suspended = { ...world, canary, status: { conditions: [stalled] } } as World;
  const { stdout } = explainWorld(suspended, {}, { assumed: [], format: 'text', screen });
  expect(stdout).toContain(`\n  now: ${message}\n`);
  expect(stdout).not.toContain('What stops it');
});

it('names no cause on the primary for a release that was not written to it yet', () => {
  const world = atRest();
  const run = { digest: 'v1:b', commit: 'b'.repeat(40), subject: 'New', startTime: '2026-01-01T00:59:00Z' };
  const postPromotion = { state: 'Converging', startTime: '2026-01-01T00:59:50Z' };
  const status = { ...world.status, phase: 'Promoting', run, postPromotion };
  const { primary, judgement } = explain({ ...world, status } as World, []);
  expect(primary.filter(({ met }) => !met).map(({ name }) => name)).toContain('template');
  expect(judgement).toBeUndefined();
});

it('foretells when a release that waits for its window starts', () => {
  const settingsKey = atRest().primary?.settingsKey ?? '';
  const release = { digest: 'v1:b', commit, settingsKey, replicas: 2, mountsConfig: false };
  const world: World = {
    ...atRest(),
    head: { kind: 'release', release },
    window: { open: false, nextOpeningMs: nowMs + 3_600_000 },
  };
  const { moments } = explain(world, []).forecast;
  const phases = moments.map(({ timeMs, phase }) => [phase, (timeMs - nowMs) / 1000]);
  expect(phases[0]).toEqual(['Waiting', 0]);
  expect(phases.find(([phase]) => phase === 'Progressing')).toEqual(['Progressing', 3600]);
});

it('of a release that waits at a gate names its webhooks, and not metrics that are not there', () => {
  const world = atRest();
  const { settingsKey = '' } = world.primary ?? {};
  const release = { digest: 'v1:b', commit, settingsKey, replicas: 2, mountsConfig: false };
  const webhooks = [{ name: 'ask', type: 'confirm-rollout', url: 'http://x.example' }];
  const spec = { ...world.canary.spec, analysis: { ...world.canary.spec.analysis, webhooks } };
  const gated = { ...world, canary: { ...world.canary, spec }, head: { kind: 'release', release } } as World;
  expect(explain(gated, []).forecast.end).toBe('then webhooks are called: confirm-rollout');
});

const tried = {
  ...{ digest: 'v1:b', commit: 'b'.repeat(40), subject: 'Bad', startTime: '2026-01-01T00:10:00.000Z' },
  ...{ restartKey: '', mountsConfig: false, fastLane: false, checkNumber: 1 },
};

it('a release that failed on the canary is not expected on a primary that is too weak to take the traffic back', () => {
  const world = atRest();
  const deferred = { phase: 'Failed', reason: 'AnalysisFailed', message: 'Bad failed its analysis' };
  const postPromotion = { state: 'Held', reason: 'LKGNotReady', startTime: '2026-01-01T00:30:00.000Z' };
  const status = { ...world.status, phase: 'Failed', postPromotion, run: { ...tried, deferred } };

  const { release, primary, judgement } = explain({ ...world, status } as World, []);

  expect(release.digest).toBe('v1:a');
  expect(primary.filter(({ met }) => !met)).toEqual([]);
  expect(judgement).toBeUndefined();
});

it('a release that is tried on the primary is expected there', () => {
  const world = atRest();
  const status = { ...world.status, phase: 'Progressing', run: { ...tried, side: 'primary' } };
  const primary = aWorkload({ digest: 'v1:b' });

  const found = explain({ ...world, status, primary } as World, []);

  expect(found.release.digest).toBe('v1:b');
  expect(found.primary.filter(({ met }) => !met)).toEqual([]);
});

describe('an explanation', () => {
  it('of a Canary at rest finds no difference and judges nothing', () => {
    const found = explained();
    expect(found.primary.every(({ met }) => met)).toBe(true);
    expect(found.judgement).toBeUndefined();
  });

  it('of a fault only the primary has: held at the deadline, reverted after another one', () => {
    const found = explained('cause=PullFails');
    expect(found.judgement).toMatchObject({ cause: 'PullFails', action: 'hold', onCanaryToo: false });
    expect(statesOf(found)).toEqual([
      [0, 'Converging'],
      [60, 'Held'],
      [120, 'Reverting'],
    ]);
    expect(found.forecast.moments.at(-1)?.actions).toContain('the primary is written from release v1:a');
  });

  it('of a fault both copies show: reverted at once', () => {
    const found = explained('cause=CrashLoop', 'canary=sameFault');
    expect(found.judgement).toMatchObject({ cause: 'CrashLoop', action: 'revert', onCanaryToo: true });
    expect(statesOf(found)).toEqual([[0, 'Reverting']]);
  });

  it('with onFailure hold: held without end', () => {
    const found = explained('cause=CrashLoop', 'onFailure=hold');
    expect(found.judgement).toMatchObject({ action: 'hold', why: 'onFailure is hold' });
    expect(statesOf(found).at(-1)?.[1]).toBe('Held');
    expect(found.forecast.end).toBe('then nothing until the cluster or Git changes');
  });

  it('takes both names of a policy that leaves the release to a person', () => {
    expect(explained('cause=CrashLoop', 'onFailure=manual').judgement?.action).toBe('hold');
    expect(explained('cause=CrashLoop', 'onFailure=halt').judgement?.action).toBe('hold');
  });

  it('of checks that fail: reverted, unless others fail too', () => {
    expect(explained('checks=fail').judgement).toMatchObject({
      cause: 'ChecksFailed',
      evidence: ['errors: assumed'],
      action: 'revert',
    });
    expect(explained('checks=fail', 'others=3').judgement).toMatchObject({
      cause: 'SharedCause',
      action: 'hold',
      why: 'auto: 4 Canaries fail their checks within 5 minutes: the cause is not one release',
    });
    expect(explained('checks=fail', 'others=3', 'onFailure=revert').judgement?.action).toBe('revert');
  });

  it('of a failure without a release to go back to: held', () => {
    const world = applyHypothesis({ ...atRest(), records: [] }, parseHypothesis(['checks=fail']));
    expect(explain(world, []).judgement).toMatchObject({
      action: 'hold',
      why: expect.stringContaining('no last-known-good release'),
    });
  });

  it('of a release that goes back expects the last-known-good, and judges nothing', () => {
    const failing = applyHypothesis(atRest(), parseHypothesis(['cause=CrashLoop', 'canary=sameFault']));
    const { status } = step(failing);
    const found = explain({ ...failing, status }, []);
    expect(found).toMatchObject({ state: 'Reverting', release: { digest: 'v1:a' } });
    expect(found.judgement).toBeUndefined();
  });

  it.each([
    [{}, 'Canary shop/web: not reconciled by Holdfast yet; holdfast check and holdfast events say why'],
    [
      {
        conditions: [
          { type: 'Ready', status: 'False', reason: 'SpecInvalid', message: 'spec.analysis: is missing' },
        ],
      },
      'Canary shop/web: spec.analysis: is missing',
    ],
  ])('of a Canary without a phase, with status %j, says why there is none', (status, line) => {
    const world = { ...atRest(), status } as World;
    const { stdout } = explainWorld(world, parseHypothesis([]), { assumed: [], screen, format: 'text' });
    expect(stdout.split('\n')[0]).toBe(line);
  });

  it('is text for people, and data for programs', () => {
    const options = { assumed: ['cause=PullFails'], screen };
    const world = atRest();
    const hypothesis = parseHypothesis(options.assumed);
    const { stdout } = explainWorld(world, hypothesis, { ...options, format: 'text' });
    expect(stdout).toContain('PullFails: its image cannot be pulled; the canary does not have it');
    expect(stdout).toContain('hold (auto: the canary runs the same release and is healthy)');
    const data = explainWorld(world, hypothesis, { ...options, format: 'json' }).stdout;
    expect(JSON.parse(data)).toMatchObject({ canary: 'shop/web', judgement: { cause: 'PullFails' } });
  });
});

describe('a hypothesis', () => {
  it.each(Object.keys(causes) as Cause[])('of %s is recognised as that cause', (cause) => {
    const [fault] = sampleFaults(cause, 'web-primary-1', 'app');
    expect(fault ? causeOf(fault, ['app']) : 'ProgressStopped').toBe(cause);
    expect(explained(`cause=${cause}`).judgement).toMatchObject({ cause, action: 'hold' });
  });

  it.each([
    'cause=Nonsense',
    'onFailure=never',
    'canary=perhaps',
    'colour=red',
    'cause',
    'checks=pass',
    'others=many',
  ])('that cannot be read is refused: %s', (text) => {
    expect(() => parseHypothesis([text])).toThrow(/--what-if/);
  });
});
