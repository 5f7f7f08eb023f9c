import { type Canary, targetApiVersion } from '../api/canary/canary.ts';
import { parseCanary } from '../api/kinds/parse.ts';
import {
  type KubernetesObject,
  keyOf,
  type NamespacedName,
  nameOf,
  nameOfKey,
  namespacedName,
  objectKey,
  recordOf,
  textOf,
} from '../api/kubernetes.ts';
import {
  type FileProblem,
  formatOrigin,
  type Origin,
  type RenderedObject,
} from '../render/rendered-object.ts';

/** Line of a field of a rendered object. */
export type LineOf = (origin: Origin, field: string) => number;

/** A Canary that may get a plan from one commit. */
export interface Candidate {
  key: string;
  name: NamespacedName;
  /** From Git, else from the cluster; undefined: only its previous release is known. */
  object: KubernetesObject | undefined;
  /** Undefined: the object is not a valid Canary. */
  parsed: Canary | undefined;
  /** Its place in Git; undefined: it is not in Git. */
  origin: Origin | undefined;
  /** Problems of it in Git. */
  problems: FileProblem[];
}

/** The Canaries of the commit, those of the cluster, and those that had a plan before; each once, from Git first. */
export function candidatesOf(
  objects: readonly RenderedObject[],
  liveCanaries: readonly KubernetesObject[],
  previousKeys: Iterable<string>,
  lineOf: LineOf,
): Candidate[] {
  const all = [
    ...objects
      .filter(({ object }) => object.kind === 'Canary' && object.apiVersion.startsWith('flagger.app/'))
      .map(({ object, origin }) => candidateOf(object, origin, lineOf)),
    ...liveCanaries.map((object) => candidateOf(object, undefined, lineOf)),
    ...[...previousKeys].map(unknownCandidate),
  ];
  const byKey = new Map<string, Candidate>();
  for (const candidate of all) {
    if (!byKey.has(candidate.key)) byKey.set(candidate.key, candidate);
  }
  return [...byKey.values()];
}

/** `objectKey` of the Canary's target; undefined: it names none. */
export function targetKey(candidate: Candidate): string | undefined {
  return referenceKey(candidate, 'targetRef');
}

/** `objectKey` of the Canary's scaler; undefined: it names none. */
export function scalerKey(candidate: Candidate): string | undefined {
  return referenceKey(candidate, 'autoscalerRef');
}

/**
 * Problems of Canaries with the same target, by the Canary's key. The one that was in the cluster first keeps the target and has no problem;
 * if none is in the cluster, all have one.
 */
export function sharedTargets(
  candidates: readonly Candidate[],
  liveCanaries: readonly KubernetesObject[],
  lineOf: LineOf,
): Map<string, FileProblem[]> {
  const byTarget = new Map<string, Candidate[]>();
  for (const candidate of candidates) {
    const key = targetKey(candidate);
    const same = byTarget.get(key ?? '');
    if (same) same.push(candidate);
    else if (key) byTarget.set(key, [candidate]);
  }
  const created = new Map(
    liveCanaries
      .filter(({ metadata }) => !metadata.deletionTimestamp)
      .map((canary) => [namespacedName(canary), canary.metadata.creationTimestamp ?? '']),
  );
  const firsts = new Map([...byTarget].map(([key, same]) => [key, firstIn(same, created)]));
  const problems = new Map<string, FileProblem[]>();
  for (const candidate of candidates) {
    const key = targetKey(candidate) ?? '';
    const same = byTarget.get(key) ?? [];
    const first = firsts.get(key);
    const other = first ?? same.find((one) => one !== candidate);
    if (!other || other === candidate) continue;
    const place = other.origin ? formatOrigin(other.origin) : 'in the cluster';
    const message = `Canary ${candidate.key} has the same target as Canary ${other.key} (${place}): a workload can have one Canary`;
    problems.set(candidate.key, [canaryProblem(candidate, 'spec.targetRef.name', message, lineOf)]);
  }
  return problems;
}

/**
 * The Canary that owns a target, as the rollout decides: the older one, then by name, without those that are being deleted: their successor is
 * read, and begins after them. `created`: the times of the others in the cluster.
 */
function firstIn(same: readonly Candidate[], created: ReadonlyMap<string, string>): Candidate | undefined {
  const order = same
    .filter(({ key }) => created.has(key))
    .map((candidate) => ({ candidate, rank: `${created.get(candidate.key)} ${candidate.key}` }));
  return order.sort((a, b) => (a.rank < b.rank ? -1 : 1))[0]?.candidate;
}

/** A problem with a field of a Canary; without a line if the Canary is not in Git. */
export function canaryProblem(
  candidate: Pick<Candidate, 'origin'>,
  field: string,
  message: string,
  lineOf: LineOf,
): FileProblem {
  const { origin } = candidate;
  if (!origin) return { file: '', line: 0, message };
  return { file: origin.file, line: lineOf(origin, field), ...(field ? { field } : {}), message };
}

/** A Canary in the cluster was checked by the API server; one in Git is checked here. */
function candidateOf(object: KubernetesObject, origin: Origin | undefined, lineOf: LineOf): Candidate {
  const name = nameOf(object);
  const result = parseCanary(object);
  const found = result.ok || !origin ? [] : result.problems;
  const problems = found.map(({ path, message }) => canaryProblem({ origin }, path, message, lineOf));
  return {
    key: keyOf(name),
    name,
    object,
    parsed: result.ok ? result.value : undefined,
    origin,
    problems,
  };
}

function unknownCandidate(key: string): Candidate {
  return {
    key,
    name: nameOfKey(key),
    object: undefined,
    parsed: undefined,
    origin: undefined,
    problems: [],
  };
}

/** Read from the unparsed object, so that the target of an invalid Canary is known, too. */
function referenceKey(candidate: Candidate, field: 'targetRef' | 'autoscalerRef'): string | undefined {
  const reference = recordOf(recordOf(candidate.object?.spec)[field]);
  const kind = textOf(reference.kind);
  const written = textOf(reference.apiVersion);
  const apiVersion = field === 'targetRef' ? targetApiVersion({ apiVersion: written, kind }) : written;
  const name = textOf(reference.name);
  if (!apiVersion || !kind || !name) return undefined;
  const { namespace } = candidate.name;
  return objectKey({ apiVersion, kind, namespace, name });
}
