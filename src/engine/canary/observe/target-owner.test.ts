import { describe, expect, it } from 'vitest';
import type { Canary } from '../../../api/canary/canary.ts';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import { RefusedError } from '../../../workload/shared/refusal.ts';
import type { NamespaceView } from '../context/namespace-view.ts';
import { refuseInPlace } from './refusals.ts';

const canary = {
  apiVersion: 'flagger.app/v1beta1',
  kind: 'Canary',
  metadata: { name: 'web', namespace: 'shop' },
  spec: { targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } },
} as Canary;

function copyOwnedBy(kind: string): KubernetesObject {
  const ownerReferences = [
    { apiVersion: 'flagger.app/v1beta1', kind, name: 'web', uid: 'u', controller: true },
  ];
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web-primary', ownerReferences } };
}

function refusal(keeper: 'holdfast' | 'another', copy?: KubernetesObject): string | undefined {
  const view = { get: (_: unknown, name: string) => (name === 'web-primary' ? copy : undefined) };
  try {
    refuseInPlace(canary, view as unknown as NamespaceView, keeper);
  } catch (error) {
    if (error instanceof RefusedError) return error.refusal.message;
  }
  return undefined;
}

describe('refuseInPlace', () => {
  it('lets a target that a Source holds through, whoever else has a Deployment of that name', () => {
    expect([refusal('holdfast'), refusal('holdfast', copyOwnedBy('Other'))]).toEqual([undefined, undefined]);
  });

  it('refuses a target that another tool writes, and one whose copy still serves, and says what to do', () => {
    expect(refusal('another')).toMatch(/let a Source apply it, or choose a provider that copies/);
    expect(refusal('holdfast', copyOwnedBy('Canary'))).toMatch(
      /set spec.provider to it until the Canary is Ready, then to native/,
    );
  });
});
