/** Whose objects a Source takes over as a whole, and what that tool leaves on them. */
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import {
  inheritedFields,
  type ManagedFieldsEntry,
  managedFieldsOf,
  relinquishedFields,
} from '../../../workload/compare/managed-fields.ts';
import { argoManagers, commonInstanceLabel, type Track, tracksOn } from '../../tracks.ts';

/**
 * Annotation of a Source that names the one object of another tool whose objects it takes over: `Kustomization/NAMESPACE/NAME` of Flux or
 * `Application/NAMESPACE/NAME` of Argo CD. It says for the whole Source, and for that owner alone, what `holdfast.dev/adopt` says of one object.
 */
export const adoptFromAnnotation = 'holdfast.dev/adopt-from';

/** The owner that the annotation names. */
export interface FormerOwner {
  readonly kind: 'Kustomization' | 'Application';
  readonly namespace: string;
  readonly name: string;
}

/** Field managers of the tools' server-side and client-side writes. */
const managers: Readonly<Record<FormerOwner['kind'], readonly string[]>> = {
  Kustomization: ['kustomize-controller'],
  Application: argoManagers,
};

/** Whom the Source takes objects over from; undefined: nobody, or the annotation names none. */
export function formerOwnerOf({
  metadata,
}: {
  metadata: Pick<KubernetesObject['metadata'], 'annotations'>;
}): FormerOwner | undefined {
  const said = metadata.annotations?.[adoptFromAnnotation] ?? '';
  const [, kind, namespace = '', name = ''] =
    /^(Kustomization|Application)\/([^/\s]+)\/([^/\s]+)$/.exec(said) ?? [];
  return kind === 'Kustomization' || kind === 'Application' ? { kind, namespace, name } : undefined;
}

/** As the annotation says it. */
export function formerOwnerText({ kind, namespace, name }: FormerOwner): string {
  return `${kind}/${namespace}/${name}`;
}

/** The mark is this owner's. */
export function isTrackOf(
  { kind, owner }: Pick<Track, 'kind' | 'owner'>,
  { kind: ofKind, namespace, name }: FormerOwner,
): boolean {
  const names = ofKind === 'Application' ? [name, `${namespace}_${name}`] : [`${namespace}/${name}`];
  return kind === ofKind && names.includes(owner);
}

/** Whether the live object still carries a mark of the owner that Git does not say. */
export function isMarkedBy(
  live: KubernetesObject | undefined,
  wanted: KubernetesObject,
  former: FormerOwner,
): boolean {
  if (!live) return false;
  const { labels, annotations } = marksOf(live, wanted, former);
  return labels.length + annotations.length > 0;
}

/** Metadata for a merge patch. */
interface HandedOver {
  readonly labels?: Readonly<Record<string, null>>;
  readonly annotations?: Readonly<Record<string, null>>;
  readonly managedFields?: readonly ManagedFieldsEntry[];
}

/**
 * What takes an object that was applied by us out of the former owner's hands, by metadata alone: its marks go, and it gives up the fields that our
 * manager has (else a field that leaves Git would stay for ever). What only the former owner wrote stays as it is. Undefined when nothing is left
 * to do. Pure.
 */
export function handedOver(
  live: KubernetesObject,
  wanted: KubernetesObject,
  { former, manager }: { former: FormerOwner; manager: string },
): HandedOver | undefined {
  const entries = managedFieldsOf(live);
  const managedFields = relinquishedFields(entries, { from: managers[former.kind], to: manager });
  if (!managedFields && !isMarkedBy(live, wanted, former)) return undefined;
  return { ...withoutMarks(live, wanted, former), ...(managedFields ? { managedFields } : {}) };
}

/**
 * The same for an object that `manager` has yet to apply: what the former owner wrote becomes its own, but for the number of pods, which a rollout
 * may leave to an autoscaler. Pure.
 */
export function inherited(
  live: KubernetesObject,
  wanted: KubernetesObject,
  { former, manager }: { former: FormerOwner; manager: string },
): HandedOver {
  const entries = managedFieldsOf(live);
  const managedFields = inheritedFields(entries, { from: managers[former.kind], to: manager });
  return { ...withoutMarks(live, wanted, former), ...(managedFields ? { managedFields } : {}) };
}

function withoutMarks(live: KubernetesObject, wanted: KubernetesObject, former: FormerOwner): HandedOver {
  const { labels, annotations } = marksOf(live, wanted, former);
  return {
    ...(labels.length > 0 ? { labels: asNulls(labels) } : {}),
    ...(annotations.length > 0 ? { annotations: asNulls(annotations) } : {}),
  };
}

function marksOf(
  live: KubernetesObject,
  wanted: KubernetesObject,
  former: FormerOwner,
): Pick<Track, 'labels' | 'annotations'> {
  const own = tracksOn(live).filter((track) => isTrackOf(track, former));
  const instance = live.metadata.labels?.[commonInstanceLabel] ?? '';
  const isInstance = isTrackOf({ kind: 'Application', owner: instance }, former);
  const labels = [...own.flatMap((track) => track.labels), ...(isInstance ? [commonInstanceLabel] : [])];
  const { labels: ownLabels = {}, annotations: ownAnnotations = {} } = wanted.metadata;
  return {
    labels: labels.filter((key) => key in (live.metadata.labels ?? {}) && !(key in ownLabels)),
    annotations: own
      .flatMap((track) => track.annotations)
      .filter((key) => key in (live.metadata.annotations ?? {}) && !(key in ownAnnotations)),
  };
}

function asNulls(keys: readonly string[]): Record<string, null> {
  return Object.fromEntries(keys.map((key) => [key, null]));
}

/** Annotation that tells Holdfast to take over an object that another tool or Source tracks. */
export const adoptAnnotation = 'holdfast.dev/adopt';

/** Another tool that applies this object, in words for people. */
type OtherOwner = Pick<Track, 'tool' | 'detail'>;

/**
 * Who else tracks the live object (design section 2.2). The manifest in Git may carry `holdfast.dev/adopt: "true"` to take it over; whose
 * objects the Source takes over (`former`) is nobody else.
 */
export function otherOwner(
  live: KubernetesObject,
  wanted: KubernetesObject,
  former?: FormerOwner,
): OtherOwner | undefined {
  if (adopts(live) || adopts(wanted)) return undefined;
  return tracksOn(live).find((track) => !former || !isTrackOf(track, former));
}

/** Whether the object says so itself. */
export function adopts(object: KubernetesObject): boolean {
  const value = object.metadata.annotations?.[adoptAnnotation];
  return value !== undefined && value !== 'false';
}
