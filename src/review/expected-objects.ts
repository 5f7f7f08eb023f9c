/** The objects that must exist while the primary of a Canary runs a release, and those that do: for comparing, not for writing. */

import { planOf, trafficAt } from '../api/canary/plan.ts';
import { type KubernetesObject, referenceOf } from '../api/kubernetes.ts';
import { type ReadContext, routerOf } from '../engine/canary/context/observation.ts';
import { bytesOf, type ReleaseBytes } from '../engine/canary/observe/releases.ts';
import { wantedRoutes, wantedServices } from '../engine/canary/observe/routes.ts';
import { runOf, soundRecord } from '../rollout/world.ts';
import { expectedCopies, sharedIn, untrackedIn } from '../workload/expected-copies.ts';
import { primaryReplicas, workloadKind } from '../workload/kinds.ts';
import { nativeWorkload } from '../workload/native-workload.ts';
import { primaryScaler, scalerKindOf, scalerNames } from '../workload/scaler.ts';

/** One object that must be there. */
export interface ExpectedObject {
  readonly kind: string;
  readonly name: string;
  /** The fields that Holdfast writes; undefined where only the presence is known. */
  readonly wanted: KubernetesObject | undefined;
  readonly live: KubernetesObject | undefined;
}

/**
 * Primary, copies of its config, its scaler, Services and routes, in this order; each is read once, since the caches keep no managers. Throws
 * EngineError when the release's bytes cannot be had.
 */
export async function expectedObjects(context: ReadContext, digest: string): Promise<ExpectedObject[]> {
  const { parts, observation } = context;
  const bytes = await bytesOf(context, digest);
  if (observation.world.sharesWorkload) {
    // The one workload, as it is without a release under way.
    const { canary, target: live } = observation;
    const replicas = primaryReplicas({ canary, settings: bytes.settings });
    const wanted = nativeWorkload({ ...bytes, canary, replicas, live }, { kind: 'whole' });
    const { kind, metadata } = wanted;
    return [{ kind, name: metadata.name, wanted, live: await parts.cluster.get(referenceOf(wanted)) }];
  }
  const primary = primaryOf(context, bytes);
  const { includeLabelPrefixes } = parts.options;
  // The pods of the release decide which copies there must be, not those of the current primary.
  const copies = expectedCopies(primary, {
    canary: observation.canary,
    release: bytes.release,
    includeLabelPrefixes,
  });
  const wanted = [
    // Revisions do not change, and the template of their Service is the canary's.
    ...(workloadKind(observation.canary).sides === 'revisions' ? [] : [expectedObject(primary)]),
    ...copies.map(({ kind, name, written }) => ({ apiVersion: 'v1', kind, name, wanted: written })),
    ...scaler(context).map(expectedObject),
    ...(await traffic(context, digest)).map(expectedObject),
  ];
  return Promise.all(
    wanted.map(async ({ apiVersion, kind, name, wanted: fields }) => {
      const { namespace } = observation.view;
      return {
        kind,
        name,
        wanted: fields,
        live: await parts.cluster.get({ apiVersion, kind, namespace, name }),
      };
    }),
  );
}

function primaryOf({ parts, observation }: ReadContext, bytes: ReleaseBytes): KubernetesObject {
  const { canary, primary: live } = observation;
  const { selectorLabels, includeLabelPrefixes } = parts.options;
  return workloadKind(canary).primary({
    ...bytes,
    canary,
    // Where another tool applies the target, the rollout alone sets the number of pods.
    replicas: observation.world.foreignTarget
      ? undefined
      : primaryReplicas({ canary, settings: bytes.settings }),
    selectorLabels,
    includeLabelPrefixes,
    live,
    liveConfigs: [],
    sharedConfigs: live ? sharedIn(live, { canary, release: bytes.release }) : new Set(),
    untracked: live ? untrackedIn(live, { canary, release: bytes.release }) : new Set(),
  });
}

/** The copy of the target's scaler; a rollout under way raises its floor. */
function scaler({ observation }: ReadContext): KubernetesObject[] {
  const { canary, view, world } = observation;
  const kind = scalerKindOf(canary.spec);
  if (!kind || runOf(world.status)) return [];
  const names = scalerNames(canary);
  const source = view.get(kind, names.canary);
  return source ? [primaryScaler(kind, canary, { source, live: view.get(kind, names.primary) })] : [];
}

/** Weights as they are while a release is under way: they are its steps. At rest the primary has everything. */
async function traffic(context: ReadContext, primaryDigest: string): Promise<KubernetesObject[]> {
  const { parts, observation } = context;
  const { world, canary, provider } = observation;
  const route =
    runOf(world.status) && world.route ? world.route : trafficAt(planOf(canary, world.options), 0);
  const routes = world.primary ? await wantedRoutes(context, route) : [];
  if (workloadKind(canary).sides !== 'workloads') return routes;
  const digest = world.target?.digest;
  const canaryDigest = digest !== undefined && soundRecord(world, digest) ? digest : undefined;
  const services = await wantedServices(context, { primaryDigest, canaryDigest });
  // Where the apex is the traffic, it is among the routes.
  const apex = routerOf(parts, provider).apexFollowsTraffic ? [] : [services.apex];
  return [...apex, services.primary, ...(services.canary ? [services.canary] : []), ...routes];
}

function expectedObject(wanted: KubernetesObject) {
  return { apiVersion: wanted.apiVersion, kind: wanted.kind, name: wanted.metadata.name, wanted };
}
