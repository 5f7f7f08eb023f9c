/** Which copies of ConfigMaps and Secrets the pods of a primary need, and their content. */
import type { Canary } from '../api/canary/canary.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { isTracked, type Release } from '../release/release.ts';
import { configCopies, configKey, configKeysIn } from './shared/configs.ts';
import { copyName } from './shared/metadata.ts';

/** A copy that must be there. */
export interface ExpectedCopy {
  readonly kind: 'ConfigMap' | 'Secret';
  readonly name: string;
  /** As it is written; undefined where the original is in no release, so that its values are whatever the cluster had. */
  readonly written: KubernetesObject | undefined;
  /** Name of the original that is in no release. */
  readonly original?: string;
}

/** What the copies are made of. */
export interface ExpectedCopiesSource {
  readonly canary: Canary;
  readonly release: Release;
  readonly includeLabelPrefixes: readonly string[];
}

/**
 * The copies that a live primary of this release needs. Their names, and which live config is tracked, are read from its pod
 * template. Throws RefusedError.
 */
export function expectedCopies(primary: KubernetesObject, source: ExpectedCopiesSource): ExpectedCopy[] {
  const { canary, release, includeLabelPrefixes } = source;
  const sharedConfigs = sharedIn(primary, source);
  const written = configCopies({ canary, release, liveConfigs: [], sharedConfigs, includeLabelPrefixes });
  const live = liveCopies(primary, { canary, release }).filter(({ optional }) => !optional);
  return [
    ...written.map((copy) => ({
      kind: copy.kind as ExpectedCopy['kind'],
      name: copy.metadata.name,
      written: copy,
    })),
    ...live.map(({ kind, name, original }) => ({ kind, name, written: undefined, original })),
  ];
}

/** The copies of config outside Git that the pods of a live primary read; without an `optional` one they start, too. */
export function liveCopies(
  primary: KubernetesObject,
  { canary, release }: Pick<ExpectedCopiesSource, 'canary' | 'release'>,
): Array<Pick<ExpectedCopy, 'kind' | 'name'> & { readonly original: string; readonly optional: boolean }> {
  const named = configKeysIn(primary);
  const shared = sharedIn(primary, { canary, release });
  return release.liveConfigs
    .map(({ kind, name, optional }) => ({
      kind,
      name: copyName(canary, name, shared.has(configKey(kind, name))),
      original: name,
      optional,
    }))
    .filter(({ kind, name }) => named.has(configKey(kind, name)));
}

/**
 * Keys of the configs whose copy carries the target's name, since another Canary tracks them too: read from the primary's template. The copy of
 * `settings-web` may have the very name that a copy of `settings` has there: longer names are read first.
 */
export function sharedIn(
  primary: KubernetesObject,
  { canary, release }: Pick<ExpectedCopiesSource, 'canary' | 'release'>,
): Set<string> {
  const named = configKeysIn(primary);
  const configs = [
    ...release.configs.filter(isTracked).map(({ kind, metadata }) => ({ kind, name: metadata.name })),
    ...release.liveConfigs,
  ];
  const shared = new Set<string>();
  const others = new Set<string>();
  for (const { kind, name } of configs.toSorted((left, right) => right.name.length - left.name.length)) {
    const key = configKey(kind, name);
    const copy = configKey(kind, copyName(canary, name, true));
    if (named.has(copy) && !others.has(copy)) shared.add(key);
    else if (!named.has(key)) others.add(configKey(kind, copyName(canary, name, false)));
  }
  return shared;
}

/**
 * Keys of live configs that the primary uses under their own names, so they were not tracked when it was written. This is known also for objects
 * that do not exist any more.
 */
export function untrackedIn(
  primary: KubernetesObject,
  { canary, release }: Pick<ExpectedCopiesSource, 'canary' | 'release'>,
): Set<string> {
  const named = configKeysIn(primary);
  const shared = sharedIn(primary, { canary, release });
  const keys = release.liveConfigs.flatMap(({ kind, name }) => {
    const key = configKey(kind, name);
    const copy = configKey(kind, copyName(canary, name, shared.has(key)));
    return named.has(key) && !named.has(copy) ? [key] : [];
  });
  return new Set(keys);
}
