/** What differs where both sides are revisions of one Knative Service, whose annotations say which of them is the primary. */
import { describe, type KubernetesObject, referenceOf, versionOf } from '../../../api/kubernetes.ts';
import {
  isRevisionReady,
  latestRevisionOf,
  primaryAnnotations,
  recordedRevision,
  revisionKind,
} from '../../../workload/knative/knative.ts';
import { EngineError } from '../../failure.ts';
import type { ActionContext, Performers } from '../context/context.ts';
import { applyCanary } from './workloads.ts';
import { ensureFreshPrimary } from './write.ts';

/** Actions on revisions. */
export const revisionPerformers = {
  async ApplyPrimary(context, { digest, precondition }) {
    await ensureFreshPrimary(context, precondition);
    return (await promoteRevision(context, digest)) ?? applyCanary(context, { digest, replicas: 1 });
  },
  EnsureServices: async () => false,
} satisfies Partial<Performers>;

/**
 * Makes the revision of this release the primary. One that is ready gets all requests with the same write, so that none goes to a revision that
 * is neither side; else they stay where they are. False while Knative has not made the revision yet; undefined when there is none, and the
 * template has to be written. Throws EngineError ReleaseUnknown where that is another tool's to do.
 */
async function promoteRevision(context: ActionContext, digest: string): Promise<boolean | undefined> {
  const { parts, observation } = context;
  const { target, world, view } = observation;
  if (!target) return undefined;
  const revision = revisionFor(context, target, digest);
  if (revision === undefined) {
    if (world.target?.digest === digest) return false;
    if (!world.foreignTarget) return undefined;
    throw new EngineError(
      'ReleaseUnknown',
      `${describe(target)}: no revision of release ${digest.slice(0, 15)} is left, and another tool writes its template; apply it there again`,
      true,
    );
  }
  const annotations = primaryAnnotations(target, { digest, revision });
  if (Object.entries(annotations).every(([key, value]) => target.metadata.annotations?.[key] === value))
    return false;
  // As the router writes it for a canary without a share.
  const traffic = [
    { latestRevision: true, percent: 0 },
    { latestRevision: false, revisionName: revision, percent: 100 },
  ];
  const isReady = isRevisionReady(view.get(revisionKind, revision));
  await parts.cluster.patch(referenceOf(target), {
    metadata: { ...versionOf(target), annotations },
    ...(isReady ? { spec: { traffic } } : {}),
  });
  return true;
}

/** The newest revision where it is of this release, or the recorded one while it exists; a ready one first. */
function revisionFor(
  { observation }: ActionContext,
  target: KubernetesObject,
  digest: string,
): string | undefined {
  const { view, world } = observation;
  const newest = world.target?.digest === digest ? latestRevisionOf(target) : undefined;
  const known = recordedRevision(target, digest);
  const found = [newest, known].flatMap((name) => (name && view.get(revisionKind, name)) || []);
  const best = found.find(isRevisionReady) ?? found[0];
  return best?.metadata.name;
}
