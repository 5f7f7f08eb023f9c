import { describe, expect, it } from 'vitest';
import type { Canary } from '../../api/canary/canary.ts';
import { type MetricRole, metricSubject } from './subject.ts';

function namesOf(provider: string, role: MetricRole): readonly string[] {
  const targetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
  const canary = { metadata: { name: 'shop', namespace: 'shop' }, spec: { provider, targetRef } };
  const { target, service, ownService } = metricSubject(canary as unknown as Canary, role);
  return [target, service, ownService];
}

describe('metricSubject', () => {
  it('names the workload and the Services of the role', () => {
    expect(namesOf('contour', 'canary')).toEqual(['web', 'web', 'web-canary']);
    expect(namesOf('contour', 'primary')).toEqual(['web-primary', 'web-primary', 'web-primary']);
  });

  it('names the one workload of both roles where they share it', () => {
    expect(namesOf('native', 'canary')).toEqual(['web', 'web', 'web']);
    expect(namesOf('native', 'primary')).toEqual(['web', 'web', 'web']);
  });

  it('gives patterns of the pods of both sides, and of both templates where they are pods of one workload', () => {
    const look = (provider: string, role: MetricRole) => {
      const targetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web.app' };
      const canary = { metadata: { name: 'shop', namespace: 'shop' }, spec: { provider, targetRef } };
      // As the engine hands it over: with what selects the pods.
      const label = { key: 'pod-template-hash', value: '1' };
      const known = { pods: 'web-1-[0-9a-z]+', otherPods: 'web-(2|3)-[0-9a-z]+', label };
      const { pods, otherPods } = metricSubject(canary as unknown as Canary, role, { pods: known });
      return [pods, otherPods];
    };
    const [target, primary] = ['web', 'web'].map((name, index) => {
      const suffix = index === 0 ? '' : '-primary';
      return `${name}\\\\.app${suffix}-[0-9a-zA-Z]+(-[0-9a-zA-Z]+)`;
    });
    expect(look('contour', 'canary')).toEqual([target, primary]);
    expect(look('contour', 'primary')).toEqual([primary, target]);
    expect(look('native', 'canary')).toEqual(['web-1-[0-9a-z]+', 'web-(2|3)-[0-9a-z]+']);
    const evil = { pods: 'web"} or vector(1)', otherPods: '-' };
    const targetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
    const canary = { metadata: { name: 'shop' }, spec: { provider: 'native', targetRef } };
    expect(() => metricSubject(canary as unknown as Canary, 'canary', { pods: evil })).toThrow('pods');
  });

  // As Kubernetes makes them: what comes before the random letters is cut at 58 characters.
  const made = (before: string) => `${before.slice(0, 58)}x7k2p`;
  it.each(
    [3, 38, 39, 40, 44, 46, 47, 48, 50, 53].flatMap((length) => [
      ['Deployment', length, '5c9f7bd9dc'] as const,
      ['Deployment', length, '7bd9dc89'] as const,
      ['DaemonSet', length, ''] as const,
    ]),
  )(
    'finds the pods of a %s whose name has %i characters (hash %j), and none of the other side',
    (kind, length, hash) => {
      const name = 'payments-'
        .repeat(8)
        .slice(0, length - 1)
        .concat('a');
      const podOf = (workload: string) => made(hash ? `${workload}-${hash}-` : `${workload}-`);
      const canary = {
        metadata: { name: 'shop', namespace: 'shop' },
        spec: { provider: 'contour', targetRef: { apiVersion: 'apps/v1', kind, name } },
      } as unknown as Canary;

      const { pods, otherPods } = metricSubject(canary, 'canary');

      const found = [pods, otherPods].map((pattern) =>
        [name, `${name}-primary`].map((workload) => new RegExp(`^(?:${pattern})$`).test(podOf(workload))),
      );
      expect(found).toEqual([
        [true, false],
        [false, true],
      ]);
    },
  );
});
