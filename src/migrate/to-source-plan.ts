import { parseSource } from '../api/kinds/parse.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { Source } from '../api/source/source.ts';
import type { FormerOwner } from '../engine/sync/scope/former-owner.ts';
import type { Connection } from '../server/connection.ts';
import { type ArgoCredentials, readCredentials, sourceOfArgo } from './argocd/source.ts';
import { argoToSource } from './argocd/steps.ts';
import { type ClusterReading, comparisonOf } from './comparison.ts';
import { type Comparison, type MoveFacts, pruneAfterAnnotation } from './facts.ts';
import type { ConvertedSource, Stop } from './field-rules.ts';
import { repositoryOf, sourceOfFlux } from './flux/source.ts';
import { fluxToSource } from './flux/steps.ts';
import { type FactsQuery, readFacts } from './read-facts.ts';
import { type Move, placeSteps } from './steps.ts';
import { firstSource, type ToSourceInput, toSourceSteps } from './to-source.ts';
import type { MoveTree, Placed, Subject } from './tree.ts';

/** Plans the move of one Kustomization or Application to a Source. Throws ApiError. */
export async function planToSource(
  tree: MoveTree,
  subject: Subject,
  cluster: ClusterReading | undefined,
): Promise<Move> {
  const { former, owner } = subject;
  const name = `${former.kind} ${former.namespace}/${former.name}`;
  const early = earlyStops(tree, subject);
  if (early.length > 0) return { name, stops: early, notes: [], steps: [] };
  if (former.kind === 'Kustomization' && former.namespace === 'flux-system' && former.name === 'flux-system')
    return {
      name,
      stops: [],
      notes: ['it applies Flux itself and stays until Flux is removed'],
      steps: [],
    };

  const named = owner && repositoryOf(owner.object);
  const repository = tree.objects.find(
    ({ object: { kind, metadata } }) =>
      kind === 'GitRepository' && metadata.name === named?.name && metadata.namespace === named?.namespace,
  );
  const facts = cluster && (await readFacts(cluster.connection, factsQuery(subject)));
  const credentials = await credentialsFor(subject, cluster?.connection);
  const made = owner && sourceFrom(tree, { former, owner, repository, credentials, live: facts?.repository });
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
    /** The repository in the cluster. */
    readonly live: KubernetesObject | undefined;
    readonly credentials: ArgoCredentials | undefined;
  },
): Made {
  const { former, owner, repository, live, credentials } = given;
  const { object } = owner;
  const carried =
    object.kind === 'Application'
      ? sourceOfArgo(object, credentials)
      : sourceOfFlux(object, repository?.object ?? live);
  const { prune, syncPolicy } = (object.spec ?? {}) as {
    prune?: boolean;
    syncPolicy?: { automated?: { prune?: boolean } };
  };
  const isMarked = object.metadata.annotations?.[pruneAfterAnnotation] === 'true';
  const prunes = isMarked || prune === true || syncPolicy?.automated?.prune === true;
  const wanted = firstSource(former, carried.spec, prunes);
  const stops = stopsIn(tree, { owner, repository }, carried);
  if (former.kind === 'Kustomization' && repositoryOf(owner.object) && !repository && !live)
    stops.push(
      `${tree.at(owner.origin, 'spec.sourceRef')}: its GitRepository is neither in the files given nor in the cluster`,
    );
  const notes = [...carried.notes, ...accountNotes(wanted)];
  if (stops.length > 0) return { wanted, notes, stops };
  // What is valid for the other tool need not be valid in a Source.
  const parsed = parseSource(wanted);
  const invalid = parsed.ok ? [] : parsed.problems.map(({ path, message }) => `Source ${path}: ${message}`);
  return { wanted, notes, stops: invalid };
}

/** A Source that exists need not be compared, and one whose owner does not apply cannot. */
async function compared(
  { connection, ...reading }: ClusterReading,
  { owner, source, members }: MoveFacts,
  wanted: Source,
): Promise<Comparison | undefined> {
  if (!owner || source) return undefined;
  const inventory = members.map(({ reference }) => reference);
  return comparisonOf(connection, wanted, { ...reading, inventory });
}

function earlyStops({ at, objects }: MoveTree, { owner, source, former }: Subject): string[] {
  const found: string[] = [];
  for (const one of [owner, source]) {
    if (!one) continue;
    if (one.origin.items.length > 0)
      found.push(`${at(one.origin, '')}: is inside a List; move it to a document of its own`);
    if (!one.object.metadata.namespace)
      found.push(`${at(one.origin, 'metadata')}: has no namespace; set it in the file`);
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

function factsQuery({ former, owner }: Subject): FactsQuery {
  const { dependsOn = [] } = (owner?.object.spec ?? {}) as {
    dependsOn?: Array<{ name: string; namespace?: string }>;
  };
  return {
    former,
    repository: owner && repositoryOf(owner.object),
    dependsOn: dependsOn.map(({ name, namespace = former.namespace }) => ({ namespace, name })),
  };
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
  { at }: MoveTree,
  { owner, repository }: { owner: Placed; repository: Placed | undefined },
  { stops }: ConvertedSource,
): string[] {
  return stops.map(({ field, message }: Stop) => {
    const [, ofRepository] = /^GitRepository (.+)$/.exec(field) ?? [];
    if (ofRepository === undefined) return `${at(owner.origin, field)}: ${field}: ${message}`;
    return `${repository ? `${at(repository.origin, ofRepository)}: ` : ''}${field}: ${message}`;
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
