import type { Clock } from '../../../api/clock.ts';
import { type KubernetesObject, referenceOf } from '../../../api/kubernetes.ts';
import type { Cluster } from '../../../contracts/cluster.ts';

/** What is in the cluster already, asked one by one, or by lists where many are asked for at once. */
export interface Presence {
  /** The object as the reader may see it now; undefined when there is none. Throws what the API server says. */
  read(object: KubernetesObject, reader: Reader): Promise<KubernetesObject | undefined>;
}

/** Who reads, and as which user; undefined: as Holdfast itself. */
interface Reader {
  readonly cluster: Pick<Cluster, 'get' | 'list'>;
  readonly user: string | undefined;
}

/** A list costs about as much as so many single reads, however many objects there are. */
const manyReads = 20;
/** Reads so close together count as one burst. What a list says is believed for as long. */
const burstMs = 2_000;

interface ReadCount {
  sinceMs: number;
  reads: number;
  listed: { readonly atMs: number; readonly names: Promise<ReadonlySet<string> | undefined> } | undefined;
}

/**
 * A thousand new applications are not there yet: a few lists say so instead of a request for each object. Only absence is believed; what is
 * listed is read. Shared by all Sources of a user, and made as that one: what it may not list, nobody tells it.
 */
export function createPresence({ clock }: { readonly clock: Pick<Clock, 'nowMs'> }): Presence {
  const places = new Map<string, ReadCount>();
  let forgottenMs = clock.nowMs();

  /** Namespaces come and go: a burst that is over is not kept. */
  function forgetOld(nowMs: number): void {
    // Wall clocks jump.
    if (Math.abs(nowMs - forgottenMs) < burstMs) return;
    forgottenMs = nowMs;
    for (const [key, { sinceMs, listed }] of places)
      if (Math.abs(nowMs - Math.max(sinceMs, listed?.atMs ?? sinceMs)) >= burstMs) places.delete(key);
  }

  function countRead({ apiVersion, kind, metadata }: KubernetesObject, user: string | undefined): ReadCount {
    const key = `${apiVersion} ${kind} ${metadata.namespace ?? ''} ${user ?? ''}`;
    const nowMs = clock.nowMs();
    forgetOld(nowMs);
    const known = places.get(key);
    const isBurst = known && nowMs - known.sinceMs >= 0 && nowMs - known.sinceMs < burstMs;
    const place = known ?? { sinceMs: nowMs, reads: 0, listed: undefined };
    if (!isBurst) Object.assign(place, { sinceMs: nowMs, reads: 0 });
    place.reads += 1;
    places.set(key, place);
    return place;
  }

  /** Undefined: unknown, so that it has to be read. */
  async function namesAt(
    place: ReadCount,
    object: KubernetesObject,
    cluster: Reader['cluster'],
  ): Promise<ReadonlySet<string> | undefined> {
    const ageMs = clock.nowMs() - (place.listed?.atMs ?? Number.NEGATIVE_INFINITY);
    if (place.listed && ageMs >= 0 && ageMs < burstMs) return place.listed.names;
    if (place.reads <= manyReads) return undefined;
    // The next list needs another burst, so that few lists serve many reads.
    place.reads = 0;
    place.listed = { atMs: clock.nowMs(), names: namesOf(cluster, object) };
    return place.listed.names;
  }

  return {
    async read(object, { cluster, user }) {
      const names = await namesAt(countRead(object, user), object, cluster);
      return names && !names.has(object.metadata.name) ? undefined : cluster.get(referenceOf(object));
    },
  };
}

/** Undefined where it may not be listed. */
async function namesOf(
  cluster: Pick<Cluster, 'list'>,
  { apiVersion, kind, metadata }: KubernetesObject,
): Promise<ReadonlySet<string> | undefined> {
  const { namespace } = metadata;
  if (!namespace) return undefined;
  try {
    const found = await cluster.list({ apiVersion, kind, namespace, labelSelector: '' });
    return new Set(found.map((object) => object.metadata.name));
  } catch {
    return undefined;
  }
}
