/** A workload that is rolled out in place, as it is written at each stage of a release (ADR 21). Each stage is one whole object. */
import type { Canary } from '../api/canary/canary.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { canonicalJson } from '../release/json.ts';
import { type Release, templateOf, type WorkloadSettings } from '../release/release.ts';
import { nativeKind } from './kinds.ts';
import { configStamp, primaryStamp, releaseAnnotations, stamped, stampOf } from './shared/configs.ts';
import { withoutBookkeeping } from './shared/metadata.ts';
import {
  configAnnotation,
  promotedAnnotation,
  promotedDigestOf,
  promotedStampAnnotation,
  settingsAnnotation,
  shareAnnotation,
} from './shared/names.ts';
import type { HeldFields, IncomingRelease } from './shared/native-kind.ts';
import { refuseTarget } from './shared/refusal.ts';

/** Where a release stands on the one workload. `older`: what the older pods run. */
export type Stage =
  /** It is the user's own rolling update. */
  | { readonly kind: 'whole' }
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
  const held = heldAt(source, stage);
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
        ...marks(stage, live),
        ...held?.marks,
      },
    },
    spec: {
      ...spec,
      ...(replicas === undefined ? {} : { replicas }),
      ...nativeKind(canary).settingsFields(settings),
      ...held?.spec,
      template: template.template,
    },
  };
}

function heldAt(source: NativeSource, stage: Stage): HeldFields | undefined {
  if (stage.kind === 'held') return stage.held;
  return stage.kind === 'withheld'
    ? nativeKind(source.canary).withhold(incomingRelease(source, stage))
    : undefined;
}

/** The template, and what stands for its config. */
function templateAt({ release, live }: NativeSource, stage: Stage, held: HeldFields | undefined) {
  if (held?.template !== 'promoted' || stage.kind === 'whole' || stage.kind === 'returning')
    return {
      template: stamped(templateOf(release), stampAt(stage, release, live)),
      config: configStamp(release),
    };
  const { older } = stage;
  return {
    template: stamped(templateOf(older), promotedStamp(live) || undefined),
    config: configStamp(older),
  };
}

/** Going back is to the very template that the older pods were made from: one that was taken over may carry no stamp. */
function stampAt(stage: Stage, release: Release, live: KubernetesObject | undefined): string | undefined {
  const kept = live?.metadata.annotations?.[promotedStampAnnotation];
  if (stage.kind === 'returning' && kept !== undefined) return kept === '' ? undefined : kept;
  return primaryStamp(release, live);
}

/** What the older pods carry; empty for none. */
function promotedStamp(live: KubernetesObject | undefined): string {
  const isTried = live !== undefined && promotedDigestOf(live) !== undefined;
  return (isTried ? live.metadata.annotations?.[promotedStampAnnotation] : stampOf(live)) ?? '';
}

function marks(stage: Stage, live: KubernetesObject | undefined): Record<string, string> {
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
  const isSameTemplate = isFirst && isSameIn(release, stage.older);
  return { settings, spec, replicas, live, isFirst, isSameTemplate };
}

function isSameIn(release: Release, older: Release): boolean {
  if (configStamp(release) !== configStamp(older)) return false;
  return canonicalJson(templateOf(release)) === canonicalJson(templateOf(older));
}

function refuse(source: NativeSource, stage: Stage): void {
  const unsuitable = nativeKind(source.canary).unsuitable(incomingRelease(source, stage));
  if (!unsuitable) return;
  const { field, message, isLive } = unsuitable;
  const object = (isLive ? source.live : undefined) ?? source.release.target;
  refuseTarget(object, field, message);
}
