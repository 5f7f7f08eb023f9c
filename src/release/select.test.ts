import { expect, test } from 'vitest';
import { measureEffort } from '../../test/effort.ts';
import { renderPlain } from '../render/render.ts';
import { formatProblem, type SourceFile } from '../render/rendered-object.ts';
import { releaseOfPlan } from './build.ts';
import { testCommit, testKey } from './fixtures.test-support.ts';
import type { CanaryPlan } from './plan.ts';
import type { Release } from './release.ts';
import { type Selection, selectPlans } from './select.ts';

function canary(name: string, target = name): string {
  return `apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: ${name}, namespace: shop}
spec:
  targetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: ${target}
  autoscalerRef: {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, name: ${name}}
  service: {port: 80}
  analysis: {interval: 30s, threshold: 2, stepWeight: 10}
`;
}

function workload(name: string, config = `${name}-flags`): string {
  return `apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}, namespace: shop}
spec:
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec:
      containers:
        - name: app
          image: registry.example.com/${name}:1
          envFrom: [{configMapRef: {name: ${config}}}]
`;
}

function map(name: string): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: shop}\ndata: {dark: "off"}\n`;
}

const scaler = `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: pay, namespace: shop}
spec: {maxReplicas: 3}
`;

const good = {
  'pay.yaml': `${canary('pay')}---\n${workload('pay')}---\n${map('pay-flags')}---\n${scaler}`,
  'cart.yaml': `${canary('cart')}---\n${workload('cart')}`,
  'cart-config.yaml': map('cart-flags'),
  'other.yaml': map('other'),
};

type Files = Record<string, string>;

function select(files: Files, previous: Map<string, Release> = new Map(), liveFiles: Files = {}): Selection {
  const rendered = renderPlain(toFiles(files));
  const live = renderPlain(toFiles(liveFiles)).objects.map(({ object }) => object);
  return selectPlans({ ...rendered, liveCanaries: live, previous });
}

function toFiles(files: Files): SourceFile[] {
  return Object.entries(files).map(([path, text]) => ({ path, bytes: Buffer.from(text) }));
}

function previousOf(files: Files): Map<string, Release> {
  const { lineOf } = renderPlain(toFiles(files));
  const releases = select(files).plans.map((plan) => {
    if (plan.state !== 'release' || !plan.object) throw new Error(plan.state);
    const result = releaseOfPlan({
      plan,
      canary: plan.object,
      commit: testCommit,
      secretKey: testKey,
      lineOf,
    });
    return [`${plan.canary.namespace}/${plan.canary.name}`, result.ok!] as const;
  });
  return new Map(releases);
}

function states({ plans }: Selection): Record<string, CanaryPlan['state']> {
  return Object.fromEntries(plans.map((plan) => [plan.canary.name, plan.state]));
}

function restNames({ rest }: Selection): string[] {
  return rest.map(({ object }) => `${object.kind}/${object.metadata.name}`);
}

test('target, tracked config and scaler go with their Canary, everything else is applied', () => {
  const selection = select(good);
  expect(states(selection)).toEqual({ pay: 'release', cart: 'release' });
  expect(restNames(selection)).toEqual(['Canary/pay', 'Canary/cart', 'ConfigMap/other']);
  expect(selection.problems).toEqual([]);
  expect(selection.plans[0]).toMatchObject({
    origins: ['pay.yaml:1', 'pay.yaml:13', 'pay.yaml:26', 'pay.yaml:31'],
    scaler: { object: { kind: 'HorizontalPodAutoscaler' } },
  });
});

test('where config is not tracked it is applied, and releases neither copy it nor wait for it', () => {
  const build = (files: Files) => {
    const { objects, problems, lineOf } = renderPlain(toFiles(files));
    const selection = selectPlans({
      objects,
      problems,
      lineOf,
      liveCanaries: [],
      previous: new Map(),
      tracksConfig: false,
    });
    const [plan] = selection.plans;
    if (plan?.state !== 'release' || !plan.object) throw new Error(plan?.state);
    const input = { plan, canary: plan.object, commit: testCommit, secretKey: testKey, lineOf };
    return { selection, release: releaseOfPlan(input).ok };
  };
  const { selection, release } = build(good);
  expect(restNames(selection)).toEqual(
    expect.arrayContaining(['ConfigMap/pay-flags', 'ConfigMap/cart-flags']),
  );
  expect(release).toMatchObject({ configs: [], liveConfigs: [] });
  const changed = { ...good, 'pay.yaml': good['pay.yaml'].replace('dark: "off"', 'dark: "on"') };
  expect(build(changed).release?.digest).toBe(release?.digest);
});

test('a broken file freezes the Canaries whose objects were in it, and no others', () => {
  const previous = previousOf(good);
  const selection = select({ ...good, 'cart-config.yaml': 'kind: [' }, previous);
  expect(states(selection)).toEqual({ pay: 'release', cart: 'frozen' });
  expect(restNames(selection)).toEqual(['Canary/pay', 'Canary/cart', 'ConfigMap/other']);
  expect(selection.plans[1]).toMatchObject({
    message: expect.stringContaining(
      'cart-config.yaml:2: is not valid YAML: wrong indentation, or an open bracket',
    ),
  });
});

test('a broken file that holds Canary and target freezes both, also before the cluster knows them', () => {
  const broken = { ...good, 'cart.yaml': `${good['cart.yaml']}---\nkind: [` };
  expect(states(select(broken, previousOf(good)))).toEqual({ pay: 'release', cart: 'frozen' });
  expect(states(select(broken))).toEqual({ pay: 'release' });
});

test('a target that moved into a sound file waits until the broken file is mended', () => {
  const files = { 'canary.yaml': canary('pay'), 'moved.yaml': workload('pay'), 'pay.yaml': 'kind: [' };
  const selection = select(files, previousOf(good));
  expect(states(selection)).toMatchObject({ pay: 'frozen' });
  expect(restNames(selection)).toEqual(['Canary/pay']);
});

test('a target or config that is missing while some file is broken freezes the Canary', () => {
  const noTarget = { 'canary.yaml': canary('pay'), 'broken.yaml': 'kind: [' };
  const noConfig = { 'pay.yaml': `${canary('pay')}---\n${workload('pay')}`, 'broken.yaml': 'kind: [' };
  expect(states(select(noTarget))).toEqual({ pay: 'frozen' });
  expect(states(select(noConfig))).toEqual({ pay: 'frozen' });
});

test('one config of several that is missing while some file is broken freezes the Canary', () => {
  const two = workload('pay').replace('envFrom: [', 'envFrom: [{configMapRef: {name: gone}}, ');
  const files = { 'pay.yaml': `${canary('pay')}---\n${two}---\n${map('pay-flags')}` };
  expect(states(select(files))).toEqual({ pay: 'release' });
  expect(states(select({ ...files, 'broken.yaml': 'kind: [' }))).toEqual({ pay: 'frozen' });
});

test('a config that was never in Git does not freeze a Canary', () => {
  const files = { 'pay.yaml': `${canary('pay')}---\n${workload('pay', 'from-operator')}` };
  const selection = select({ ...files, 'broken.yaml': 'kind: [' }, previousOf(files));
  expect(states(selection)).toEqual({ pay: 'release' });
});

test('a Source that cannot be read at all freezes every Canary it had', () => {
  const rendered = {
    objects: [],
    problems: [{ file: '', line: 0, message: 'too many files' }],
    lineOf: () => 0,
  };
  const selection = selectPlans({ ...rendered, liveCanaries: [], previous: previousOf(good) });
  expect(states(selection)).toEqual({ pay: 'frozen', cart: 'frozen' });
});

test('a Canary whose target is in no file is reported with its place', () => {
  const selection = select({ 'pay.yaml': canary('pay') });
  expect(states(selection)).toEqual({ pay: 'missing' });
  expect(selection.problems.map(formatProblem)).toEqual([
    'pay.yaml:8: spec.targetRef.name: Deployment shop/pay, the target of Canary shop/pay, is in no file of this Source',
  ]);
});

test('a Canary that left the files with its target is missed, unless another Source holds it by now; a broken file may hold it still', () => {
  const left = (files: Files, isElsewhere: boolean, behind?: string) => {
    const liveCanaries = renderPlain(toFiles({ 'pay.yaml': canary('pay') })).objects.map(
      ({ object }) => object,
    );
    const rendered = renderPlain(toFiles(files));
    const previous = previousOf({ 'pay.yaml': good['pay.yaml'] });
    return selectPlans({ ...rendered, liveCanaries, previous, isElsewhere: () => isElsewhere, behind });
  };
  expect(states(left({}, false))).toEqual({ pay: 'missing' });
  expect(left({}, true)).toMatchObject({ plans: [], problems: [] });
  const waiting = { state: 'frozen', waitsFor: 'shop/other' };
  expect(left({}, false, 'shop/other')).toMatchObject({ plans: [waiting], problems: [] });
  expect(states(left({ 'broken.yaml': 'kind: [' }, true))).toEqual({ pay: 'frozen' });
});

test('a new Canary that is suspended may come before its target; one whose target left the files may not', () => {
  const suspended = (text: string) => text.replace('spec:\n', 'spec:\n  suspend: true\n');
  const files = { 'pay.yaml': suspended(canary('pay')) };
  expect(states(select(files))).toEqual({ pay: 'missing' });
  expect(select(files).problems).toEqual([]);
  expect(select(files, previousOf({ 'pay.yaml': good['pay.yaml'] })).problems).toHaveLength(1);
});

test('two new Canaries of one target are both refused, each naming the other, and the target is not applied', () => {
  const files = { 'a.yaml': canary('pay'), 'b.yaml': canary('twin', 'pay'), 'w.yaml': workload('pay') };
  const selection = select(files);
  expect(states(selection)).toEqual({ pay: 'frozen', twin: 'frozen' });
  expect(restNames(selection)).toEqual(['Canary/pay', 'Canary/twin']);
  expect(selection.problems.map(formatProblem)).toEqual([
    'a.yaml:8: spec.targetRef.name: Canary shop/pay has the same target as Canary shop/twin (b.yaml:1): a workload can have one Canary',
    'b.yaml:8: spec.targetRef.name: Canary shop/twin has the same target as Canary shop/pay (a.yaml:1): a workload can have one Canary',
  ]);
});

test('of two Canaries of one target the one that was in the cluster first goes on', () => {
  const files = { 'a.yaml': canary('pay'), 'b.yaml': canary('twin', 'pay'), 'w.yaml': workload('pay') };
  const live = (name: string, time: string) =>
    canary(name, 'pay').replace('namespace: shop', `namespace: shop, creationTimestamp: "${time}"`);
  const at = (pay: string, twin: string) =>
    states(select(files, new Map(), { 'l.yaml': `${live('pay', pay)}---\n${live('twin', twin)}` }));
  expect(at('2026-01-02T00:00:00Z', '2026-01-01T00:00:00Z')).toEqual({ pay: 'frozen', twin: 'release' });
  expect(at('2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')).toEqual({ pay: 'release', twin: 'frozen' });
  expect(states(select(files, new Map(), { 'l.yaml': live('twin', '2026-01-03T00:00:00Z') }))).toEqual({
    pay: 'frozen',
    twin: 'release',
  });
});

test('a Canary that is not valid waits with its problem; neither it nor its target is applied', () => {
  const bad = canary('pay')
    .replace('interval: 30s', 'interval: soon')
    .replace('{port: 80}', '{port: eighty}');
  const selection = select({ 'pay.yaml': `${bad}---\n${workload('pay')}`, 'other.yaml': map('other') });
  expect(states(selection)).toEqual({ pay: 'frozen' });
  expect(restNames(selection)).toEqual(['ConfigMap/other']);
  expect(selection.problems.map(({ file, line, field }) => [file, line, field])).toEqual([
    ['pay.yaml', 10, 'spec.service.port'],
    ['pay.yaml', 11, 'spec.analysis.interval'],
  ]);
});

test('a Canary of the cluster keeps its target out of what is applied', () => {
  const files = { 'w.yaml': `${workload('pay')}---\n${map('pay-flags')}` };
  const selection = select(files, new Map(), { 'live.yaml': canary('pay') });
  expect(states(selection)).toEqual({ pay: 'release' });
  expect(selection.rest).toEqual([]);
  expect(select({}, new Map(), { 'live.yaml': canary('pay') }).plans).toEqual([]);
});

test('what is no valid release is reported with file, line and field', () => {
  const files = { 'pay.yaml': `${canary('pay')}---\n${workload('pay')}`.replace('name: app', 'nme: app') };
  const { lineOf } = renderPlain(toFiles(files));
  const [plan] = select(files).plans;
  if (plan?.state !== 'release' || !plan.object) throw new Error('no plan');
  const result = releaseOfPlan({ plan, canary: plan.object, commit: testCommit, secretKey: testKey, lineOf });
  expect(result.problem && formatProblem(result.problem)).toBe(
    'pay.yaml:22: spec.template.spec.containers[0].name: Deployment shop/pay: the container has no name',
  );
});

function canaryList(count: number): SourceFile[] {
  const item = (index: number) =>
    `- {metadata: {name: a${index}, namespace: shop}, spec: {targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`;
  const items = Array.from({ length: count }, (_, index) => item(index)).join('\n');
  const text = `apiVersion: flagger.app/v1beta1\nkind: CanaryList\nitems:\n${items}\n`;
  return [{ path: 'a.yaml', bytes: Buffer.from(text) }];
}

test('a thousand Canaries of one target take no time, with hundreds in the cluster', () => {
  const rendered = renderPlain(canaryList(1_000));
  const liveCanaries = rendered.objects.slice(0, 300).map(({ object }) => object);
  const effort = measureEffort();

  const { problems } = selectPlans({ ...rendered, liveCanaries, previous: new Map() });

  const shared = problems.filter(({ message }) => message.includes('a workload can have one Canary'));
  expect(shared).toHaveLength(999);
  expect(effort()).toBeLessThan(300);
});

test('hundreds of Canaries without a target take no time beside thousands of broken files', () => {
  const files = Array.from({ length: 500 }, (_, index) => [`${index}.yaml`, canary(`a${index}`)]);
  const { objects, lineOf } = renderPlain(toFiles(Object.fromEntries(files)));
  const broken = Array.from({ length: 12_000 }, (_, index) => {
    return { file: `broken-${index}.yaml`, line: 1, message: 'is not valid YAML' };
  });
  const effort = measureEffort();

  const selection = selectPlans({ objects, lineOf, problems: broken, liveCanaries: [], previous: new Map() });

  expect(selection.plans.every(({ state }) => state === 'frozen')).toBe(true);
  expect(selection.problems).toEqual([]);
  expect(effort()).toBeLessThan(300);
});

test.each(['extensions/v1beta1', 'v1', 'apps/v1beta2'])(
  'a Canary whose targetRef says %s has its Deployment, as in Flagger, and no second Canary has it, too',
  (apiVersion) => {
    const asWritten = canary('cart').replace('apiVersion: apps/v1', `apiVersion: ${apiVersion}`);
    const files = { ...good, 'cart.yaml': `${asWritten}---\n${workload('cart')}` };
    const { plans, rest } = select(files);
    expect(plans.map(({ state }) => state)).toEqual(['release', 'release']);
    expect(rest.map(({ object }) => object.kind)).not.toContain('Deployment');
    const second = select({ ...files, 'again.yaml': canary('again', 'cart') });
    expect(second.problems.map(formatProblem).join()).toContain('has the same target as');
  },
);

test('a Canary whose targetRef says core/v1 has its Service, as in Flagger', () => {
  const reference = [
    'apiVersion: apps/v1\n    kind: Deployment',
    'apiVersion: core/v1\n    kind: Service',
  ] as const;
  const service =
    'apiVersion: v1\nkind: Service\nmetadata: {name: cart, namespace: shop}\nspec: {ports: [{port: 80}]}\n';
  const { plans } = select({ 'cart.yaml': `${canary('cart').replace(...reference)}---\n${service}` });
  expect(plans).toMatchObject([
    { state: 'release', target: { object: { apiVersion: 'v1', kind: 'Service' } } },
  ]);
});
