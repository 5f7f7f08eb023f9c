import { planOf } from '../../api/plan.ts';
import type { ExpectedObject } from '../../engine/observe/expected-objects.ts';
import type { Comparison } from '../../health/comparison.ts';
import { differences } from '../../health/expectation.ts';
import type { FieldDifference } from '../../health/workload-view.ts';
import { expectedState } from '../../rollout/expected-state.ts';
import type { World } from '../../rollout/world.ts';
import { differencesOf } from '../../workload/covers.ts';
import { contentOf, driftOf } from '../../workload/drift.ts';
import { inWords } from '../../workload/field-differences.ts';
import type { ExpectedRelease } from '../expected-release.ts';

/** An object that must be there, and where it is not what it must be. */
export interface ObjectDifference {
  readonly kind: string;
  readonly name: string;
  readonly state: 'same' | 'differs' | 'missing';
  /** The field manager that changed it, where one can be told. */
  readonly changedBy?: string;
  readonly fields: readonly FieldDifference[];
}

/** Everything `holdfast diff` says about a Canary. */
export interface Difference {
  readonly canary: string;
  /** The release that must be on the primary. */
  readonly release: ExpectedRelease;
  readonly differs: boolean;
  /** What is not true of the primary that must be, by name. */
  readonly findings: readonly Comparison[];
  readonly objects: readonly ObjectDifference[];
}

const mostFields = 100;
const mostCharacters = 400;

/** Compares a Canary's objects with those its release gives. Pure. */
export function differenceOf(
  world: World,
  release: ExpectedRelease,
  expected: readonly ExpectedObject[],
): Difference {
  const plan = planOf(world.canary, world.options);
  const findings = differences(world.primary, expectedState(world, plan, release.digest));
  const objects = expected.map(compareObject);
  const { digest, commit, subject } = release;
  const { namespace, name } = world.canary.metadata;
  return {
    canary: `${namespace ?? ''}/${name}`,
    release: { digest, commit, subject },
    differs: findings.length > 0 || objects.some(({ state }) => state !== 'same'),
    findings,
    objects,
  };
}

function compareObject({ kind, name, wanted, live }: ExpectedObject): ObjectDifference {
  if (!live) return { kind, name, state: 'missing', fields: [] };
  const found = wanted ? differencesOf(live, contentOf(wanted)) : [];
  if (!wanted || found.length === 0) return { kind, name, state: 'same', fields: [] };
  const drift = driftOf(live, wanted, 'holdfast-rollout');
  const fields = inWords(found.slice(0, mostFields), { isSecret: kind === 'Secret', mostCharacters });
  return {
    kind,
    name,
    state: 'differs',
    ...(drift.kind === 'foreign' ? { changedBy: drift.manager } : {}),
    fields,
  };
}
