import { describe, expect, it } from 'vitest';
import type { Canary } from '../api/canary/canary.ts';
import type { KubernetesObject, PodTemplate } from '../api/kubernetes.ts';
import type { Release, WorkloadSettings } from '../release/release.ts';
import { heldBy, holdOf } from './deployment/deployment.ts';
import { nativeWorkload, type Stage } from './native-workload.ts';
import { RefusedError } from './shared/refusal.ts';

const canary = {
  metadata: { name: 'web', namespace: 'shop' },
  spec: { targetRef: { kind: 'Deployment', name: 'web' } },
} as Canary;
const settings: WorkloadSettings = {
  replicas: 4,
  strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 3, maxUnavailable: 0 } },
  minReadySeconds: 7,
  progressDeadlineSeconds: 77,
};
function release(image: string, configKey?: string, spec: object = {}): Release {
  const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'app', image }] } };
  const target = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { selector: { matchLabels: { app: 'web' } }, template, ...spec },
  };
  return { digest: image, target, configs: [], commit: { commit: 'c' }, configKey } as unknown as Release;
}

const older = release('old');
const held: Stage = {
  kind: 'held',
  older,
  weightPercent: 25,
  held: heldBy({ surgePercent: 25, unavailablePercent: 0 }),
};
const brought: Stage = { kind: 'withheld', older };

interface Change {
  readonly live?: KubernetesObject;
  readonly of?: Release;
  readonly with?: WorkloadSettings;
}

function at(
  stage: Stage,
  { live, of = release('web:2'), with: own = settings }: Change = {},
): KubernetesObject {
  const { replicas } = own;
  return nativeWorkload({ canary, release: of, settings: own, settingsKey: 'k', replicas, live }, stage);
}

function stampIn({ spec }: KubernetesObject): string | undefined {
  return (spec as { template: PodTemplate }).template.metadata?.annotations?.['flagger-id'];
}

function refusal(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof RefusedError) return error.refusal.field;
  }
  return 'not refused';
}

describe('nativeWorkload', () => {
  it('holds the rolling update by availability, and gives every setting back', () => {
    expect(at(held).spec).toMatchObject({
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '0%' } },
      progressDeadlineSeconds: 2_147_483_647,
    });
    expect(holdOf(at(held))).toEqual({ surgePercent: 25, unavailablePercent: 0 });
    for (const kind of ['whole', 'returning'] as const) {
      const { spec } = at({ kind }, { live: at(held) });
      expect(spec).toMatchObject({
        strategy: settings.strategy,
        minReadySeconds: 7,
        progressDeadlineSeconds: 77,
        replicas: 4,
      });
      expect(spec).not.toHaveProperty('paused');
    }
  });

  it('is paused only before the first step', () => {
    expect([at(brought), at(held)].map(({ spec }) => (spec as { paused?: boolean }).paused)).toEqual([
      true,
      undefined,
    ]);
  });

  it('goes back to the very template of the older pods, be they without a stamp of config', () => {
    const takenOver = at({ kind: 'whole' }, { of: release('web:1', 'one'), live: release('web:1').target });
    expect(stampIn(takenOver)).toBeUndefined();
    const next = at(brought, { of: release('web:1', 'two'), live: takenOver });
    const step = at(held, { of: release('web:1', 'two'), live: next });
    expect([stampIn(next), stampIn(step)]).toEqual(['two', 'two']);
    const back = at({ kind: 'returning' }, { of: release('web:1', 'one'), live: step });
    const rest = at({ kind: 'whole' }, { of: release('web:1', 'one'), live: back });
    expect([stampIn(back), stampIn(rest)]).toEqual([undefined, undefined]);
  });

  it('refuses what cannot be held at a step, with the field to change', () => {
    const paused = { ...release('web:1').target, spec: { paused: true } };
    expect([
      refusal(() => at(brought, { with: { ...settings, strategy: { type: 'Recreate' } } })),
      refusal(() => at(brought, { with: { ...settings, replicas: 1 } })),
      refusal(() => at({ kind: 'whole' }, { with: { ...settings, replicas: 1 } })),
      refusal(() => at(brought, { of: release('web:2', undefined, { paused: true }) })),
      refusal(() => at(brought, { live: paused })),
      refusal(() => at(held, { live: at(brought) })),
    ]).toEqual([
      'spec.strategy.type',
      'spec.replicas',
      'not refused',
      'spec.paused',
      'spec.paused',
      'not refused',
    ]);
  });
});
