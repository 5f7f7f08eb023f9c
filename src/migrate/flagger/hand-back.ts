import { planOf } from '../../api/canary/plan.ts';
import {
  commandOn,
  type KubernetesObject,
  nameOf,
  namespacedName,
  referenceOf,
} from '../../api/kubernetes.ts';
import { InputError } from '../../api/problems.ts';
import { type ApiError, isApiError } from '../../cluster/errors.ts';
import { hasConverged, whyNotReady } from '../../health/readiness.ts';
import { contextOf } from '../../rollout/context.ts';
import { lastKnownGood, rejectionOf, runOf, type World } from '../../rollout/world.ts';
import type { Connection } from '../../server/connection.ts';
import { paint, printable, type Screen, wrap } from '../../terminal/output.ts';
import type { ObservedCanary } from './read-canaries.ts';

/** What `holdfast handback --to flagger` did, or would do, with one Canary. */
interface HandBackRow extends HandBack {
  /** `namespace/name`. */
  readonly canary: string;
}

const defaultLeaseSeconds = 15;
/** Flagger continues from this status: it reads the target, takes that for promoted, and says Initialized (flagger-behaviour 2.2, 14). */
const initializing = {
  phase: 'Initializing',
  canaryWeight: 0,
  failedChecks: 0,
  iterations: 0,
  lastAppliedSpec: null,
  lastPromotedSpec: null,
};

/** Throws InputError while Holdfast or Flagger runs: it would take the status for its own. */
export async function refuseWhileActive(
  { client }: Pick<Connection, 'client'>,
  ownNamespace: string,
  seen: readonly ObservedCanary[],
  nowMs: number,
): Promise<void> {
  const reference = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    namespace: ownNamespace,
    name: 'holdfast',
  };
  const lease = await client.get(reference);
  const {
    holderIdentity = '',
    renewTime = '',
    leaseDurationSeconds = defaultLeaseSeconds,
  } = (lease?.spec ?? {}) as { holderIdentity?: string; renewTime?: string; leaseDurationSeconds?: number };
  if (holderIdentity !== '' && Date.parse(renewTime) + leaseDurationSeconds * 1000 > nowMs)
    throw new InputError(
      `Holdfast is running (Lease ${ownNamespace}/holdfast is held); first stop it: kubectl -n ${ownNamespace} scale deployment/holdfast --replicas=0`,
    );
  const who = seen.find(({ foreignController }) => foreignController !== undefined)?.foreignController;
  if (who !== undefined)
    throw new InputError(`${who}; scale Flagger to zero, run this command again, and then start Flagger`);
}

/**
 * Judges each Canary and, unless it is only asked what would be done, writes the status that Flagger begins from. One that the API server
 * refuses to write keeps none of the others from it; where it does not answer, nothing more is tried.
 */
export async function handBackCanaries(
  { client }: Pick<Connection, 'client'>,
  seen: readonly ObservedCanary[],
  isDryRun: boolean,
): Promise<HandBackRow[]> {
  const rows: HandBackRow[] = [];
  let isLost = false;
  for (const { object, found } of seen) {
    let row = 'refusal' in found ? refused(found.refusal) : judgeHandBack(found.world);
    if (!isDryRun && row.outcome === 'handedBack') {
      const error: ApiError | undefined = isLost ? undefined : await write(client, object);
      isLost ||= isApiError(error, 'transient', 'timeout', 'tooManyRequests');
      if (error) row = refused(error.message);
      else if (isLost) row = refused('nothing was done, since the API server does not answer');
    }
    rows.push({ canary: namespacedName(object), ...row });
  }
  return rows;
}

/** Resolves with the error of a Canary that the API server did not write. */
async function write(client: Connection['client'], object: KubernetesObject): Promise<ApiError | undefined> {
  const { uid, resourceVersion } = object.metadata;
  const patch = { metadata: { uid, resourceVersion }, status: initializing };
  const how = { type: 'merge', manager: 'holdfast', subresource: 'status' } as const;
  try {
    await client.patch(referenceOf(object), patch, how);
    return undefined;
  } catch (error) {
    if (isApiError(error)) return error;
    throw error;
  }
}

/** What was done, for terminals; lines without line feeds. */
export function handBackLines(rows: readonly HandBackRow[], isDryRun: boolean, screen: Screen): string[] {
  const words = {
    handedBack: paint(screen, 'good', isDryRun ? 'would be handed back' : 'handed back'),
    notOurs: paint(screen, 'quiet', "Flagger's already"),
    refused: paint(screen, 'bad', 'refused'),
  };
  const lines = rows.flatMap(({ canary, outcome, why }) => [
    `${printable(canary)}: ${words[outcome]}`,
    ...wrap(why, screen.columns, '    '),
  ]);
  return rows.length > 0 ? lines : ['No Canaries found.'];
}

/** Whether a Canary may be given back to Flagger now, and why (not). `notOurs`: Holdfast never took it over. */
interface HandBack {
  readonly outcome: 'handedBack' | 'notOurs' | 'refused';
  readonly why: string;
}

/**
 * What Flagger may be given: a Canary at rest whose primary runs what the target holds. In phase Initializing Flagger takes the target's template and
 * config as promoted without looking at them (flagger-behaviour 2.2, 14), so the target must not hold a revision that was not analysed. Pure.
 */
export function judgeHandBack(world: World): HandBack {
  const { canary, status, primary } = world;
  if (canary.metadata.deletionTimestamp !== undefined) return refused('it is being deleted');
  if (primary?.digest === undefined)
    return { outcome: 'notOurs', why: 'Holdfast did not take it over, so nothing has changed for Flagger' };
  if (runOf(status)) {
    return refused(
      `a rollout is in progress (${status.message ?? status.phase}); start Holdfast again and wait until it ends, or end it with: ${commandOn('abort', nameOf(canary))}`,
    );
  }
  const problem = problemOf(world);
  if (problem) return refused(problem);
  const isBarred = world.target?.digest !== primary.digest;
  const why = isBarred
    ? 'the target has a failed revision, which Flagger does not retry until it changes'
    : 'the primary runs the revision of the target';
  return { outcome: 'handedBack', why };
}

function problemOf(world: World): string | undefined {
  const { canary, primary, target, route, scaler } = world;
  const good = lastKnownGood(world);
  if (!good || primary?.digest !== good.digest)
    return 'its primary does not run the last known good release; start Holdfast again until it does';
  if (!target) return 'its target does not exist';
  if (
    target.digest === undefined ||
    !(target.digest === good.digest || rejectionOf(contextOf(world), target.digest))
  )
    return 'the target has a revision that was not rolled out, which Flagger would treat as promoted; start Holdfast again until it is rolled out';
  if ((route?.canaryWeight ?? 0) > 0)
    return 'the canary has traffic; start Holdfast again until the primary has all of it';
  if (!hasConverged(primary, planOf(canary, world.options).primaryReadyPercent))
    return `the primary is not ready: ${whyNotReady(primary)}`;
  if (scaler?.primary?.restoreMinReplicas !== undefined || scaler?.canary?.restoreMinReplicas !== undefined)
    return 'minReplicas of a scaler is still raised; start Holdfast again until it is restored';
  return undefined;
}

function refused(why: string): HandBack {
  return { outcome: 'refused', why };
}
