/** Drift: what of a Canary's primary, and of its copies of ConfigMaps and Secrets, is not as it was written. */
import { livePart } from '../../../api/commit.ts';
import {
  contentVersionOf,
  type KubernetesObject,
  namespacedName,
  referenceOf,
} from '../../../api/kubernetes.ts';
import type { ConfigCopyView, DriftView, ForeignChange } from '../../../health/workload-view.ts';
import { isFollowed, isTracked, type Release } from '../../../release/release.ts';
import { headRelease } from '../../../rollout/world.ts';
import { reportedChanges } from '../../../workload/compare/difference-text.ts';
import {
  allDifferences,
  contentOf,
  coversApplied,
  differencesBy,
  driftOf,
} from '../../../workload/compare/drift.ts';
import { rolloutManager } from '../../../workload/compare/managed-fields.ts';
import { differencesOf } from '../../../workload/compare/semantic-compare.ts';
import {
  type ExpectedCopy,
  expectedCopies,
  liveCopies,
  sharedIn,
} from '../../../workload/expected-copies.ts';
import { primaryReplicas, workloadKind } from '../../../workload/kinds.ts';
import { nativeWorkload } from '../../../workload/native-workload.ts';
import { configKey, plainConfig } from '../../../workload/shared/configs.ts';
import {
  copiedVersionAnnotation,
  digestAnnotation,
  promotedDigestOf,
  settingsAnnotation,
  stepShareOf,
} from '../../../workload/shared/metadata.ts';
import { hidingFor } from '../context/heads.ts';
import { entryOf, type KnownCopies, type KnownPrimary, type ReadContext } from '../context/observation.ts';
import { bytesOf, type ReleaseBytes } from './releases.ts';

const nothing: DriftView = { drift: undefined, configCopies: [] };

/**
 * What of the primary is not as it was written: fields that another manager changed, and copies of its config. Nothing where that is
 * unknown; never throws: what cannot be read is no reason to wait. Costs requests only when the primary or a copy changed, once per version:
 * the caches keep no managers, and no content of config.
 */
export async function primaryDrift(context: ReadContext): Promise<DriftView> {
  const { canary, primary } = context.observation;
  // A revision cannot be changed.
  if (workloadKind(canary).sides === 'revisions') return nothing;
  if (!primary?.metadata.annotations?.[digestAnnotation]) return nothing;
  try {
    const known = await primaryAsWritten(context, primary);
    const drift = known && (await findForeignChange(context, primary, known));
    const { foreignTarget, sharesWorkload } = context.observation.world;
    const wantedReplicas =
      known && !foreignTarget ? primaryReplicas({ canary, settings: known.settings }) : undefined;
    // Of one workload for both sides no config is copied: what Git has is there itself, at a step that of the release that is tried.
    const isAtStep = sharesWorkload === true && promotedDigestOf(primary) !== undefined;
    // While the copies cannot be listed, none is reported as missing.
    const isUnread = context.observation.view.unread(sharesWorkload ? 'configs' : 'copies') !== undefined;
    const hasNone = isAtStep || isUnread;
    const configCopies = hasNone ? [] : await observeCopies(context, primary);
    return { drift, configCopies, ...(wantedReplicas === undefined ? {} : { wantedReplicas }) };
  } catch (error) {
    context.parts.log.debug({ err: error, canary: namespacedName(canary) }, 'could not look for drift');
    return nothing;
  }
}

async function findForeignChange(
  context: ReadContext,
  primary: KubernetesObject,
  known: KnownPrimary,
): Promise<ForeignChange | undefined> {
  const { applied } = known;
  if (!applied) return undefined;
  if (coversApplied(primary, applied)) {
    known.hasMatched = true;
    return undefined;
  }
  const version = contentVersionOf(primary);
  if (known.found && known.found.version === version) return known.found.change;
  const live = await context.parts.cluster.get(referenceOf(primary));
  if (!live || contentVersionOf(live) !== version) return undefined;
  const drift = driftOf(live, applied, rolloutManager);
  // A field that was there once and is missing was changed; otherwise only fields that managedFields assign to another manager.
  const isForeign = drift.kind === 'foreign' || (drift.kind === 'gone' && known.hasMatched);
  const changed = known.hasMatched
    ? allDifferences(live, applied)
    : differencesBy(live, applied, rolloutManager);
  const change = isForeign ? foreignChangeOf(context, drift, { changed, isSecret: false }) : undefined;
  known.found = { version, change };
  return change;
}

/** What the primary was written from; undefined while newer settings are on their way. Bytes are read once. */
async function primaryAsWritten(
  context: ReadContext,
  primary: KubernetesObject,
): Promise<KnownPrimary | undefined> {
  const entry = entryOf(context.parts.drift, namespacedName(context.observation.canary));
  const { uid, annotations = {} } = primary.metadata;
  const id = `${uid} ${annotations[digestAnnotation]} ${annotations[settingsAnnotation]}`;
  if (entry.primary?.id === id) return entry.primary;
  const bytes = await bytesOf(context, annotations[digestAnnotation] ?? '');
  const { settings, settingsKey } = bytes;
  if (settingsKey !== annotations[settingsAnnotation]) return undefined;
  const known = { id, applied: build(context, primary, bytes), settings, hasMatched: false };
  // Between two releases nothing is remembered until the primary has arrived at one.
  if (known.applied) entry.primary = known;
  return known;
}

/** The primary as its release and settings would be written; undefined where it stands between two. */
function build(
  { parts, observation }: ReadContext,
  live: KubernetesObject,
  bytes: ReleaseBytes,
): KubernetesObject | undefined {
  const { canary, world } = observation;
  const source = { ...bytes, canary, replicas: undefined, live };
  if (world.sharesWorkload) {
    // At a step, and on the way back from one, each pass writes the workload anyway.
    if (promotedDigestOf(live) !== undefined || stepShareOf(live) !== undefined) return undefined;
    return nativeWorkload(source, { kind: 'whole', isWayBack: true });
  }
  const { selectorLabels, includeLabelPrefixes } = parts.options;
  const sharedConfigs = sharedIn(live, { canary, release: bytes.release });
  // Live config is not read here: the names that depend on it are in fields that we own ourselves.
  const config = { liveConfigs: [], sharedConfigs };
  return workloadKind(canary).primary({ ...source, ...config, selectorLabels, includeLabelPrefixes });
}

/**
 * The copies that the primary's pods need, as they are. The watch shows which exist; the content of one is read once per version, and the
 * release's bytes with it. Throws what reading throws.
 */
async function observeCopies(context: ReadContext, primary: KubernetesObject): Promise<ConfigCopyView[]> {
  const known = await copiesOf(context, primary);
  let expected: readonly ExpectedCopy[] | undefined;
  const views: ConfigCopyView[] = [];
  for (const { kind, name, original } of watchedCopies(context.observation, known)) {
    const copy = copyIn(context.observation, kind, name);
    const version = copy && `${copy.metadata.uid} ${copy.metadata.resourceVersion}`;
    const key = configKey(kind, name);
    const before = known.found.get(key);
    if (version === undefined) views.push({ kind, name, state: 'missing', drift: undefined });
    else if (isOutdated(context, copy, { kind, name: original }))
      views.push({ kind, name, state: 'outdated', drift: undefined });
    else if (before?.version === version) views.push(before.view);
    else {
      expected ??= expectedOf(context, primary, (await bytesOf(context, digestOf(primary))).release);
      const written = expected.find((copy) => copy.kind === kind && copy.name === name)?.written;
      const view = await copyView(context, { kind, name, written }, digestOf(primary));
      known.found.set(key, { version, view });
      views.push(view);
    }
  }
  for (const { kind, name, original } of known.optional) {
    const copy = context.observation.view.configCopy(kind, name);
    if (isOutdated(context, copy, { kind, name: original }))
      views.push({ kind, name, state: 'outdated', drift: undefined });
    else if (!copy && (await isTested(context, known, { kind, name: original })))
      views.push({ kind, name, state: 'missing', drift: undefined });
  }
  return views;
}

/** Config itself is watched from the first question on; until then nothing is known of it. */
function watchedCopies(
  { view, world }: ReadContext['observation'],
  { copies }: KnownCopies,
): KnownCopies['copies'] {
  if (!world.sharesWorkload) return copies;
  return copies.filter(({ kind, name }) => view.configVersion(kind, name) !== undefined);
}

/** Of one workload for both sides it is the config itself. */
function copyIn(
  { view, world }: ReadContext['observation'],
  kind: ExpectedCopy['kind'],
  name: string,
): KubernetesObject | undefined {
  return world.sharesWorkload ? view.configOriginal(kind, name) : view.configCopy(kind, name);
}

/**
 * Whether the primary's release was tested with this optional original outside Git, as it is now: what came later belongs to the next release.
 * Only the whole object tells whether it is tracked; it is read once per version while there is no copy.
 */
async function isTested(
  { parts, observation }: ReadContext,
  { untracked }: KnownCopies,
  { kind, name }: { readonly kind: ExpectedCopy['kind']; readonly name: string },
): Promise<boolean> {
  const { view, world } = observation;
  const original = view.configOriginal(kind, name);
  const [tested, current] = [world.primary?.digest, headRelease(world)?.digest].map(
    (digest) => digest && livePart(digest),
  );
  if (!original || tested === undefined || tested !== current) return false;
  const version = `${original.metadata.uid} ${original.metadata.resourceVersion}`;
  if (untracked.has(version)) return false;
  const live = await parts.cluster.get({ apiVersion: 'v1', kind, namespace: view.namespace, name });
  if (live && isTracked(live)) return true;
  untracked.add(version);
  return false;
}

async function copiesOf(context: ReadContext, primary: KubernetesObject): Promise<KnownCopies> {
  const entry = entryOf(context.parts.drift, namespacedName(context.observation.canary));
  const { uid, generation } = primary.metadata;
  const id = `${uid} ${generation} ${digestOf(primary)}`;
  if (entry.copies?.id === id) return entry.copies;
  const { release } = await bytesOf(context, digestOf(primary));
  const named = expectedOf(context, primary, release).map(({ written: _, ...copy }) => copy);
  const { canary, world } = context.observation;
  const live = world.sharesWorkload ? [] : liveCopies(primary, { canary, release });
  const optional = live.filter((copy) => copy.optional);
  entry.copies = { id, copies: named, optional, found: new Map(), untracked: new Set() };
  return entry.copies;
}

function expectedOf(
  { parts, observation }: ReadContext,
  primary: KubernetesObject,
  release: Release,
): ExpectedCopy[] {
  if (observation.world.sharesWorkload) return release.configs.map(expectedConfig);
  const { includeLabelPrefixes } = parts.options;
  return expectedCopies(primary, { canary: observation.canary, release, includeLabelPrefixes });
}

function expectedConfig(config: KubernetesObject): ExpectedCopy {
  return {
    kind: config.kind as ExpectedCopy['kind'],
    name: config.metadata.name,
    written: plainConfig(config),
  };
}

async function copyView(
  context: ReadContext,
  { kind, name, written }: ExpectedCopy,
  digest: string,
): Promise<ConfigCopyView> {
  const { parts, observation } = context;
  const view = (state: ConfigCopyView['state']): ConfigCopyView => ({ kind, name, state, drift: undefined });
  if (!written) return view('asWritten');
  const reference = { apiVersion: 'v1', kind, namespace: observation.view.namespace, name };
  const live = await parts.cluster.get(reference);
  if (!live) return view('missing');
  const drift = driftOf(live, written, rolloutManager);
  if (drift.kind === 'none') return view('asWritten');
  // What we wrote for this very release and differs was rewritten by a webhook of the cluster: writing it again changes nothing.
  // Under its own name it has no digest, and another Canary may have it, too.
  const isWritten = observation.world.sharesWorkload || digestOf(live) === digest;
  if (drift.kind === 'own') return view(isWritten ? 'asWritten' : 'otherRelease');
  const changed = differencesOf(live, contentOf(written));
  return {
    kind,
    name,
    state: 'foreign',
    drift: foreignChangeOf(context, drift, { changed, isSecret: kind === 'Secret' }),
  };
}

/** Whether the copy follows its original outside Git, and that is newer. */
function isOutdated(
  { observation }: ReadContext,
  copy: KubernetesObject | undefined,
  { kind, name }: { kind: ExpectedCopy['kind']; name: string | undefined },
): boolean {
  const original = name === undefined ? undefined : observation.view.configOriginal(kind, name);
  if (!original || !isFollowed(original)) return false;
  return copy?.metadata.annotations?.[copiedVersionAnnotation] !== original.metadata.resourceVersion;
}

/** A change by another field manager, as the status reports it. */
function foreignChangeOf(
  { parts, observation }: ReadContext,
  drift: ReturnType<typeof driftOf>,
  { changed, isSecret }: { readonly changed: ReturnType<typeof differencesOf>; readonly isSecret: boolean },
): ForeignChange {
  const hide = hidingFor(parts.heads.of(namespacedName(observation.canary)));
  const fields = reportedChanges(changed, isSecret).map(({ path, expected, actual }) => ({
    path,
    expected: hide(expected),
    actual: actual === undefined ? undefined : hide(actual),
  }));
  return { manager: drift.kind === 'foreign' ? drift.manager : 'unknown', fields };
}

function digestOf({ metadata }: KubernetesObject): string {
  return metadata.annotations?.[digestAnnotation] ?? '';
}
