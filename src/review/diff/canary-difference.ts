import { planOf } from '../../api/canary/plan.ts';
import { namespacedName } from '../../api/kubernetes.ts';
import type { Comparison } from '../../health/comparison.ts';
import { differences } from '../../health/expectation.ts';
import { expectedState } from '../../rollout/checks.ts';
import { lastKnownGood, type Run, runOf, type World } from '../../rollout/world.ts';
import { describeDifferences } from '../../workload/compare/difference-text.ts';
import { allDifferences, driftOf } from '../../workload/compare/drift.ts';
import { rolloutManager } from '../../workload/compare/managed-fields.ts';
import type { ExpectedObject } from '../expected-objects.ts';
import { mostCharacters, mostFields, type ObjectDifference } from './object-difference.ts';

/** Everything `holdfast diff` says about a Canary. */
export interface CanaryDifference {
  readonly canary: string;
  /** The release that must be on the primary. */
  readonly release: ExpectedRelease;
  readonly differs: boolean;
  /** What is not true of the primary that must be, by name. */
  readonly findings: readonly Comparison[];
  readonly objects: readonly ObjectDifference[];
}

/** Compares a Canary's objects with those its release gives. Pure. */
export function canaryDifferenceOf(
  world: World,
  release: ExpectedRelease,
  expected: readonly ExpectedObject[],
): CanaryDifference {
  const plan = planOf(world.canary, world.options);
  const findings = differences(world.primary, expectedState(world, plan, release.digest));
  const objects = expected.map(compareObject);
  const { digest, commit, subject } = release;
  return {
    canary: namespacedName(world.canary),
    release: { digest, commit, subject },
    differs: findings.length > 0 || objects.some(({ state }) => state !== 'same'),
    findings,
    objects,
  };
}

function compareObject({ kind, name, wanted, live }: ExpectedObject): ObjectDifference {
  if (!live) return { kind, name, state: 'missing', fields: [] };
  const found = wanted ? allDifferences(live, wanted) : [];
  if (!wanted || found.length === 0) return { kind, name, state: 'same', fields: [] };
  const drift = driftOf(live, wanted, rolloutManager);
  const fields = describeDifferences(found.slice(0, mostFields), {
    isSecret: kind === 'Secret',
    mostCharacters,
  });
  return {
    kind,
    name,
    state: 'differs',
    ...(drift.kind === 'foreign' ? { changedBy: drift.manager } : {}),
    fields,
  };
}

/** Names a release. */
export interface ExpectedRelease {
  readonly digest: string;
  readonly commit: string;
  readonly subject: string;
}

/**
 * The release that must be on the primary: the one under way once it has passed its analysis, or is tried there, and until it is taken back, else
 * the last-known-good. Undefined while nothing has proven itself.
 */
export function expectedRelease(world: World): ExpectedRelease | undefined {
  const run = runOf(world.status);
  const isTriedThere = run?.side === 'primary' && world.primary?.digest === run.digest;
  const isPast = world.status.postPromotion !== undefined || isTriedThere;
  if (run && isPast && !isTakenBack(run)) return run;
  const good = lastKnownGood(world);
  return good && { digest: good.digest, commit: good.commit.commit, subject: good.commit.subject };
}

/** The last-known-good must be on the primary, though the release has not ended yet. */
export function isTakenBack({ revert, deferred }: Run): boolean {
  return revert !== undefined || deferred !== undefined;
}
