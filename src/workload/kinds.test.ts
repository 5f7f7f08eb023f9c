import { describe, expect, it } from 'vitest';
import { untrackedIn } from './expected-copies.ts';
import { canaryObjects, primaryObjects, primaryReplicas, watchedKinds } from './kinds.ts';
import { aCanary, aLiveSecret, aPrimarySource, aRelease, aTarget } from './shared/fixtures.test-support.ts';

const keepAway = {
  'argocd.argoproj.io/compare-options': 'IgnoreExtraneous',
  'argocd.argoproj.io/sync-options': 'Prune=false',
  'helm.toolkit.fluxcd.io/driftDetection': 'disabled',
  'kustomize.toolkit.fluxcd.io/reconcile': 'disabled',
};
const ofRelease = {
  'holdfast.dev/digest': 'v1:0123abcd',
  'holdfast.dev/commit': '0123456789012345678901234567890123456789',
};
const owner = {
  apiVersion: 'flagger.app/v1beta1',
  kind: 'Canary',
  name: 'podinfo',
  uid: 'canary-uid',
  controller: true,
  blockOwnerDeletion: true,
};
const defaults = {
  strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } },
  minReadySeconds: 0,
  progressDeadlineSeconds: 600,
  revisionHistoryLimit: 10,
};

describe('the primary side', () => {
  it('is the config copies and the primary, complete', () => {
    const objects = primaryObjects(aPrimarySource());

    expect(objects).toEqual({
      missing: [],
      unwanted: [],
      configs: [
        {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: {
            name: 'podinfo-config-primary',
            namespace: 'shop',
            labels: { 'holdfast.dev/canary': 'podinfo' },
            annotations: { ...keepAway, ...ofRelease },
            ownerReferences: [owner],
          },
          data: { color: 'blue' },
          binaryData: { logo: 'AAEC' },
        },
        {
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: {
            name: 'podinfo-secret-primary',
            namespace: 'shop',
            labels: { 'holdfast.dev/canary': 'podinfo' },
            annotations: { ...keepAway, ...ofRelease },
            ownerReferences: [owner],
          },
          type: 'Opaque',
          data: { token: 'c2VjcmV0' },
        },
      ],
      workload: {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: {
          name: 'podinfo-primary',
          namespace: 'shop',
          labels: { app: 'podinfo-primary', 'holdfast.dev/canary': 'podinfo' },
          annotations: {
            owner: 'store@example.com',
            ...keepAway,
            ...ofRelease,
            'holdfast.dev/settings': 'settings-1',
          },
          ownerReferences: [owner],
        },
        spec: {
          replicas: 3,
          ...defaults,
          selector: { matchLabels: { app: 'podinfo-primary' } },
          template: {
            metadata: {
              labels: { app: 'podinfo-primary', tier: 'web' },
              annotations: { 'prometheus.io/scrape': 'true' },
            },
            spec: {
              containers: [
                {
                  name: 'podinfod',
                  image: 'example.com/podinfo:6.0.0',
                  ports: [{ name: 'http', containerPort: 9898 }],
                  env: [
                    {
                      name: 'COLOR',
                      valueFrom: { configMapKeyRef: { name: 'podinfo-config-primary', key: 'color' } },
                    },
                  ],
                  envFrom: [
                    { secretRef: { name: 'podinfo-secret-primary' } },
                    { configMapRef: { name: 'shared' } },
                  ],
                },
              ],
              volumes: [{ name: 'config', configMap: { name: 'podinfo-config-primary' } }],
            },
          },
        },
      },
    });
  });

  it('gives the same pod template for another commit with the same content, so that no pod restarts', () => {
    const other = {
      ...aRelease(),
      digest: 'v1:ffff',
      commit: { ...aRelease().commit, commit: 'f'.repeat(40) },
    };

    const templates = [aPrimarySource(), aPrimarySource({ release: other })].map(
      (source) => (primaryObjects(source).workload.spec as { template: unknown }).template,
    );

    expect(templates[1]).toEqual(templates[0]);
  });

  it('takes over labels with the wanted prefixes, but never those of other tools', () => {
    const { workload } = primaryObjects(aPrimarySource({ includeLabelPrefixes: ['*'] }));

    expect(workload.metadata.labels).toEqual({
      team: 'store',
      app: 'podinfo-primary',
      'holdfast.dev/canary': 'podinfo',
    });
  });

  it('names copies by target where two Canaries share a config', () => {
    const { configs, workload } = primaryObjects(
      aPrimarySource({ sharedConfigs: new Set(['ConfigMap/podinfo-config']) }),
    );

    expect(configs.map(({ metadata }) => metadata.name)).toEqual([
      'podinfo-config-podinfo-primary',
      'podinfo-secret-primary',
    ]);
    expect(JSON.stringify(workload)).toContain('"configMap":{"name":"podinfo-config-podinfo-primary"}');
  });

  it('leaves a config alone that says it is shared, or that is a Secret of a generated type', () => {
    const release = aRelease();
    release.configs[0]!.metadata.annotations = { 'flagger.app/config-tracking': 'disabled' };
    const token = { ...aLiveSecret(), type: 'kubernetes.io/service-account-token' };

    const { configs, workload } = primaryObjects(aPrimarySource({ release, liveConfigs: [token] }));

    expect(configs).toEqual([]);
    expect(JSON.stringify(workload)).toContain('"configMap":{"name":"podinfo-config"}');
    expect(JSON.stringify(workload)).toContain('"secretRef":{"name":"podinfo-secret"}');
  });

  it('reports a live config that does not exist and still points the primary at its copy', () => {
    const { configs, missing, workload } = primaryObjects(aPrimarySource({ liveConfigs: [] }));

    expect(missing).toEqual([{ kind: 'Secret', name: 'podinfo-secret' }]);
    expect(configs.map(({ metadata }) => metadata.name)).toEqual(['podinfo-config-primary']);
    expect(JSON.stringify(workload)).toContain('podinfo-secret-primary');
  });

  it.each([
    ['that the primary used under its own name', true],
    ['that the primary used as a copy', false],
  ])('remembers of a live config that is gone now whether it was tracked: one %s', (_, isUntracked) => {
    const optedOut = { ...aLiveSecret() };
    if (isUntracked)
      optedOut.metadata = {
        ...optedOut.metadata,
        annotations: { 'flagger.app/config-tracking': 'disabled' },
      };
    const live = primaryObjects(aPrimarySource({ liveConfigs: [optedOut] })).workload;
    const untracked = untrackedIn(live, { canary: aCanary(), release: aRelease() });

    const { workload } = primaryObjects(aPrimarySource({ live, liveConfigs: [], untracked }));

    const name = isUntracked ? 'podinfo-secret' : 'podinfo-secret-primary';
    expect(JSON.stringify(workload)).toContain(`"secretRef":{"name":"${name}"}`);
  });

  it('refuses a copy whose name the workload already uses', () => {
    const release = aRelease();
    release.configs.push({ ...release.configs[0]!, metadata: { name: 'podinfo-config-primary' } });

    expect(() => primaryObjects(aPrimarySource({ release }))).toThrow(
      "ConfigMap shop/podinfo-config: metadata.name: the primary's copy would be ConfigMap podinfo-config-primary",
    );
  });

  it('refuses a primary that belongs to another controller, and accepts its own from an earlier Canary', () => {
    const live = primaryObjects(aPrimarySource()).workload;
    const ownedBy = (name: string) => ({
      ...live,
      metadata: { ...live.metadata, ownerReferences: [{ ...owner, name, uid: 'another' }] },
    });

    expect(() => primaryObjects(aPrimarySource({ live: ownedBy('other') }))).toThrow(
      'Deployment shop/podinfo-primary: metadata.ownerReferences: belongs to Canary other, not to Canary shop/podinfo',
    );
    expect(primaryObjects(aPrimarySource({ live: ownedBy('podinfo') })).workload).toEqual(live);
  });

  it('refuses a primary with another selector before any config is written', () => {
    const live = primaryObjects(aPrimarySource()).workload;
    const other = { ...live, spec: { selector: { matchLabels: { app: 'x' } } } };

    expect(() => primaryObjects(aPrimarySource({ live: other }))).toThrow(
      'spec.selector.matchLabels: must be exactly app: podinfo-primary',
    );
  });

  it('refuses a target that no selector label distinguishes, naming the field', () => {
    const target = aTarget();
    Object.assign(target.spec as object, { selector: { matchLabels: { tier: 'web' } } });

    expect(() => primaryObjects(aPrimarySource({ release: aRelease(target) }))).toThrow(
      'Deployment shop/podinfo: spec.selector.matchLabels: needs one of the labels app, name, app.kubernetes.io/name',
    );
  });

  it('refuses a target kind it has no builder for', () => {
    const canary = aCanary({ targetRef: { apiVersion: 'apps/v1', kind: 'CronJob' as never, name: 'db' } });

    expect(() => primaryObjects(aPrimarySource({ canary }))).toThrow(
      'spec.targetRef.kind: CronJob db cannot',
    );
  });

  it('makes no copy of a StatefulSet, and says what rolls it out', () => {
    const canary = aCanary({ targetRef: { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db' } });

    expect(() => primaryObjects(aPrimarySource({ canary }))).toThrow('use provider native');
  });

  it('writes Recreate without the rolling update that the API server once filled in', () => {
    const { workload } = primaryObjects(aPrimarySource({ settings: { strategy: { type: 'Recreate' } } }));

    expect(workload.spec).toMatchObject({ strategy: { type: 'Recreate', rollingUpdate: null } });
  });
});

describe('the canary side', () => {
  it('is the config under its own name and the target as in Git with our replicas and annotations', () => {
    const target = aTarget();
    const release = aRelease(target);
    release.configs.push({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'in-git', namespace: 'shop', uid: 'stale', resourceVersion: '1' },
      stringData: { key: 'ü' },
      immutable: true,
    });

    const objects = canaryObjects({
      ...aPrimarySource({ release }),
      replicas: 1,
      settings: { minReadySeconds: 5 },
    });

    expect(objects.configs).toEqual([
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'podinfo-config', namespace: 'shop', labels: { team: 'store' } },
        data: { color: 'blue' },
        binaryData: { logo: 'AAEC' },
      },
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'in-git', namespace: 'shop' },
        data: { key: 'w7w=' },
        immutable: true,
      },
    ]);
    expect(objects.workload).toEqual({
      ...target,
      metadata: {
        ...target.metadata,
        annotations: { ...target.metadata.annotations, ...ofRelease, 'holdfast.dev/settings': 'settings-1' },
      },
      spec: { ...(target.spec as object), ...defaults, replicas: 1, minReadySeconds: 5 },
    });
  });
});

describe('replicas of the primary', () => {
  it.each([
    [{ replicas: 4 }, undefined, 4],
    [{ replicas: 0 }, undefined, 1],
    [{}, undefined, undefined],
    [
      { replicas: 4 },
      { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler' as const, name: 'hpa' },
      undefined,
    ],
  ])('are for %o with scaler %o: %s', (settings, autoscalerRef, expected) => {
    expect(primaryReplicas({ canary: aCanary(autoscalerRef ? { autoscalerRef } : {}), settings })).toBe(
      expected,
    );
  });
});

it('the apiVersion of a target tells the Services of Knative from those of Kubernetes, and nothing else, as in Flagger', () => {
  const first = (apiVersion: string, kind: string) => watchedKinds({ apiVersion, kind })[0];
  expect(first('core/v1', 'Service')).toEqual({ apiVersion: 'v1', kind: 'Service' });
  expect(first('serving.knative.dev/v1', 'Service')?.apiVersion).toBe('serving.knative.dev/v1');
  expect(first('serving.knative.dev/v1beta1', 'Service')).toBeUndefined();
  expect(first('extensions/v1beta1', 'Deployment')).toEqual({ apiVersion: 'apps/v1', kind: 'Deployment' });
});
