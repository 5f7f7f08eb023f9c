import { expect, test } from 'vitest';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { takenAccount, withAccountTaken } from './applied.ts';

const job = (account: object): KubernetesObject => ({
  ...{ apiVersion: 'batch/v1', kind: 'CronJob', metadata: { name: 'nightly', namespace: 'shop' } },
  spec: { schedule: '@daily', jobTemplate: { spec: { template: { spec: { containers: [], ...account } } } } },
});
const service = (account: object): KubernetesObject => ({
  ...{ apiVersion: 'serving.knative.dev/v1', kind: 'Service', metadata: { name: 'web', namespace: 'shop' } },
  spec: { template: { spec: { containers: [], ...account } } },
});

test('a service account that Git takes out of a CronJob is taken out of the pods of its Jobs', () => {
  const wanted = withAccountTaken(job({}), job({ serviceAccountName: 'wide', serviceAccount: 'wide' }));

  expect(wanted).toEqual(job({ serviceAccount: '' }));
  expect(takenAccount(wanted)).toBe('.spec.jobTemplate.spec.template.spec.serviceAccount');
});

test('a custom resource gets no field that its CRD does not have', () => {
  expect(withAccountTaken(service({}), service({ serviceAccountName: 'wide' }))).toEqual(service({}));
});
