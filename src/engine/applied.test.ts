import { describe, expect, test } from 'vitest';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { createApplied, takenAccount, withAccountTaken } from './applied.ts';

type Pod = Record<string, unknown>;
type Shape = (pod: Pod) => KubernetesObject;

const containers = [{ name: 'app', image: 'shop/web:1' }];
const metadata = { name: 'web', labels: { app: 'web' } };

const deployment: Shape = (pod) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata,
  spec: { replicas: 2, template: { metadata, spec: { containers, ...pod } } },
});
const cronJob: Shape = (pod) => ({
  apiVersion: 'batch/v1',
  kind: 'CronJob',
  metadata,
  spec: {
    schedule: '@daily',
    jobTemplate: {
      metadata,
      spec: { backoffLimit: 1, template: { metadata, spec: { containers, ...pod } } },
    },
  },
});
const knative: Shape = (pod) => ({
  ...deployment(pod),
  apiVersion: 'serving.knative.dev/v1',
  kind: 'Service',
});

describe('a service account', () => {
  const own = { serviceAccountName: 'wide' };
  const stored = { ...own, serviceAccount: 'wide' };

  test.each<[string, Shape, { git: Pod; live: Pod | undefined; applied: Pod }]>([
    [
      'that Git takes out is taken from a Deployment',
      deployment,
      { git: {}, live: stored, applied: { serviceAccount: '' } },
    ],
    [
      'that Git takes out is taken from a CronJob',
      cronJob,
      { git: {}, live: stored, applied: { serviceAccount: '' } },
    ],
    ['of a kind that keeps one name of it goes with that', knative, { git: {}, live: own, applied: {} }],
    ['stays where Git has it', deployment, { git: own, live: stored, applied: own }],
    [
      'stays where Git has it under its deprecated name',
      deployment,
      { git: { serviceAccount: 'wide' }, live: stored, applied: { serviceAccount: 'wide' } },
    ],
    ['that was never there needs nothing', deployment, { git: {}, live: {}, applied: {} }],
    ['needs nothing in what is made anew', deployment, { git: {}, live: undefined, applied: {} }],
  ])('%s', (_, shape, { git, live, applied }) => {
    expect(withAccountTaken(shape(git), live && shape(live))).toEqual(shape(applied));
  });

  test('is named as the API server names the field, which may be another writer’s', () => {
    const fieldOf = (shape: Shape) => takenAccount(withAccountTaken(shape({}), shape(stored)));
    expect([deployment, cronJob].map(fieldOf)).toEqual([
      '.spec.template.spec.serviceAccount',
      '.spec.jobTemplate.spec.template.spec.serviceAccount',
    ]);
    expect(takenAccount(deployment(own))).toBeUndefined();
  });

  test('is no matter of objects without pods', () => {
    const config: KubernetesObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: {} as never };
    expect(withAccountTaken(config, config)).toEqual(config);
  });
});

describe('what was applied last', () => {
  const entry = (more: object = {}) => ({
    manager: 'holdfast',
    operation: 'Apply',
    fieldsV1: { 'f:spec': { 'f:rules': {} } },
    ...more,
  });
  const wanted = { ...deployment({}), spec: { rules: [{ path: '/' }] } };
  const stored = (managedFields?: object[], rules: object[] = wanted.spec.rules): KubernetesObject => ({
    ...wanted,
    metadata: { ...metadata, ...(managedFields ? { managedFields } : {}) },
    spec: { rules },
  });
  const scaled = entry({ subresource: 'scale', fieldsV1: { 'f:spec': { 'f:replicas': {} } } });
  const patched = entry({ operation: 'Update', fieldsV1: { 'f:metadata': {} } });
  const others = entry({ manager: 'kubectl-edit', fieldsV1: { 'f:spec': { 'f:rules': { 'f:extra': {} } } } });

  test.each<[string, KubernetesObject | undefined, boolean]>([
    ['is there', stored([entry()]), true],
    [
      'is there, whatever others own, and whatever else was written under the same name',
      stored([others, scaled, patched, entry()]),
      true,
    ],
    ['is there as far as an object without owners tells', stored(), true],
    ['is not there where the list has another owner now', stored([others]), false],
    ['is not there where fields of it are no longer owned', stored([entry({ fieldsV1: {} })]), false],
    ['is not there where it is not as it was applied', stored([entry()], []), false],
    ['is not there where the object is gone', undefined, false],
  ])('%s', (_, live, expected) => {
    const applied = createApplied('holdfast');
    applied.note(wanted, stored([others, scaled, patched, entry()]));
    expect(applied.has(live, wanted)).toBe(expected);
  });

  test.each<[string, object | undefined, object | undefined, boolean]>([
    ['is there with the selector of Git', { app: 'web' }, { app: 'web' }, true],
    ['is not there with a label more', { app: 'web' }, { app: 'web', tier: 'old' }, false],
    [
      'is there with the selector that a rollout gave it in the place of Git',
      undefined,
      { app: 'web' },
      true,
    ],
  ])('of a Service %s', (_, selector, live, expected) => {
    const service = (of: object | undefined): KubernetesObject => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: of ? { type: 'ClusterIP', selector: of } : { type: 'ClusterIP' },
    });
    const applied = createApplied('holdfast');
    applied.note(service(selector));
    expect(applied.has(service(live), service(selector))).toBe(expected);
  });

  test('of a Service with a field of no value is not there with a label more in its selector', () => {
    const service = (clusterIP: string, selector: object): KubernetesObject => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { clusterIP, selector },
    });
    const wanted = service('', { app: 'web' });
    const applied = createApplied('holdfast');
    applied.note(wanted, service('10.0.0.7', { app: 'web' }));
    expect(applied.has(service('10.0.0.7', { app: 'web' }), wanted)).toBe(true);
    expect(applied.has(service('10.0.0.7', { app: 'web', tier: 'old' }), wanted)).toBe(false);
  });

  test.each<[string, unknown, unknown, boolean]>([
    ['is there with the default of its answer', [{ type: 'Resource' }], [{ type: 'Resource' }], true],
    ['is not there with another value', [{ type: 'Resource' }], [{ type: 'Pods' }], false],
    ['is not there with a value that its answer did not have', undefined, [{ type: 'Pods' }], false],
  ])('with a field of no value %s', (_, answered, now, expected) => {
    const scaler = (metrics: unknown, minReplicas: unknown = 1): KubernetesObject => ({
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata,
      spec: { maxReplicas: 3, minReplicas, ...(metrics === undefined ? {} : { metrics }) },
    });
    const applied = createApplied('holdfast');
    for (const wanted of [scaler(null), scaler([]), scaler(null, 0), scaler([], '')]) {
      applied.note(wanted, scaler(answered));
      expect(applied.has(scaler(now), wanted)).toBe(expected);
    }
  });

  test('is known by its fields alone where the answer is not', () => {
    const applied = createApplied('holdfast');
    expect(applied.has(stored([entry()]), wanted)).toBe(false);
    applied.note(wanted);
    expect(applied.has(stored([others]), wanted)).toBe(true);
    expect(applied.has(stored([entry()]), { ...wanted, spec: {} })).toBe(false);
    applied.forget(wanted);
    expect(applied.has(stored([entry()]), wanted)).toBe(false);
  });
});
