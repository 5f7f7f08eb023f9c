import { expect, it } from 'vitest';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import { lastToEnd } from './freeze-watch.ts';

const nowMs = Date.parse('2026-03-01T12:00:00Z');
const at = { ownNamespace: 'holdfast-system', nowMs };

function freeze(namespace: string, name: string, data: Record<string, string>): KubernetesObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name }, data };
}

const canary: KubernetesObject = {
  apiVersion: 'flagger.app/v1beta1',
  kind: 'Canary',
  metadata: { namespace: 'shop', name: 'web', labels: { team: 'shop' } },
};

function found(...objects: KubernetesObject[]) {
  return lastToEnd(objects, canary, at)?.by;
}

it('covers the Canaries of its namespace, and from the namespace of Holdfast all of them', () => {
  expect(found(freeze('shop', 'a', {}))).toBe('ConfigMap shop/a');
  expect(found(freeze('holdfast-system', 'a', {}))).toBe('ConfigMap holdfast-system/a');
  // A tenant freezes nobody else.
  expect(found(freeze('till', 'a', {}))).toBeUndefined();
});

it('chooses by labels', () => {
  expect(found(freeze('shop', 'a', { selector: 'team=shop,tier!=test' }))).toBe('ConfigMap shop/a');
  expect(found(freeze('shop', 'a', { selector: 'team in (till)' }))).toBeUndefined();
});

it('is over at its end, and of several the last one to end is told', () => {
  const [past, soon, late] = ['11:59', '12:01', '18:00'].map((time) => ({ until: `2026-03-01T${time}:00Z` }));
  expect(found(freeze('shop', 'past', past ?? {}))).toBeUndefined();
  expect(found(freeze('shop', 'late', late ?? {}), freeze('shop', 'soon', soon ?? {}))).toBe(
    'ConfigMap shop/late',
  );
  expect(found(freeze('shop', 'late', late ?? {}), freeze('shop', 'endless', {}))).toBe(
    'ConfigMap shop/endless',
  );
});

it('freezes without an end where it cannot be read, and says what is wrong', () => {
  const wrong = [
    { until: 'tonight', reason: 'sale' },
    { selector: '=', until: '2026-03-01T11:00:00Z' },
  ];
  const views = wrong.map((data) => lastToEnd([freeze('shop', 'a', data)], canary, at));
  expect(views).toMatchObject([
    { untilMs: undefined, reason: 'sale (until "tonight" is no time)' },
    { untilMs: undefined, reason: expect.stringContaining('cannot be parsed') },
  ]);
});
