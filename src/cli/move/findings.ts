/** What was read back, as findings. Pure. */
import { partOfLabel } from '../../api/applyset.ts';
import { type Condition, describe, type KubernetesObject } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source.ts';
import { applySetId } from '../../engine/source/apply-set.ts';
import {
  adoptFromAnnotation,
  type FormerOwner,
  formerOwnerText,
  isMarkedBy,
} from '../../engine/source/former-owner.ts';
import { covers } from '../../workload/covers.ts';
import type { Comparison, MoveFacts } from './facts.ts';
import type { Finding } from './step.ts';

const mostNamed = 5;

/** Names in a sentence, not more than a few. */
export function named(names: readonly string[]): string {
  const more = names.length > mostNamed ? ` and ${names.length - mostNamed} more` : '';
  return names.slice(0, mostNamed).join(', ') + more;
}

/** A finding that is undefined until facts are there. */
export function finding(
  facts: MoveFacts | undefined,
  what: string,
  look: (facts: MoveFacts) => true | string,
): Finding {
  if (!facts) return { what, holds: undefined };
  const found = look(facts);
  return found === true ? { what, holds: true } : { what, holds: false, found };
}

/** A condition of a live object. */
export function conditionOf(object: KubernetesObject | undefined, type: string): Condition | undefined {
  const { conditions = [] } = (object?.status ?? {}) as { conditions?: Condition[] };
  return conditions.find((condition) => condition.type === type);
}

/** The controller has seen the object as it is. */
export function isObserved(object: KubernetesObject | undefined): boolean {
  const { observedGeneration } = (object?.status ?? {}) as { observedGeneration?: number };
  return object !== undefined && observedGeneration === object.metadata.generation;
}

/** The dry run, a finding for each thing that may not be. */
export function comparisonFindings(facts: MoveFacts | undefined): Finding[] {
  const none = (what: string, pick: (comparison: Comparison) => readonly string[]) =>
    finding(facts, what, ({ comparison }) => {
      if (!comparison) return 'it was not compared';
      if (comparison.problem !== undefined) return comparison.problem;
      const found = pick(comparison);
      return found.length === 0 || named(found);
    });
  return [
    none('the Source holds every object of the inventory', ({ missing }) => missing),
    none('it creates none', ({ created }) => created),
    none('it changes none, so that no pod restarts', ({ changed }) => changed),
    none('it may write all of them', ({ refused }) => refused),
  ];
}

/** Holdfast follows the Source and has applied its head. */
export function appliedFindings(facts: MoveFacts | undefined, name: string): Finding[] {
  return [
    finding(facts, `Source ${name} has applied its head`, ({ source }) => {
      const applied = conditionOf(source, 'Applied');
      if (!source) return 'it is not in the cluster';
      if (!isObserved(source)) return 'Holdfast has not looked at it since it was changed';
      if (applied?.status !== 'True') return applied?.message ?? 'it has no condition Applied';
      const { head, appliedCommit } = (source as Source).status ?? {};
      return (
        head?.commit === appliedCommit || `applied ${appliedCommit ?? 'nothing'}, head is ${head?.commit}`
      );
    }),
  ];
}

/** Every object of the inventory is the Source's, and no mark of the owner is left on it. */
export function takenFinding(
  facts: MoveFacts | undefined,
  source: KubernetesObject,
  former: FormerOwner,
): Finding {
  const id = applySetId(source);
  return finding(
    facts,
    'every object of the inventory is in its set, without a mark of the other tool',
    (seen) => {
      const gone = seen.members.filter(({ live }) => !live).map(({ reference }) => describe(reference));
      if (gone.length > 0) return `not in the cluster: ${named(gone)}`;
      const left = seen.members.flatMap(({ live }) =>
        live && (live.metadata.labels?.[partOfLabel] !== id || isMarkedBy(live, bare(live), former))
          ? [live]
          : [],
      );
      return left.length === 0 || `not yet: ${named(left.map(describe))}`;
    },
  );
}

/** The Source names the owner whose objects it takes over. */
export function adoptsFinding(facts: MoveFacts | undefined, name: string, former: FormerOwner): Finding {
  const text = formerOwnerText(former);
  return finding(
    facts,
    `Source ${name} is in the cluster, with ${adoptFromAnnotation}: ${text}`,
    ({ source, owner }) => {
      if (!source) return 'it is not';
      if (!owner) return true;
      return source.metadata.annotations?.[adoptFromAnnotation] === text || 'it has not this annotation';
    },
  );
}

/** A field of the tree is in the cluster as it is there; what the server fills in makes no difference. */
export function isSameField(live: unknown, tree: unknown): boolean {
  return tree === undefined || tree === null ? live === undefined || live === null : covers(live, tree);
}

/** What Git may say of the marks themselves cannot be told from here; charts say one of them. */
function bare({ apiVersion, kind, metadata }: KubernetesObject): KubernetesObject {
  const instance = metadata.labels?.['app.kubernetes.io/instance'];
  const labels = instance === undefined ? {} : { 'app.kubernetes.io/instance': instance };
  return { apiVersion, kind, metadata: { name: metadata.name, labels } };
}
