import { describe, expect, it } from 'vitest';
import type { PodTemplate } from '../api/kubernetes.ts';
import { type ExpectedCopiesSource, expectedCopies, sharedIn } from './expected-copies.ts';
import { primaryObjects } from './kinds.ts';
import { aPrimarySource, aRelease } from './shared/fixtures.test-support.ts';

function source(more: Partial<ExpectedCopiesSource> = {}): ExpectedCopiesSource {
  const { canary, release, includeLabelPrefixes } = aPrimarySource();
  return { canary, release, includeLabelPrefixes, ...more };
}

function expected(changes: Parameters<typeof aPrimarySource>[0], more: Partial<ExpectedCopiesSource> = {}) {
  const primary = primaryObjects(aPrimarySource(changes)).workload;
  return expectedCopies(primary, source(more)).map(({ kind, name, written }) => [kind, name, written?.data]);
}

describe('the copies that a primary needs', () => {
  it('are those of its release: from Git with content, from the cluster by name', () => {
    expect(expected({})).toEqual([
      ['ConfigMap', 'podinfo-config-primary', { color: 'blue' }],
      ['Secret', 'podinfo-secret-primary', undefined],
    ]);
  });

  it('carry the target name where its pods ask for that', () => {
    const sharedConfigs = new Set(['ConfigMap/podinfo-config']);
    expect(expected({ sharedConfigs })[0]?.[1]).toBe('podinfo-config-podinfo-primary');
    const primary = primaryObjects(aPrimarySource({ sharedConfigs })).workload;
    expect(sharedIn(primary, source())).toEqual(sharedConfigs);
  });

  it('leave out live config that its pods use under its own name, or can do without', () => {
    const [secret] = aPrimarySource().liveConfigs;
    const annotations = { 'flagger.app/config-tracking': 'disabled' };
    const untracked = { ...secret, metadata: { name: 'podinfo-secret', annotations } } as never;
    expect(expected({ liveConfigs: [untracked] })).toHaveLength(1);
    const optional = aRelease();
    optional.liveConfigs = [{ kind: 'Secret', name: 'podinfo-secret', optional: true }];
    expect(expected({ release: optional }, { release: optional })).toHaveLength(1);
  });
});

describe('the name of a copy', () => {
  const names = ['settings', 'settings-podinfo', 'settings-podinfo-podinfo'];
  const configs = names.map((name) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }));
  const release = { ...aRelease(), configs, liveConfigs: [] };
  const envFrom = names.map((name) => ({ configMapRef: { name } }));
  const { selector, template } = release.target.spec as { selector: object; template: PodTemplate };
  const spec = { containers: [{ name: 'app', image: 'app:1', envFrom }] };
  release.target = { ...release.target, spec: { selector, template: { ...template, spec } } };

  it.each([
    [[], ['settings', 'settings-podinfo', 'settings-podinfo-podinfo']],
    [['settings'], ['settings-podinfo', 'settings-podinfo-podinfo', 'settings-podinfo-podinfo-podinfo']],
    [['settings-podinfo-podinfo'], ['settings', 'settings-podinfo', 'settings-podinfo-podinfo-podinfo']],
  ])("is no other config's where %j are shared, and is read back from the primary", (shared, wanted) => {
    const sharedConfigs = new Set(shared.map((name) => `ConfigMap/${name}`));
    const primary = primaryObjects(aPrimarySource({ release, sharedConfigs })).workload;

    const copies = expectedCopies(primary, source({ release })).map(({ name }) => name);
    expect(copies).toEqual(wanted.map((name) => `${name}-primary`));
    expect(
      primaryObjects(aPrimarySource({ release, sharedConfigs })).configs.map(({ metadata }) => metadata.name),
    ).toEqual(copies);
  });
});
