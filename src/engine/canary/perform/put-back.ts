/** What others change of the objects that a rollout keeps. The next write puts it back; people are told what it was, and who. */

import {
  describe,
  type KubernetesObject,
  namespacedName,
  type ObjectReference,
  referenceOf,
} from '../../../api/kubernetes.ts';
import type { Cluster } from '../../../contracts/cluster.ts';
import { describeChange } from '../../../health/drift.ts';
import { reportedChanges } from '../../../workload/compare/difference-text.ts';
import { managerOfChange } from '../../../workload/compare/drift.ts';
import {
  isOfHoldfast,
  type ManagedFieldsEntry,
  managedFieldsOf,
  newestOf,
  rolloutManager,
} from '../../../workload/compare/managed-fields.ts';
import { differencesOf } from '../../../workload/compare/semantic-compare.ts';
import { hasMark, withMark } from '../../applied.ts';
import type { ActionContext } from '../context/context.ts';
import { hidingFor } from '../context/heads.ts';
import { applyRollout } from './write.ts';

/** Tells of a change, once it was put back. */
type Tell = () => void;

const nothing: Tell = () => undefined;

/** Applies an object that the rollout keeps, unless it is as it was written, and tells what others did to it. True when it was written. */
export async function keepObject(
  context: ActionContext,
  wanted: KubernetesObject,
  live: KubernetesObject | undefined,
): Promise<boolean> {
  if (context.parts.applied.has(live, wanted)) return false;
  const told = await changeByOthers(context, wanted, live);
  const wrote = await applyRollout(context, wanted, live, withMark);
  if (wrote) told();
  return wrote;
}

/** Of an object that was written exactly as it is wanted, and is not so any more: what another writer did to it. */
export async function changeByOthers(
  context: ActionContext,
  wanted: KubernetesObject,
  live: KubernetesObject | undefined,
): Promise<Tell> {
  const { applied } = context.parts;
  if (!applied.knows(wanted) && !(live && hasMark(live, wanted))) return nothing;
  return live ? changeOf(context, wanted, live) : deletionOf(context, wanted);
}

/** Of an object that was written and is not there any more. */
export function deletionOf(context: ActionContext, wanted: KubernetesObject): Tell {
  return tell(context, wanted, 'was deleted by another client, and is created again');
}

/** Of an object that is ours and differs from what was written: what another writer did to it. */
export async function changeOf(
  context: ActionContext,
  wanted: KubernetesObject,
  live: KubernetesObject,
): Promise<Tell> {
  const { parts, corrected } = context;
  if (!corrected) return nothing;
  const manager = await lastWriter(parts.cluster, referenceOf(live));
  // Another copy of Holdfast that led meanwhile may have begun to give it back.
  if (manager === undefined) return nothing;
  const fields = reportedChanges(differencesOf(live, wanted), false);
  return tell(context, wanted, describeChange({ manager, fields }));
}

/** Of an object of which a part alone is written, as the number of pods: what another writer did to that. What nobody else has changed is no news. */
export async function partByOthers(
  context: ActionContext,
  object: KubernetesObject,
  part: Pick<KubernetesObject, 'spec'>,
): Promise<Tell> {
  if (!context.corrected) return nothing;
  const live = await readAnew(context.parts.cluster, referenceOf(object));
  const manager = live && managerOfChange(live, part, rolloutManager);
  if (manager === undefined || isOfHoldfast({ manager })) return nothing;
  const fields = reportedChanges(differencesOf(live, part), false);
  return tell(context, object, describeChange({ manager, fields }));
}

/** What was substituted in a manifest may be secret. */
function tell(
  { parts, observation, corrected }: ActionContext,
  object: KubernetesObject,
  what: string,
): Tell {
  const hide = hidingFor(parts.heads.of(namespacedName(observation.canary)));
  return () => corrected?.({ object, message: hide(`${describe(object)}: ${what}`) });
}

/** The field manager beside ours that has written the object since we did, or in the same second; undefined: none has. */
async function lastWriter(
  cluster: Pick<Cluster, 'get'>,
  object: ObjectReference,
): Promise<string | undefined> {
  const entries = await entriesOf(cluster, object);
  const other = newestOf(entries.filter((entry) => !isOfHoldfast(entry)));
  const own = newestOf(entries.filter(isOfHoldfast));
  return (other?.time ?? '') >= (own?.time ?? '') ? other?.manager : undefined;
}

/** The field manager beside ours that wrote one of these objects last. */
export async function otherWriter(
  cluster: Pick<Cluster, 'get'>,
  objects: readonly ObjectReference[],
): Promise<string | undefined> {
  const entries = (await Promise.all(objects.map((one) => entriesOf(cluster, one)))).flat();
  return newestOf(entries.filter((entry) => !isOfHoldfast(entry)))?.manager;
}

/** Who wrote what of an object but its subresources. */
async function entriesOf(
  cluster: Pick<Cluster, 'get'>,
  object: ObjectReference,
): Promise<ManagedFieldsEntry[]> {
  const found = await readAnew(cluster, object);
  const entries = found ? managedFieldsOf(found) : [];
  return entries.filter(({ manager, subresource }) => manager !== undefined && !subresource);
}

/** The caches keep no managers. What cannot be read is written all the same. */
function readAnew(
  cluster: Pick<Cluster, 'get'>,
  object: ObjectReference,
): Promise<KubernetesObject | undefined> {
  return cluster.get(object).catch(() => undefined);
}
