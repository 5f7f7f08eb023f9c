/** The differences between two releases of a Canary. Pure. */
import { livePart } from '../../api/commit.ts';
import { canonicalJson, type KubernetesObject } from '../../api/kubernetes.ts';
import { digestedPart, type Release } from '../../release/release.ts';
import type { ReleaseChanges } from '../../terminal/output.ts';
import { configKey } from '../../workload/shared/configs.ts';
import { objectDiff } from '../object-diff.ts';

type ChangedObject = ReleaseChanges['objects'][number];

/**
 * Compares two releases as they are in Git: the pod template, the ports of the generated Services, and the ConfigMaps and Secrets that the
 * template references; values of Secrets stay hidden.
 */
export function changesBetween(
  before: Release,
  after: Release,
  { from, to }: Pick<ReleaseChanges, 'from' | 'to'>,
): Pick<ReleaseChanges, 'objects' | 'notes'> {
  const configs = new Map<string, [KubernetesObject | undefined, KubernetesObject | undefined]>();
  for (const config of before.configs)
    configs.set(configKey(config.kind, config.metadata.name), [config, undefined]);
  for (const config of after.configs) {
    const key = configKey(config.kind, config.metadata.name);
    configs.set(key, [configs.get(key)?.[0], config]);
  }
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
    ? [`config that is not in Git has changed and is not compared: ${outside.join(', ') || 'none is left'}`]
    : [];
  return { objects: objects.filter(({ diff }) => diff.length > 0), notes };
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
