import { expect, test } from 'vitest';
import { asWritten } from './as-written.ts';

const metadata = { name: 'a' };
const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata, rules: [] };
const webhook = (caBundle: unknown) => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'MutatingWebhookConfiguration',
  metadata,
  webhooks: [
    { name: 'first.example.com', clientConfig: { url: 'https://a.example.com', caBundle: 'b3duCg==' } },
    { name: 'second.example.com', clientConfig: { url: 'https://a.example.com', caBundle } },
  ],
});
const apiService = (caBundle: unknown) => ({
  apiVersion: 'apiregistration.k8s.io/v1',
  kind: 'APIService',
  metadata,
  spec: { group: 'a.example.com', caBundle },
});
const crd = (caBundle: unknown) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata,
  spec: { conversion: { strategy: 'Webhook', webhook: { clientConfig: { caBundle } } } },
});

test('the rules of an aggregated ClusterRole are the control plane’s, which fills them in', () => {
  const aggregated = { ...role, aggregationRule: { clusterRoleSelectors: [{}] } };
  expect(asWritten(aggregated)).not.toHaveProperty('rules');
  expect(asWritten(role)).toHaveProperty('rules');
});

test.each([webhook, apiService, crd])(
  'a placeholder of an authority is left to whoever injects it',
  (make) => {
    for (const placeholder of ['', null, 'Cg=='])
      expect(JSON.stringify(asWritten(make(placeholder)))).toBe(JSON.stringify(make(undefined)));
    expect(asWritten(make('bWluZQ=='))).toEqual(make('bWluZQ=='));
  },
);
