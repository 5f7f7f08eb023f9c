import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import {
  canary,
  condition,
  configMap,
  deployment,
  eventually,
  sourceFor,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { fieldsOfHoldfast, otherTool } from './other-tool.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

const fluxLabels = {
  'kustomize.toolkit.fluxcd.io/name': 'apps',
  'kustomize.toolkit.fluxcd.io/namespace': 'flux-system',
};

/** As Flux applies a manifest of the tree. */
function labelled(manifest: string): string {
  const object = JSON.parse(manifest) as KubernetesObject;
  const labels = { ...object.metadata.labels, ...fluxLabels };
  return JSON.stringify({ ...object, metadata: { ...object.metadata, labels } });
}

function managersOf(object: KubernetesObject | undefined): unknown[] {
  const entries = (object?.metadata.managedFields ?? []) as Array<{ manager: string }>;
  return entries.map(({ manager }) => manager);
}

async function adopting(spec: Record<string, unknown> = {}): Promise<void> {
  const source = sourceFor(bed, spec);
  const annotations = { 'holdfast.dev/adopt-from': 'Kustomization/flux-system/apps' };
  const { status } = await bed.send('POST', '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources', {
    ...source,
    metadata: { ...source.metadata, annotations },
  });
  expect(status).toBe(201);
}

async function podUids(): Promise<string[]> {
  const { body } = await bed.send('GET', '/api/v1/namespaces/shop/pods');
  return (body as { items: KubernetesObject[] }).items.map(({ metadata }) => metadata.uid ?? '').sort();
}

const untilApplied = (commit: string) =>
  eventually('applied', async () => statusOf(await bed.source()).appliedCommit === commit, {
    seen: bed.source,
  });

describe('a Source with holdfast.dev/adopt-from', () => {
  test('takes over what that Kustomization applies: no pod restarts, and what leaves Git goes', async () => {
    const files = {
      'web.json': deployment('shop/web:1', { env: { MODE: 'fast', OLD: '1' } }),
      'settings.json': configMap('settings', { mode: 'fast', old: '1' }),
    };
    await otherTool(bed).apply(...Object.values(files).map(labelled));
    await eventually('pods', async () => (await podUids()).length === 2);
    const before = await podUids();
    const first = await bed.commit('first', files);
    await adopting();
    await bed.start();
    await untilApplied(first);

    const taken = [
      await bed.get('apps/v1', 'Deployment', 'web'),
      await bed.get('v1', 'ConfigMap', 'settings'),
    ];
    for (const object of taken) {
      expect(object?.metadata.labels).not.toHaveProperty(['kustomize.toolkit.fluxcd.io/name']);
      expect(object?.metadata.labels).toHaveProperty(['applyset.kubernetes.io/part-of']);
      const managers = managersOf(object);
      expect(managers).toContain('holdfast');
      expect(managers).not.toContain('kustomize-controller');
    }
    expect(await podUids()).toEqual(before);

    const second = await bed.commit('less', { 'settings.json': configMap('settings', { mode: 'fast' }) });
    await untilApplied(second);
    expect((await bed.get('v1', 'ConfigMap', 'settings'))?.data).toEqual({ mode: 'fast' });
    expect(condition(await bed.source(), 'Drifted')?.status).not.toBe('True');
    expect(await podUids()).toEqual(before);
  });

  test('leaves what another Kustomization applies to it', async () => {
    const files = { 'settings.json': configMap('settings', { mode: 'fast' }) };
    const other = labelled(files['settings.json']).replace('"apps"', '"infra"');
    await otherTool(bed).apply(other);
    await bed.commit('first', files);
    await adopting();
    await bed.start();
    const applied = async () => condition(await bed.source(), 'Applied');
    await eventually('refused', async () => (await applied())?.message.includes('flux-system/infra'), {
      seen: bed.source,
    });
    expect(fieldsOfHoldfast(await bed.get('v1', 'ConfigMap', 'settings'))).toEqual([]);
  });

  test('takes over the target of a Canary that was released beside that tool', async () => {
    const files = { 'web.json': deployment('shop/web:1', { env: { OLD: '1' } }), 'canary.json': canary() };
    await otherTool(bed).apply(...Object.values(files).map(labelled));
    await bed.start();
    await waitForPhase(bed, 'Initialized');
    await eventually('primary', async () => (await podUids()).length >= 2);
    await eventually('at rest', async () => {
      const target = await bed.get('apps/v1', 'Deployment', 'web');
      return statusOf(target).replicas === 0 || statusOf(target).replicas === undefined;
    });
    const before = await podUids();
    const digest = statusOf(await bed.canary()).lastAppliedSpec;
    const first = await bed.commit('first', files);
    await adopting();
    await untilApplied(first);
    await eventually('the mark is gone', async () => {
      const target = await bed.get('apps/v1', 'Deployment', 'web');
      return target && !target.metadata.labels?.['kustomize.toolkit.fluxcd.io/name'];
    });
    await bed.pass(20_000);
    expect(await podUids()).toEqual(before);
    expect(statusOf(await bed.canary())).toMatchObject({ phase: 'Initialized' });
    expect(digest).toBeDefined();

    await bed.commit('two', { 'web.json': deployment('shop/web:2') });
    await waitForPhase(bed, 'Succeeded');
    const primary = await bed.get('apps/v1', 'Deployment', 'web-primary');
    const target = await bed.get('apps/v1', 'Deployment', 'web');
    expect(JSON.stringify([primary?.spec, target?.spec])).not.toContain('OLD');
    expect(JSON.stringify(primary?.spec)).toContain('shop/web:2');
  });
});
