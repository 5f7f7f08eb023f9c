import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PodTemplate } from '../../api/kubernetes.ts';
import { primaryTemplate, type RewriteRules } from './pod-template.ts';

const rules: RewriteRules = {
  targetName: 'podinfo',
  label: { key: 'app', canary: 'web', primary: 'web-primary' },
  selectorLabels: ['app', 'name', 'app.kubernetes.io/name'],
  configNames: (kind, name) =>
    name === 'tracked' ? `${kind === 'Secret' ? 's' : 'c'}-${name}-primary` : undefined,
};

describe('the primary template', () => {
  it('points every reference to a tracked config at its copy, and no other', () => {
    const references = (map: string, secret: string): PodTemplate['spec'] => ({
      initContainers: [{ name: 'init', envFrom: [{ secretRef: { name: secret } }] }],
      containers: [
        {
          name: 'main',
          envFrom: [
            { prefix: 'P_', configMapRef: { name: map, optional: true } },
            { configMapRef: { name: 'other' } },
          ],
          env: [
            { name: 'A', valueFrom: { secretKeyRef: { name: secret, key: 'tracked' } } },
            { name: 'B', valueFrom: { configMapKeyRef: { name: map, key: 'x' } } },
            { name: 'C', value: 'tracked' },
            { name: 'D', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          ],
        },
      ],
      volumes: [
        { name: 'tracked', configMap: { name: map, items: [] } },
        { name: 's', secret: { secretName: secret } },
        {
          name: 'p',
          projected: { sources: [{ configMap: { name: map } }, { secret: { name: secret } }, {}] },
        },
        { name: 'e', emptyDir: {} },
      ],
      imagePullSecrets: [{ name: 'tracked' }],
      serviceAccountName: 'tracked',
    });

    const { spec } = primaryTemplate({ spec: references('tracked', 'tracked') }, rules);

    expect(spec).toEqual(references('c-tracked-primary', 's-tracked-primary'));
  });

  it('keeps pods of the primary apart from each other or together, as the target did with its own', () => {
    const spec = (app: string, name: string): PodTemplate['spec'] => ({
      containers: [],
      topologySpreadConstraints: [{ maxSkew: 1, labelSelector: { matchLabels: { app, tier: 'podinfo' } } }],
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: 'zone', labelSelector: { matchLabels: { app } } },
            { topologyKey: 'zone', labelSelector: { matchLabels: { app: 'database' } } },
          ],
        },
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            {
              topologyKey: 'host',
              labelSelector: { matchExpressions: [{ key: 'name', operator: 'In', values: ['x', name] }] },
            },
          ],
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, podAffinityTerm: { labelSelector: { matchLabels: { app } } } },
          ],
        },
      },
    });

    const rewritten = primaryTemplate({ spec: spec('web', 'podinfo') }, rules);

    expect(rewritten.spec).toEqual(spec('web-primary', 'podinfo-primary'));
  });

  it('changes nothing a second time, and never its input', () => {
    fc.assert(
      fc.property(template(), (original) => {
        const before = structuredClone(original);
        const once = primaryTemplate(original, rules);
        expect(primaryTemplate(once, rules)).toEqual(once);
        expect(original).toEqual(before);
      }),
    );
  });

  it('never touches a name that is not tracked', () => {
    fc.assert(
      fc.property(template(), (original) => {
        const none = primaryTemplate(original, { ...rules, configNames: () => undefined });
        expect(none.spec.containers).toEqual(original.spec.containers);
        expect(none.spec.volumes).toEqual(original.spec.volumes);
      }),
    );
  });
});

function template(): fc.Arbitrary<PodTemplate> {
  const name = fc.constantFrom('tracked', 'other', 'tracked-primary', 'podinfo', 'web');
  const reference = fc.oneof(
    fc.record({ configMapRef: fc.record({ name }) }),
    fc.record({ secretRef: fc.record({ name }) }),
    fc.constant({}),
  );
  const volume = fc.oneof(
    fc.record({ name, configMap: fc.record({ name }) }),
    fc.record({ name, secret: fc.record({ secretName: name }) }),
    fc.record({
      name,
      projected: fc.record({ sources: fc.array(fc.record({ secret: fc.record({ name }) })) }),
    }),
  );
  const term = fc.record({
    labelSelector: fc.record({ matchLabels: fc.dictionary(fc.constantFrom('app', 'name', 'x'), name) }),
  });
  return fc.record({
    metadata: fc.record({
      labels: fc.dictionary(fc.constantFrom('app', 'tier', 'kustomize.toolkit.fluxcd.io/name'), name),
      annotations: fc.dictionary(fc.constantFrom('a', 'holdfast.dev/digest'), name),
    }),
    spec: fc.record({
      containers: fc.array(fc.record({ name, envFrom: fc.array(reference) })),
      volumes: fc.array(volume),
      topologySpreadConstraints: fc.array(term),
    }),
  });
}
