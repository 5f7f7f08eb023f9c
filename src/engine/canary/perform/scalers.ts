import {
  describe,
  isOwnedBy,
  type KubernetesObject,
  namespacedName,
  referenceOf,
  versionOf,
} from '../../../api/kubernetes.ts';
import type { Cluster } from '../../../contracts/cluster.ts';
import {
  idlePatch,
  minReplicasPatch,
  ownScaler,
  pausePatch,
  primaryScaler,
  type ScalerKind,
  type ScalerSpec,
  scalerKindOf,
  scalerNames,
} from '../../../workload/scaler.ts';
import { EngineError, StaleView } from '../../failure.ts';
import type { ActionContext, CanaryParts, Performers } from '../context/context.ts';
import { applyOfSource, applyRollout, onBehalfOfSource, partOfSource, patchRollout } from './write.ts';

/** The target's scaler and the primary's copy of it. */
export const scalerPerformers = {
  /** The target's scaler from Git, if Git holds it, then the primary's copy of it. */
  async ApplyScalers(context) {
    const { parts, observation } = context;
    const { canary } = observation;
    const kind = scalerKindOf(canary.spec);
    if (!kind) return false;
    const { own, primary } = liveScalers(context, kind);
    const inGit = parts.heads.of(namespacedName(canary)).scaler;
    const source = inGit ?? own;
    if (!source) {
      const named = `${describe(canary)}: spec.autoscalerRef: ${kind.kind} ${scalerNames(canary).canary}`;
      throw new EngineError('ScalerMissing', `${named} is in neither Git nor the cluster`, true);
    }
    const wanted = primaryScaler(kind, canary, { source, live: primary });
    const fromGit = inGit && partOfSource(context, ownScaler(kind, canary, inGit), own);
    const writer = onBehalfOfSource(context);
    let wrote = false;
    for (const [object, live] of [[fromGit, own] as const, [wanted, primary] as const]) {
      if (!object) continue;
      const apply = object === fromGit ? applyOfSource : applyRollout;
      wrote = (await apply(writer, object, live)) || wrote;
      const left = live && idlePatch(live, object);
      if (live && left) await patchAll(writer.parts.cluster, live, [left]);
    }
    return wrote;
  },

  /** minReplicas of one scaler, over exactly the version that was observed (S17). */
  SetScalerFloor: (context, { side, minReplicas }) =>
    patchScaler(context, side, (kind, scaler) => minReplicasPatch(kind, scaler, minReplicas)),

  /** KEDA's pause of a ScaledObject. */
  PauseScaler: (context, { side, paused }) =>
    patchScaler(context, side, (_kind, scaler) => pausePatch(scaler, paused)),

  /** What is left of a scaler that the Canary named before: the primary's copy is deleted, where it is this Canary's. */
  async RemoveScaler({ parts, observation }, former) {
    const { cluster } = parts;
    const [own, copy] = await readScalers(cluster, observation.canary, {
      targetRef: { kind: 'Deployment' },
      autoscalerRef: former,
    });
    // A pause stays: the target is scaled to zero, and nothing must scale it up.
    if (own) await patchAll(cluster, own.live, [minReplicasPatch(own.kind, own.live, undefined)]);
    if (!copy || !isOwnedBy(copy.live, observation.canary)) return false;
    await cluster.delete(referenceOf(copy.live), versionOf(copy.live));
    return true;
  },
} satisfies Partial<Performers>;

/** Writes both scalers as they were before a rollout, neither paused: the last chance before a Canary is deleted. */
export async function restoreScalers(
  { cluster }: Pick<CanaryParts, 'cluster'>,
  canary: KubernetesObject,
): Promise<void> {
  const found = await readScalers(cluster, canary, (canary.spec ?? {}) as ScalerSpec);
  for (const scaler of found) {
    if (!scaler) continue;
    const { kind, live } = scaler;
    await patchAll(cluster, live, [minReplicasPatch(kind, live, undefined), pausePatch(live, false)]);
  }
}

interface LiveScaler {
  readonly kind: ScalerKind;
  readonly live: KubernetesObject;
}

/** The target's scaler and the primary's, by direct reads; undefined where one does not exist, or its kind is not served. */
async function readScalers(
  cluster: Cluster,
  { metadata }: KubernetesObject,
  spec: ScalerSpec,
): Promise<Array<LiveScaler | undefined>> {
  const kind = scalerKindOf(spec);
  if (!kind || !(await cluster.kindOf(kind.apiVersion, kind.kind))) return [];
  const { canary, primary } = scalerNames({ spec });
  const { apiVersion } = kind;
  const namespace = metadata.namespace ?? '';
  const read = async (name: string) => {
    const live = await cluster.get({ apiVersion, kind: kind.kind, name, namespace });
    return live && { kind, live };
  };
  return [await read(canary), await read(primary)];
}

async function patchAll(
  cluster: Cluster,
  live: KubernetesObject,
  patches: ReadonlyArray<Record<string, unknown> | undefined>,
): Promise<void> {
  for (const patch of patches) if (patch) await cluster.patch(referenceOf(live), patch);
}

function liveScalers({ observation: { canary, view } }: ActionContext, kind: ScalerKind) {
  const names = scalerNames(canary);
  return { own: view.get(kind, names.canary), primary: view.get(kind, names.primary) };
}

async function patchScaler(
  context: ActionContext,
  side: 'canary' | 'primary',
  patchOf: (kind: ScalerKind, scaler: KubernetesObject) => Record<string, unknown> | undefined,
): Promise<boolean> {
  const kind = scalerKindOf(context.observation.canary.spec);
  const scaler = kind && liveScalers(context, kind)[side === 'canary' ? 'own' : 'primary'];
  if (!kind || !scaler) throw new StaleView('the scaler');
  const patch = patchOf(kind, scaler);
  return patch ? patchRollout(context, scaler, patch) : false;
}
