import { describe, expect, it } from 'vitest';
import type { Canary } from '../../api/canary/canary.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { aContext, canaryFor, foundBy, initialTraffic } from './fixtures.test-support.ts';
import { nginx } from './nginx.ts';

const prefix = 'nginx.ingress.kubernetes.io';
const found = foundBy(nginx);
const at = (canaryWeight: number) => ({ ...initialTraffic, primaryWeight: 100 - canaryWeight, canaryWeight });

function abCanary(match: NonNullable<Canary['spec']['analysis']['match']>): Canary {
  return canaryFor(nginx, { analysis: { interval: '10s', threshold: 2, iterations: 3, match } });
}

function annotationsOf(object: KubernetesObject | undefined): Record<string, string> {
  const all = Object.entries(object?.metadata.annotations ?? {});
  return Object.fromEntries(all.filter(([key]) => key.startsWith(prefix)));
}

describe('the canary Ingress', () => {
  const [canary] = nginx.objects(aContext(canaryFor(nginx)), at(20), found);

  it('is that of the users with the Service of the canary, whatever else it leads to', () => {
    expect(canary?.metadata.name).toBe('podinfo-ingress-canary');
    expect(canary?.spec).toMatchObject({
      ingressClassName: 'public',
      rules: [
        {
          host: 'shop.example.com',
          http: {
            paths: [
              { path: '/', backend: { service: { name: 'podinfo-canary', port: { number: 9898 } } } },
              { path: '/old', backend: { service: { name: 'old' } } },
            ],
          },
        },
      ],
    });
  });

  it('has their labels and annotations, but none by which other tools would find it, and no weight but its own', () => {
    expect(canary?.metadata.labels).toEqual({ app: 'podinfo', 'holdfast.dev/canary': 'podinfo' });
    expect(canary?.metadata.annotations).toMatchObject({ 'example.com/owner': 'shop' });
    expect(annotationsOf(canary)).toEqual({
      [`${prefix}/canary`]: 'true',
      [`${prefix}/canary-weight`]: '20',
    });
  });

  it('is not accepted when another writer made its weight a share of something else', () => {
    const key = `${prefix}/canary-weight-total`;
    const readWith = (total: string, weight = '20') => {
      const annotations = {
        ...canary?.metadata.annotations,
        ...{ [key]: total, [`${prefix}/canary-weight`]: weight },
      };
      const touched = { ...canary, metadata: { ...canary?.metadata, annotations } } as KubernetesObject;
      return nginx.read(aContext(canaryFor(nginx)), [...found, touched]);
    };

    expect(readWith('100')).toMatchObject({ canaryWeight: 20, accepted: true });
    expect(readWith('1000', '0')).toMatchObject({ canaryWeight: 0, accepted: true });
    expect(readWith('1000')).toMatchObject({
      accepted: false,
      problem: `Ingress podinfo-ingress-canary: its annotation ${key} is 1000, and weights are percent: remove it`,
    });
  });

  it('is not accepted when another writer added a condition, which is named', () => {
    const key = `${prefix}/canary-by-header`;
    const touched = {
      ...canary,
      metadata: { ...canary?.metadata, annotations: { ...canary?.metadata.annotations, [key]: 'x-beta' } },
    } as KubernetesObject;

    const reading = nginx.read(aContext(canaryFor(nginx)), [...found, touched]);

    expect(reading).toMatchObject({ canaryWeight: 100, matched: true, accepted: false });
    expect(reading?.problem).toContain(`${key}: remove it`);
  });

  it('leads to the canary by default where theirs leads to the apex by default', () => {
    const [ingress] = found;
    const byDefault = {
      ...ingress,
      spec: { defaultBackend: { service: { name: 'podinfo', port: { name: 'http' } } } },
    } as KubernetesObject;

    const [written] = nginx.objects(aContext(canaryFor(nginx)), at(20), [byDefault]);

    expect(written?.spec).toEqual({
      defaultBackend: { service: { name: 'podinfo-canary', port: { name: 'http' } } },
    });
  });

  it('has annotations with the prefix that the operator set', () => {
    const context = { ...aContext(canaryFor(nginx)), settings: { ingressAnnotationsPrefix: 'shop.example' } };
    const [written] = nginx.objects(context, at(20), found);

    expect(written?.metadata.annotations).toMatchObject({ 'shop.example/canary-weight': '20' });
    expect(nginx.read(context, [...found, written as KubernetesObject])?.canaryWeight).toBe(20);
  });

  it('of another owner is not changed, and is named', () => {
    const foreign = {
      ...canary,
      metadata: { name: 'podinfo-ingress-canary', namespace: 'shop' },
    } as KubernetesObject;
    const live = [...found, foreign];

    const problem = nginx.read(aContext(canaryFor(nginx)), live)?.problem;

    expect(problem).toBe(
      'Ingress podinfo-ingress-canary exists and was not made for Canary podinfo; delete it, or rename podinfo-ingress',
    );
    expect(nginx.objects(aContext(canaryFor(nginx)), at(20), live)).toEqual([]);
  });

  it('of another Canary, whose users have the same Ingress, is not said to be in the way', () => {
    const { metadata, ...spec } = canary as KubernetesObject;
    const ownerReferences = metadata.ownerReferences?.map((one) => ({ ...one, name: 'cart', uid: 'other' }));
    const labels = { 'holdfast.dev/canary': 'cart' };
    const ofCart = { ...spec, metadata: { ...metadata, labels, ownerReferences } } as KubernetesObject;

    expect(nginx.read(aContext(canaryFor(nginx)), [...found, ofCart])?.problem).toBe(
      'Ingress podinfo-ingress-canary belongs to Canary cart; let Canary podinfo name another Ingress than podinfo-ingress',
    );
  });

  it('stays what it is, with other weights, after theirs is gone: nothing moves back to a broken canary', () => {
    const [written] = nginx.objects(aContext(canaryFor(nginx)), at(0), [canary as KubernetesObject]);

    expect(written?.spec).toEqual(canary?.spec);
    expect(annotationsOf(written)[`${prefix}/canary-weight`]).toBe('0');
  });

  it('that leads nowhere near the apex is not made', () => {
    const elsewhere = JSON.parse(
      JSON.stringify(found).replaceAll('"podinfo"', '"shop"'),
    ) as KubernetesObject[];

    expect(nginx.read(aContext(canaryFor(nginx)), elsewhere)).toMatchObject({
      accepted: false,
      problem: 'Ingress podinfo-ingress has no backend that is Service podinfo',
    });
  });
});

describe('an A/B test', () => {
  it.each([
    [{ 'x-user': { exact: 'a' } }, { 'canary-by-header': 'x-user', 'canary-by-header-value': 'a' }],
    [{ 'x-user': { regex: 'a.*' } }, { 'canary-by-header': 'x-user', 'canary-by-header-pattern': 'a.*' }],
    [{ Cookie: { exact: 'beta' } }, { 'canary-by-cookie': 'beta' }],
    [
      { Cookie: { regex: '.*beta=1.*' } },
      { 'canary-by-header': 'Cookie', 'canary-by-header-pattern': '.*beta=1.*' },
    ],
    [
      { first: { exact: 'a' }, second: { regex: 'b' } },
      { 'canary-by-header': 'second', 'canary-by-header-pattern': 'b' },
    ],
  ])('of %j has these annotations and no weight', (headers, wanted) => {
    const context = aContext(abCanary([{ headers }]));

    const [written] = nginx.objects(context, { ...at(100), matched: true }, found);

    const named = Object.entries(wanted).map(([key, value]) => [`${prefix}/${key}`, value]);
    expect(annotationsOf(written)).toEqual({ [`${prefix}/canary`]: 'true', ...Object.fromEntries(named) });
  });

  it.each([
    [{ queryParams: { a: { exact: 'b' } } }, ['match[0]', 'match[0].queryParams']],
    [{ headers: { a: { prefix: 'b' } } }, ['match[0].headers[a]']],
    [{ headers: { cookie: { prefix: 'b' } } }, ['match[0].headers[cookie]']],
    [{ headers: { Cookie: { regex: 'b' } } }, []],
  ])('of %j is refused with the field', (match, fields) => {
    const errors = nginx.check(abCanary([match])).filter(({ severity }) => severity === 'error');

    expect(errors.map(({ path }) => path)).toEqual(fields.map((field) => `spec.analysis.${field}`));
  });
});
