import { describe, expect, it } from 'vitest';
import { changed, listsOf, narrowed, sorted } from './fleet-list.ts';
import { hashOf, noFilter, type Route, routeOf } from './routing.ts';
import { numberText, relative } from './time.ts';
import type { CanaryRow } from './views.ts';

function row(name: string, more: Partial<CanaryRow> = {}): CanaryRow {
  return {
    namespace: 'shop',
    name,
    tone: 'good',
    phase: 'Succeeded',
    weightPercent: 0,
    share: '',
    serving: 'Sell',
    servingCommit: 'abcdef0123',
    headCommit: 'abcdef0123',
    reason: 'Succeeded',
    message: '',
    why: '',
    next: undefined,
    owner: '',
    isPaused: false,
    ...more,
  };
}

describe('a list', () => {
  it('puts what needs a person first, then goes by name', () => {
    const rows = [row('b'), row('a'), row('z', { tone: 'bad' }), row('y', { tone: 'busy' })];
    expect(sorted(rows).map(({ name }) => name)).toEqual(['z', 'y', 'a', 'b']);
  });

  it('is narrowed by every word of names, commits, subjects and reasons, by namespace and by owner', () => {
    const rows = [row('web', { owner: 'red' }), row('cart', { namespace: 'fast', serving: 'Buy two' })];
    const found = (filter: object) => narrowed(rows, { ...noFilter, ...filter }).map(({ name }) => name);
    expect(found({ text: 'ABCDEF0 web' })).toEqual(['web']);
    expect(found({ text: 'buy' })).toEqual(['cart']);
    expect(found({ text: 'buy web' })).toEqual([]);
    expect(found({ namespace: 'fast' })).toEqual(['cart']);
    expect(found({ owner: 'red' })).toEqual(['web']);
  });

  it('takes changes and departures', () => {
    const lists = listsOf({ canaries: [row('web'), row('cart')], sources: [] });
    const after = changed(lists, {
      canaries: [row('web', { phase: 'Failed' })],
      sources: [],
      gone: ['Canary shop/cart'],
    });
    expect([...after.canaries.values()].map(({ name, phase }) => `${name} ${phase}`)).toEqual(['web Failed']);
  });
});

describe('an address', () => {
  it.each<[Route]>([
    [{ view: 'canaries', filter: { ...noFilter, text: 'a&b=c', tone: 'bad' } }],
    [{ view: 'sources', filter: noFilter }],
    [{ view: 'canary', namespace: 'shop', name: 'web.v2' }],
  ])('leads back to its view: %j', (route) => {
    expect(routeOf(hashOf(route))).toEqual(route);
  });

  it.each(['', '#', '#/', '#/nowhere', '#/canary/shop', '#/canary/%E0%A4%A/x'])(
    'that cannot be read is the list: %s',
    (hash) => {
      expect(routeOf(hash)).toEqual({ view: 'canaries', filter: noFilter });
    },
  );
});

it('times are shown by their distance, and numbers by their significant digits', () => {
  const now = Date.parse('2026-11-23T12:00:00Z');
  const at = (seconds: number) => relative(new Date(now + seconds * 1_000).toISOString(), now);
  expect([at(0), at(-12), at(200), at(-7_300), at(200_000)]).toEqual([
    'now',
    '12 s ago',
    'in 3 min',
    '2 h ago',
    'in 2 d',
  ]);
  expect([relative(undefined, now), relative('soon', now)]).toEqual(['', '']);
  expect([numberText(3), numberText(99.123456)]).toEqual(['3', '99.123']);
});
