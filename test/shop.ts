/** What the shops of the sandbox and of the test bed have in common: one application `podinfo`, released by Git. */
import type { Canary } from '../src/api/canary/canary.ts';
import type { CanaryStatus } from '../src/api/canary/status.ts';
import { conditionOf, type KubernetesObject } from '../src/api/kubernetes.ts';
import { type DeploymentOptions, deployment } from './cluster/bed/manifests.ts';

/** Kinds of the workload `podinfo`. */
export type TargetKind = 'Deployment' | 'DaemonSet' | 'StatefulSet';

/** What of a shop may differ. */
export interface ShopOptions {
  readonly analysis?: Canary['spec']['analysis'];
  readonly postPromotion?: Canary['spec']['postPromotion'];
  readonly strategy?: unknown;
  /** How long the canary may stand still. Default 60: short ones fail on a busy machine. */
  readonly progressDeadlineSeconds?: number | undefined;
  /** The same for the primary, after promotion. Default: the canary's. */
  readonly primaryDeadlineSeconds?: number | undefined;
  /** Default gatewayapi:v1. */
  readonly provider?: Canary['spec']['provider'];
  /** Default Deployment. */
  readonly targetKind?: TargetKind;
  /** Makes the target from a Deployment, in the place of `targetKind`. */
  readonly targetOf?: (workload: KubernetesObject) => KubernetesObject;
  /** More objects in the repository. */
  readonly files?: Readonly<Record<string, unknown>>;
  /** More fields of the Canary's spec. */
  readonly spec?: Partial<Canary['spec']>;
}

/** What is its own in one release. */
export interface ReleaseOptions extends Partial<DeploymentOptions> {
  /** In the place of the shop's: how long the primary may stand still. A good release after a bad one needs more than those that fail by it. */
  readonly primaryDeadlineSeconds?: number;
  /** The same of the canary. */
  readonly canaryDeadlineSeconds?: number;
}

/** Where a shop is, and what its releases are checked by unless its options say otherwise. */
export interface ShopPlace {
  readonly host: string;
  readonly gateway: { readonly name: string; readonly namespace: string };
  readonly rate: NonNullable<Canary['spec']['analysis']['metrics']>[number];
}

/** The files of one release: the Canary as the options have it, and the workload with this image. */
export function filesOfRelease(
  place: ShopPlace,
  options: ShopOptions,
  version: string,
  { primaryDeadlineSeconds, canaryDeadlineSeconds, ...more }: ReleaseOptions,
): Record<string, string> {
  const image = `app:${version}`;
  const workload = deployment({
    ...{ name: 'podinfo', image, replicas: 2, strategy: options.strategy },
    ...more,
  });
  const objects = {
    ...options.files,
    canary: canaryOf(place, {
      ...options,
      progressDeadlineSeconds: canaryDeadlineSeconds ?? options.progressDeadlineSeconds,
      primaryDeadlineSeconds: primaryDeadlineSeconds ?? options.primaryDeadlineSeconds,
    }),
    workload: options.targetOf?.(workload) ?? ofKind(options.targetKind ?? 'Deployment', workload),
  };
  const files = Object.entries(objects).map(([name, object]) => [
    `${name}.yaml`,
    JSON.stringify(object, null, 2),
  ]);
  return Object.fromEntries(files);
}

function canaryOf({ host, gateway, rate }: ShopPlace, options: ShopOptions) {
  const { name, namespace } = gateway;
  return {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { name: 'podinfo' },
    spec: {
      provider: options.provider ?? 'gatewayapi:v1',
      targetRef: { apiVersion: 'apps/v1', kind: options.targetKind ?? 'Deployment', name: 'podinfo' },
      progressDeadlineSeconds: options.progressDeadlineSeconds ?? 60,
      service: { port: 80, targetPort: 'http', hosts: [host], gatewayRefs: [{ name, namespace }] },
      analysis: options.analysis ?? {
        interval: '2s',
        threshold: 2,
        stepWeights: [10, 40, 70],
        metrics: [rate],
      },
      postPromotion: {
        interval: '2s',
        successThreshold: 2,
        metrics: [rate],
        progressDeadlineSeconds: options.primaryDeadlineSeconds,
        ...options.postPromotion,
      },
      ...options.spec,
    },
  };
}

/** The same pods under another controller, which calls its strategy otherwise. */
function ofKind(kind: TargetKind, workload: KubernetesObject): KubernetesObject {
  if (kind === 'Deployment') return workload;
  const { replicas, strategy, ...spec } = workload.spec as Record<string, unknown>;
  const own = kind === 'StatefulSet' ? { replicas, serviceName: 'podinfo' } : {};
  return {
    ...workload,
    kind,
    spec: { ...spec, ...own, ...(strategy ? { updateStrategy: strategy } : {}) },
  };
}

/** A condition's status by its type. */
export function condition(status: CanaryStatus, type: string): string | undefined {
  return conditionOf(status, type)?.status;
}

export const isHeldByCanary = ({ postPromotion, canaryWeight }: CanaryStatus) =>
  postPromotion?.state === 'Held' && canaryWeight === 100;

export const isFailed = ({ phase, run }: CanaryStatus) => phase === 'Failed' && !run;
