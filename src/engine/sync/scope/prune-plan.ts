/** What becomes of the objects of a Source that Git does not hold any more. Pure: decided from what was read, done by prune.ts. */
import {
  controllerOf,
  describe,
  type KubernetesObject,
  objectKey,
  takenOverAnnotation,
} from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import { configKeysOf, hasNameOfCanary, isCanary, objectsOfCanary } from './canary-objects.ts';
import { type SourceRights, whyNotAllowed } from './permissions.ts';

/** Everything the decision depends on. */
export interface PruneInput {
  readonly source: Source;
  /** How Holdfast was started; absent: not known here. */
  readonly rights?: SourceRights;
  /** Live objects with the Source's label, going ones included. */
  readonly members: readonly KubernetesObject[];
  /** `objectKey` of everything in the commit, also what rollouts write. */
  readonly wanted: ReadonlySet<string>;
  /** `objectKey` of config that a release other than head's needs. */
  readonly keep: ReadonlySet<string>;
  /** Canaries of the cluster. */
  readonly canaries: readonly KubernetesObject[];
  /** A person approved the deletion of all that needs it now (`asked`); `going` is all that goes with this commit. */
  readonly isApproved: (asked: readonly KubernetesObject[], going: readonly KubernetesObject[]) => boolean;
  /** Somebody else made it, with the label of what Holdfast wrote. */
  readonly isCopy: (object: KubernetesObject) => boolean;
  /** Another Source that holds an object of this `objectKey`. */
  readonly holderOf: (key: string) => string | undefined;
  /** Another Source that may hold it, of which that is not known yet. Absent: there is none. */
  readonly unknownHolderOf?: (key: string) => string | undefined;
}

/** An object that is not deleted now. */
export interface NotPruned {
  readonly object: KubernetesObject;
  readonly why: string;
}

/** What to do, and what not. */
export interface PrunePlan {
  readonly remove: readonly KubernetesObject[];
  /** Canaries whose target takes the traffic back before they go (design section 5). */
  readonly handBack: readonly KubernetesObject[];
  /** They go by themselves, or once something else has ended. */
  readonly waiting: readonly NotPruned[];
  /** They stay. */
  readonly kept: readonly NotPruned[];
  /** They go when a person approves it. */
  readonly toApprove: readonly KubernetesObject[];
  /** Why so many need an approval; undefined: only the kinds that always do. */
  readonly guard: string | undefined;
}

type Verdict =
  | { readonly kind: 'remove' | 'handBack' }
  | { readonly kind: 'waiting' | 'kept'; readonly why: string };

/** Nothing left Git. */
export const nothingToDo: PrunePlan = {
  remove: [],
  handBack: [],
  waiting: [],
  kept: [],
  toApprove: [],
  guard: undefined,
};

/** The plan (S25, design section 5 'Scope'). */
export function planPrune(input: PruneInput): PrunePlan {
  const { members, wanted } = input;
  const leaving = members.filter((object) => !wanted.has(objectKey(object)) && !isMadeByController(object));
  if (leaving.length === 0) return nothingToDo;
  const readers = new Map(
    members
      .filter(({ kind }) => workloadKinds.has(kind))
      .flatMap((one) => configKeysOf(one, 'required').map((key) => [key, one] as const)),
  );
  const goingKeys = new Set(leaving.filter((object) => isSureToGo(object, input)).map(objectKey));
  const context: Leaving = { ...input, readers, goingKeys };
  const verdicts = leaving.map((object) => ({ object, verdict: verdictOn(object, context) }));
  const of = (...kinds: Verdict['kind'][]) =>
    verdicts.filter(({ verdict }) => kinds.includes(verdict.kind)).map(({ object }) => object);
  const withReason = (kind: 'waiting' | 'kept') =>
    verdicts.flatMap(({ object, verdict }) =>
      verdict.kind === kind && 'why' in verdict ? [{ object, why: verdict.why }] : [],
    );
  // What waits goes later with the same commit, so that it counts now: a mistake must not go in slices.
  const going = of('remove', 'handBack', 'waiting').filter(({ metadata }) => !metadata.deletionTimestamp);
  const guard = guardAgainst(going, input);
  const asked = guard === undefined ? of('remove', 'handBack').filter(needsPruneApproval) : going;
  const plan = { waiting: withReason('waiting'), kept: withReason('kept'), guard: undefined };
  const [remove, handBack] = [of('remove'), of('handBack')];
  if (asked.length === 0 || input.isApproved(asked, going))
    return { ...plan, remove, handBack, toApprove: [] };
  if (guard === undefined)
    return { ...plan, remove: remove.filter((one) => !asked.includes(one)), handBack, toApprove: asked };
  const waiting = plan.waiting.filter(({ object }) => !asked.includes(object));
  return { ...plan, waiting, remove: [], handBack: [], toApprove: asked, guard };
}

/** Why nothing at all may go without a person. */
function guardAgainst(
  going: readonly KubernetesObject[],
  { members, wanted }: PruneInput,
): string | undefined {
  if (going.length === 0) return undefined;
  if (wanted.size === 0) return 'the commit holds no object at all';
  // Those that stay although they left Git do not count: anybody can make objects with the label.
  const all = going.length + members.filter((object) => wanted.has(objectKey(object))).length;
  // So many at once may be a mistake: a wrong path, an empty branch, a renderer that gave nothing (S25).
  const isTooMany = going.length > maxObjects && going.length > all * maxShare;
  return isTooMany ? `that is more than a fifth of its ${all} objects at once` : undefined;
}

/** The input with what is looked up for each object. */
interface Leaving extends PruneInput {
  readonly goingKeys: ReadonlySet<string>;
  /** Workloads by the `objectKey` of config that their pods need. */
  readonly readers: ReadonlyMap<string, KubernetesObject>;
}

function verdictOn(object: KubernetesObject, input: Leaving): Verdict {
  const stays = whyItStays(object, input);
  if (stays !== undefined) return { kind: 'kept', why: stays };
  const waits = whyItWaits(object, input);
  if (waits !== undefined) return { kind: 'waiting', why: waits };
  if (!isCanary(object)) return { kind: 'remove' };
  const { target } = objectsOfCanary(object);
  const goesWithTarget = target !== undefined && input.goingKeys.has(target);
  return { kind: goesWithTarget ? 'remove' : 'handBack' };
}

/** It left Git, and nothing keeps it: without its Canary a target that stays would be left without pods. */
function isSureToGo(object: KubernetesObject, input: PruneInput): boolean {
  const mayStay = whyItStays(object, input) ?? input.unknownHolderOf?.(objectKey(object));
  return mayStay === undefined && !needsPruneApproval(object);
}

function whyItStays(
  object: KubernetesObject,
  { source, rights, holderOf, isCopy }: PruneInput,
): string | undefined {
  const said = optedOut(object);
  if (said !== undefined) return said;
  const { name, namespace } = source.metadata;
  if (objectKey(object) === objectKey(source)) return 'a Source does not delete itself';
  if (object.kind === 'Namespace' && object.metadata.name === namespace)
    return `Source ${namespace}/${name} lives in it`;
  const holder = holderOf(objectKey(object));
  if (holder !== undefined) return `Source ${holder} holds it`;
  const why = whyNotAllowed(source, object, rights);
  return why === undefined && isCopy(object) ? 'Holdfast did not write it, its label was copied' : why;
}

function whyItWaits(
  object: KubernetesObject,
  { canaries, keep, readers, unknownHolderOf }: Leaving,
): string | undefined {
  if (object.metadata.deletionTimestamp) {
    const finalizers = (object.metadata.finalizers ?? []).join(', ');
    return finalizers ? `is being deleted; ${finalizers} holds it` : 'is being deleted';
  }
  const key = objectKey(object);
  const holder = unknownHolderOf?.(key);
  if (holder !== undefined)
    return `Source ${holder}, which may hold it, was not read yet (suspend it if it cannot be read any more)`;
  if (keep.has(key)) return 'a release that serves or can be rolled back to needs it';
  const reader = readers.get(key);
  if (reader) return `${describe(reader)} reads it`;
  const canary = canaries.find((one) => needs(one, object, key));
  return canary && `${describe(canary)} needs it as long as it is there`;
}

const workloadKinds: ReadonlySet<string> = new Set(['CronJob', 'Deployment', 'DaemonSet', 'StatefulSet']);

/** Target, scaler, Services and routes stay until their Canary is gone: the primary keeps serving. */
function needs(canary: KubernetesObject, object: KubernetesObject, key: string): boolean {
  const { target, scaler } = objectsOfCanary(canary);
  const isTaken = object.metadata.annotations?.[takenOverAnnotation] !== undefined;
  const serves = object.kind === 'Service' || isTaken;
  return key === target || key === scaler || (serves && hasNameOfCanary(canary, object));
}

/** Says of one object whether it may be deleted: `disabled` never, `enabled` without asking, also where its kind would ask. */
const pruneAnnotation = 'holdfast.dev/prune';

/** Kinds that take other people's data with them: each needs the annotation, or an approval of the commit. */
const kindsWithData: ReadonlySet<string> = new Set([
  'Namespace',
  'PersistentVolumeClaim',
  'PersistentVolume',
  'CustomResourceDefinition',
]);

/** Flux's and Argo CD's and Helm's own ways to say it are respected, so that no manifest has to be edited for a migration. */
export function optedOut({ metadata }: Pick<KubernetesObject, 'metadata'>): string | undefined {
  const { annotations = {}, labels = {} } = metadata;
  const said = annotations[pruneAnnotation];
  if (said === 'disabled' || said === 'false') return `${pruneAnnotation}: ${said}`;
  const flux = 'kustomize.toolkit.fluxcd.io/prune';
  // Flux takes it in any case.
  if ([annotations[flux], labels[flux]].some((value) => value?.toLowerCase() === 'disabled'))
    return `${flux}: disabled`;
  if (argoOptions(annotations).includes('Prune=false')) return `${argoKey}: Prune=false`;
  const helm = 'helm.sh/resource-policy';
  return annotations[helm] === 'keep' ? `${helm}: keep` : undefined;
}

const argoKey = 'argocd.argoproj.io/sync-options';

function argoOptions(annotations: Readonly<Record<string, string>> = {}): string[] {
  return (annotations[argoKey] ?? '').split(',').map((option) => option.trim());
}

/** The object takes more with it than itself, or is to be asked for as under Argo CD, and no annotation says that it may be deleted. */
export function needsPruneApproval({ kind, metadata }: Pick<KubernetesObject, 'kind' | 'metadata'>): boolean {
  const isAskedFor = kindsWithData.has(kind) || argoOptions(metadata.annotations).includes('Prune=confirm');
  return isAskedFor && metadata.annotations?.[pruneAnnotation] !== 'enabled';
}

/** A controller made it and copied the labels of what it was made for, as EndpointSlices carry those of their Service. */
export function isMadeByController(object: Pick<KubernetesObject, 'kind' | 'metadata'>): boolean {
  return object.kind === 'Endpoints' || controllerOf(object) !== undefined;
}

/** More than this share of the objects at once is asked for (S25)... */
const maxShare = 0.2;
/** ...where it is more than so many. */
const maxObjects = 10;
