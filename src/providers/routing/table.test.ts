import { describe, expect, it } from 'vitest';
import { unsupportedFields } from '../../api/canary/unsupported-fields.ts';
import { objectSchemaOf } from '../../api/kinds/crd.ts';
import { aCanary } from './fixtures.test-support.ts';
import { routerFor, supportedProviders } from './table.ts';

describe('the table of providers', () => {
  it.each([
    ['kubernetes', 'kubernetes'],
    ['contour', 'contour'],
    ['knative', 'knative'],
    ['gatewayapi:v1', 'gatewayapi:v1'],
    ['gatewayapi:v1:service', 'gatewayapi:v1'],
    ['gatewayapi:v1beta1', 'gatewayapi:v1beta1'],
    ['gatewayapi', undefined],
    ['contour:service', undefined],
    ['istio', 'istio'],
    ['smi:v1alpha2', 'smi:v1alpha2'],
    ['smi:v1alpha4', undefined],
    ['', undefined],
  ])('gives %s the router %s', (provider, name) => {
    expect(routerFor(provider)?.name).toBe(name);
  });
});

describe('every routing provider', () => {
  it('exists for every provider of the schema of a Canary except native, which has no routes', () => {
    const { provider } = objectSchemaOf('Canary').properties?.spec?.properties ?? {};
    expect([...supportedProviders(), 'native'].sort()).toEqual([...(provider?.enum ?? [])].sort());
  });

  const ignoredBy = (provider: string, spec: Parameters<typeof aCanary>[0]) => {
    const canary = aCanary({ provider: provider as 'contour', ...spec });
    return unsupportedFields(canary, routerFor(provider)?.ignores(canary));
  };

  it('names the fields that it does not act on', () => {
    const service = {
      port: 80,
      hosts: ['shop.example.com'],
      gatewayRefs: [{ name: 'public' }],
      timeout: '5s',
    };
    expect(ignoredBy('gatewayapi:v1', { service })).toEqual([]);
    expect(ignoredBy('contour', { service })).toEqual(['spec.service.hosts', 'spec.service.gatewayRefs']);
    expect(ignoredBy('knative', { service })).toEqual([
      'spec.service.hosts',
      'spec.service.gatewayRefs',
      'spec.service.timeout',
    ]);
  });

  it('names conditions of a match that it cannot compare, and what it cannot do with requests', () => {
    const prefix = { prefix: '/api' };
    const service = {
      port: 80,
      match: [{ uri: prefix, headers: { a: { exact: 'b' } }, withoutHeaders: { c: { exact: 'd' } } }],
      retries: { attempts: 3 },
    };
    const [headers, withoutHeaders] = ['headers', 'withoutHeaders'].map(
      (field) => `spec.service.match[0].${field}`,
    );
    expect(ignoredBy('istio', { service })).toEqual([]);
    expect(ignoredBy('gatewayapi:v1', { service })).toEqual(['spec.service.retries', withoutHeaders]);
    expect(ignoredBy('contour', { service })).toEqual([headers, withoutHeaders]);
    expect(ignoredBy('appmesh', { service })).toEqual([headers, withoutHeaders]);
    expect(ignoredBy('kubernetes', { service })).toEqual(['spec.service.retries', 'spec.service.match']);
  });

  it('names a mirror unless the provider and the strategy mirror requests', () => {
    const base = { interval: '10s', threshold: 2, mirror: true };
    expect(ignoredBy('gatewayapi:v1', { analysis: { ...base, iterations: 5 } })).toEqual([]);
    for (const provider of ['kubernetes', 'contour', 'knative', 'native'])
      expect(ignoredBy(provider, { analysis: { ...base, iterations: 5 } })).toContain('spec.analysis.mirror');
    expect(ignoredBy('gatewayapi:v1', { analysis: { ...base, stepWeight: 10 } })).toEqual([
      'spec.analysis.mirror',
    ]);
  });
});
