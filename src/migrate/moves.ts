/** Every move that a tree is about, planned. */
import { namespacedName } from '../api/kubernetes.ts';
import { InputError } from '../api/problems.ts';
import { type FormerOwner, formerOwnerOf } from '../engine/sync/scope/former-owner.ts';
import type { Connection } from '../server/connection.ts';
import type { ClusterReading } from './comparison.ts';
import { pruneAfterAnnotation } from './facts.ts';
import { planFromSource } from './from-source-plan.ts';
import { getSource } from './read-facts.ts';
import type { Move } from './steps.ts';
import { planToSource } from './to-source-plan.ts';
import { type MoveTree, type Placed, readMoveTree, type Subject } from './tree.ts';

/** What `holdfast migrate steps` and `handback --to flux|argocd` ask for. */
interface MoveQuery {
  readonly tool: 'flux' | 'argocd';
  readonly path: string;
  readonly isBack: boolean;
  /** The cluster, and how Git is asked; undefined: nothing is read back. */
  readonly cluster: ClusterReading | undefined;
}

/** Plans every move of a tree, in the order in which they can be made. Throws InputError for a tree that cannot be read, and ApiError. */
export async function planMoves(query: MoveQuery): Promise<Move[]> {
  const tree = await readMoveTree(query.path);
  if (tree.problems.length > 0) throw new InputError(tree.problems.join('\n'));
  const subjects = query.isBack ? backSubjects(tree, query) : await forwardSubjects(tree, query);
  const moves: Move[] = [];
  const { cluster, isBack } = query;
  for (const subject of subjects)
    moves.push(
      await (isBack
        ? planFromSource(tree, subject, cluster?.connection)
        : planToSource(tree, subject, cluster)),
    );
  return [...moves, ...(query.isBack ? [] : notMovable(tree, query))];
}

const kindOfTool = { flux: 'Kustomization', argocd: 'Application' } as const;

/** Owners in the tree, and Sources that have not ended taking over. */
async function forwardSubjects(tree: MoveTree, { tool, cluster }: MoveQuery): Promise<Subject[]> {
  const kind = kindOfTool[tool];
  const owners = ownersIn(tree, tool);
  const subjects = new Map<string, Subject>(
    owners.map((owner) => [namespacedName(owner.object), { former: formerFor(kind, owner), owner }]),
  );
  for (const source of sourcesIn(tree)) {
    const former = formerOwnerOf(source.object) ?? (await formerInCluster(source, cluster?.connection));
    if (former?.kind !== kind) continue;
    const key = `${former.namespace}/${former.name}`;
    subjects.set(key, { ...(subjects.get(key) ?? { former }), source });
  }
  return inOrder([...subjects.values()]);
}

/** Git may have ended what the cluster has not seen yet. */
async function formerInCluster(
  { object }: Placed,
  connection: Connection | undefined,
): Promise<FormerOwner | undefined> {
  const { namespace = '', name } = object.metadata;
  const live = connection && (await getSource(connection.client, { namespace, name }));
  return live && formerOwnerOf(live);
}

/** Sources, and what they were made into while that has not ended. */
function backSubjects(tree: MoveTree, { tool }: MoveQuery): Subject[] {
  const kind = kindOfTool[tool];
  const owners = new Map(ownersIn(tree, tool).map((owner) => [namespacedName(owner.object), owner]));
  const subjects = new Map<string, Subject>();
  for (const source of sourcesIn(tree)) {
    const key = namespacedName(source.object);
    subjects.set(key, { former: formerFor(kind, source), source, owner: owners.get(key) });
  }
  for (const [key, owner] of owners)
    if (!subjects.has(key) && owner.object.metadata.annotations?.[pruneAfterAnnotation] !== undefined)
      subjects.set(key, { former: formerFor(kind, owner), owner });
  return [...subjects.values()];
}

function ownersIn({ objects }: MoveTree, tool: MoveQuery['tool']): Placed[] {
  const group = tool === 'flux' ? 'kustomize.toolkit.fluxcd.io/' : 'argoproj.io/';
  const kind = kindOfTool[tool];
  return objects.filter(({ object }) => object.kind === kind && object.apiVersion.startsWith(group));
}

function sourcesIn({ objects }: MoveTree): Placed[] {
  return objects.filter(
    ({ object }) => object.kind === 'Source' && object.apiVersion.startsWith('holdfast.dev/'),
  );
}

function formerFor(kind: FormerOwner['kind'], { object }: Placed): FormerOwner {
  return { kind, namespace: object.metadata.namespace ?? '', name: object.metadata.name };
}

/** What others depend on comes before them. */
function inOrder(subjects: readonly Subject[]): Subject[] {
  const byKey = new Map(
    subjects.map((subject) => [`${subject.former.namespace}/${subject.former.name}`, subject]),
  );
  const ordered = new Set<Subject>();
  const seen = new Set<Subject>();
  const visit = (subject: Subject): void => {
    if (seen.has(subject)) return;
    seen.add(subject);
    const { dependsOn = [] } = (subject.owner?.object.spec ?? {}) as {
      dependsOn?: Array<{ name: string; namespace?: string }>;
    };
    for (const { name, namespace = subject.former.namespace } of dependsOn) {
      const needed = byKey.get(`${namespace}/${name}`);
      if (needed) visit(needed);
    }
    ordered.add(subject);
  };
  for (const subject of subjects) visit(subject);
  return [...ordered];
}

const notCarried: Readonly<Record<MoveQuery['tool'], Readonly<Record<string, string>>>> = {
  flux: {
    HelmRelease:
      'a HelmRelease is not migrated: migrate its objects by hand, with a Source of renderer helm and holdfast.dev/adopt on them',
    ResourceSet: 'it generates Kustomizations; keep their manifests in Git first',
  },
  argocd: {
    ApplicationSet:
      'it generates Applications and would generate them again: set spec.preserveResourcesOnDeletion: true, keep the manifests of its Applications in Git, and take it out first',
    Rollout:
      'the workload is not a Deployment; Holdfast rolls out Deployments, StatefulSets, DaemonSets and Services',
  },
};

function notMovable({ objects, at }: MoveTree, { tool }: MoveQuery): Move[] {
  return objects.flatMap(({ object, origin }): Move[] => {
    const why = notCarried[tool][object.kind];
    if (!why || !/fluxcd\.|argoproj\.io/.test(object.apiVersion)) return [];
    const name = `${object.kind} ${namespacedName(object)}`;
    return [{ name, stops: [`${at(origin, '')}: ${why}`], notes: [], steps: [] }];
  });
}
