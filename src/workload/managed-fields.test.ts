import { expect, it } from 'vitest';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { takenOverFields } from './managed-fields.ts';

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

it("makes Flagger's fields ours, beside those that are ours already, and leaves all others alone", () => {
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

it('has nothing to take where Flagger wrote nothing', () => {
  expect(
    takenOverFields(owned({ manager: 'kubectl', operation: 'Update', fieldsV1: {} }), 'ours'),
  ).toBeUndefined();
  expect(
    takenOverFields({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' } }, 'ours'),
  ).toBeUndefined();
});
