import { type KubernetesObject, namespacedName, referenceOf } from '../../../api/kubernetes.ts';
import type { DriftView, ForeignChange } from '../../../health/workload-view.ts';
import { describeDifferences } from '../../../workload/compare/difference-text.ts';
import { allDifferences, coversApplied, differencesBy, driftOf } from '../../../workload/compare/drift.ts';
import { sharedIn } from '../../../workload/expected-copies.ts';
import { workloadKind } from '../../../workload/kinds.ts';
import { nativeWorkload } from '../../../workload/native-workload.ts';
import {
  digestAnnotation,
  promotedDigestOf,
  settingsAnnotation,
  stepShareOf,
} from '../../../workload/shared/names.ts';
import { primaryReplicas } from '../../../workload/sides.ts';
import type { ReadContext } from '../context/context.ts';
import { entryOf, type KnownPrimary } from '../context/drift-memory.ts';
import { observeCopies } from './config-copies.ts';
import { bytesOf, type ReleaseBytes } from './releases.ts';

const nothing: DriftView = { drift: undefined, configCopies: [] };
/** Differences of the primary that are reported. */
const mostFields = 5;
const mostCharacters = 80;
/** Who writes primaries. */
const manager = 'holdfast-rollout';

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
    const wantedReplicas = known && replicasOf(context, known);
    // Of one workload for both sides no config is copied.
    const isShared = context.observation.world.sharesWorkload === true;
    // While nobody knows which are there, none is said to be gone.
    const hasNone = isShared || context.observation.view.unread('copies') !== undefined;
    const configCopies = hasNone ? [] : await observeCopies(context, primary);
    return { drift, configCopies, ...(wantedReplicas === undefined ? {} : { wantedReplicas }) };
  } catch (error) {
    context.parts.log.debug({ err: error, canary: namespacedName(canary) }, 'could not look for drift');
    return nothing;
  }
}

function replicasOf({ observation }: ReadContext, { settings }: KnownPrimary): number | undefined {
  const { canary, world } = observation;
  return world.foreignTarget ? undefined : primaryReplicas({ canary, settings });
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
  const { generation } = primary.metadata;
  if (known.found?.generation === generation) return known.found?.change;
  const live = await context.parts.cluster.get(referenceOf(primary));
  if (live?.metadata.generation !== generation) return undefined;
  const change = live && foreignChange(live, applied, known.hasMatched);
  known.found = { generation, change };
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
  // Between two releases it is looked at anew until it has arrived.
  if (known.applied) entry.primary = known;
  return known;
}

function foreignChange(
  live: KubernetesObject,
  applied: KubernetesObject,
  hasMatched: boolean,
): ForeignChange | undefined {
  const drift = driftOf(live, applied, manager);
  if (drift.kind !== 'foreign' && !(drift.kind === 'gone' && hasMatched)) return undefined;
  // What was there once and is not now was changed; else only what somebody else is on record for.
  const changed = hasMatched ? allDifferences(live, applied) : differencesBy(live, applied, manager);
  const fields = describeDifferences(changed.slice(0, mostFields), { isSecret: false, mostCharacters });
  return { manager: drift.kind === 'foreign' ? drift.manager : 'unknown', fields };
}

/** The primary as its release and settings would be written; undefined where it stands between two. */
function build(
  context: ReadContext,
  primary: KubernetesObject,
  bytes: ReleaseBytes,
): KubernetesObject | undefined {
  const { parts, observation } = context;
  const { canary } = observation;
  if (observation.world.sharesWorkload) return inPlace(context, primary, bytes);
  const { selectorLabels, includeLabelPrefixes } = parts.options;
  // Which live config is tracked is not asked here: names that differ for it are in fields that we own ourselves.
  return workloadKind(canary).primary({
    ...bytes,
    canary,
    replicas: undefined,
    selectorLabels,
    includeLabelPrefixes,
    live: primary,
    liveConfigs: [],
    sharedConfigs: sharedIn(primary, { canary, release: bytes.release }),
  });
}

/** As it is without a release: at a step, and on the way back from one, each look writes what is wanted. */
function inPlace(
  { observation }: ReadContext,
  live: KubernetesObject,
  bytes: ReleaseBytes,
): KubernetesObject | undefined {
  if (promotedDigestOf(live) !== undefined || stepShareOf(live) !== undefined) return undefined;
  return nativeWorkload(
    { ...bytes, canary: observation.canary, replicas: undefined, live },
    { kind: 'whole' },
  );
}
