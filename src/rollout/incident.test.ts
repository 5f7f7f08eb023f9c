import { expect, it } from 'vitest';
import type { Canary } from '../api/canary/canary.ts';
import { commandFor } from './incident.ts';

function commandOf(provider: string): string {
  const targetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
  const canary = { metadata: { name: 'web', namespace: 'shop' }, spec: { provider, targetRef } };
  return commandFor(canary as unknown as Canary, { outcome: 'Held', reason: 'LKGNotReady' }, { commit: 'c' });
}

it('a last-known-good that does not come up is looked at where it runs', () => {
  expect(commandOf('contour')).toBe('kubectl -n shop describe deployment/web-primary');
  expect(commandOf('native')).toBe('kubectl -n shop describe deployment/web');
});
