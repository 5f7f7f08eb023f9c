import { type KubernetesObject, referenceOf } from '../api/kubernetes.ts';
import { driftOf, saysAll } from '../workload/drift.ts';
import { workloadKind } from '../workload/kinds.ts';
import { digestAnnotation, settingsAnnotation } from '../workload/names.ts';
import type { ReadContext } from './action-context.ts';
import { keyOf } from './checks.ts';
import type { KnownPrimary } from './drift-memory.ts';
import { bytesOf } from './releases.ts';

/**
 * The manager that changed our fields of the primary behind our back (condition Drifted); undefined when nobody did, or when it cannot be
 * told. Never throws: it is reported, and no reason to wait. Costs a request only when the primary differs, once per generation: the
 * caches keep no managers.
 */
export async function driftManager(context: ReadContext): Promise<string | undefined> {
  const { canary, primary } = context.observation;
  if (!primary?.metadata.annotations?.[digestAnnotation]) return undefined;
  try {
    return await look(context, primary);
  } catch (error) {
    context.parts.log.debug({ err: error, canary: keyOf(canary) }, 'could not look for drift');
    return undefined;
  }
}

async function look(context: ReadContext, primary: KubernetesObject): Promise<string | undefined> {
  const known = await appliedTo(context, primary);
  if (!known) return undefined;
  if (saysAll(primary, known.applied)) {
    known.hasMatched = true;
    return undefined;
  }
  const { generation } = primary.metadata;
  if (known.found?.generation === generation) return known.found?.manager;
  const live = await context.parts.cluster.get(referenceOf(primary));
  if (live?.metadata.generation !== generation) return undefined;
  const manager = foreignManager(live, known);
  known.found = { generation, manager };
  return manager;
}

async function appliedTo(context: ReadContext, primary: KubernetesObject): Promise<KnownPrimary | undefined> {
  const { drift } = context.parts;
  const key = keyOf(context.observation.canary);
  const { uid, annotations } = primary.metadata;
  const id = `${uid} ${annotations?.[digestAnnotation]} ${annotations?.[settingsAnnotation]}`;
  const before = drift.get(key);
  if (before?.id === id) return before;
  const applied = await build(context, primary);
  if (!applied) return undefined;
  const now: KnownPrimary = { id, applied, hasMatched: false };
  drift.set(key, now);
  return now;
}

function foreignManager(
  live: KubernetesObject | undefined,
  { applied, hasMatched }: KnownPrimary,
): string | undefined {
  if (!live) return undefined;
  const drift = driftOf(live, applied, 'holdfast-rollout');
  if (drift.kind === 'foreign') return drift.manager;
  return drift.kind === 'gone' && hasMatched ? 'unknown' : undefined;
}

/** The primary as its release and settings would be written; undefined while newer settings are on their way. */
async function build(context: ReadContext, primary: KubernetesObject): Promise<KubernetesObject | undefined> {
  const { parts, observation } = context;
  const { canary } = observation;
  const annotations = primary.metadata.annotations ?? {};
  const bytes = await bytesOf(context, annotations[digestAnnotation] ?? '');
  if (bytes.settingsKey !== annotations[settingsAnnotation]) return undefined;
  const { selectorLabels, includeLabelPrefixes } = parts.options;
  // Which live config is tracked, or shared, is not asked here: names that differ for it are in fields that we own ourselves.
  return workloadKind(canary).primary({
    ...bytes,
    canary,
    replicas: undefined,
    selectorLabels,
    includeLabelPrefixes,
    live: primary,
    liveConfigs: [],
    sharedConfigs: new Set(),
  });
}
