import { expect, test } from 'vitest';
import { alertsFor } from './alerts.ts';
import type { Canary } from './canary.ts';

function canaryWith(...alerts: Array<{ name: string; severity?: 'info' | 'error' }>): Canary {
  const listed = alerts.map((alert) => ({ ...alert, providerRef: { name: 'chat' } }));
  return { spec: { analysis: { alerts: listed } } } as unknown as Canary;
}

test('without alerts the receiver of the flags gets everything, if there is one', () => {
  expect(alertsFor(canaryWith(), 'info', true)).toEqual(['(default)']);
  expect(alertsFor(canaryWith(), 'error', true)).toEqual(['(default)']);
  expect(alertsFor(canaryWith(), 'error', false)).toEqual([]);
});

test('with an alert of its own a Canary tells nobody else, not even what that one does not want', () => {
  const canary = canaryWith({ name: 'pager', severity: 'error' });
  expect(alertsFor(canary, 'error', true)).toEqual(['pager']);
  expect(alertsFor(canary, 'info', true)).toEqual([]);
});

test('alerts of one name are told apart', () => {
  expect(alertsFor(canaryWith({ name: 'chat' }, { name: 'chat' }), 'info', false)).toEqual([
    'chat',
    'chat (2)',
  ]);
});
