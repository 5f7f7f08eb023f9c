import { describe, expect, it } from 'vitest';
import { measureEffort } from '../../../../test/effort.ts';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import { limits } from '../../../api/limits.ts';
import type { WatchedSet } from '../../../contracts/cluster.ts';
import { freezesInForce, watchFreezes } from './freeze-watch.ts';

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
  return freezesInForce(objects, canary, at).freeze?.by;
}

it('covers the Canaries of its namespace, and from the namespace of Holdfast all of them', () => {
  expect(found(freeze('shop', 'a', {}))).toBe('ConfigMap shop/a');
  expect(found(freeze('holdfast-system', 'a', {}))).toBe('ConfigMap holdfast-system/a');
  // A tenant freezes nobody else.
  expect(found(freeze('till', 'a', {}))).toBeUndefined();
});

it('is news for the Canaries of its namespace, and from the namespace of Holdfast for all', () => {
  const listeners: Array<(freeze: KubernetesObject | undefined) => void> = [];
  const set = { onChange: (listener: (typeof listeners)[number]) => void listeners.push(listener) };
  const concerned: Array<string | undefined> = [];
  watchFreezes(() => set as unknown as WatchedSet, [], 'holdfast-system').onChange((namespace) => {
    concerned.push(namespace);
  });

  for (const object of [freeze('till', 'a', {}), freeze('holdfast-system', 'a', {}), undefined])
    for (const listener of listeners) listener(object);

  expect(concerned).toEqual(['till', undefined, undefined]);
});

it('chooses by labels', () => {
  expect(found(freeze('shop', 'a', { selector: 'team=shop,tier!=test' }))).toBe('ConfigMap shop/a');
  expect(found(freeze('shop', 'a', { selector: 'team in (till)' }))).toBeUndefined();
});

it('refuses selectors that are made to take long at once, and is in force', () => {
  const selectors = ['a,'.repeat(60_000), 'a,'.repeat(8_000), `(${',('.repeat(8_000)}`];
  const effort = measureEffort();
  const reasons = selectors.map(
    (selector) => freezesInForce([freeze('shop', 'a', { selector })], canary, at).freeze?.reason,
  );
  expect(effort()).toBeLessThan(100);
  expect(reasons[0]).toBe('no reason is given (selector is too long)');
  expect(reasons[2]?.length).toBeLessThan(200);
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
  const deny = '{kind: deny, schedule: "0 18 * * 5", duration: 62h}';
  const wrong = [
    { until: 'tonight', reason: 'sale' },
    { until: 'end of 2026' },
    { selector: '=', until: '2026-03-01T11:00:00Z' },
    { holds: 'steps' },
    { windows: '[' },
    { windows: '[]' },
    { windows: `[${deny.replace('deny', 'never')}]` },
    { windows: `[${deny.replace('62h', '0s')}]` },
    { windows: `[${deny.replace('62h', '9999999h')}]` },
    { windows: `[${deny.replace('}', ', timezone: Asia/Tokyo}')}]` },
    { windows: `[${deny.replace('0 18', '0 99')}]` },
    { windows: `[${deny}]${' '.repeat(20_000)}` },
  ];
  const views = wrong.map((data) => freezesInForce([freeze('shop', 'a', data)], canary, at).freeze);
  expect(views).toMatchObject([
    { untilMs: undefined, reason: 'sale (until "tonight" is not a time such as 2026-12-27T08:00:00Z)' },
    { untilMs: undefined, reason: expect.stringContaining('until "end of 2026" is not a time') },
    { untilMs: undefined, reason: expect.stringContaining('cannot be parsed') },
    { untilMs: undefined, reason: expect.stringContaining('holds "steps" is neither all nor starts') },
    { untilMs: undefined, reason: expect.stringContaining('windows cannot be read as YAML') },
    { untilMs: undefined, reason: expect.stringContaining('windows: ') },
    { untilMs: undefined, reason: expect.stringContaining('windows[0].kind: ') },
    { untilMs: undefined, reason: expect.stringContaining('0s must be longer than 0') },
    { untilMs: undefined, reason: expect.stringContaining('9999999h must be shorter than 292 years') },
    { untilMs: undefined, reason: expect.stringContaining('windows[0]: Unrecognized key: "timezone"') },
    { untilMs: undefined, reason: expect.stringContaining('"0 99 * * 5"') },
    { untilMs: undefined, reason: expect.stringContaining('windows is too long') },
  ]);
});

it('freezes where a namespace has more of them than are read', () => {
  const many = Array.from({ length: limits.freezesPerNamespace + 1 }, (_, index) =>
    freeze('shop', `f${index}`, { selector: 'team=till' }),
  );
  const found = freezesInForce(many, canary, at);
  expect(found.freeze?.reason).toBe('it has more than 50 freezes; delete some');
  expect(found.stepFreeze).toEqual(found.freeze);
  expect(freezesInForce(many.slice(1), canary, at).freeze).toBeUndefined();
});

describe('with windows', () => {
  const iso = (ms: number | undefined) => ms && new Date(ms).toISOString();
  // 1 March 2026 is a Sunday.
  const weekend = '[{kind: deny, schedule: "0 18 * * 5", duration: 62h}]';
  const office = '[{kind: allow, schedule: "0 9 * * 1-5", duration: 8h}]';

  it.each([
    ['inside a deny window', weekend, '2026-03-01T12:00:00Z', '2026-03-02T08:00:00.000Z'],
    ['outside an allow window', office, '2026-03-01T12:00:00Z', '2026-03-02T09:00:00.000Z'],
  ])('freezes %s, and until it ends', (_name, windows, time, end) => {
    const when = { ...at, nowMs: Date.parse(time) };
    const {
      freeze: found,
      stepFreeze,
      changesMs,
    } = freezesInForce([freeze('shop', 'a', { windows })], canary, when);
    expect([found?.by, iso(found?.untilMs), iso(changesMs)]).toEqual(['ConfigMap shop/a', end, end]);
    expect(stepFreeze).toEqual(found);
  });

  it.each([
    ['outside a deny window', weekend, '2026-03-02T12:00:00Z', '2026-03-06T18:00:00.000Z'],
    ['inside an allow window', office, '2026-03-02T12:00:00Z', '2026-03-02T17:00:00.000Z'],
  ])('holds nothing %s, and says when it begins', (_name, windows, time, begin) => {
    const when = { ...at, nowMs: Date.parse(time) };
    const found = freezesInForce([freeze('shop', 'a', { windows })], canary, when);
    expect([found.freeze, found.stepFreeze, iso(found.changesMs)]).toEqual([undefined, undefined, begin]);
  });

  it('comes back no more after its end', () => {
    const over = freeze('shop', 'a', { windows: weekend, until: '2026-03-01T11:00:00Z' });
    expect(freezesInForce([over], canary, at)).toEqual({});
    const ending = freeze('shop', 'a', { windows: weekend, until: '2026-03-01T13:00:00Z' });
    expect(iso(freezesInForce([ending], canary, at).freeze?.untilMs)).toBe('2026-03-01T13:00:00.000Z');
  });

  it('holds starts longer than steps where two freezes say so', () => {
    const starts = freeze('shop', 'starts', { windows: weekend, holds: 'starts' });
    const all = freeze('shop', 'all', { until: '2026-03-01T13:00:00Z' });
    const found = freezesInForce([starts, all], canary, at);
    expect([found.freeze?.by, found.stepFreeze?.by]).toEqual(['ConfigMap shop/starts', 'ConfigMap shop/all']);
    expect(iso(found.changesMs)).toBe('2026-03-01T13:00:00.000Z');
    expect(freezesInForce([starts], canary, at).stepFreeze).toBeUndefined();
  });
});
