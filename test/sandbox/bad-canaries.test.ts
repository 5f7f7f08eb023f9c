import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type Bed,
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  imageOf,
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

interface Bad {
  readonly name: string;
  readonly analysis?: Record<string, unknown>;
  readonly spec?: Record<string, unknown>;
  readonly says: readonly [type: string, reason: string, words: string];
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
    analysis: { iterations: undefined, stepWeights: [] },
    says: ['Ready', 'InvalidSpec', 'spec.analysis.stepWeights: is empty'],
  },
  {
    name: 'fraction',
    analysis: { iterations: undefined, stepWeight: 0 },
    says: ['Ready', 'InvalidSpec', 'spec.analysis.stepWeight: the analysis would never end'],
  },
  {
    name: 'absent',
    spec: { targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'absent' } },
    says: ['Ready', 'TargetMissing', 'Deployment shop/absent'],
  },
  {
    name: 'template',
    analysis: { metrics: [metric] },
    says: [
      'SpecWarnings',
      'ReferenceMissing',
      'spec.analysis.metrics[0].templateRef: there is no MetricTemplate shop/nowhere',
    ],
  },
  {
    name: 'receiver',
    analysis: { alerts: [{ name: 'chat', providerRef: { name: 'chat', namespace: 'ops' } }] },
    says: [
      'SpecWarnings',
      'ReferenceMissing',
      'spec.analysis.alerts[0].providerRef: there is no AlertProvider ops/chat',
    ],
  },
  {
    name: 'hurry',
    analysis: { interval: '0s' },
    says: [
      'SpecWarnings',
      'SpecWarnings',
      'spec.analysis.interval: is below the shortest interval; 0.1s is used',
    ],
  },
  {
    name: 'match',
    analysis: { match: [{ headers: { a: { exact: 'b' } } }] },
    says: ['SpecWarnings', 'SpecWarnings', 'spec.analysis.match: is left out: provider kubernetes'],
  },
];

test('bad Canaries say what is wrong, by condition and event, and stop nobody else', async () => {
  const files = bad.flatMap(
    ({ name, analysis, spec }): Array<[string, string]> => [
      [`${name}-canary.json`, canary({ name, ...(analysis ? { analysis } : {}), ...(spec ? { spec } : {}) })],
      ...(name === 'absent'
        ? []
        : [[`${name}.json`, deployment('shop/bad:1', { name })] as [string, string]]),
    ],
  );
  const good = { 'web.json': deployment('shop/web:1'), 'canary.json': canary() };
  await bed.commit('v1', { ...good, ...Object.fromEntries(files) });
  await createSource(bed);
  await bed.start();
  await waitForPhase(bed, 'Initialized');
  for (const { name, says } of bad) expect(await told(name, says[0], says[1])).toContain(says[2]);

  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Succeeded');
  expect(imageOf(await bed.get('apps/v1', 'Deployment', 'web-primary'))).toBe('shop/web:2');
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
