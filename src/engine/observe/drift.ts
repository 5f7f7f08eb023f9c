import { type KubernetesObject, referenceOf } from '../../api/kubernetes.ts';
import type { DriftView, ForeignChange } from '../../rollout/drift-view.ts';
import { differencesOf } from '../../workload/covers.ts';
import { contentOf, driftOf, saysAll } from '../../workload/drift.ts';
import { sharedIn } from '../../workload/expected-copies.ts';
import { inWords } from '../../workload/field-differences.ts';
import { workloadKind } from '../../workload/kinds.ts';
import { digestAnnotation, settingsAnnotation } from '../../workload/names.ts';
import { promotedOf, shareOf } from '../../workload/native/marks.ts';
import { nativeWorkload } from '../../workload/native/native-workload.ts';
import { keyOf } from '../canary/checks.ts';
import type { ReadContext } from '../perform/action-context.ts';
import { observeCopies } from './config-copies.ts';
import { entryOf, type KnownPrimary } from './drift-memory.ts';
import { bytesOf, type ReleaseBytes } from './releases.ts';

const nothing: DriftView = { drift: undefined, configCopies: [] };
/** Differences of the primary that are told. */
const mostFields = 5;
const mostCharacters = 80;

/**
 * What of the primary is not as it was written: fields that another manager changed, and copies of its config. Nothing where it cannot be
 * told; never throws: what cannot be read is no reason to wait. Costs requests only when the primary or a copy changed, once per version:
 * the caches keep no managers, and no content of config.
 */
export async function primaryDrift(context: ReadContext): Promise<DriftView> {
  const { canary, primary } = context.observation;
  // A revision cannot be changed.
  if (workloadKind(canary).sides === 'revisions') return nothing;
  if (!primary?.metadata.annotations?.[digestAnnotation]) return nothing;
  try {
    const drift = await look(context, primary);
    // Of one workload for both sides no config is copied.
    const isShared = context.observation.world.sharesWorkload === true;
    return { drift, configCopies: isShared ? [] : await observeCopies(context, primary) };
  } catch (error) {
    context.parts.log.debug({ err: error, canary: keyOf(canary) }, 'could not look for drift');
    return nothing;
  }
}

async function look(context: ReadContext, primary: KubernetesObject): Promise<ForeignChange | undefined> {
  const known = await appliedTo(context, primary);
  if (!known) return undefined;
  if (saysAll(primary, known.applied)) {
    known.hasMatched = true;
    return undefined;
  }
  const { generation } = primary.metadata;
  if (known.found?.generation === generation) return known.found?.change;
  const live = await context.parts.cluster.get(referenceOf(primary));
  if (live?.metadata.generation !== generation) return undefined;
  const change = foreignChange(live, known);
  known.found = { generation, change };
  return change;
}

async function appliedTo(context: ReadContext, primary: KubernetesObject): Promise<KnownPrimary | undefined> {
  const entry = entryOf(context.parts.drift, keyOf(context.observation.canary));
  const { uid, annotations } = primary.metadata;
  const id = `${uid} ${annotations?.[digestAnnotation]} ${annotations?.[settingsAnnotation]}`;
  if (entry.primary?.id === id) return entry.primary;
  const applied = await build(context, primary);
  if (!applied) return undefined;
  entry.primary = { id, applied, hasMatched: false };
  return entry.primary;
}

function foreignChange(
  live: KubernetesObject | undefined,
  { applied, hasMatched }: KnownPrimary,
): ForeignChange | undefined {
  if (!live) return undefined;
  const drift = driftOf(live, applied, 'holdfast-rollout');
  if (drift.kind !== 'foreign' && !(drift.kind === 'gone' && hasMatched)) return undefined;
  const fields = inWords(differencesOf(live, contentOf(applied)).slice(0, mostFields), {
    isSecret: false,
    mostCharacters,
  });
  return { manager: drift.kind === 'foreign' ? drift.manager : 'unknown', fields };
}

/** The primary as its release and settings would be written; undefined while newer settings are on their way. */
async function build(context: ReadContext, primary: KubernetesObject): Promise<KubernetesObject | undefined> {
  const { parts, observation } = context;
  const { canary } = observation;
  const annotations = primary.metadata.annotations ?? {};
  const bytes = await bytesOf(context, annotations[digestAnnotation] ?? '');
  if (bytes.settingsKey !== annotations[settingsAnnotation]) return undefined;
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
  if (promotedOf(live) !== undefined || shareOf(live) !== undefined) return undefined;
  return nativeWorkload(
    { ...bytes, canary: observation.canary, replicas: undefined, live },
    { kind: 'whole' },
  );
}
