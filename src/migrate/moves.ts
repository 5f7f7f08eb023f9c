import { parseSource } from '../api/kinds/parse.ts';
import {
  describe,
  keyOf,
  nameOf,
  namespacedName,
  type ObjectReference,
  objectKey,
  recordOf,
  recordsOf,
} from '../api/kubernetes.ts';
import { listNames } from '../api/limits.ts';
import type { Source } from '../api/source/source.ts';
import { type FormerOwner, formerOwnerOf } from '../engine/sync/scope/former-owner.ts';
import type { Connection } from '../server/connection.ts';
import {
  type ArgoCredentials,
  prunesByItself,
  readCredentials,
  type SyncPolicy,
  sourceOfArgo,
} from './argocd/source.ts';
import { argoFromSource, argoToSource } from './argocd/steps.ts';
import { type Comparison, type MoveFacts, pruneAfterAnnotation } from './facts.ts';
import type { ConvertedSource, Stop } from './field-rules.ts';
import { repositoryOf, sourceOfFlux } from './flux/source.ts';
import { fluxFromSource, fluxToSource } from './flux/steps.ts';
import { fromSourceSteps } from './from-source.ts';
import { leftBehind } from './left-behind.ts';
import { type FactsQuery, getSource, readFacts } from './read-facts.ts';
import { type Move, placeSteps, unreadMoves } from './steps.ts';
import { firstSource, type ToSourceInput, toSourceSteps } from './to-source.ts';
import { argoOfSource, fluxOfSource } from './tool-objects.ts';
import { type MoveTree, type Placed, readMoveTree, type Subject } from './tree.ts';

/** The cluster, and how a Source that does not exist yet is compared with it. */
interface ClusterReading {
  readonly connection: Connection;
  /** What applying the Source would change; `inventory`: the objects that its former owner applied. */
  readonly compare: (source: Source, inventory: readonly ObjectReference[]) => Promise<Comparison>;
}

/** What `holdfast migrate steps` and `handback --to flux|argocd` ask for. */
interface MoveQuery {
  readonly tool: 'flux' | 'argocd';
  readonly path: string;
  readonly isBack: boolean;
  /** Undefined: nothing is read back. */
  readonly cluster: ClusterReading | undefined;
}

/** Plans every move of a tree, in the order in which they can be made. Throws InputError for a tree that cannot be read, and ApiError. */
export async function planMoves(query: MoveQuery): Promise<Move[]> {
  const tree = await readMoveTree(query.path);
  const subjects = query.isBack ? backSubjects(tree, query) : await forwardSubjects(tree, query);
  const moves: Move[] = [];
  const { cluster, isBack } = query;
  for (const subject of subjects)
    moves.push(
      await (isBack
        ? planFromSource(tree, subject, cluster?.connection)
        : planToSource(tree, subject, cluster)),
    );
  return [...moves, ...(query.isBack ? [] : notMovable(tree, query)), ...unreadMoves(tree)];
}

const kindOfTool = { flux: 'Kustomization', argocd: 'Application' } as const;

/** Owners in the tree, and Sources that have not ended taking over. */
async function forwardSubjects(tree: MoveTree, { tool, cluster }: MoveQuery): Promise<Subject[]> {
  const kind = kindOfTool[tool];
  const subjects: Subject[] = ownersIn(tree, tool).map((owner) => ({
    former: formerFor(kind, owner),
    owner,
  }));
  for (const source of sourcesIn(tree)) {
    const former = formerOwnerOf(source.object) ?? (await formerInCluster(source, cluster?.connection));
    if (former?.kind !== kind) continue;
    const at = subjects.findIndex(({ former: { namespace, name }, source: other }) => {
      return namespace === former.namespace && name === former.name && !other;
    });
    if (at < 0) subjects.push({ former, source });
    else subjects[at] = { former, ...subjects[at], source };
  }
  return inOrder(subjects);
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
  const sources = sourcesIn(tree);
  const named = new Set(sources.map(({ object }) => namespacedName(object)));
  const begun = [...owners].filter(([key, { object }]) => {
    return !named.has(key) && object.metadata.annotations?.[pruneAfterAnnotation] !== undefined;
  });
  return [
    ...sources.map((source) => {
      const owner = owners.get(namespacedName(source.object));
      return { former: formerFor(kind, source), source, owner };
    }),
    ...begun.map(([, owner]) => ({ former: formerFor(kind, owner), owner })),
  ];
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
  return { kind, ...nameOf(object) };
}

/** What others depend on comes before them. */
function inOrder(subjects: readonly Subject[]): Subject[] {
  const byKey = new Map(subjects.map((subject) => [keyOf(subject.former), subject]));
  const ordered = new Set<Subject>();
  const seen = new Set<Subject>();
  const visit = (subject: Subject): void => {
    if (seen.has(subject)) return;
    seen.add(subject);
    for (const dependency of dependenciesOf(subject)) {
      const needed = byKey.get(keyOf(dependency));
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
      'it generates Applications and would generate them again: set spec.syncPolicy.preserveResourcesOnDeletion: true, keep the manifests of its Applications in Git, and take it out first',
    Rollout: 'the workload is not a Deployment; migrate it with holdfast migrate steps --from argo-rollouts',
  },
};

function notMovable({ objects, at }: MoveTree, { tool }: MoveQuery): Move[] {
  return objects.flatMap(({ object, origin }): Move[] => {
    const why = notCarried[tool][object.kind];
    if (!why || !/fluxcd\.|argoproj\.io/.test(object.apiVersion)) return [];
    return [{ name: describe(object), stops: [`${at(origin, '')}: ${why}`], notes: [], steps: [] }];
  });
}

/** Plans the way of one Source back to the other tool. Throws ApiError. */
async function planFromSource(
  tree: MoveTree,
  subject: Subject,
  connection: Connection | undefined,
): Promise<Move> {
  const { former, source, owner } = subject;
  const title = `Source ${keyOf(former)}`;
  const parsed = source && parseSource(source.object);
  const valid = parsed?.ok ? parsed.value : undefined;
  if (valid?.spec.apply === false) {
    const note =
      'spec.apply is false: another tool applies its objects, so that there is nothing to hand back';
    return { name: title, stops: [], notes: [note], steps: [] };
  }
  const isArgo = former.kind === 'Application';
  const made = valid && !owner ? (isArgo ? argoOfSource : fluxOfSource)(valid) : undefined;
  // What is wrong with the Source, else what of it the other tool cannot say.
  const found =
    parsed?.ok === false
      ? parsed.problems.map(({ path, message }) => ({ field: path, message }))
      : (made?.stops ?? []);
  const stops = [
    ...(source ? found.map((stop) => stopLine(tree, source, stop)) : []),
    ...namespaceStops(tree, [source, owner]),
    ...duplicateStops(tree, [source, owner]),
  ];
  if (stops.length > 0) return { name: title, stops, notes: [], steps: [] };

  const facts = connection && (await readFacts(connection, { former, dependsOn: [] }));
  const tool = isArgo ? argoFromSource : fluxFromSource;
  const steps = fromSourceSteps(tool, { ...subject, files: tree.files, wanted: made?.objects ?? [], facts });
  return { name: title, stops: [], notes: made?.notes ?? [], steps: placeSteps(steps) };
}

function stopLine({ at }: MoveTree, { origin }: Placed, { field, message }: Stop): string {
  return `${at(origin, field)}: ${field}: ${message}`;
}

function namespaceStops({ at }: MoveTree, placed: ReadonlyArray<Placed | undefined>): string[] {
  return placed
    .filter((one) => one !== undefined)
    .filter(({ object }) => !object.metadata.namespace)
    .map(({ origin }) => `${at(origin, 'metadata')}: has no namespace; set it in the file`);
}

/** Folders of several clusters, or a patch beside what it changes: which one the cluster has cannot be known. */
function duplicateStops({ at, objects }: MoveTree, placed: ReadonlyArray<Placed | undefined>): string[] {
  return placed
    .filter((one) => one !== undefined)
    .flatMap((one) => {
      const same = objects.filter((other) => objectKey(other.object) === objectKey(one.object));
      // Without a namespace they may be in different ones.
      if (same.length < 2 || !one.object.metadata.namespace) return [];
      const others = same.filter((other) => other !== one).map(({ origin }) => at(origin, ''));
      return [
        `${at(one.origin, '')}: ${describe(one.object)} is also in ${listNames(others)}: name only the folder or file of the one to migrate`,
      ];
    });
}

/** Plans the move of one Kustomization or Application to a Source. Throws ApiError. */
async function planToSource(
  tree: MoveTree,
  subject: Subject,
  cluster: ClusterReading | undefined,
): Promise<Move> {
  const { former, owner } = subject;
  const name = describe(former);
  const named = owner && repositoryOf(owner.object);
  const repository = tree.objects.find(
    ({ object: { kind, metadata } }) =>
      kind === 'GitRepository' && metadata.name === named?.name && metadata.namespace === named?.namespace,
  );
  const early = [...earlyStops(tree, subject), ...duplicateStops(tree, [owner, subject.source, repository])];
  if (early.length > 0) return { name, stops: early, notes: [], steps: [] };
  if (former.kind === 'Kustomization' && former.namespace === 'flux-system' && former.name === 'flux-system')
    return {
      name,
      stops: [],
      notes: ['it applies Flux itself and stays until Flux is removed'],
      steps: [],
    };

  const query = { former, repository: named, dependsOn: dependenciesOf(subject) };
  const facts = cluster && (await readFacts(cluster.connection, query));
  const credentials = await credentialsFor(subject, cluster?.connection);
  const made = owner && sourceFrom(tree, { former, owner, repository, credentials, facts });
  if (made && made.stops.length > 0) return { name, stops: made.stops, notes: [], steps: [] };
  const tool = former.kind === 'Application' ? argoToSource : fluxToSource(repository);
  const comparison = cluster && facts && made && (await compared(cluster, facts, made.wanted));
  const input: ToSourceInput = {
    ...subject,
    files: tree.files,
    wanted: made?.wanted,
    facts: facts && { ...facts, comparison },
  };
  return { name, stops: [], notes: made?.notes ?? [], steps: placeSteps(toSourceSteps(tool, input)) };
}

interface Made {
  readonly wanted: Source;
  readonly stops: readonly string[];
  readonly notes: readonly string[];
}

function sourceFrom(
  tree: MoveTree,
  given: {
    readonly former: FormerOwner;
    readonly owner: Placed;
    readonly repository: Placed | undefined;
    readonly facts: MoveFacts | undefined;
    readonly credentials: ArgoCredentials | undefined;
  },
): Made {
  const { former, owner, repository, facts, credentials } = given;
  const live = facts?.repository;
  const { object } = owner;
  const carried =
    object.kind === 'Application'
      ? sourceOfArgo(object, credentials)
      : sourceOfFlux(object, repository?.object ?? live);
  const { prune, syncPolicy } = (object.spec ?? {}) as { prune?: boolean; syncPolicy?: SyncPolicy };
  const isMarked = object.metadata.annotations?.[pruneAfterAnnotation] === 'true';
  const prunes = isMarked || prune === true || prunesByItself(syncPolicy);
  const wanted = firstSource(former, carried.spec, prunes);
  const stops = stopsIn(tree, { owner, repository }, carried);
  if (former.kind === 'Kustomization' && repositoryOf(owner.object) && !repository && !live)
    stops.push(
      `${tree.at(owner.origin, 'spec.sourceRef')}: its GitRepository is neither in the files given nor in the cluster`,
    );
  const others = [...tree.objects.map((placed) => placed.object), ...(facts?.notifications ?? [])];
  // What is in the files is in the cluster, too.
  const notes = [...new Set([...carried.notes, ...leftBehind(object, others), ...accountNotes(wanted)])];
  if (stops.length > 0) return { wanted, notes, stops };
  // What is valid for the other tool need not be valid in a Source.
  const parsed = parseSource(wanted);
  const invalid = parsed.ok ? [] : parsed.problems.map(({ path, message }) => `Source ${path}: ${message}`);
  return { wanted, notes, stops: invalid };
}

/** A Source that exists need not be compared, and one whose owner does not apply cannot. */
async function compared(
  { compare }: ClusterReading,
  { owner, source, members }: MoveFacts,
  wanted: Source,
): Promise<Comparison | undefined> {
  if (!owner || source) return undefined;
  return compare(
    wanted,
    members.map(({ reference }) => reference),
  );
}

function earlyStops(tree: MoveTree, { owner, source, former }: Subject): string[] {
  const { at, objects } = tree;
  const found = namespaceStops(tree, [owner, source]);
  for (const one of [owner, source]) {
    if (!one) continue;
    if (one.origin.items.length > 0)
      found.push(`${at(one.origin, '')}: is inside a List; move it to a document of its own`);
  }
  const same = objects.find(
    ({ object }) =>
      object.kind === 'Source' &&
      object.metadata.name === former.name &&
      object.metadata.namespace === former.namespace,
  );
  if (owner && same && same !== source)
    found.push(
      `${at(same.origin, '')}: is a Source of the same name that does not adopt objects; rename one of them`,
    );
  return found;
}

/** In a file a field may be there without a value. */
function dependenciesOf({ former, owner }: Subject): FactsQuery['dependsOn'] {
  return recordsOf(recordOf(owner?.object.spec).dependsOn).map(({ name, namespace = former.namespace }) => ({
    namespace: String(namespace),
    name: String(name),
  }));
}

/** Argo CD keeps credentials in the namespace of its Applications, by the address of the repository. */
async function credentialsFor(
  { former, owner }: Subject,
  connection: Connection | undefined,
): Promise<ArgoCredentials | undefined> {
  if (former.kind !== 'Application' || !owner || !connection) return undefined;
  const { source } = (owner.object.spec ?? {}) as { source?: { repoURL?: string } };
  return source?.repoURL ? readCredentials(connection.client, former.namespace, source.repoURL) : undefined;
}

function stopsIn(
  tree: MoveTree,
  { owner, repository }: { owner: Placed; repository: Placed | undefined },
  { stops }: ConvertedSource,
): string[] {
  return stops.map((stop: Stop) => {
    const { field, message } = stop;
    const [, ofRepository] = /^GitRepository (.+)$/.exec(field) ?? [];
    if (ofRepository === undefined) return stopLine(tree, owner, stop);
    return `${repository ? `${tree.at(repository.origin, ofRepository)}: ` : ''}${field}: ${message}`;
  });
}

/** Flux and Argo CD write with their own rights where no account is named; a Source does not. */
function accountNotes({ metadata, spec }: Source): string[] {
  const { namespace = '' } = metadata;
  if (spec.serviceAccountName) return [];
  return [
    `the Source names no service account, so it writes only what the role edit covers in namespace ${namespace}: for more, set serviceAccountName, or install Holdfast with --trusted-source-namespaces ${namespace}`,
  ];
}
