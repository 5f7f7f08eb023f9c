import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { imageOf } from '../objects.ts';
import { run } from './cli-run.ts';
import {
  type Bed,
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  primaryImage,
  runUntilInitialized,
  startBed,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';

const group = '/apis/flagger.app/v1beta1/namespaces/shop';
let bed: Bed;
beforeEach(async () => {
  bed = await startBed();
});
afterEach(() => bed.close());

interface Event {
  readonly reason: string;
  readonly note: string;
  readonly regarding: { readonly name: string };
}

async function eventsOf(name: string): Promise<Event[]> {
  const { body } = await bed.send('GET', '/apis/events.k8s.io/v1/namespaces/shop/events');
  return (body as { items: Event[] }).items.filter(({ regarding }) => regarding.name === name);
}

/** The message of a condition of this reason, once it is there and an event says the same. */
async function told(name: string, type: string, reason: string): Promise<string> {
  const seen = async () => statusOf(await bed.canary(name));
  const message = await eventually(
    `${type} of ${name} with reason ${reason}`,
    async () => {
      const found = condition(await bed.canary(name), type);
      return found?.reason === reason ? found.message : undefined;
    },
    { seen },
  );
  await eventually(`an event ${reason} of ${name}`, async () =>
    (await eventsOf(name)).some((event) => event.reason === reason && event.note === message),
  );
  return message;
}

/** One row of the table of bad input (flagger-behaviour 2.1, and the findings about Canaries that nobody schedules). */
interface Bad {
  readonly name: string;
  readonly analysis?: Record<string, unknown>;
  readonly spec?: Record<string, unknown>;
  /** There is no Deployment of its name. */
  readonly alone?: true;
  readonly says: readonly [type: string, reason: string, words: string];
  /** What `holdfast validate` says of it, where the cluster has other words. */
  readonly offline?: string;
}

const metric = { name: 'm', interval: '1m', thresholdRange: { min: 1 }, templateRef: { name: 'nowhere' } };
const bad: readonly Bad[] = [
  {
    name: 'cookies',
    analysis: { sessionAffinity: { cookieName: 'a', primaryCookieName: 'a' } },
    says: ['Ready', 'InvalidSpec', 'primaryCookieName: must differ from cookieName'],
  },
  {
    name: 'steps',
    spec: { provider: 'contour' },
    analysis: { iterations: undefined, stepWeights: [] },
    says: ['Ready', 'InvalidSpec', 'spec.analysis.stepWeights: is empty'],
  },
  {
    name: 'fraction',
    spec: { provider: 'contour' },
    analysis: { iterations: undefined, stepWeight: 0 },
    says: ['Ready', 'InvalidSpec', 'spec.analysis.stepWeight: the analysis would never end'],
  },
  {
    name: 'absent',
    alone: true,
    says: ['Ready', 'TargetMissing', 'Deployment shop/absent'],
    offline: 'spec.targetRef.name: Deployment shop/absent, the target of Canary shop/absent',
  },
  {
    name: 'twin',
    spec: { targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'pair' } },
    alone: true,
    says: ['Ready', 'TargetConflict', 'Deployment pair is the target of Canary shop/pair already'],
    offline: 'spec.targetRef.name: Canary shop/twin has the same target as Canary shop/pair',
  },
  {
    name: 'elsewhere',
    analysis: { alerts: [{ name: 'chat', providerRef: { name: 'chat', namespace: 'ops' } }] },
    says: [
      'Ready',
      'InvalidSpec',
      'spec.analysis.alerts[0].providerRef.namespace: is ops; references to other namespaces need holdfast run --cross-namespace-refs',
    ],
  },
  {
    name: 'far',
    analysis: { metrics: [{ ...metric, templateRef: { name: 'nowhere', namespace: 'ops' } }] },
    says: [
      'Ready',
      'InvalidSpec',
      'spec.analysis.metrics[0].templateRef.namespace: is ops; references to other namespaces need holdfast run --cross-namespace-refs',
    ],
  },
  {
    name: 'upstream',
    spec: {
      upstreamRef: { apiVersion: 'gloo.solo.io/v1', kind: 'Upstream', name: 'other', namespace: 'ops' },
    },
    says: [
      'Ready',
      'InvalidSpec',
      'spec.upstreamRef.namespace: is ops; references to other namespaces need holdfast run --cross-namespace-refs',
    ],
  },
  {
    name: 'knative',
    spec: { provider: 'knative' },
    says: ['Ready', 'InvalidSpec', 'spec.targetRef: must be a Service of serving.knative.dev/v1'],
  },
  {
    name: 'serverless',
    spec: { targetRef: { apiVersion: 'serving.knative.dev/v1', kind: 'Service', name: 'serverless' } },
    alone: true,
    says: ['Ready', 'InvalidSpec', 'spec.provider: must be knative for a Knative Service'],
  },
  {
    name: 'scaled',
    spec: {
      provider: 'knative',
      targetRef: { apiVersion: 'serving.knative.dev/v1', kind: 'Service', name: 'scaled' },
      autoscalerRef: { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler', name: 'scaled' },
    },
    alone: true,
    says: ['Ready', 'InvalidSpec', 'spec.autoscalerRef: cannot be used with a Knative Service'],
  },
  {
    name: `long-${'a'.repeat(51)}`,
    says: ['Ready', 'InvalidSpec', 'spec.targetRef.name: is too long: Service long-'],
  },
  {
    name: 'dotted.v1',
    says: ['Ready', 'InvalidSpec', 'spec.targetRef.name: dotted.v1 cannot be the name of a Service'],
  },
  {
    name: 'template',
    analysis: { metrics: [metric] },
    says: [
      'SpecWarnings',
      'ReferenceMissing',
      'spec.analysis.metrics[0].templateRef: there is no MetricTemplate shop/nowhere',
    ],
    offline: 'spec.analysis.metrics[0].templateRef: MetricTemplate shop/nowhere is in none of these files',
  },
  {
    name: 'receiver',
    analysis: { alerts: [{ name: 'chat', providerRef: { name: 'chat' } }] },
    says: [
      'SpecWarnings',
      'ReferenceMissing',
      'spec.analysis.alerts[0].providerRef: there is no AlertProvider shop/chat',
    ],
    offline: 'spec.analysis.alerts[0].providerRef: AlertProvider shop/chat is in none of these files',
  },
  {
    name: 'hurry',
    analysis: { interval: '0s' },
    says: [
      'SpecWarnings',
      'SpecWarnings',
      'spec.analysis.interval: is below the shortest interval; 0.1s is used',
    ],
    offline: 'spec.analysis.interval: is below the shortest interval; 10s is used',
  },
  {
    name: 'match',
    analysis: { match: [{ headers: { a: { exact: 'b' } } }] },
    says: ['SpecWarnings', 'SpecWarnings', 'spec.analysis.match: is ignored: provider kubernetes'],
  },
];

/** Manifests with a line for each field. */
function filesOf(rows: readonly Bad[]): Record<string, string> {
  const files = rows.flatMap(({ name, analysis = {}, spec = {}, alone }) => [
    [`${name}-canary.json`, pretty(canary({ name, analysis, spec }))],
    ...(alone ? [] : [[`${name}.json`, pretty(deployment('shop/bad:1', { name }))]]),
  ]);
  return Object.fromEntries(files);
}

function pretty(json: string): string {
  return JSON.stringify(JSON.parse(json), undefined, 2);
}

const goodFiles = {
  'web.json': deployment('shop/web:1'),
  'canary.json': canary(),
  'pair.json': deployment('shop/pair:1', { name: 'pair' }),
  'pair-canary.json': canary({ name: 'pair' }),
};

test('bad Canaries say what is wrong, by condition and event, and stop nobody else', async () => {
  await bed.commit('v1', { ...goodFiles, ...filesOf(bad) });
  await runUntilInitialized(bed);
  for (const { name, says } of bad) {
    expect(await told(name, says[0], says[1])).toContain(says[2]);
    // What Argo CD's health check of Canaries computes with: where it fails, Argo CD syncs nothing of the Application, not even the fix.
    expect(statusOf(await bed.canary(name))).toMatchObject({
      phase: expect.any(String),
      canaryWeight: expect.any(Number),
    });
  }
  const pair = async () => statusOf(await bed.canary('pair'));
  await eventually('who had the target first has it', async () => (await pair()).phase === 'Initialized', {
    seen: pair,
  });

  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Succeeded');
  expect(await primaryImage(bed)).toBe('shop/web:2');
});

test('the longest names that are allowed are rolled out', async () => {
  const name = 'a'.repeat(55);
  const canaryName = `canary.${'b'.repeat(240)}`;
  const targetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name };
  const release = (version: number) =>
    bed.commit(`v${version}`, {
      'web.json': deployment(`shop/web:${version}`, { name }),
      'canary.json': canary({ name: canaryName, spec: { targetRef } }),
    });
  const seen = async () => statusOf(await bed.canary(canaryName));
  const until = (phase: string) =>
    eventually(phase, async () => (await seen()).phase === phase, { seen, timeoutMs: 60_000 });
  await release(1);
  await createSource(bed);
  await bed.start();
  await until('Initialized');

  await release(2);

  await until('Succeeded');
  expect(imageOf(await bed.get('apps/v1', 'Deployment', `${name}-primary`))).toBe('shop/web:2');
});

test('a warning goes away with its cause', async () => {
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1'),
    'canary.json': canary({ analysis: { metrics: [metric] } }),
  });
  await createSource(bed);
  await bed.start();
  await told('web', 'SpecWarnings', 'ReferenceMissing');
  await bed.send('POST', `${group}/metrictemplates`, {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'MetricTemplate',
    metadata: { name: 'nowhere', namespace: 'shop' },
    spec: { provider: { type: 'prometheus', address: bed.sandbox.prometheusUrl }, query: 'up' },
  });
  await eventually('the warning is gone', async () => !condition(await bed.canary(), 'SpecWarnings'));
});

test('holdfast validate says the same before they are merged, with file and line', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-bad-'));
  try {
    const files = Object.entries({ ...goodFiles, ...filesOf(bad) });
    await Promise.all(files.map(([name, text]) => writeFile(join(folder, name), text)));
    const { code, text } = await run('validate', folder);
    const lines = text.replaceAll(`${folder}/`, '').split('\n');

    const untold = bad.filter(({ name, says, offline = says[2] }) => {
      const said = lines.filter((line) => line.startsWith(`${name}-canary.json:`) && line.includes(offline));
      return !said.some((line) => Number(line.split(':')[1]) > 1);
    });
    expect({ untold: untold.map(({ name }) => name), lines }).toMatchObject({ untold: [] });
    expect(code).toBe(2);
    expect((await run('validate', folder, '--cross-namespace-refs')).text).not.toContain(
      'references to other namespaces',
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
