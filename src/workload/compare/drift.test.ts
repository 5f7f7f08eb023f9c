import { describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { primaryObjects } from '../kinds.ts';
import { aPrimarySource } from '../shared/fixtures.test-support.ts';
import { allDifferences, coversApplied, differencesBy, driftOf } from './drift.ts';

const applied = primaryObjects(aPrimarySource({ replicas: undefined })).workload;

function live(spec: object, managedFields?: object[]): KubernetesObject {
  return {
    ...applied,
    metadata: { ...applied.metadata, ...(managedFields ? { managedFields } : {}) },
    spec: { ...(applied.spec as object), ...spec },
  };
}

function owner(manager: string, spec: object, more: object = {}): object {
  return { manager, fieldsV1: { 'f:spec': spec }, ...more };
}

const image = {
  'f:template': { 'f:spec': { 'f:containers': { 'k:{"name":"podinfod"}': { 'f:image': {} } } } },
};
const otherImage = { template: { spec: { containers: [{ name: 'podinfod', image: 'x' }] } } };

describe('drift', () => {
  it.each<[string, object, object, object[] | undefined]>([
    ['nothing that is ours', { kind: 'none' }, { replicas: 9, paused: false }, undefined],
    [
      'a field that another manager owns now',
      { kind: 'foreign', manager: 'kubectl-edit' },
      { minReadySeconds: 60 },
      [
        { manager: 'kube-controller-manager', fieldsV1: { 'f:metadata': { 'f:annotations': {} } } },
        owner('kubectl-edit', { 'f:minReadySeconds': {} }),
      ],
    ],
    [
      'a container of ours',
      { kind: 'foreign', manager: 'kubectl-set' },
      otherImage,
      [owner('kubectl-set', image)],
    ],
    [
      'our own patch',
      { kind: 'own' },
      { minReadySeconds: 60 },
      [owner('holdfast-rollout', { 'f:minReadySeconds': {} }, { operation: 'Update' })],
    ],
    [
      'a container of ours, set by hand under our own name',
      { kind: 'foreign', manager: 'another client as holdfast-rollout' },
      otherImage,
      [owner('holdfast-rollout', image, { operation: 'Update' })],
    ],
    [
      'our own patch, after somebody set a container by hand under our own name as it is in Git',
      { kind: 'own' },
      { minReadySeconds: 60 },
      [owner('holdfast-rollout', { 'f:minReadySeconds': {}, ...image }, { operation: 'Update' })],
    ],
    [
      'what a webhook rewrote while we applied it',
      { kind: 'own' },
      otherImage,
      [owner('holdfast-rollout', image, { operation: 'Apply' })],
    ],
    ['only the status', { kind: 'gone' }, otherImage, [owner('kubelet', image, { subresource: 'status' })]],
    ['a field without an owner', { kind: 'gone' }, { minReadySeconds: undefined, selector: {} }, []],
    ['something, without managedFields', { kind: 'gone' }, { minReadySeconds: 60 }, undefined],
  ])('of %s', (_, drift, spec, managedFields) => {
    expect(driftOf(live(spec, managedFields), applied, 'holdfast-rollout')).toEqual(drift);
  });

  it('is not blamed on who holds an entry of a set as it is in Git', () => {
    const { template, ...spec } = applied.spec as { template: { metadata: object } };
    const metadata = { ...template.metadata, finalizers: ['example.com/keep', 'example.com/log'] };
    const guarded = { ...applied, spec: { ...spec, template: { ...template, metadata } } };
    const keep = { 'f:template': { 'f:metadata': { 'f:finalizers': { 'v:"example.com/keep"': {} } } } };
    const managedFields = [owner('kubectl-edit', keep)];
    const changed = {
      ...guarded,
      metadata: { ...guarded.metadata, managedFields },
      spec: { ...guarded.spec, minReadySeconds: 60 },
    };
    expect(driftOf(changed, guarded, 'holdfast-rollout')).toEqual({ kind: 'gone' });
  });

  it('is reported with the fields that others changed, the template first', () => {
    const spec = { minReadySeconds: 60, revisionHistoryLimit: 1, ...otherImage };
    const others = [owner('kubectl-edit', { 'f:minReadySeconds': {}, ...image }, { operation: 'Update' })];
    const paths = differencesBy(live(spec, others), applied, 'holdfast-rollout').map(({ path }) => path);
    expect(paths).toEqual(['spec.template.spec.containers[podinfod].image', 'spec.minReadySeconds']);
  });

  it.each<[string, object, object, boolean]>([
    [
      'a label of the nodes',
      { nodeSelector: { zone: 'a' } },
      { nodeSelector: { zone: 'a', disk: 'ssd' } },
      false,
    ],
    ['a toleration', { tolerations: [{ key: 'a' }] }, { tolerations: [{ key: 'a' }, { key: 'b' }] }, false],
    [
      'nothing',
      { nodeSelector: { zone: 'a' }, tolerations: [{ key: 'a' }] },
      { tolerations: [{ key: 'a', tolerationSeconds: 5 }] },
      true,
    ],
    ['the first label of the nodes', {}, { nodeSelector: { zone: 'a' } }, true],
    ['a container', {}, { containers: [{ name: 'podinfod' }, { name: 'istio-proxy' }] }, true],
    ['a variable', {}, { containers: [{ name: 'podinfod', env: [{ name: 'A', value: 'b' }] }] }, true],
  ])(
    'of what somebody adds to the template counts what the API server takes for one value: %s',
    (_, wanted, added, isSame) => {
      const containers = [{ name: 'podinfod' }];
      const withPod = (spec: object) => ({
        ...applied,
        spec: { template: { spec: { containers, ...spec } } },
      });
      expect(coversApplied(withPod({ ...wanted, ...added }), withPod(wanted))).toBe(isSame);
    },
  );

  it('of one label of the nodes is that label', () => {
    const withLabels = (nodeSelector: object) => ({
      ...applied,
      spec: { template: { spec: { nodeSelector } } },
    });
    const [was, is] = [
      { disk: 'ssd', zone: 'a' },
      { disk: 'ssd', zone: 'b' },
    ];
    const paths = allDifferences(withLabels(is), withLabels(was)).map(({ path }) => path);
    expect(paths).toEqual(['spec.template.spec.nodeSelector.zone']);
  });

  it('is seen without managedFields', () => {
    expect([coversApplied(live({}), applied), coversApplied(live({ minReadySeconds: 60 }), applied)]).toEqual(
      [true, false],
    );
  });
});
