import { inject } from 'vitest';
import { httpTarget, type Json } from '../../conformance/target.ts';

/** What was seen of one release of a workload that is rolled out in place. */
export interface StepsSeen {
  /** Moments with more of its pods than its step lets. */
  readonly beyond: ReadonlyArray<{ readonly share: number; readonly pods: number }>;
  /** Most of its pods while it was tried. */
  readonly most: number;
}

interface Seen {
  readonly type: string;
  readonly object: Json;
}

/**
 * Looks at every watch event of the workload and of its pods, until the returned function is called with the image of a release and the
 * number of pods that a share is of. Both streams are put together in the order in which the server wrote.
 */
export async function watchSteps(
  namespace: string,
  plural: string,
): Promise<(image: string, all: number) => Promise<StepsSeen>> {
  const { apiServer, adminToken, ca } = inject('bed');
  const target = httpTarget({ baseUrl: apiServer, token: adminToken, ca });
  const seen: Seen[] = [];
  let stopped = false;
  const follow = async (path: string) => {
    const stream = await target.watch(`${path}?watch=true`);
    const running = (async () => {
      while (!stopped) {
        const event = await stream.next().catch(() => undefined);
        if (event) seen.push(event);
        else if (!stopped) await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    return async () => {
      stream.close();
      await running;
    };
  };
  const ends = await Promise.all([
    follow(`/apis/apps/v1/namespaces/${namespace}/${plural}`),
    follow(`/api/v1/namespaces/${namespace}/pods`),
  ]);
  return async (image, all) => {
    stopped = true;
    await Promise.all(ends.map((end) => end()));
    await target.close();
    return replay(seen, image, all);
  };
}

function replay(events: readonly Seen[], image: string, all: number): StepsSeen {
  const version = ({ object }: Seen) => Number(object.metadata.resourceVersion);
  const pods = new Map<string, boolean>();
  const beyond: Array<{ share: number; pods: number }> = [];
  let annotations: Json = {};
  let most = 0;
  for (const { type, object } of events.toSorted((left, right) => version(left) - version(right))) {
    const { uid, deletionTimestamp } = object.metadata;
    if (object.kind !== 'Pod') annotations = object.metadata.annotations ?? {};
    else pods.set(uid, type !== 'DELETED' && !deletionTimestamp && object.spec.containers[0].image === image);
    if (annotations['holdfast.dev/promoted'] === undefined) continue;
    const share = Number(annotations['holdfast.dev/share']);
    const count = [...pods.values()].filter((isOfRelease) => isOfRelease).length;
    most = Math.max(most, count);
    if (count > Math.ceil((share * all) / 100)) beyond.push({ share, pods: count });
  }
  return { beyond, most };
}
