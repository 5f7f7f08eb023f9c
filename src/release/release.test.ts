import { expect, test } from 'vitest';
import { configMap, container, deployment, secret, template } from './fixtures.test-support.ts';
import { configReferences, isTracked } from './release.ts';

test('finds every place of a template that names a ConfigMap or a Secret', () => {
  const pods = template({
    volumes: [
      { name: 'a', configMap: { name: 'volume-map' } },
      { name: 'b', secret: { secretName: 'volume-secret', optional: true } },
      {
        name: 'c',
        projected: {
          sources: [{ configMap: { name: 'projected-map' } }, { secret: { name: 'projected-secret' } }],
        },
      },
      { name: 'd', emptyDir: {} },
    ],
    containers: [
      container({
        env: [
          { name: 'A', valueFrom: { configMapKeyRef: { name: 'env-map', key: 'a' } } },
          { name: 'B', valueFrom: { secretKeyRef: { name: 'env-secret', key: 'b', optional: true } } },
          { name: 'C', value: 'plain' },
        ],
      }),
    ],
    initContainers: [
      container({
        envFrom: [{ configMapRef: { name: 'from-map' } }, { secretRef: { name: 'from-secret' } }],
      }),
    ],
    imagePullSecrets: [{ name: 'registry' }],
  });
  expect(configReferences(deployment(pods))).toEqual([
    { kind: 'ConfigMap', name: 'env-map', optional: false, mounted: false },
    { kind: 'ConfigMap', name: 'from-map', optional: false, mounted: false },
    { kind: 'ConfigMap', name: 'projected-map', optional: false, mounted: true },
    { kind: 'ConfigMap', name: 'volume-map', optional: false, mounted: true },
    { kind: 'Secret', name: 'env-secret', optional: true, mounted: false },
    { kind: 'Secret', name: 'from-secret', optional: false, mounted: false },
    { kind: 'Secret', name: 'projected-secret', optional: false, mounted: true },
    { kind: 'Secret', name: 'volume-secret', optional: true, mounted: true },
  ]);
});

test('a name that one place needs and another may miss is needed, and mounted if one place mounts it', () => {
  const pods = template({
    volumes: [{ name: 'a', configMap: { name: 'flags', optional: true } }],
    containers: [container({ envFrom: [{ configMapRef: { name: 'flags' } }] })],
  });
  expect(configReferences(deployment(pods))).toEqual([
    { kind: 'ConfigMap', name: 'flags', optional: false, mounted: true },
  ]);
});

test('manifests of any shape are read without an exception', () => {
  const pods = template({
    volumes: 'none',
    containers: [{ name: 1, env: {}, envFrom: [null, 'x', { secretRef: [] }] }],
  });
  expect(configReferences(deployment(pods))).toEqual([]);
});

test('the opt-out annotation and the type of a Secret decide what is tracked', () => {
  const annotated = (value: string) => {
    const object = configMap('flags');
    return {
      ...object,
      metadata: { ...object.metadata, annotations: { 'flagger.app/config-tracking': value } },
    };
  };
  expect(isTracked(configMap('flags'))).toBe(true);
  expect(isTracked(annotated('disabled'))).toBe(false);
  expect(isTracked(annotated('disable'))).toBe(false);
  expect(isTracked(annotated('enabled'))).toBe(true);
  expect(isTracked(secret('token', {}))).toBe(true);
  expect(isTracked({ ...secret('token', {}), type: 'kubernetes.io/tls' })).toBe(true);
  expect(isTracked({ ...secret('token', {}), type: 'kubernetes.io/service-account-token' })).toBe(false);
  expect(isTracked({ ...configMap('flags'), kind: 'Deployment' })).toBe(false);
});
