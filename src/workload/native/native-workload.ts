/** A Deployment that is rolled out in place, as it is written at each stage of a release (ADR 21). Each stage is one whole object. */
import type { Canary } from '../../api/canary.ts';
import { describe, type KubernetesObject } from '../../api/kubernetes.ts';
import { type Release, templateOf, type WorkloadSettings } from '../../release/release.ts';
import { configStamp, primaryStamp, stamped, stampOf } from '../config-stamp.ts';
import { releaseAnnotations } from '../configs.ts';
import { settingsFields } from '../deployment.ts';
import { withoutBookkeeping } from '../metadata.ts';
import {
  configAnnotation,
  promotedAnnotation,
  promotedStampAnnotation,
  settingsAnnotation,
  shareAnnotation,
} from '../names.ts';
import { RefusedError } from '../refusal.ts';
import { FIRST_HOLD, type Hold } from './hold.ts';

/** Ready pods of a held Deployment never become available: a year. */
const HELD_SECONDS = 31_536_000;
/** No deadline at all; Kubernetes wants it to be longer than minReadySeconds. */
const NO_DEADLINE_SECONDS = 2_147_483_647;

/** Where a release stands on the one workload. `promoted`: digest of what the older pods run. */
export type Stage =
  /** It is the user's own rolling update. */
  | { readonly kind: 'whole' }
  /** The same, on the way back from a release that was tried. */
  | { readonly kind: 'returning' }
  /** Its template is there, and no pod of it. */
  | { readonly kind: 'brought'; readonly promoted: string }
  /** Its pods are there as far as the bounds let. */
  | { readonly kind: 'held'; readonly promoted: string; readonly weightPercent: number; readonly hold: Hold };

/** What the workload is built from. */
export interface NativeSource {
  readonly canary: Canary;
  /** Of the template; settings are those that come back when nothing is held. */
  readonly release: Release;
  readonly settings: WorkloadSettings;
  readonly settingsKey: string;
  /** Undefined leaves the number to whoever owns it. */
  readonly replicas: number | undefined;
  readonly live: KubernetesObject | undefined;
}

/** The workload at this stage, for server-side apply. Throws RefusedError for one that cannot be held at a step. */
export function nativeWorkload(source: NativeSource, stage: Stage): KubernetesObject {
  const { canary, release, settings, settingsKey, replicas, live } = source;
  const { target } = release;
  refuse(source, stage);
  const { replicas: _, ...spec } = target.spec as Record<string, unknown>;
  const { name, namespace, labels } = target.metadata;
  const stamp = configStamp(release);
  return {
    apiVersion: target.apiVersion,
    kind: target.kind,
    metadata: {
      name,
      namespace: namespace ?? canary.metadata.namespace ?? 'default',
      ...(labels ? { labels } : {}),
      annotations: {
        ...withoutBookkeeping(target.metadata.annotations),
        ...releaseAnnotations(release),
        [settingsAnnotation]: settingsKey,
        ...(stamp === undefined ? {} : { [configAnnotation]: stamp }),
        ...marks(stage, live),
      },
    },
    spec: {
      ...spec,
      ...(replicas === undefined ? {} : { replicas }),
      ...settingsFields(settings),
      ...heldFields(stage),
      template: stamped(templateOf(release), stampAt(stage, release, live)),
    },
  };
}

/** The bounds as they are written; undefined for a Deployment that is not held. */
export function holdOf({ spec }: KubernetesObject): Hold | undefined {
  const { minReadySeconds, strategy } = spec as {
    minReadySeconds?: number;
    strategy?: { rollingUpdate?: { maxSurge?: unknown; maxUnavailable?: unknown } };
  };
  if (minReadySeconds !== HELD_SECONDS) return undefined;
  const surgePercent = percentIn(strategy?.rollingUpdate?.maxSurge);
  const unavailablePercent = percentIn(strategy?.rollingUpdate?.maxUnavailable);
  return surgePercent === undefined || unavailablePercent === undefined
    ? undefined
    : { surgePercent, unavailablePercent };
}

/** The release that older pods run while another one is tried; undefined when none is. */
export function promotedOf({ metadata }: KubernetesObject): string | undefined {
  return metadata.annotations?.[promotedAnnotation];
}

/** The share of the step in percent; undefined without a release that is tried, or left. */
export function shareOf({ metadata }: KubernetesObject): number | undefined {
  const text = metadata.annotations?.[shareAnnotation];
  return text !== undefined && /^(\d{1,2}|100)$/.test(text) ? Number(text) : undefined;
}

/** Going back is to the very template that the older pods were made from: one that was taken over may carry no stamp. */
function stampAt(stage: Stage, release: Release, live: KubernetesObject | undefined): string | undefined {
  const kept = live?.metadata.annotations?.[promotedStampAnnotation];
  if (stage.kind === 'returning' && kept !== undefined) return kept === '' ? undefined : kept;
  return primaryStamp(release, live);
}

function marks(stage: Stage, live: KubernetesObject | undefined): Record<string, string> {
  if (stage.kind === 'whole') return {};
  if (stage.kind === 'returning') return { [shareAnnotation]: '0' };
  const share = stage.kind === 'held' ? stage.weightPercent : 0;
  const kept = live?.metadata.annotations?.[promotedStampAnnotation];
  const stamp = stage.kind === 'brought' ? stampOf(live) : kept;
  return {
    [promotedAnnotation]: stage.promoted,
    [promotedStampAnnotation]: stamp ?? '',
    [shareAnnotation]: String(share),
  };
}

function heldFields(stage: Stage): Record<string, unknown> {
  if (stage.kind === 'whole' || stage.kind === 'returning') return {};
  const { surgePercent, unavailablePercent } = stage.kind === 'held' ? stage.hold : FIRST_HOLD;
  const rollingUpdate = { maxSurge: `${surgePercent}%`, maxUnavailable: `${unavailablePercent}%` };
  return {
    strategy: { type: 'RollingUpdate', rollingUpdate },
    minReadySeconds: HELD_SECONDS,
    progressDeadlineSeconds: NO_DEADLINE_SECONDS,
    ...(stage.kind === 'brought' ? { paused: true } : {}),
  };
}

function percentIn(value: unknown): number | undefined {
  const text = /^(\d{1,3})%$/.exec(typeof value === 'string' ? value : '')?.[1];
  return text === undefined ? undefined : Number(text);
}

function refuse({ release, settings, replicas, live }: NativeSource, stage: Stage): void {
  const { target } = release;
  const refused = (field: string, message: string, object: KubernetesObject = target) =>
    new RefusedError({ reason: 'TargetInvalid', object: describe(object), field, message });
  if (settings.strategy?.type === 'Recreate')
    throw refused(
      'spec.strategy.type',
      'must be RollingUpdate for provider native: Recreate stops all old pods before the first new one; change it, or choose a provider that copies',
    );
  if ((target.spec as { paused?: boolean } | undefined)?.paused === true)
    throw refused(
      'spec.paused',
      'must not be set for provider native, which holds the rolling update itself',
    );
  if (live && isPausedByAnother(live))
    throw refused(
      'spec.paused',
      'somebody else paused it, and nothing is rolled out or back meanwhile: kubectl rollout resume',
      live,
    );
  const pods = replicas ?? (live?.spec as { replicas?: number } | undefined)?.replicas ?? 1;
  if (stage.kind === 'brought' && pods < 2)
    throw refused(
      'spec.replicas',
      `must be at least 2 for provider native, and is ${pods}: a share of one pod is all of it; choose a provider that copies`,
    );
}

/** Before the first step it is paused by us. */
function isPausedByAnother(live: KubernetesObject): boolean {
  const { paused } = (live.spec ?? {}) as { paused?: boolean };
  return paused === true && !(promotedOf(live) !== undefined && shareOf(live) === 0);
}
