import { describe, type KubernetesObject, type ObjectReference, objectKey } from '../api/kubernetes.ts';
import type { Source } from '../api/source/source.ts';
import { formatProblem } from '../render/rendered-object.ts';
import { readEffectiveSet, type SourceReading } from '../review/diff/effective-set.ts';
import { type SourceObjectDifference, sourceDifferenceOf } from '../review/diff/source-difference.ts';
import type { Connection } from '../server/connection.ts';
import type { Comparison } from './facts.ts';

const nothing = { missing: [], created: [], changed: [], refused: [] };

/**
 * Reads what the Source would hold, as the controller does, and asks the server by a dry run what applying it would change. What keeps it from being
 * read is in the answer. Writes nothing.
 */
export async function comparisonOf(
  connection: Connection,
  source: Source,
  { inventory, ...reading }: SourceReading & { inventory: readonly ObjectReference[] },
): Promise<Comparison> {
  try {
    const set = await readEffectiveSet(connection, source, reading);
    const [first] = set.problems;
    if (first) return { ...nothing, problem: formatProblem(first) };
    const applied = new Set(set.objects.map(({ object }) => objectKey(object)));
    const nowhere = { file: '', line: 0, document: 0, items: [] };
    const objects = set.all.map((object) => ({ object, origin: nowhere }));
    const { objects: compared } = await sourceDifferenceOf(connection.client, { ...set, objects });
    const keys = set.all.map(objectKey);
    const own = new Set(keys);
    return {
      missing: inventory.filter((one) => !own.has(objectKey(one))).map(describe),
      created: compared.filter(({ state }) => state === 'missing').map(describe),
      changed: [
        ...compared.flatMap((one, index) => changesOf(one, !applied.has(keys[index] ?? ''))),
        ...set.all.flatMap(ownWays),
      ],
      refused: compared.flatMap((one) =>
        one.state === 'refused' ? [`${describe(one)}: ${one.message ?? ''}`] : [],
      ),
    };
  } catch (error) {
    return { ...nothing, problem: error instanceof Error ? error.message : String(error) };
  }
}

/** Metadata moves no pod. Of what a rollout writes only the template is Git's; pods that an autoscaler asked for are left to it. */
function changesOf(difference: SourceObjectDifference, isHeld: boolean): string[] {
  const { state, fields, changedBy } = difference;
  if (state !== 'differs') return [];
  const paths = fields
    .map(({ path }) => path)
    .filter((path) => !path.startsWith('metadata.'))
    .filter((path) => !isHeld || path.startsWith('spec.template'))
    .filter((path) => path !== 'spec.replicas' || changedBy !== 'kube-controller-manager');
  return paths.length > 0 ? [`${describe(difference)}: ${paths.slice(0, 3).join(', ')}`] : [];
}

/** What the tools do with an object otherwise than applying it, and a Source does not. Pure. */
export function ownWays(object: KubernetesObject): string[] {
  const { labels = {}, annotations = {} } = object.metadata;
  const flux = 'kustomize.toolkit.fluxcd.io';
  const marked = (key: string) => annotations[key] ?? labels[key];
  const ways = [
    ...(marked('argocd.argoproj.io/hook') === undefined ? [] : ['argocd.argoproj.io/hook']),
    // Flux takes these values in any case.
    ...(['override', undefined].includes(marked(`${flux}/ssa`)?.toLowerCase())
      ? []
      : [`${flux}/ssa: ${marked(`${flux}/ssa`)}`]),
    ...(marked(`${flux}/reconcile`)?.toLowerCase() === 'disabled' ? [`${flux}/reconcile: disabled`] : []),
  ];
  return ways.map((way) => `${describe(object)}: ${way}, and a Source would apply it like any other`);
}
