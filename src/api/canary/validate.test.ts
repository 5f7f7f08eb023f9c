import { describe, expect, test } from 'vitest';
import { canaryDocument, sourceDocument } from '../../../test/documents/builders.ts';
import { measureEffort } from '../../../test/effort.ts';
import { parseCanary, parseSource } from '../kinds/parse.ts';
import type { Findings } from '../problems.ts';
import { checkSource } from '../source/validate.ts';
import type { Canary } from './canary.ts';
import { unsupportedFields } from './unsupported-fields.ts';
import { checkCanary } from './validate.ts';

const base = { interval: '1m', threshold: 1, stepWeight: 10 };

/** A metric that is compared by points. */
function compared(comparison: Record<string, unknown> = {}) {
  return { name: 'request-duration', compare: { method: 'mannWhitney', ...comparison } };
}

function canary(spec: Record<string, unknown>) {
  const result = parseCanary(canaryDocument(spec), { strict: true });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.value;
}

function source(spec: Record<string, unknown>) {
  const result = parseSource(sourceDocument(spec), { strict: true });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.value;
}

function lines(found: Findings): { problems: string[]; warnings: string[] } {
  const line = ({ path, message }: { path: string; message: string }) => `${path} ${message}`;
  return { problems: found.problems.map(line), warnings: found.warnings.map(line) };
}

describe('a Canary that the schema lets in', () => {
  test('is fine when it is ordinary', () => {
    expect(checkCanary(canary({ provider: 'contour' }))).toEqual({ problems: [], warnings: [] });
  });

  test.each([
    [{ metrics: [{ name: 'latency' }] }, 'spec.analysis.metrics[0] "latency" is not built in'],
    [{ metrics: [{ name: 'request-duration' }] }, 'spec.analysis.metrics[0].thresholdRange.max is missing'],
    [
      { metrics: [{ name: 'request-duration', thresholdRange: { min: 5, max: 1 } }] },
      'spec.analysis.metrics[0].thresholdRange can never pass',
    ],
    [
      { metrics: [{ name: 'request-success-rate', thresholdRange: { min: 1 }, compareWith: 'primary' }] },
      'spec.analysis.metrics[0].maxRelativeIncrease is missing',
    ],
    [
      { metrics: [compared()] },
      'spec.analysis.metrics[0].compare never has a result: it has 1 points, one of every 60 s in an analysis.interval of 1m, and minPoints is 8',
    ],
    [
      { interval: '20m', metrics: [compared({ step: '1s' })] },
      'spec.analysis.metrics[0].compare.step is too short: 1200 points',
    ],
    [
      { interval: '20m', metrics: [compared({ minPoints: 3 })] },
      'spec.analysis.metrics[0].compare.minPoints is too low: with 3 points',
    ],
    [
      { interval: '20m', metrics: [{ ...compared({ direction: 'either' }), maxRelativeIncrease: 5 }] },
      'spec.analysis.metrics[0].compare.direction must be increase',
    ],
    [{ stepWeight: 0 }, 'spec.analysis.stepWeight the analysis would never end'],
    [{ stepWeight: 1.5 }, 'spec.analysis.stepWeight must be a whole number'],
    [{ maxWeight: 101 }, 'spec.analysis.maxWeight must be between 0 and 100'],
    [{ webhooks: [{ name: 'load', url: 'loadtester' }] }, 'spec.analysis.webhooks[0].url is not an http://'],
    [
      { sessionAffinity: { cookieName: 'a b' } },
      'spec.analysis.sessionAffinity.cookieName is not a valid cookie name',
    ],
    [
      { sessionAffinity: { cookieName: 'a', primaryCookieName: 'a' } },
      'spec.analysis.sessionAffinity.primaryCookieName must differ',
    ],
  ])('is stopped for analysis %j', (fields, expected) => {
    const found = checkCanary(canary({ analysis: { ...base, ...fields } }));
    expect(lines(found).problems).toEqual([expect.stringContaining(expected)]);
  });

  test.each([
    [{ service: { port: 0 } }, 'spec.service.port must be between 1 and 65535'],
    [{ service: undefined }, 'spec.service.port is missing'],
    [
      { service: { port: 80, targetPort: '8080' } },
      'spec.service.targetPort "8080" is read as the name of a port, which has a letter; for the number leave the quotes out',
    ],
    [{ service: { port: 80, mirror: [{}] } }, 'spec.service.mirror[0].backendRef is missing'],
    [{ provider: 'gatewayapi:v1' }, 'spec.service.gatewayRefs is missing; provider gatewayapi:v1 needs it'],
    [{ analysis: { interval: '1m', threshold: 1, stepWeights: [] } }, 'spec.analysis.stepWeights is empty'],
    [
      { analysis: { interval: '1m', threshold: 1, stepWeights: [-50, 50] } },
      'spec.analysis.stepWeights[0] must not be below 0',
    ],
    [
      { analysis: { ...base, stepWeightPromotion: -5 }, skipAnalysis: true },
      'spec.analysis.stepWeightPromotion must not be below 0',
    ],
    [
      { analysis: { interval: '1m', threshold: 1, iterations: 0 } },
      'spec.analysis.iterations the analysis would',
    ],
    [{ progressDeadlineSeconds: 0.5 }, 'spec.progressDeadlineSeconds must be a whole number'],
    [{ progressDeadlineSeconds: 1e13 }, 'spec.progressDeadlineSeconds must be at most 2147483647'],
    [
      { targetRef: { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'a' } },
      'spec.provider must be native for a StatefulSet',
    ],
    [
      {
        autoscalerRef: {
          apiVersion: 'autoscaling/v2',
          kind: 'HorizontalPodAutoscaler',
          name: 'a',
          primaryScalerReplicas: { minReplicas: 6, maxReplicas: 4 },
        },
      },
      'spec.autoscalerRef.primaryScalerReplicas.minReplicas is above maxReplicas, which is 4',
    ],
    [
      { postPromotion: { threshold: 2, failureThreshold: 3 } },
      'spec.postPromotion.threshold is the former name of failureThreshold, which is 3; remove threshold',
    ],
  ])('is stopped for %j', (spec, expected) => {
    expect(lines(checkCanary(canary(spec))).problems).toEqual([expect.stringContaining(expected)]);
  });

  test.each([
    ['metrics', { name: 'a', query: '1' }],
    ['webhooks', { name: 'a', url: 'http://a' }],
    ['stepWeights', 1],
  ])('is stopped at once for tens of thousands of %s', (list, entry) => {
    const entries = Array.from({ length: 30_000 }, (_, index) =>
      typeof entry === 'number' ? entry : { ...entry, name: `${entry.name}${index}` },
    );
    const effort = measureEffort();
    const strategy = list === 'stepWeights' ? { interval: '1m', threshold: 1 } : base;
    const { problems } = lines(checkCanary(canary({ analysis: { ...strategy, [list]: entries } })));
    expect(problems).toEqual([`spec.analysis.${list} has 30000 entries; at most 500 are used`]);
    expect(effort()).toBeLessThan(100);
  });

  test('is stopped where each of its matches in each match of the service makes more conditions than fit', () => {
    const match = Array.from({ length: 400 }, (_, index) => ({ headers: { a: { exact: `${index}` } } }));
    const spec = { analysis: { ...base, match }, service: { port: 80, match } };
    expect(lines(checkCanary(canary(spec))).problems).toEqual([
      'spec.analysis.match makes 160000 conditions with spec.service.match; at most 10000 are used',
    ]);
    expect(lines(checkCanary(canary({ ...spec, service: { port: 80 } }))).problems).toEqual([]);
  });

  test.each([{ iterations: 0 }, { stepWeight: 0, maxWeight: 200 }, { stepWeights: [] }])(
    'may have any number of iterations and steps with provider kubernetes, which has its own for them: %j',
    (steps) => {
      const analysis = { interval: '1m', threshold: 1, ...steps };
      const options = { defaultProvider: 'kubernetes' };
      expect(checkCanary(canary({ analysis }), options).problems).toEqual([]);
      expect(checkCanary(canary({ analysis, provider: 'contour' }), options).problems).not.toEqual([]);
    },
  );

  test('may have empty texts, which Flagger reads as absent fields', () => {
    const sessionAffinity = { cookieName: 'side', primaryCookieName: '' };
    const ofService = { apiVersion: 'v1', kind: 'Service', name: 'web' };
    const service = { port: 80, name: '' };
    const specs = [
      { provider: 'contour', analysis: { ...base, sessionAffinity } },
      { provider: 'contour', targetRef: ofService, service },
      { provider: 'knative', targetRef: { ...ofService, apiVersion: 'serving.knative.dev/v1' }, service },
    ];
    expect(specs.flatMap((spec) => checkCanary(canary(spec)).problems)).toEqual([]);
  });

  test('may name a port in digits where no Service is generated', () => {
    const service = { port: 80, targetPort: '8080' };
    const targetRef = { apiVersion: 'serving.knative.dev/v1', kind: 'Service', name: 'web' };
    expect(checkCanary(canary({ provider: 'knative', targetRef, service })).problems).toEqual([]);
    const copied = { apiVersion: 'v1', kind: 'Service', name: 'web' };
    expect(checkCanary(canary({ provider: 'contour', targetRef: copied, service })).problems).toEqual([]);
  });

  test('may ask for delegation beside hosts and gateways where only Istio acts on it', () => {
    const service = { port: 80, delegation: true, hosts: ['a'], gateways: ['b'] };
    expect(checkCanary(canary({ provider: 'contour', service })).problems).toEqual([]);
  });

  test('may have a last step above 100, and a maxWeight that nothing reads', () => {
    const analysis = { interval: '1m', threshold: 1, stepWeights: [50, 150], maxWeight: 200 };
    expect(lines(checkCanary(canary({ analysis })))).toEqual({
      problems: [],
      warnings: ['spec.analysis.stepWeights[1] is above 100, and counts as 100'],
    });
  });

  test.each([
    [{ interval: '5s' }, 'spec.analysis.interval is below the shortest interval; 10s is used'],
    [{ interval: '30sx' }, 'spec.analysis.interval cannot be read as a duration; 60s is used'],
    [{ metrics: [{ name: 'request-success-rate' }] }, 'has no min and no max: this check passes always'],
    [
      { metrics: [{ name: 'request-duration', threshold: 1, templateRef: { name: 't' } }] },
      'spec.analysis.metrics[0].templateRef is not asked: request-duration is built in; give this metric another name',
    ],
    [
      { metrics: [{ name: 'x', threshold: 1, query: 'q', templateRef: { name: 't' } }] },
      'spec.analysis.metrics[0].templateRef is not asked, because query is; make two metrics of it',
    ],
    [
      { metrics: [{ name: 'x', templateRef: { name: 't' } }] },
      'is missing: this check fails for any value above 0',
    ],
    [
      { interval: '1m', metrics: [compared({ step: '5s' })] },
      "spec.analysis.metrics[0].compare.step is shorter than the metric's interval",
    ],
    [
      { metrics: [{ name: 'request-success-rate', compareWith: 'primary', maxRelativeIncrease: 10 }] },
      'a success rate that falls passes; use thresholdRange.min',
    ],
  ])('is warned about for analysis %j', (fields, expected) => {
    const found = lines(checkCanary(canary({ analysis: { ...base, ...fields } })));
    expect(found.problems).toEqual([]);
    expect(found.warnings).toEqual([expect.stringContaining(expected)]);
  });

  test('is warned about a comparison that cannot be made after promotion', () => {
    const metric = { name: 'request-duration', compareWith: 'primary', maxRelativeIncrease: 10 };
    const found = lines(checkCanary(canary({ postPromotion: { metrics: [metric] } })));
    expect(found.problems).toEqual([]);
    expect(found.warnings).toEqual([expect.stringContaining('has no effect after promotion')]);
  });

  test('may have a lower interval when the floor was lowered', () => {
    const found = checkCanary(canary({ analysis: { ...base, interval: '1s' } }), { intervalFloorMs: 500 });
    expect(found.warnings).toEqual([]);
  });

  test('is checked against the default provider when it names none', () => {
    expect(lines(checkCanary(canary({}), { defaultProvider: 'gatewayapi:v1' })).problems).toHaveLength(1);
  });
});

describe('a Source that the schema lets in', () => {
  test('is fine when it is ordinary', () => {
    expect(checkSource(source({ interval: '1s' }))).toEqual({ problems: [], warnings: [] });
  });

  test('is stopped for credentials in its address, which are not repeated', () => {
    const found = checkSource(source({ url: 'https://bot:hunter2@git.example.com/a.git' }));
    expect(lines(found).problems).toEqual([expect.stringContaining('spec.url holds credentials')]);
    expect(JSON.stringify(found)).not.toContain('hunter2');
  });

  test.each([
    [{ url: 'https://' }, 'spec.url is not a valid URL'],
    [{ path: '../other' }, 'spec.path must stay inside the repository'],
    [{ interval: '500ms' }, 'spec.interval must be at least 1s'],
    [{ schedule: '@hourly', timeZone: 'Mars/Base' }, 'spec.timeZone is not a known time zone'],
    [{ verify: { mode: 'Tag', secretRef: { name: 'keys' } } }, 'spec.verify.mode is Tag, which takes'],
    [
      { windows: [{ kind: 'deny', schedule: '0 0 * * *', duration: '9999999h' }] },
      'spec.windows[0].duration must be shorter than 292 years',
    ],
  ])('is stopped for %j', (spec, expected) => {
    expect(lines(checkSource(source(spec))).problems).toEqual([expect.stringContaining(expected)]);
  });

  test('is warned about a password over http', () => {
    const found = checkSource(source({ url: 'http://git.test/a.git', secretRef: { name: 's' } }));
    expect(lines(found).warnings).toEqual([expect.stringContaining('clear text')]);
  });

  test('is warned about values of a chart that nothing renders', () => {
    const found = checkSource(source({ renderer: 'kustomize', helm: { skipHooks: true } }));
    expect(lines(found).warnings).toEqual(['spec.helm has no effect: kustomize renders, not helm']);
  });
});

describe('fields not acted on', () => {
  test('are named with their place in the object', () => {
    const object = canary({
      targetRef: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'shop' },
      autoscalerRef: { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler', name: 'shop' },
      analysis: { ...base, mirror: true },
      service: { port: 80, trafficPolicy: { tls: { mode: 'SIMPLE' } } },
    });
    expect(unsupportedFields(object)).toEqual([
      'spec.autoscalerRef',
      'spec.service.trafficPolicy',
      'spec.analysis.mirror',
    ]);
  });

  test('are not named where their value asks for nothing', () => {
    const quiet = canary({
      revertOnDeletion: false,
      analysis: { ...base, mirror: false, alerts: [] },
      service: { port: 80, delegation: false },
    });
    expect(unsupportedFields(quiet)).toEqual([]);
  });

  test('include those that the routing provider does nothing with, where they are set', () => {
    const service = { port: 80, hosts: ['shop.example.com'] };
    const ignored = ['spec.service.hosts', 'spec.service.gatewayRefs'];
    expect(unsupportedFields(canary({ service }), ignored)).toEqual(['spec.service.hosts']);
    expect(unsupportedFields(canary({ service }))).toEqual([]);
  });
});

const problems = (spec: object, forbidsOtherNamespaces = true) =>
  checkCanary(
    {
      metadata: { name: 'web', namespace: 'shop' },
      spec: {
        targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
        provider: 'kubernetes',
        service: { port: 80 },
        analysis: { interval: '1m', threshold: 1, iterations: 1 },
        ...spec,
      },
    } as unknown as Canary,
    { forbidsOtherNamespaces },
  ).problems.map(({ path }) => path);

function template(namespace: string | undefined): object {
  const analysis = { interval: '1m', threshold: 1, iterations: 1 };
  return {
    analysis: {
      ...analysis,
      metrics: [{ name: 'm', interval: '1m', templateRef: { name: 't', namespace } }],
    },
  };
}

test.each([undefined, '', 'shop'])('a reference to namespace %j stays in the own one', (namespace) => {
  expect(problems(template(namespace))).toEqual([]);
});

test('templates, providers and upstreams elsewhere are named where they are forbidden, and only there', () => {
  const analysis = {
    interval: '1m',
    threshold: 1,
    iterations: 1,
    alerts: [{ name: 'chat', providerRef: { name: 'chat', namespace: 'ops' } }],
  };
  const metrics = [{ name: 'm', interval: '1m', templateRef: { name: 't', namespace: 'ops' } }];
  const upstreamRef = { apiVersion: 'gloo.solo.io/v1', kind: 'Upstream', name: 'u', namespace: 'gloo' };
  const spec = { analysis, postPromotion: { metrics }, upstreamRef };
  expect(problems(spec)).toEqual([
    'spec.upstreamRef.namespace',
    'spec.postPromotion.metrics[0].templateRef.namespace',
    'spec.analysis.alerts[0].providerRef.namespace',
  ]);
  expect(problems(template('ops'))).toEqual(['spec.analysis.metrics[0].templateRef.namespace']);
  expect(problems(spec, false)).toEqual([]);
});
