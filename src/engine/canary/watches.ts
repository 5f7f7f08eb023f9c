/**
 * Which kinds are watched for Canaries, and when all of them are read anew, since watches may have lost an event: before decisions that need it
 * (S19), and for a change that does not come.
 */

import { type Canary, sharesWorkload } from '../../api/canary/canary.ts';
import type { CanaryStatus } from '../../api/canary/status.ts';
import { canaryStatus } from '../../api/canary/summary.ts';
import { conditionOf, type KubernetesObject } from '../../api/kubernetes.ts';
import type { RouteKind } from '../../contracts/routing.ts';
import type { Decision } from '../../rollout/outcome.ts';
import { watchedKinds } from '../../workload/kinds.ts';
import { endpointSliceKind } from '../../workload/pods/endpoints.ts';
import { type ScalerSpec, scalerKindOf } from '../../workload/scaler.ts';
import type { CanaryParts } from './context/context.ts';
import { seeAnew } from './context/namespace-view.ts';
import {
  type EngineOptions,
  type Observation,
  type ReadParts,
  routeReferences,
} from './context/observation.ts';
import { specsOf } from './status/spec-in-force.ts';

type WatchParts = Pick<ReadParts, 'routing'> & {
  readonly options: Pick<EngineOptions, 'defaultProvider'>;
};

/** The kinds to watch for a Canary besides those every Canary needs: of its target, its scaler and its routes. */
export function kindsOf(canary: KubernetesObject, { routing, options }: WatchParts): RouteKind[] {
  const { spec, status } = canary;
  const { provider, ...scaled } = (spec ?? {}) as { provider?: string } & ScalerSpec;
  const scaler = scalerKindOf(scaled);
  // Also of the one that it moves away from.
  const current = (status as { provider?: string } | undefined)?.provider;
  const providers = [provider ?? options.defaultProvider, ...(current === undefined ? [] : [current])];
  const routers = scaled.targetRef ? providers.flatMap((name) => routing(name) ?? []) : [];
  const routes = routers
    .flatMap((router) => routeReferences(router, canary as unknown as Canary))
    .map(({ name: _, ...kind }) => ({ ...kind, managers: true }));
  // Both sides have a Service of their own, unless they are pods of one workload.
  const endpoints = providers.every(sharesWorkload) ? [] : [endpointSliceKind];
  return [...watchedKinds(scaled.targetRef ?? {}), ...(scaler ? [scaler] : []), ...endpoints, ...routes];
}

/** What `kindsOf` goes by, of the newest spec and of the one in force: while it is the same, so are the kinds. */
export function watchKey(canary: KubernetesObject): string {
  const { uid, generation } = canary.metadata;
  const { provider, specInForce } = canaryStatus(canary);
  return JSON.stringify([uid, generation, provider, specInForce?.generation]);
}

/** The kinds to watch for many Canaries, by namespace: of their newest specs, and of those in force. */
export function kindsByNamespace(
  canaries: readonly KubernetesObject[],
  parts: WatchParts,
): Map<string, RouteKind[]> {
  const byNamespace = new Map<string, RouteKind[]>();
  for (const canary of canaries) {
    const namespace = canary.metadata.namespace ?? '';
    const kinds = byNamespace.get(namespace) ?? [];
    for (const one of specsOf(canary)) kinds.push(...kindsOf(one, parts));
    byNamespace.set(namespace, kinds);
  }
  return byNamespace;
}

/** What was read whole so long ago is fresh enough to give a release up. */
const finalFreshMs = 10_000;
/** For a change that the watches did not deliver, the namespace is not read whole more often. */
const lostFreshMs = 10_000;
/** While a Canary is being deleted, everything is read whole this often. */
const deletionFreshMs = 30_000;

/** Reads everything anew that the decision depends on, unless that was done just now; true: it was read, and has to be decided again. */
export async function readWhole(
  parts: CanaryParts,
  { canary, view, world }: Observation,
  decision: Decision,
): Promise<boolean> {
  const freshMs = isFinal(world.status, decision) ? finalFreshMs : deletionFreshMsOf(world.canary);
  if (freshMs === undefined) return false;
  return seeAnew(parts.clock, view, { freshMs, kinds: kindsOf(canary, parts) });
}

/** Reads everything anew, unless that was done just now, for a change that the watches did not deliver in time; true: it was read. */
export function readAnew(parts: CanaryParts, object: KubernetesObject): Promise<boolean> {
  const [kinds = []] = kindsByNamespace([object], parts).values();
  return seeAnew(parts.clock, parts.namespace(object.metadata.namespace ?? ''), {
    freshMs: lostFreshMs,
    kinds,
  });
}

/** A deletion needs time for what follows when it learns of a lost event. */
export function deletionFreshMsOf({ metadata }: Canary): number | undefined {
  return metadata.deletionTimestamp === undefined ? undefined : deletionFreshMs;
}

/**
 * Whether a release is rejected, held or taken back, the last-known-good is no longer waited for, a person is called, or a Canary that is
 * deleted let go of: by what was observed, which may be less than there is (S19).
 */
function isFinal(before: CanaryStatus, { status: after, actions, events }: Decision): boolean {
  const isKnown = ({ digest, time }: { digest: string; time: string }) =>
    before.rejected?.some((known) => known.digest === digest && known.time === time) === true;
  const state = after.postPromotion?.state;
  const isGivenUp = state === 'Held' || state === 'Reverting';
  return (
    actions.some(({ type }) => type === 'RemoveFinalizer') ||
    (isGivenUp && state !== before.postPromotion?.state) ||
    // Nothing is held where a newer release takes its place in the same decision.
    events.some(({ reason }) => reason === 'LKGNotReady') ||
    (asksForPerson(after) && !asksForPerson(before)) ||
    after.rejected?.some((one) => !isKnown(one)) === true
  );
}

function asksForPerson(status: CanaryStatus): boolean {
  return conditionOf(status, 'Stalled')?.status === 'True';
}
