import { type KubernetesObject, referenceOf } from '../api/kubernetes.ts';
import { driftOf, saysAll } from '../workload/drift.ts';
import { workloadKind } from '../workload/kinds.ts';
import { digestAnnotation, settingsAnnotation } from '../workload/names.ts';
import type { ActionContext } from './action-context.ts';
import { keyOf } from './checks.ts';
import { bytesOf } from './releases.ts';

/** Looks whether somebody changed a primary behind our back (condition Drifted). Reported, never a reason to wait. */
export interface DriftLook {
  /**
   * The manager that changed our fields; undefined when nobody did, or when it cannot be told. Costs a request only when the primary
   * differs, once per generation: the caches keep no managers.
   */
  managerOf(context: ActionContext): Promise<string | undefined>;
  forget(canaryKey: string): void;
}

interface Known {
  readonly id: string;
  readonly applied: KubernetesObject;
  /** The primary said all of it once: what is missing later was taken away, and is not what the server never took. */
  hasMatched: boolean;
  found?: { readonly generation: unknown; readonly manager: string | undefined };
}

/** Nothing looked at yet. */
export function createDriftLook(): DriftLook {
  const known = new Map<string, Known>();

  async function appliedTo(context: ActionContext, primary: KubernetesObject): Promise<Known | undefined> {
    const key = keyOf(context.observation.canary);
    const { uid, annotations } = primary.metadata;
    const id = `${uid} ${annotations?.[digestAnnotation]} ${annotations?.[settingsAnnotation]}`;
    const before = known.get(key);
    if (before?.id === id) return before;
    const applied = await build(context, primary);
    if (!applied) return undefined;
    const now: Known = { id, applied, hasMatched: false };
    known.set(key, now);
    return now;
  }

  async function look(context: ActionContext, primary: KubernetesObject): Promise<string | undefined> {
    const state = await appliedTo(context, primary);
    if (!state) return undefined;
    if (saysAll(primary, state.applied)) {
      state.hasMatched = true;
      return undefined;
    }
    const { generation } = primary.metadata;
    if (state.found?.generation === generation) return state.found?.manager;
    const live = await context.parts.cluster.get(referenceOf(primary));
    if (live?.metadata.generation !== generation) return undefined;
    const manager = foreignManager(live, state);
    state.found = { generation, manager };
    return manager;
  }

  return {
    async managerOf(context) {
      const { primary } = context.observation;
      if (!primary?.metadata.annotations?.[digestAnnotation]) return undefined;
      try {
        return await look(context, primary);
      } catch (error) {
        const canary = keyOf(context.observation.canary);
        context.parts.log.debug({ err: error, canary }, 'could not look for drift');
        return undefined;
      }
    },
    forget: (canaryKey) => void known.delete(canaryKey),
  };
}

function foreignManager(
  live: KubernetesObject | undefined,
  { applied, hasMatched }: Known,
): string | undefined {
  if (!live) return undefined;
  const drift = driftOf(live, applied, 'holdfast-rollout');
  if (drift.kind === 'foreign') return drift.manager;
  return drift.kind === 'gone' && hasMatched ? 'unknown' : undefined;
}

/** The primary as its release and settings would be written; undefined while newer settings are on their way. */
async function build(
  context: ActionContext,
  primary: KubernetesObject,
): Promise<KubernetesObject | undefined> {
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
