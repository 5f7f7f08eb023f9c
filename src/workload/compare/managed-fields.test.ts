import { expect, it } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import {
  inheritedFields,
  ownedAlone,
  releasedReplicas,
  relinquishedFields,
  takenOverFields,
} from './managed-fields.ts';

function owned(...managedFields: object[]): KubernetesObject {
  return { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', managedFields } };
}

const flagger = {
  manager: 'flagger',
  operation: 'Update',
  apiVersion: 'v1',
  time: 't',
  fieldsType: 'FieldsV1',
};

it("makes Flagger's fields ours, in addition to those that already are, and leaves all others alone", () => {
  const others = [
    { manager: 'kubectl', operation: 'Update', fieldsV1: { 'f:spec': { 'f:type': {} } } },
    { ...flagger, subresource: 'status', fieldsV1: { 'f:status': {} } },
  ];
  const live = owned(
    ...others,
    { ...flagger, fieldsV1: { 'f:spec': { 'f:ports': { '.': {}, 'k:{"port":80}': {} }, 'f:selector': {} } } },
    {
      ...flagger,
      manager: 'ours',
      operation: 'Apply',
      fieldsV1: { 'f:spec': { 'f:ports': { 'k:{"port":90}': {} } } },
    },
  );
  expect(takenOverFields(live, 'ours')).toEqual([
    ...others,
    {
      ...flagger,
      manager: 'ours',
      operation: 'Apply',
      fieldsV1: {
        'f:spec': { 'f:ports': { '.': {}, 'k:{"port":80}': {}, 'k:{"port":90}': {} }, 'f:selector': {} },
      },
    },
  ]);
});

it('leaves to Flagger what the object that is known does not have, a list as a whole', () => {
  const fieldsV1 = {
    'f:metadata': { 'f:annotations': { '.': {}, 'f:class': {}, 'f:away': {} } },
    'f:spec': { '.': {}, 'f:ingressClassName': {}, 'f:routes': {} },
  };
  const known = {
    apiVersion: 'projectcontour.io/v1',
    kind: 'HTTPProxy',
    metadata: { name: 'web', annotations: { away: 'yes' } },
    spec: { routes: [] },
  };
  expect(takenOverFields(owned({ ...flagger, fieldsV1 }), 'ours', known)).toEqual([
    {
      ...flagger,
      fieldsV1: {
        'f:metadata': { 'f:annotations': { '.': {}, 'f:class': {} } },
        'f:spec': { '.': {}, 'f:ingressClassName': {} },
      },
    },
    {
      ...flagger,
      manager: 'ours',
      operation: 'Apply',
      fieldsV1: { 'f:metadata': { 'f:annotations': { 'f:away': {} } }, 'f:spec': { 'f:routes': {} } },
    },
  ]);
});

it('has nothing to take where Flagger wrote nothing', () => {
  expect(
    takenOverFields(owned({ manager: 'kubectl', operation: 'Update', fieldsV1: {} }), 'ours'),
  ).toBeUndefined();
  expect(
    takenOverFields({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' } }, 'ours'),
  ).toBeUndefined();
});

const flux = { manager: 'kustomize-controller', operation: 'Apply' };
const ours = { manager: 'ours', operation: 'Apply' };

it('gives up what another manager applied, and keeps what it alone has', () => {
  const entries = [
    {
      ...flux,
      fieldsV1: {
        'f:metadata': { 'f:labels': { 'f:app': {}, 'f:theirs': {} } },
        'f:spec': {
          'f:ports': { 'k:{"port":80}': { '.': {}, 'f:port': {} } },
          'f:selector': { 'f:app': {} },
        },
      },
    },
    { ...flux, subresource: 'status', fieldsV1: { 'f:status': {} } },
    {
      ...ours,
      fieldsV1: {
        'f:metadata': { 'f:labels': { 'f:app': {} } },
        'f:spec': { 'f:ports': { 'k:{"port":80}': { 'f:port': {} } }, 'f:selector': {} },
      },
    },
  ];
  const kept = relinquishedFields(entries, { from: [flux.manager], to: 'ours' });
  expect(kept).toEqual([
    { ...flux, fieldsV1: { 'f:metadata': { 'f:labels': { 'f:theirs': {} } } } },
    entries[1],
    entries[2],
  ]);
  expect(relinquishedFields(kept ?? [], { from: [flux.manager], to: 'ours' })).toBeUndefined();
  expect(relinquishedFields(entries.slice(0, 2), { from: [flux.manager], to: 'ours' })).toBeUndefined();
});

it('inherits all that another manager has but the number of pods', () => {
  const entries = [
    { ...flux, fieldsV1: { 'f:spec': { 'f:replicas': {}, 'f:template': { 'f:spec': {} } } } },
    { manager: 'kubectl', operation: 'Update', fieldsV1: { 'f:spec': { 'f:paused': {} } } },
  ];
  expect(inheritedFields(entries, { from: [flux.manager], to: 'ours' })).toEqual([
    { ...flux, fieldsV1: { 'f:spec': { 'f:replicas': {} } } },
    entries[1],
    { ...ours, fieldsV1: { 'f:spec': { 'f:template': { 'f:spec': {} } } } },
  ]);
  expect(inheritedFields(entries.slice(1), { from: [flux.manager], to: 'ours' })).toBeUndefined();
});

it('takes from kubectl what our manager has applied, but for the number of pods', () => {
  const kubectl = { manager: 'kubectl-client-side-apply', operation: 'Update' };
  const image = { 'f:template': { 'f:spec': { 'f:image': {} } } };
  const entries = [
    { ...kubectl, fieldsV1: { 'f:spec': { 'f:paused': {}, 'f:replicas': {}, ...image } } },
    { ...flux, fieldsV1: { 'f:spec': image } },
    { ...ours, fieldsV1: { 'f:spec': { 'f:replicas': {}, ...image } } },
  ];
  expect(ownedAlone(entries, 'ours')).toEqual([
    { ...kubectl, fieldsV1: { 'f:spec': { 'f:paused': {}, 'f:replicas': {} } } },
    entries[1],
    entries[2],
  ]);
  expect(ownedAlone(entries.slice(1), 'ours')).toBeUndefined();
});

it('leaves the number of pods to nobody who would take it out, once', () => {
  const image = { 'f:template': { 'f:spec': { 'f:image': {} } } };
  const entries = [{ ...flux }, { ...ours, fieldsV1: { 'f:spec': { 'f:replicas': {}, ...image } } }];
  const released = releasedReplicas(entries, 'ours');
  expect(released).toEqual([
    { ...flux },
    { ...ours, fieldsV1: { 'f:spec': image } },
    { manager: 'ours-replicas', operation: 'Update', fieldsV1: { 'f:spec': { 'f:replicas': {} } } },
  ]);
  expect(releasedReplicas(released ?? [], 'ours')).toBeUndefined();
});
