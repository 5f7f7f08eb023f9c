import { type KubernetesObject, recordOf } from '../../src/api/kubernetes.ts';
import { conflict } from './errors.ts';
import { asNumber, asString, at } from './json.ts';
import type { KindInfo } from './kinds.ts';
import { type ApiWorld, readyToGo, refuseOtherUid, timestamp } from './object-writer.ts';

/** The body of a delete request. */
export interface DeleteOptions {
  readonly dryRun?: boolean;
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: string;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

/** What became of an object that was asked to go. */
interface Deletion {
  readonly object: KubernetesObject;
  /** True when it is gone; false while finalizers, a grace period or a namespace's content hold it. */
  readonly gone: boolean;
}

/** Deletes or marks an object. Throws 409 when a precondition does not hold. */
export function deleteObject(
  world: ApiWorld,
  kind: KindInfo,
  live: KubernetesObject,
  options: DeleteOptions,
): Deletion {
  checkPreconditions(kind, live, options);
  const marked = mark(world, kind, live, options);
  const gone = readyToGo(marked) && kind.storageKey !== '/namespaces';
  if (options.dryRun) return { object: marked, gone };
  if (gone) return { object: world.store.remove(kind.storageKey, live), gone };
  const unchanged = live.metadata.deletionTimestamp === marked.metadata.deletionTimestamp;
  return { object: unchanged ? live : world.store.put(kind.storageKey, marked), gone };
}

function checkPreconditions(kind: KindInfo, live: KubernetesObject, options: DeleteOptions): void {
  const { uid, resourceVersion } = options.preconditions ?? {};
  const { name } = live.metadata;
  refuseOtherUid(kind, live, uid);
  if (resourceVersion && resourceVersion !== live.metadata.resourceVersion) {
    const versions = `ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${live.metadata.resourceVersion}`;
    throw conflict(kind, name, `Precondition failed: ${versions}`);
  }
}

const PROPAGATION_FINALIZERS: Readonly<Record<string, string>> = {
  Orphan: 'orphan',
  Foreground: 'foregroundDeletion',
};

function mark(
  world: ApiWorld,
  kind: KindInfo,
  live: KubernetesObject,
  options: DeleteOptions,
): KubernetesObject {
  const graceSeconds = kind.storageKey === '/pods' ? podGraceSeconds(live, options) : 0;
  const shortened = graceSeconds < asNumber(live.metadata.deletionGracePeriodSeconds);
  if (live.metadata.deletionTimestamp && !shortened) return live;
  const finalizer = PROPAGATION_FINALIZERS[options.propagationPolicy ?? ''];
  const finalizers = finalizer
    ? [...new Set([...(live.metadata.finalizers ?? []), finalizer])]
    : live.metadata.finalizers;
  const generation = kind.hasGeneration ? { generation: (live.metadata.generation ?? 0) + 1 } : {};
  const metadata = {
    ...live.metadata,
    ...(finalizers ? { finalizers } : {}),
    ...generation,
    deletionTimestamp: timestamp(world.clock.nowMs() + graceSeconds * 1000),
    deletionGracePeriodSeconds: graceSeconds,
  };
  const marked = { ...live, metadata };
  return kind.storageKey === '/namespaces'
    ? { ...marked, status: { ...recordOf(live.status), phase: 'Terminating' } }
    : marked;
}

function podGraceSeconds(pod: KubernetesObject, options: DeleteOptions): number {
  const scheduled = asString(at(pod, 'spec', 'nodeName')) !== '';
  if (!scheduled) return 0;
  return options.gracePeriodSeconds ?? asNumber(at(pod, 'spec', 'terminationGracePeriodSeconds'), 30);
}
