import { describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { primaryStamp, stamped } from './configs.ts';

const release = { configKey: '0123456789abcdef', digest: 'v1:a' };

function aPrimary(annotations: Record<string, string>, stamp?: string): KubernetesObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web-primary', annotations },
    spec: {
      template: { metadata: stamp ? { annotations: { 'flagger-id': stamp } } : {}, spec: { containers: [] } },
    },
  };
}

describe("the primary's stamp", () => {
  it('is that of the release on a new primary, and when the config is another one', () => {
    const other = { 'holdfast.dev/digest': 'v1:a', 'holdfast.dev/config': 'another' };

    expect(primaryStamp(release, undefined)).toBe(release.configKey);
    expect(primaryStamp(release, aPrimary(other, 'another'))).toBe(release.configKey);
  });

  it('has what stands for config outside Git in it', () => {
    expect(primaryStamp({ ...release, digest: 'v1:a+beef' }, undefined)).toBe(`${release.configKey}-beef`);
    expect(primaryStamp({ digest: 'v1:a+beef' }, undefined)).toBe('beef');
  });

  it('stays what it is while the config is the same, and on a primary of Flagger’s, so that no pod restarts', () => {
    const same = { 'holdfast.dev/digest': 'v1:a', 'holdfast.dev/config': release.configKey };

    expect(primaryStamp(release, aPrimary(same, 'older'))).toBe('older');
    expect(primaryStamp(release, aPrimary({}, 'c0ffee'))).toBe('c0ffee');
    expect(primaryStamp(release, aPrimary({}))).toBeUndefined();
  });

  it('goes with the last tracked config', () => {
    const before = { 'holdfast.dev/digest': 'v1:a', 'holdfast.dev/config': 'another' };

    expect(primaryStamp({ digest: 'v1:a' }, aPrimary(before, 'another'))).toBeUndefined();
  });
});

describe('a template', () => {
  const template = { metadata: { annotations: { note: 'x' } }, spec: { containers: [] } };

  it('gets the stamp in addition to its own annotations, and stays as it is without one', () => {
    expect(stamped(template, 's').metadata?.annotations).toEqual({ note: 'x', 'flagger-id': 's' });
    expect(stamped(template, undefined)).toBe(template);
  });
});
