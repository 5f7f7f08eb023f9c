import { describe, expect, test } from 'vitest';
import { parseCanary } from '../kinds/parse.ts';
import type { Canary } from './canary.ts';
import { checkCanary } from './validate.ts';

function found(webhooks: object[], more: { analysis?: object; spec?: object; after?: object[] } = {}) {
  const canary = {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { name: 'web', namespace: 'shop' },
    spec: {
      provider: 'contour',
      targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
      service: { port: 80 },
      analysis: { interval: '1m', threshold: 2, ...(more.analysis ?? { stepWeight: 10 }), webhooks },
      ...(more.after ? { postPromotion: { webhooks: more.after } } : {}),
      ...more.spec,
    },
  };
  const parsed = parseCanary(canary);
  if (!parsed.ok) return { refused: parsed.problems.map(({ path }) => path) };
  const { problems, warnings } = checkCanary(parsed.value as Canary);
  const text = (list: typeof problems) => list.map(({ path, message }) => `${path} ${message}`);
  return { problems: text(problems), warnings: text(warnings) };
}

const url = 'http://gate.test/';

describe('webhooks', () => {
  test('of every type are taken as Flagger takes them', () => {
    const types = ['', 'confirm-rollout', 'pre-rollout', 'rollout', 'confirm-promotion', 'post-rollout'];
    const all = [...types, 'event', 'rollback', 'confirm-traffic-increase'];
    const webhooks = all.map((type, index) => ({ name: `hook-${index}`, type, url }));
    expect(found(webhooks, { after: [{ name: 'smoke', url }] })).toEqual({ problems: [], warnings: [] });
  });

  test.each([
    [{ url: 'loadtester' }, 'spec.analysis.webhooks[0].url is not an http:// or https:// URL'],
    [{ url: 'ftp://gate.test/' }, 'spec.analysis.webhooks[0].url is not an http:// or https:// URL'],
    [{ url: 'http://bob:secret@gate.test/' }, 'spec.analysis.webhooks[0].url holds credentials'],
    [{ retries: 1.5 }, 'spec.analysis.webhooks[0].retries must be a whole number'],
    [
      { deadline: '1h' },
      'spec.analysis.webhooks[0].deadline applies to gates only, and type rollout is not a gate',
    ],
    [{ type: 'confirm-rollout', deadline: '0s' }, 'spec.analysis.webhooks[0].deadline is 0'],
  ])('%j is stopped', (fields, expected) => {
    expect(found([{ name: 'hook', url, ...fields }]).problems).toEqual([expect.stringContaining(expected)]);
  });

  test.each([
    [{ retries: -1 }, 'spec.analysis.webhooks[0].retries is below 0'],
    [{ retries: 1000 }, 'spec.analysis.webhooks[0].retries is above what is made'],
    [{ timeout: '10sec' }, 'spec.analysis.webhooks[0].timeout cannot be read'],
    [{ timeout: '90m', type: 'pre-rollout' }, 'spec.analysis.webhooks[0].timeout is above the longest'],
    [{ timeout: '0s', type: 'pre-rollout' }, 'spec.analysis.webhooks[0].timeout is 0, which means no limit'],
    [{ timeout: '2m' }, 'spec.analysis.webhooks those of type rollout may take 120s'],
  ])('%j is warned about', (fields, expected) => {
    const { problems, warnings } = found([{ name: 'hook', url, ...fields }]);
    expect(problems).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining(expected)]);
  });

  test('that are never called under this strategy are named', () => {
    const gate = [{ name: 'gate', type: 'confirm-traffic-increase', url }];
    expect(found(gate, { analysis: { iterations: 3 } }).warnings).toEqual([
      'spec.analysis.webhooks[0].type confirm-traffic-increase is never called: the weight does not rise by steps',
    ]);
    expect(
      found([{ name: 'smoke', type: 'pre-rollout', url }], { spec: { skipAnalysis: true } }).warnings,
    ).toEqual([
      'spec.analysis.webhooks[0].type pre-rollout is never called: spec.skipAnalysis leaves the analysis out',
    ]);
  });

  test('with one name and type are named; with one name and two types they are fine', () => {
    const gates = [
      { name: 'gate', type: 'confirm-rollout', url },
      { name: 'gate', type: 'confirm-promotion', url },
    ];
    expect(found(gates).warnings).toEqual([]);
    expect(found([...gates, { name: 'gate', type: 'confirm-rollout', url }]).warnings).toEqual([
      'spec.analysis.webhooks[2].name is the name of another webhook of type confirm-rollout',
    ]);
  });

  test('of type post-promotion stand under postPromotion only, and no other type does', () => {
    expect(found([{ name: 'smoke', type: 'post-promotion', url }]).refused).toEqual([
      'spec.analysis.webhooks[0].type',
    ]);
    expect(found([], { after: [{ name: 'smoke', type: 'rollout', url }] }).refused).toEqual([
      'spec.postPromotion.webhooks[0].type',
    ]);
    expect(found([], { after: [{ name: 'smoke', url: 'smoke' }] }).problems).toEqual([
      'spec.postPromotion.webhooks[0].url is not an http:// or https:// URL',
    ]);
  });
});
