import { livePart } from '../../api/canary/status.ts';
import { canaryStatus } from '../../api/canary/summary.ts';
import { canonicalJson, type KubernetesObject } from '../../api/kubernetes.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { isApiError } from '../../cluster/errors.ts';
import type { ReadContext } from '../../engine/canary/context/context.ts';
import { bytesOf } from '../../engine/canary/observe/releases.ts';
import { EngineError } from '../../engine/failure.ts';
import { createRecords } from '../../engine/records/records.ts';
import { digestedPart, type Release } from '../../release/release.ts';
import { lastKnownGood, runOf } from '../../rollout/world.ts';
import { createClusterPort } from '../../server/cluster.ts';
import type { ReleaseChanges } from '../../terminal/schemas/output-kinds.ts';
import { objectDiff } from '../object-diff.ts';

type ChangedObject = ReleaseChanges['objects'][number];

/**
 * Compares two releases as Git gave them: the pod template, the ports of the generated Services, and the ConfigMaps and Secrets that the template
 * references; values that are secret stay hidden. `load` reads the bytes of a digest. What cannot be read becomes a note. Throws ApiError
 * where the server does not answer.
 */
async function releaseChangesOf(
  load: (digest: string) => Promise<Release>,
  { from, to }: Pick<ReleaseChanges, 'from' | 'to'>,
): Promise<ReleaseChanges> {
  try {
    const [before, after] = [await load(from.digest), await load(to.digest)];
    return { from, to, ...changesBetween(before, after, { from, to }) };
  } catch (error) {
    if (!(error instanceof EngineError) && !isApiError(error, 'forbidden')) throw error;
    return { from, to, objects: [], notes: [error.message] };
  }
}

function changesBetween(
  before: Release,
  after: Release,
  { from, to }: Pick<ReleaseChanges, 'from' | 'to'>,
): Pick<ReleaseChanges, 'objects' | 'notes'> {
  const configs = new Map<string, [KubernetesObject | undefined, KubernetesObject | undefined]>();
  for (const config of before.configs) configs.set(keyOf(config), [config, undefined]);
  for (const config of after.configs) configs.set(keyOf(config), [configs.get(keyOf(config))?.[0], config]);
  const objects = [
    changedObject(targetOf(before), targetOf(after)),
    ...(canonicalJson(before.ports) === canonicalJson(after.ports)
      ? []
      : [changedObject(portsOf(before), portsOf(after))]),
    ...[...configs.values()].map(([one, other]) => changedObject(one, other)),
  ];
  // Their content is kept nowhere: what it was before cannot be read.
  const outside = after.liveConfigs.map(({ kind, name }) => `${kind} ${name}`);
  const isOutside = livePart(from.digest) !== livePart(to.digest);
  const notes = isOutside
    ? [
        `config that is not in Git is not the same any more; it is not compared: ${outside.join(', ') || 'none is left'}`,
      ]
    : [];
  return { objects: objects.filter(({ diff }) => diff.length > 0), notes };
}

function keyOf({ kind, metadata }: KubernetesObject): string {
  return `${kind}/${metadata.name}`;
}

/** Only what makes it another release. */
function targetOf({ target }: Release): KubernetesObject {
  const { apiVersion, kind, metadata } = target;
  const { template, service } = digestedPart(target);
  return {
    apiVersion,
    kind,
    metadata: { name: metadata.name },
    spec: service ? { ...service } : { template },
  };
}

function portsOf({ canary, ports }: Release): KubernetesObject {
  return { apiVersion: 'v1', kind: 'Service', metadata: { name: canary.name }, spec: { ports } };
}

function changedObject(
  before: KubernetesObject | undefined,
  after: KubernetesObject | undefined,
): ChangedObject {
  const { kind = '', metadata } = after ?? before ?? {};
  const change = before && after ? 'changed' : after ? 'added' : 'removed';
  return { kind, name: metadata?.name ?? '', change, diff: objectDiff({ before, after }) };
}

/** Those of a Canary as it was observed; undefined without a release under way, or without one that has proven itself before it. */
export async function changesUnderWay(context: ReadContext): Promise<ReleaseChanges | undefined> {
  const { world } = context.observation;
  const run = runOf(world.status);
  const good = lastKnownGood(world);
  if (!run || !good || run.digest === good.digest) return undefined;
  const { commit, subject } = good.commit;
  const from = { digest: good.digest, commit, subject };
  const to = { digest: run.digest, commit: run.commit, subject: run.subject };
  return releaseChangesOf(async (digest) => (await bytesOf(context, digest)).release, { from, to });
}

/** Those of a Canary by its status, from the records in the cluster alone; undefined as above. */
export async function storedChanges(
  client: ClusterClient,
  canary: KubernetesObject,
): Promise<ReleaseChanges | undefined> {
  const { run, lastKnownGood: good } = canaryStatus(canary);
  if (!run?.digest || !good?.digest || run.digest === good.digest) return undefined;
  const { name, namespace = '' } = canary.metadata;
  const records = createRecords(createClusterPort(client), undefined);
  const load = async (digest: string) => (await records.load({ namespace, name }, digest)).release;
  return releaseChangesOf(load, {
    from: { digest: good.digest, commit: good.commit, subject: '' },
    to: { digest: run.digest, commit: run.commit ?? '', subject: '' },
  });
}
