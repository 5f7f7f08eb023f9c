import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Canary } from '../../src/api/canary/canary.ts';
import { eventTextOf, type Incident, lineOf, markdownOf, plainTextOf } from '../../src/api/incident.ts';
import { conditionOf } from '../../src/api/kubernetes.ts';
import { evidenceFor, type RevertDescription, revertBody, revertTitle } from '../../src/writeback/message.ts';
import { revertBranch } from '../../src/writeback/names.ts';
import { type Behaviour, GOOD, Model } from './model.ts';

const folder = resolve(import.meta.dirname, 'incidents');
const good = '1'.repeat(40);
const bad = '2'.repeat(40);
const compared = new Set<string>();

/** A model on which `a` is good and `b` is rolled out; told to `alerts` of every severity. */
function rollout(behaviour: Behaviour, spec: Partial<Canary['spec']> = {}): Model {
  const model = new Model(spec);
  model.commit('a', GOOD, 's1', good);
  model.until('Initialized');
  model.commit('b', behaviour, 's1', bad);
  return model;
}

/** Plays on until people are told this; fails when they never are. */
function told(model: Model, outcome: string, reason: string): Incident {
  const find = () => model.status.incidents?.find((one) => one.outcome === outcome && one.reason === reason);
  for (let tick = 0; tick < 300 && !find(); tick += 1) model.tick();
  const found = find();
  if (!found)
    throw new Error(`${outcome} ${reason} was never told; ${JSON.stringify(model.status.incidents)}`);
  return found;
}

/** Every rendering of one news; a revert is told in Git, too. */
function page(incident: Incident, model: Model): string {
  const story = incident.outcome === 'Reverted' ? storyOf(incident, model) : undefined;
  const parts = [
    ['status line', lineOf(incident)],
    ['commit status', lineOf(incident, 140)],
    ['event and log', eventTextOf(incident)],
    ['text', plainTextOf(incident)],
    ['markdown', markdownOf(incident)],
    ...(story ? [['pull request', `${revertTitle(story)}\n\n${revertBody(story, 'markdown')}`]] : []),
    ...(story ? [['commit message', `${revertTitle(story)}\n\n${revertBody(story, 'text')}`]] : []),
  ];
  const { key, severity } = incident;
  const head = `key: ${key}\nseverity: ${severity}\n`;
  return [head, ...parts.map(([title, text]) => `--- ${title}\n${text}\n`)].join('\n');
}

function storyOf({ reason, finding = '' }: Incident, { status }: Model): RevertDescription {
  const where = { cluster: 'prod', namespace: 'shop', canary: 'podinfo' };
  const branch = revertBranch(where, 'b');
  const commits = { digest: 'b', bad, good, goodDigest: 'a' };
  return {
    where,
    revert: { mode: 'pullRequest', branch, ...commits, reason, finding },
    subject: 'release b',
    evidence: evidenceFor(status, 'b'),
    documentation: 'https://docs.example.com/holdfast/',
    files: ['shop/podinfo.yaml'],
  };
}

/** Compares with the golden file; UPDATE_GOLDEN=1 writes it. */
function expectGolden(incident: Incident, model: Model): void {
  const name = `${incident.outcome}-${incident.reason}.txt`;
  compared.add(name);
  const path = resolve(folder, name);
  const text = page(incident, model);
  mkdirSync(folder, { recursive: true });
  if (process.env.UPDATE_GOLDEN) writeFileSync(path, text);
  expect(text).toBe(readFileSync(path, 'utf8'));
  expect(lineOf(incident).length).toBeLessThanOrEqual(160);
  expect(eventTextOf(incident).length).toBeLessThanOrEqual(1_000);
}

interface Row {
  readonly outcome: string;
  readonly reason: string;
  readonly behaviour?: Partial<Behaviour>;
  readonly spec?: Partial<Canary['spec']>;
  /** Told before; then the world changes like this. */
  readonly first?: readonly [outcome: string, reason: string];
  readonly change?: (model: Model) => void;
}

const hold = { postPromotion: { ...new Model().canary.spec.postPromotion, onFailure: 'hold' as const } };
const sick = { ...GOOD, primaryReady: false };

const rows: readonly Row[] = [
  { outcome: 'Initialized', reason: 'Initialized' },
  { outcome: 'Started', reason: 'NewRevision' },
  { outcome: 'Succeeded', reason: 'Succeeded' },
  { outcome: 'Failed', reason: 'AnalysisFailed', behaviour: { canaryMetric: 50 } },
  { outcome: 'Failed', reason: 'ProgressDeadlineExceeded', behaviour: { canaryReady: false } },
  { outcome: 'Held', reason: 'PrimaryNotReady', behaviour: sick },
  { outcome: 'Reverted', reason: 'PrimaryNotReady', behaviour: sick },
  { outcome: 'Held', reason: 'ChecksFailed', behaviour: { primaryMetric: 50 }, spec: hold },
  { outcome: 'Reverted', reason: 'ChecksFailed', behaviour: { primaryMetric: 50 } },
  {
    outcome: 'Held',
    reason: 'ChecksUnavailable',
    behaviour: { primaryMetric: undefined },
  },
  {
    outcome: 'Held',
    reason: 'LKGNotReady',
    behaviour: sick,
    first: ['Held', 'PrimaryNotReady'],
    change: (model) => model.behaviours.set('a', sick),
  },
  {
    outcome: 'Held',
    reason: 'LKGFailsToo',
    behaviour: { primaryMetric: 50 },
    first: ['Started', 'NewRevision'],
    change: (model) => model.behaviours.set('a', { ...GOOD, primaryMetric: 50 }),
  },
  {
    outcome: 'Succeeded',
    reason: 'RevertedInGit',
    behaviour: sick,
    first: ['Held', 'PrimaryNotReady'],
    change: (model) => model.commit('a', GOOD, 's1', '3'.repeat(40)),
  },
  {
    outcome: 'Failed',
    reason: 'Rejected',
    behaviour: { canaryMetric: 50 },
    first: ['Failed', 'AnalysisFailed'],
    change(model) {
      model.commit('a', GOOD, 's1', '3'.repeat(40));
      model.until('Succeeded');
      model.commit('b', GOOD, 's1', '4'.repeat(40));
    },
  },
  {
    outcome: 'Stopped',
    reason: 'TargetMissing',
    first: ['Succeeded', 'Succeeded'],
    change(model) {
      model.head = { kind: 'missing', message: 'the Source holds no Deployment podinfo' };
    },
  },
  {
    outcome: 'Stopped',
    reason: 'StepsDoNotAdvance',
    spec: { analysis: { ...new Model().canary.spec.analysis, stepWeight: 0 } },
  },
];

describe('what people are told', () => {
  it('a first release that does not become ready, once its deadline has passed', () => {
    const model = new Model();
    model.commit('a', sick, 's1', good);
    expect(told(model, 'Stopped', 'PrimaryNotReady').severity).toBe('warn');
  });

  it.each(rows)('$outcome, $reason', ({ outcome, reason, behaviour, spec, first, change }) => {
    const model = rollout({ ...GOOD, ...behaviour }, spec);
    if (first) told(model, ...first);
    change?.(model);
    expectGolden(told(model, outcome, reason), model);
  });

  describe('while another writer undoes what Holdfast writes', () => {
    const stalledOf = ({ status }: Model) => conditionOf(status, 'Stalled');
    const stops = ({ status }: Model) =>
      status.incidents?.filter(
        ({ outcome, reason }) => outcome === 'Stopped' && reason === 'ForeignChange',
      ) ?? [];
    /** From now on, and so much time passes. */
    function contend(model: Model, durationMs: number): void {
      const { clockMs } = model;
      model.contention = { message: 'mesh-operator undoes what Holdfast writes', sinceMs: clockMs };
      while (model.clockMs < clockMs + durationMs) model.tick();
    }
    function calm(model: Model, durationMs: number): void {
      model.contention = undefined;
      for (const endMs = model.clockMs + durationMs; model.clockMs < endMs; ) model.tick();
    }

    it('a person is called after a minute, also where no release is under way, and no more once it is over', () => {
      const model = rollout(GOOD);
      told(model, 'Succeeded', 'Succeeded');
      contend(model, 50_000);
      expect([stalledOf(model)?.status, stops(model).length]).toEqual(['False', 0]);
      contend(model, 120_000);
      expect(stalledOf(model)).toMatchObject({ status: 'True', reason: 'ForeignChange' });
      expect(stops(model)).toMatchObject([
        { severity: 'warn', message: expect.stringContaining('mesh-operator') },
      ]);
      calm(model, 60_000);
      expect(stalledOf(model)?.status).toBe('False');
      expect(model.status.phase).toBe('Succeeded');
    });

    it('is told again where it comes back an hour later, for the same release, and not each time before', () => {
      const model = rollout(GOOD);
      told(model, 'Succeeded', 'Succeeded');
      contend(model, 120_000);
      calm(model, 60_000);
      contend(model, 120_000);
      expect(stops(model)).toHaveLength(1);
      calm(model, 3_600_000);
      contend(model, 120_000);
      expect(stops(model)).toHaveLength(2);
    });

    it('a receiver of warnings that was told hears that it is over once it did not come back for an hour, each time', () => {
      const alerts = [{ name: 'pager', severity: 'warn' as const, providerRef: { name: 'pager' } }];
      const model = rollout(GOOD, { analysis: { ...new Model().canary.spec.analysis, alerts } });
      told(model, 'Succeeded', 'Succeeded');
      const toPager = () =>
        model.status.incidents?.filter((one) => one.alerts?.length).map(({ outcome }) => outcome);
      const quiet = (durationMs: number) => {
        calm(model, 20_000);
        model.tick(durationMs);
      };
      contend(model, 120_000);
      quiet(1_800_000);
      contend(model, 120_000);
      quiet(3_500_000);
      expect(toPager()).toEqual(['Stopped']);
      quiet(100_000);
      expect(toPager()).toEqual(['Succeeded', 'Stopped']);
      expect(model.status.incidents?.[0]).toMatchObject({
        message: 'what stopped it (ForeignChange) is over',
      });
      contend(model, 120_000);
      quiet(3_600_000);
      expect(toPager()).toEqual(['Succeeded', 'Stopped', 'Succeeded', 'Stopped']);
    });

    it('a release that fails meanwhile names it', () => {
      const model = rollout({ ...GOOD, canaryMetric: 50 });
      contend(model, 20_000);
      const { finding } = told(model, 'Failed', 'AnalysisFailed');
      expect(finding).toMatch(/; meanwhile mesh-operator undoes what Holdfast writes$/);
    });
  });

  it('is told once, however long a state lasts or comes back', () => {
    const model = rollout(sick, hold);
    told(model, 'Held', 'PrimaryNotReady');
    for (const behaviour of [GOOD, sick]) {
      model.behaviours.set('b', behaviour);
      model.tick();
    }
    for (let tick = 0; tick < 50; tick += 1) model.tick();
    const keys = model.status.incidents?.map(({ key }) => key) ?? [];
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys.filter((key) => key.endsWith('/Held/PrimaryNotReady'))).toHaveLength(1);
  });

  it('waits for each alert whose severity lets it pass; one without a severity gets everything', () => {
    const alerts = (['', 'info', 'warn', 'error'] as const).map((severity) => ({
      name: severity || 'none',
      severity,
      providerRef: { name: 'chat' },
    }));
    const base = new Model().canary.spec.analysis;
    const model = rollout({ ...GOOD, canaryMetric: 50 }, { analysis: { ...base, alerts } });
    const to = ({ alerts: states = [] }: Incident) => states.map(({ name }) => name);
    expect(to(told(model, 'Failed', 'AnalysisFailed'))).toEqual(['none', 'info', 'warn', 'error']);
    expect(to(told(model, 'Started', 'NewRevision'))).toEqual(['none', 'info']);
  });

  it('a receiver of errors alone that was told of one hears of the success that ends it, once', () => {
    const alerts = [{ name: 'pager', severity: 'error' as const, providerRef: { name: 'pager' } }];
    const model = rollout(
      { ...GOOD, canaryMetric: 50 },
      { analysis: { ...new Model().canary.spec.analysis, alerts } },
    );
    const toPager = (outcome: string, reason: string) => told(model, outcome, reason).alerts?.length ?? 0;
    expect(toPager('Failed', 'AnalysisFailed')).toBe(1);
    model.commit('c', GOOD, 's1', '3'.repeat(40));
    expect(toPager('Succeeded', 'Succeeded')).toBe(1);
    model.commit('d', GOOD, 's1', '4'.repeat(40));
    for (let tick = 0; tick < 300 && model.status.phase !== 'Progressing'; tick += 1) model.tick();
    model.until('Succeeded');
    expect(model.status.incidents?.find(({ key }) => key.startsWith('d/'))).toMatchObject({
      severity: 'info',
    });
    expect(model.status.incidents?.find(({ key }) => key.startsWith('d/'))?.alerts).toBeUndefined();
  });

  afterAll(() => {
    expect(readdirSync(folder).filter((name) => !compared.has(name))).toEqual([]);
  });
});

it('the command of a merge says which of its parents stays, without which Git reverts none', () => {
  const model = rollout({ ...GOOD, canaryMetric: 50 });
  if (model.head.kind === 'release') model.head.release.commit.isMerge = true;
  expect(told(model, 'Failed', 'AnalysisFailed').command).toBe(
    `git revert --no-edit -m 1 ${bad.slice(0, 12)} && git push`,
  );
});

it('a finding that is the whole message is told once', () => {
  const model = rollout(GOOD);
  told(model, 'Started', 'NewRevision');
  model.ask('rollback-to', 'a');
  for (let tick = 0; tick < 20; tick += 1) model.tick();
  const incident = model.status.incidents?.find(({ reason }) => reason === 'RolledBack');
  const { message = '' } = incident ?? {};
  expect(message).toContain('rolled back');
  for (const text of [eventTextOf, plainTextOf, markdownOf].map((render) => incident && render(incident)))
    expect(text?.split('rolled back')).toHaveLength(2);
});
