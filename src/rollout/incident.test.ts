import { expect, it } from 'vitest';
import type { Canary } from '../api/canary/canary.ts';
import { commandFor } from './incident.ts';

type Moment = Parameters<typeof commandFor>[1];

function commandOf(moment: Moment, provider = 'contour'): string {
  const targetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
  const canary = { metadata: { name: 'web', namespace: 'shop' }, spec: { provider, targetRef } };
  return commandFor(canary as unknown as Canary, moment, { commit: 'c'.repeat(40) });
}

it('a last-known-good that does not come up is looked at where it runs', () => {
  const moment = { outcome: 'Held', reason: 'LKGNotReady' } as const;
  expect(commandOf(moment)).toBe('kubectl -n shop describe deployment/web-primary');
  expect(commandOf(moment, 'native')).toBe('kubectl -n shop describe deployment/web');
});

it.each(['CapacityNotReached', 'GateDeadlineExceeded'] as const)(
  'after %s the same commit is tried again, since nothing is wrong with it',
  (reason) => {
    expect(commandOf({ outcome: 'Failed', reason })).toBe('holdfast retry -n shop canary/web');
    expect(commandOf({ outcome: 'Held', reason })).toBe('kubectl -n shop describe canary/web');
  },
);

it('a release that failed its analysis is reverted', () => {
  expect(commandOf({ outcome: 'Failed', reason: 'AnalysisFailed' })).toBe(
    'git revert --no-edit cccccccccccc && git push',
  );
});
