import { type Canary, sharesWorkload } from '../../../api/canary/canary.ts';
import type { CanaryStatus } from '../../../api/canary/status.ts';
import {
  describe,
  type KubernetesObject,
  namespacedName,
  partOfLabel,
  referenceOf,
  versionOf,
} from '../../../api/kubernetes.ts';
import type { ApplyOptions } from '../../../contracts/cluster.ts';
import { isService } from '../../../release/release.ts';
import { reportedChanges } from '../../../workload/compare/difference-text.ts';
import {
  inheritedFields,
  managedFieldsOf,
  ownedAlone,
  rolloutManager,
} from '../../../workload/compare/managed-fields.ts';
import { differencesOf } from '../../../workload/compare/semantic-compare.ts';
import { sideNames, workloadKind } from '../../../workload/kinds.ts';
import { digestAnnotation } from '../../../workload/shared/metadata.ts';
import { withAccountTaken } from '../../applied.ts';
import { applySetIdOf, asMember } from '../../apply-set.ts';
import { notKept, StaleView } from '../../failure.ts';
import type { ActionContext, CanaryParts } from '../context/context.ts';
import { routeReferences, routerOf } from '../context/observation.ts';

/**
 * Applies an object unless the cluster has it already; true when a request was made. The write carries the live version (S17). `mark`: see
 * `withMark`.
 */
export async function applyRollout(
  context: ActionContext,
  wanted: KubernetesObject,
  live: KubernetesObject | undefined,
  mark: (object: KubernetesObject) => KubernetesObject = (object) => object,
): Promise<boolean> {
  if (context.parts.applied.has(live, wanted)) return false;
  const wrote = noteChanged(context, await store(context, mark(wanted), live), live);
  context.parts.applied.note(wanted);
  return wrote;
}

/**
 * Applies an object whatever the cluster has: also one that differs only by a field that is not wanted. Gives it as it is stored. Throws EngineError
 * where the API server did not keep what everything else relies on.
 */
export async function store(
  { parts }: ActionContext,
  wanted: KubernetesObject,
  live: KubernetesObject | undefined,
): Promise<KubernetesObject> {
  const stored = await parts.cluster.apply(withAccountTaken(wanted, live), applyOver(live));
  const digest = wanted.metadata.annotations?.[digestAnnotation];
  const { selector } = (isService(wanted) ? wanted.spec : {}) as { selector?: object };
  refuseChanged(stored, {
    ...(digest === undefined ? {} : { metadata: { annotations: { [digestAnnotation]: digest } } }),
    ...(selector ? { spec: { selector } } : {}),
  });
  return stored;
}

/** No object has it: etcd counts from 1, without any. What is applied over it is created, or refused where the object is there. */
const versionOfNothing = { resourceVersion: '1' };

/** What was not there is only created: an apply that was under way while a leader stood still would set back what another one has written since. */
function applyOver(live: KubernetesObject | undefined): ApplyOptions {
  return { manager: rolloutManager, force: true, over: live ? versionOf(live) : versionOfNothing };
}

/** Patches an object over the observed version. Throws EngineError where the API server did not keep `kept` of it, by default all that was sent. */
export async function patchRollout(
  context: ActionContext,
  live: KubernetesObject,
  patch: Record<string, unknown>,
  kept: object = patch,
): Promise<boolean> {
  const metadata = { ...(patch.metadata as object | undefined), ...versionOf(live) };
  const stored = await context.parts.cluster.patch(referenceOf(live), { ...patch, metadata });
  refuseChanged(stored, kept);
  return noteChanged(context, stored, live);
}

/**
 * Whether a write changed the object, which is noted: an admission webhook may take away again what was sent, and a write that counts would be
 * repeated at once, without end.
 */
export function noteChanged(
  { changed }: ActionContext,
  stored: KubernetesObject,
  before: KubernetesObject | undefined,
): boolean {
  const isChanged = stored.metadata.resourceVersion !== before?.metadata.resourceVersion;
  if (isChanged) changed?.(stored);
  return isChanged;
}

/**
 * Asks the API server what it would store. Throws EngineError where it would not keep these fields: nothing is written then. Where it cannot be
 * asked, the write itself tells why.
 */
export async function refuseUnkept(
  { parts }: ActionContext,
  wanted: KubernetesObject,
  { live, kept }: { readonly live: KubernetesObject | undefined; readonly kept: object },
): Promise<void> {
  const stored = await parts.cluster
    .apply(wanted, { ...applyOver(live), dryRun: true })
    .catch(() => undefined);
  if (stored) refuseChanged(stored, kept, true);
}

/** Throws EngineError for what is not as it was sent. */
function refuseChanged(stored: KubernetesObject, sent: object, isDryRun = false): void {
  const [first] = reportedChanges(differencesOf(stored, sent), false);
  if (!first) return;
  const { path, expected, actual = 'gone' } = first;
  const verb = isDryRun ? 'would be' : 'is';
  const when = isDryRun ? 'if it were written, so nothing was' : undefined;
  throw notKept(`${describe(stored)}: ${path} ${verb} ${actual}, not ${expected},`, when);
}

/** Applies an object that no watch shows (config and its copies): it is read first, for its version. */
export async function applyUnwatched(context: ActionContext, wanted: KubernetesObject): Promise<boolean> {
  const live = await context.parts.cluster.get(referenceOf(wanted));
  if (context.parts.applied.has(live, wanted)) return false;
  return applyRollout(context, wanted, live && (await inheritedFromSource(context, live)));
}

/** The same for an object of Git's own that a watch shows: it is read before a write, for what its Source had applied. Throws StaleView. */
export async function applyOfSource(
  context: ActionContext,
  wanted: KubernetesObject,
  seen: KubernetesObject | undefined,
): Promise<boolean> {
  if (!seen || context.parts.applied.has(seen, wanted)) return applyRollout(context, wanted, seen);
  const live = await context.parts.cluster.get(referenceOf(seen));
  if (live?.metadata.resourceVersion !== seen.metadata.resourceVersion) throw new StaleView(describe(seen));
  return applyRollout(context, wanted, live && (await inheritedFromSource(context, live)));
}

/**
 * What a Source had applied before its Canary was there becomes the rollout's, and what kubectl has, too, is the rollout's alone: a field that Git takes
 * out would stay on the canary, which would not be what is promoted then.
 */
async function inheritedFromSource(
  { parts }: ActionContext,
  live: KubernetesObject,
): Promise<KubernetesObject> {
  const entries = managedFieldsOf(live);
  const inherited = inheritedFields(entries, { from: ['holdfast'], to: rolloutManager });
  const alone = ownedAlone(inherited ?? entries, rolloutManager);
  const managedFields = alone ?? inherited;
  if (!managedFields) return live;
  return parts.cluster.patch(referenceOf(live), { metadata: { ...versionOf(live), managedFields } });
}

/**
 * Reads both workloads and the route anew and compares them with what the decision was made on (S19). Throws StaleView when one differs;
 * the fresh objects are then in the caches.
 */
export async function ensureFresh(context: ActionContext): Promise<void> {
  const { parts, observation } = context;
  const { canary, view, provider } = observation;
  const { apiVersion, kind } = workloadKind(canary);
  const names = sideNames(canary);
  const isShared = sharesWorkload(provider) || names.primary === names.canary;
  const routes = sharesWorkload(provider) ? [] : routeReferences(routerOf(parts, provider), canary);
  const known = [
    { apiVersion, kind, name: names.canary, seen: observation.target },
    ...(isShared ? [] : [{ apiVersion, kind, name: names.primary, seen: observation.primary }]),
    ...routes.map((route) => ({ ...route, seen: view.get(route, route.name) })),
  ];
  const { namespace } = view;
  const fresh = await Promise.all(
    known.map(({ seen: _, ...reference }) => parts.cluster.get({ namespace, ...reference })),
  );
  for (const object of fresh) if (object) view.remember(object);
  for (const [index, { seen, ...reference }] of known.entries())
    if (fresh[index]?.metadata.resourceVersion !== seen?.metadata.resourceVersion)
      throw new StaleView(describe({ namespace, ...reference }));
}

/** The same, for a write over the primary: it must also be the version that was decided on (S17). */
export async function ensureFreshPrimary(
  context: ActionContext,
  precondition: { readonly resourceVersion: string } | undefined,
): Promise<void> {
  const { primary } = context.observation;
  const seen = primary && versionOf(primary);
  if (seen?.resourceVersion !== precondition?.resourceVersion) throw new StaleView('the primary');
  await ensureFresh(context);
}

/**
 * The context in which the rollout writes as the account of the Source that holds the Canary's target (design section 2.2): it must not write
 * what that account may not write. The last-known-good was admitted once: going back to it does not depend on the account.
 */
export function onBehalfOfSource(context: ActionContext, digest?: string): ActionContext {
  const { parts } = context;
  const account = accountFor(context, digest);
  return account === undefined
    ? context
    : { ...context, parts: { ...parts, cluster: parts.cluster.as(account) } };
}

/** The user that `onBehalfOfSource` writes as; undefined: Holdfast itself. */
export function accountFor({ parts, observation }: ActionContext, digest?: string): string | undefined {
  const { canary } = observation;
  const good = (canary.status as CanaryStatus | undefined)?.lastKnownGood?.digest;
  if (digest !== undefined && digest === good) return undefined;
  return sourceWriter(parts, canary, digest)?.account;
}

/**
 * Who writes what the Source of a Canary holds; `account` undefined: Holdfast itself. While no Source holds the Canary it is as when the release
 * under way was written last (issue 13): who deletes his Source gains nothing. Undefined for what came from no Source.
 */
export function sourceWriter(
  { heads }: Pick<CanaryParts, 'heads'>,
  canary: Canary,
  digest?: string,
): { readonly account: string | undefined } | undefined {
  const spec = heads.specOf(namespacedName(canary));
  if ('account' in spec) return { account: spec.account };
  const { run } = (canary.status ?? {}) as CanaryStatus;
  const isUnderWay = run?.account !== undefined && (digest === undefined || digest === run.digest);
  return isUnderWay ? { account: run.account } : undefined;
}

/**
 * What a rollout writes of Git's own objects, with the label of the Source that holds them: a target or a config that leaves Git is found by it
 * and pruned. Without a Source the label of the live object stays.
 */
export function partOfSource(
  { parts, observation }: ActionContext,
  object: KubernetesObject,
  live?: KubernetesObject,
): KubernetesObject {
  const source = parts.heads.sourceOf(namespacedName(observation.canary));
  const id = source === undefined ? live?.metadata.labels?.[partOfLabel] : applySetIdOf(source);
  return id === undefined ? object : asMember(object, id);
}

/**
 * Replicas to write on a primary that a scaler owns: none, except where managedFields name us as the owner of the field. Leaving it out would
 * then reset it to 1; the value is the live one, under the version of the write (S17, S18).
 */
export async function ownedReplicas(
  { parts }: ActionContext,
  primary: KubernetesObject | undefined,
): Promise<number | undefined> {
  if (!primary) return undefined;
  const live = await parts.cluster.get(referenceOf(primary));
  const applied = managedFieldsOf(live ?? primary).find(
    ({ manager, operation }) => manager === rolloutManager && operation === 'Apply',
  );
  const spec = applied?.fieldsV1?.['f:spec'] as Record<string, unknown> | undefined;
  return spec && 'f:replicas' in spec ? replicasIn(live) : undefined;
}

/** Replicas in the spec of a workload. */
export function replicasIn(workload: KubernetesObject | undefined): number | undefined {
  return (workload?.spec as { replicas?: number } | undefined)?.replicas;
}
