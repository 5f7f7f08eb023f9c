/** Promotion where both sides are revisions of one Knative Service: its annotations say which of them is the primary. */
import { describe, type KubernetesObject, referenceOf } from '../../api/kubernetes.ts';
import { revisionKind } from '../../workload/knative.ts';
import { primaryMarks, rememberedRevision } from '../../workload/knative-marks.ts';
import { isRevisionReady, latestRevisionOf } from '../../workload/knative-view.ts';
import { versionOf } from '../canary/canary-parts.ts';
import { EngineError } from '../failure.ts';
import type { ActionContext } from './action-context.ts';

/**
 * Makes the revision of this release the primary. One that is ready gets all requests with the same write, so that none goes to a revision that
 * is neither side; else they stay where they are. False while Knative has not made the revision yet; undefined when there is none, and the
 * template has to be written. Throws EngineError ReleaseUnknown where that is another tool's to do.
 */
export async function promoteRevision(context: ActionContext, digest: string): Promise<boolean | undefined> {
  const { parts, observation } = context;
  const { target, world, view } = observation;
  if (!target) return undefined;
  const revision = revisionFor(context, target, digest);
  if (revision === undefined) {
    if (world.target?.digest === digest) return false;
    if (!world.foreignTarget) return undefined;
    throw noRevision(target, digest);
  }
  const annotations = primaryMarks(target, { digest, revision });
  if (Object.entries(annotations).every(([key, value]) => target.metadata.annotations?.[key] === value))
    return false;
  const isReady = isRevisionReady(view.get(revisionKind, revision));
  await parts.cluster.patch(referenceOf(target), {
    metadata: { ...versionOf(target), annotations },
    ...(isReady ? { spec: { traffic: allTo(revision) } } : {}),
  });
  return true;
}

/** The newest one where that is of this release, or the one that is remembered and still there; one that is ready first. */
function revisionFor(
  { observation }: ActionContext,
  target: KubernetesObject,
  digest: string,
): string | undefined {
  const { view, world } = observation;
  const newest = world.target?.digest === digest ? latestRevisionOf(target) : undefined;
  const known = rememberedRevision(target, digest);
  const found = [newest, known].flatMap((name) => (name && view.get(revisionKind, name)) || []);
  const best = found.find(isRevisionReady) ?? found[0];
  return best?.metadata.name;
}

/** As the router writes it for a canary without a share. */
function allTo(revisionName: string): object[] {
  return [
    { latestRevision: true, percent: 0 },
    { latestRevision: false, revisionName, percent: 100 },
  ];
}

function noRevision(target: KubernetesObject, digest: string): EngineError {
  return new EngineError(
    'ReleaseUnknown',
    `${describe(target)}: no revision of release ${digest.slice(0, 15)} is left, and another tool writes its template; apply it there again`,
    true,
  );
}
