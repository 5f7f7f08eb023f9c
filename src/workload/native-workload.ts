/** A workload that is rolled out in place, as it is written at each stage of a release (ADR 21). Each stage is one whole object. */
import type { Canary } from '../api/canary/canary.ts';
import { canonicalJson, type KubernetesObject } from '../api/kubernetes.ts';
import { type Release, templateOf, type WorkloadSettings } from '../release/release.ts';
import { nativeKind } from './kinds.ts';
import { configStamp, primaryStamp, releaseAnnotations, stamped, stampOf } from './shared/configs.ts';
import {
  configAnnotation,
  promotedAnnotation,
  promotedDigestOf,
  promotedStampAnnotation,
  settingsAnnotation,
  shareAnnotation,
  withoutBookkeeping,
} from './shared/metadata.ts';
import { refuseTarget } from './shared/refusal.ts';
import type { HeldFields, IncomingRelease, Unsuitable } from './shared/workload-kind.ts';

/** The stage of a release on the one workload. `older`: the release that the older pods run. */
export type Stage =
  /** The user's own rolling update. `isWayBack`: to a release that proved itself. */
  | { readonly kind: 'whole'; readonly isWayBack?: boolean }
  /** The same, on the way back from a release that was tried. */
  | { readonly kind: 'returning' }
  /** It is in place, and none of its pods is started yet. */
  | { readonly kind: 'withheld'; readonly older: Release }
  /** As many of its pods run as the step allows. */
  | {
      readonly kind: 'held';
      readonly older: Release;
      readonly weightPercent: number;
      readonly held: HeldFields;
    };

/** What the workload is built from. */
interface NativeSource {
  readonly canary: Canary;
  /** Of the template; settings are those that come back when nothing is held. */
  readonly release: Release;
  readonly settings: WorkloadSettings;
  readonly settingsKey: string;
  /** Undefined leaves the number to its owner, an autoscaler. */
  readonly replicas: number | undefined;
  readonly live: KubernetesObject | undefined;
}

/** The workload at this stage, for server-side apply. Throws RefusedError for one that cannot be held at a step. */
export function nativeWorkload(source: NativeSource, stage: Stage): KubernetesObject {
  const { canary, release, settings, settingsKey, replicas, live } = source;
  const { target } = release;
  const kind = nativeKind(canary);
  const incoming = incomingRelease(source, stage);
  // Settings of a proven release keep nobody at a bad one: they are written as far as they can be.
  const isWayBack = stage.kind === 'returning' || (stage.kind === 'whole' && stage.isWayBack === true);
  refuseUnsuitable(kind.unsuitable(incoming), { target, live, isWayBack });
  const { replicas: _, ...spec } = target.spec as Record<string, unknown>;
  const { name, namespace, labels } = target.metadata;
  const withheld = stage.kind === 'withheld' ? kind.withhold(incoming) : undefined;
  const held = stage.kind === 'held' ? stage.held : withheld;
  const template = templateAt(source, stage, held);
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
        ...(template.config === undefined ? {} : { [configAnnotation]: template.config }),
        ...stageAnnotations(stage, live),
        ...held?.annotations,
      },
    },
    spec: {
      ...spec,
      ...(replicas === undefined ? {} : { replicas }),
      ...kind.settingsFields(settings),
      ...held?.spec,
      template: template.template,
    },
  };
}

/** Throws RefusedError for settings alone with which no release can be held at a step. */
export function refuseSettings({
  canary,
  release,
  settings,
}: Pick<NativeSource, 'canary' | 'release' | 'settings'>): void {
  const { target } = release;
  const spec = (target.spec ?? {}) as Record<string, unknown>;
  const incoming = {
    settings,
    spec,
    replicas: undefined,
    live: undefined,
    isFirst: false,
    isSameTemplate: true,
  };
  refuseUnsuitable(nativeKind(canary).unsuitable(incoming), { target });
}

function refuseUnsuitable(
  found: Unsuitable | undefined,
  {
    target,
    live,
    isWayBack = false,
  }: { target: KubernetesObject; live?: KubernetesObject | undefined; isWayBack?: boolean },
): void {
  if (!found || (isWayBack && !found.isLive)) return;
  refuseTarget((found.isLive && live) || target, found.field, found.message);
}

/** The settings without which pods of the release that is tried would be made beyond its step; undefined: it is held at none. */
export function holdingSettings(source: NativeSource, stage: Stage): object | undefined {
  if (stage.kind !== 'withheld' && stage.kind !== 'held') return undefined;
  const held =
    stage.kind === 'held' ? stage.held : nativeKind(source.canary).withhold(incomingRelease(source, stage));
  const { replicas: _, ...settings } = held.spec;
  return settings;
}

/** The template, and the stamp of its config. */
function templateAt({ release, live }: NativeSource, stage: Stage, held: HeldFields | undefined) {
  if (held?.template !== 'promoted' || stage.kind === 'whole' || stage.kind === 'returning') {
    const promoted = live?.metadata.annotations?.[promotedStampAnnotation];
    // The way back is to exactly the template of the older pods: one that was taken over may carry no stamp.
    const stamp =
      stage.kind === 'returning' && promoted !== undefined
        ? promoted || undefined
        : primaryStamp(release, live);
    return { template: stamped(templateOf(release), stamp), config: configStamp(release) };
  }
  const { older } = stage;
  return {
    template: stamped(templateOf(older), promotedStamp(live) || undefined),
    config: configStamp(older),
  };
}

/** The stamp that the older pods carry; empty for none. */
function promotedStamp(live: KubernetesObject | undefined): string {
  const isTried = live !== undefined && promotedDigestOf(live) !== undefined;
  return (isTried ? live.metadata.annotations?.[promotedStampAnnotation] : stampOf(live)) ?? '';
}

function stageAnnotations(stage: Stage, live: KubernetesObject | undefined): Record<string, string> {
  if (stage.kind === 'whole') return {};
  if (stage.kind === 'returning') return { [shareAnnotation]: '0' };
  return {
    [promotedAnnotation]: stage.older.digest,
    [promotedStampAnnotation]: promotedStamp(live),
    [shareAnnotation]: String(stage.kind === 'held' ? stage.weightPercent : 0),
  };
}

function incomingRelease({ release, settings, replicas, live }: NativeSource, stage: Stage): IncomingRelease {
  const spec = (release.target.spec ?? {}) as Record<string, unknown>;
  const isFirst = stage.kind === 'withheld';
  const isSameTemplate =
    isFirst &&
    configStamp(release) === configStamp(stage.older) &&
    canonicalJson(templateOf(release)) === canonicalJson(templateOf(stage.older));
  return { settings, spec, replicas, live, isFirst, isSameTemplate };
}
