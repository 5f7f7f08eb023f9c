import { describe, type KubernetesObject } from '../../api/kubernetes.ts';
import { findNotActedOn } from '../../api/not-acted-on.ts';
import { parseCanary } from '../../api/parse.ts';
import { keyOf } from '../../engine/canary/checks.ts';
import type { FieldDifference } from '../../health/workload-view.ts';
import type { CheckLine } from '../check-report.ts';
import type { Seen } from './look.ts';
import { judgeAdoption, type Outcome, type Verdict } from './verdict.ts';

/** What Holdfast would do with one Canary. */
export interface AdoptionRow extends Verdict {
  /** `namespace/name`. */
  readonly canary: string;
  /** As it stands in the status now. */
  readonly phase: string;
  readonly canaryWeight: number;
  /** Where the target is not what the primary runs. */
  readonly differences: readonly FieldDifference[];
  /** Fields that are accepted and have no effect here. */
  readonly notActedOn: readonly string[];
  /** Who acts on it now; until that ends Holdfast does nothing at all. */
  readonly waitsFor?: string;
}

/** What `holdfast adopt --dry-run` says. */
export interface AdoptionPlan {
  readonly canaries: readonly AdoptionRow[];
  /** What of the cluster is not as Holdfast needs it. */
  readonly cluster: readonly CheckLine[];
}

/** What becomes of each Canary, in the words of the decisions that the controller would take. Pure. */
export function planOfAdoption(seen: readonly Seen[], cluster: readonly CheckLine[]): AdoptionPlan {
  return { canaries: seen.map(rowOf), cluster };
}

/** 1 where something would be rolled out or is refused, or the cluster lacks something; else 0. */
export function exitCodeOf({ canaries, cluster }: AdoptionPlan): 0 | 1 {
  const needsSomebody: ReadonlySet<Outcome> = new Set(['rolledOut', 'refused']);
  const isBad =
    canaries.some(({ outcome }) => needsSomebody.has(outcome)) ||
    cluster.some(({ state }) => state === 'failed');
  return isBad ? 1 : 0;
}

function rowOf({ object, foreignController, found }: Seen): AdoptionRow {
  const { phase = '', canaryWeight = 0 } = (object.status ?? {}) as { phase?: string; canaryWeight?: number };
  const verdict: Verdict =
    'refusal' in found
      ? { outcome: 'refused', what: 'nothing', why: withoutName(found.refusal, object) }
      : judgeAdoption(found.world);
  return {
    canary: keyOf(object),
    phase,
    canaryWeight,
    ...verdict,
    differences: 'world' in found && verdict.outcome === 'rolledOut' ? found.differences : [],
    notActedOn: ignoredIn(object),
    ...(foreignController === undefined ? {} : { waitsFor: foreignController }),
  };
}

function withoutName(message: string, object: KubernetesObject): string {
  const prefix = `${describe(object)}: `;
  return message.startsWith(prefix) ? message.slice(prefix.length) : message;
}

function ignoredIn(object: KubernetesObject): string[] {
  const parsed = parseCanary(object);
  if (!parsed.ok) return [];
  // One that stops the Canary is why it is refused.
  const found = findNotActedOn(parsed.value).filter(({ stops }) => !stops);
  return [...new Set(found.map(({ path }) => path))];
}
