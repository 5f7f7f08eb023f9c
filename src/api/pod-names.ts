/** Names of pods, which controllers make from the name of their workload. Pure. */

/** What Kubernetes makes names of: no vowels, and no digits that look like one. */
export const madeLetters = '[bcdfghjklmnpqrstvwxz2456789]';

/** Of a name that is made, the last five are random, and all of it has at most 63: what comes before is cut, with its dash. */
const mostBefore = 58;
const mostLetters = 63;
/** Of the hash of a Deployment's template. */
const mostHashLetters = 10;

/** The beginning of names that are cut, and how many `madeLetters` follow. */
interface CutNames {
  readonly beginning: string;
  readonly letters: number;
}

/** How the names of the workload's pods begin where it is so long that Kubernetes may cut them; undefined: it does not. */
export function cutPodNames(workload: string, kind: string): CutNames | undefined {
  const hash = { Deployment: mostHashLetters + 1, DaemonSet: 0 }[kind];
  const own = `${workload}-`;
  if (hash === undefined || own.length + hash <= mostBefore) return undefined;
  const beginning = own.slice(0, mostBefore);
  return { beginning, letters: mostLetters - beginning.length };
}

/** Whether Kubernetes cuts the names of the pods of this ReplicaSet. */
export function cutsPodNames(replicaSet: string): boolean {
  return replicaSet.length + 1 > mostBefore;
}
