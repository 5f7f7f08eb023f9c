import type { Canary } from '../../api/canary/canary.ts';
import { canaryStatus, phaseOf, shareOf, toneOf } from '../../api/canary/summary.ts';
import { apiVersionOf } from '../../api/kinds/kinds.ts';
import {
  conditionOf,
  controllerOf,
  describe,
  isGenerated,
  type KubernetesObject,
  liveCondition,
  type ObjectReference,
  ownLabels,
  referenceOf,
} from '../../api/kubernetes.ts';
import { limits } from '../../api/limits.ts';
import { healthOf } from '../../engine/sync/status/health.ts';
import { tracksOn } from '../../engine/tracks.ts';
import { labelRecord } from '../../release/record.ts';
import { objectsOf } from './canary-objects.ts';
import { got, membersOf, type Reader, readable } from './reading.ts';

/** An object, how it is, and what belongs to it. */
export interface TreeNode {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly health: 'healthy' | 'progressing' | 'failed' | 'missing' | 'unknown';
  /** Phase of a Canary, and why something is not healthy. */
  readonly detail: string;
  /** What writes it besides its parent, as other tools and controllers mark it; empty: nothing else. */
  readonly owner: string;
  /** The drift that its parent reports; empty: none is known. */
  readonly drift: string;
  /** What it is to its Canary. */
  readonly role?: string | undefined;
  readonly children: readonly TreeNode[];
}

/** A tree, and what could not be read for it, in words. */
export interface ObjectTree {
  readonly root: TreeNode;
  readonly unread: readonly string[];
}

/** A Source with every object that it applied, and its Canaries with theirs. Throws ApiError for what is neither missing nor forbidden. */
export async function sourceTree(client: Reader, source: KubernetesObject): Promise<ObjectTree> {
  const unread = new Set<string>();
  const members = await membersOf(client, source, unread);
  const canaries = members.filter(
    ({ apiVersion, kind }) => kind === 'Canary' && apiVersion === apiVersionOf('Canary'),
  );
  const below = await Promise.all(canaries.map((canary) => canaryNode(client, canary, unread)));
  const inCanaries = new Set(below.flatMap(({ children }) => children.map(describe)));
  const drift = liveCondition(source, 'Drifted');
  const driftMessage = drift?.status === 'True' ? (drift.message ?? '') : '';
  const others = members
    .filter((object) => !canaries.includes(object) && !inCanaries.has(describe(object)))
    .map((object) => nodeOf(object, { drift: driftIn(driftMessage, object) }));
  const children = [...others, ...below].sort((left, right) => (describe(left) < describe(right) ? -1 : 1));
  if (children.length > limits.treeObjects)
    unread.add(`${children.length - limits.treeObjects} more objects are not shown`);
  const { status, reason = '', message = '' } = liveCondition(source, 'Ready') ?? {};
  const root: TreeNode = {
    ...named(referenceOf(source)),
    health: status === 'True' ? 'healthy' : status === 'False' ? 'failed' : 'progressing',
    detail: status === 'True' ? reason : [reason, message].filter(Boolean).join(': '),
    owner: ownerOf(source),
    drift: driftMessage,
    children: children.slice(0, limits.treeObjects),
  };
  return { root, unread: [...unread].sort() };
}

/** A Canary with the objects that Holdfast reads and writes for it. Throws as `sourceTree`. */
export async function canaryTree(client: Reader, canary: KubernetesObject): Promise<ObjectTree> {
  const unread = new Set<string>();
  const root = await canaryNode(client, canary, unread);
  return { root, unread: [...unread].sort() };
}

async function canaryNode(client: Reader, canary: KubernetesObject, unread: Set<string>): Promise<TreeNode> {
  const status = canaryStatus(canary);
  const drifted = conditionOf(status, 'Drifted');
  const drift = drifted?.status === 'True' ? drifted.message : '';
  const objects = await Promise.all(
    objectsOf(canary).map(async ({ role, reference }): Promise<TreeNode> => {
      const { result, isForbidden } = await got(client, reference, unread);
      if (!result) {
        const health = isForbidden ? 'unknown' : 'missing';
        return { ...named(reference), health, detail: '', owner: '', drift: '', role, children: [] };
      }
      return nodeOf(result, { role, drift: role === 'primary' ? drift : '' });
    }),
  );
  const copies = await copiesOf(client, canary, unread);
  const weight = status.canaryWeight === undefined ? '' : `, weight ${status.canaryWeight}${shareOf(status)}`;
  const ready = conditionOf(status, 'Ready');
  const why = ready?.status === 'False' ? `: ${ready.reason}: ${ready.message}` : '';
  const tones = { good: 'healthy', bad: 'failed', busy: 'progressing', none: 'unknown' } as const;
  return {
    ...named(referenceOf(canary)),
    health: tones[toneOf(canary)],
    detail: `${phaseOf(canary)}${weight}${why}`,
    owner: ownerOf(canary),
    drift,
    // A Service that this kind of rollout does not need, or that is not written yet, is not missing.
    children: [
      ...objects.filter(
        ({ health, role }) => health !== 'missing' || role === 'canary' || role === 'primary',
      ),
      ...copies,
    ],
  };
}

/** The primary's copies of ConfigMaps and Secrets. Records of releases are none. */
async function copiesOf(client: Reader, canary: KubernetesObject, unread: Set<string>): Promise<TreeNode[]> {
  const { namespace = '' } = canary.metadata;
  const [label = ['', '']] = Object.entries(ownLabels(canary));
  const labelSelector = `${label.join('=')},!${labelRecord}`;
  const lists = await Promise.all(
    ['ConfigMap', 'Secret'].map((kind) =>
      readable(
        unread,
        `${kind} in namespace ${namespace}`,
        async () => (await client.list('v1', kind, { namespace, labelSelector, metadataOnly: true })).items,
      ),
    ),
  );
  return lists
    .flatMap((items) => items ?? [])
    .filter((object) => isGenerated(object, canary as Canary))
    .map((object) => nodeOf(object, { role: 'copy', drift: '' }));
}

function nodeOf(
  object: KubernetesObject,
  more: { readonly role?: string; readonly drift: string },
): TreeNode {
  const health = healthOf(object, object);
  const detail = health.kind === 'healthy' ? '' : health.why.replace(`${describe(object)}: `, '');
  return {
    ...named(referenceOf(object)),
    health: health.kind,
    detail,
    owner: ownerOf(object),
    ...more,
    children: [],
  };
}

function named({
  apiVersion,
  kind,
  namespace,
  name,
}: ObjectReference): Pick<TreeNode, 'apiVersion' | 'kind' | 'namespace' | 'name'> {
  return { apiVersion, kind, namespace, name };
}

/** Another tool that marks it as its own, or a controller other than a Canary. */
function ownerOf(object: KubernetesObject): string {
  const [track] = tracksOn(object);
  if (track) return `${track.tool} ${track.detail}`;
  const controller = controllerOf(object);
  return controller && controller.kind !== 'Canary' ? `${controller.kind} ${controller.name}` : '';
}

/** The part of a condition's message that is about the object; objects stand there as `Kind namespace/name: what`. */
function driftIn(message: string, object: KubernetesObject): string {
  const found = message.split('; ').find((part) => part.includes(`${describe(object)}: `));
  return found?.slice(found.indexOf(`${describe(object)}: `) + describe(object).length + 2) ?? '';
}
