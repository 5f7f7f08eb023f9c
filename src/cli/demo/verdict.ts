import type { CanaryStatus } from '../../api/canary-status.ts';
import type { Difference } from './events.ts';
import { application } from './manifests.ts';
import type { FinalWorld, WorkloadState } from './world.ts';

/**
 * What the story must have led to. Commits are full SHAs. The commit that reverts v3 has v2's digest, so it is the last promoted one
 * (design section 2.3).
 */
export interface Expectation {
  readonly image: string;
  readonly goodEnv: Readonly<Record<string, string>>;
  /** Digest of the good release, as it was recorded when it was promoted. */
  readonly goodDigest: string;
  readonly badVersion: string;
  readonly badCommit: string;
  readonly headCommit: string;
}

/** Everything in which the cluster differs from what the story must have led to; empty: all is well. Pure. */
export function differencesOf(world: FinalWorld, expected: Expectation): Difference[] {
  return [
    ...primaryDifferences(world.primary, expected),
    ...restDifferences(world),
    ...statusDifferences(world, expected),
    ...differ(
      `pods of the rejected ${expected.badVersion}`,
      '0',
      String(world.podVersions.filter((version) => version === expected.badVersion).length),
    ),
  ];
}

function primaryDifferences(primary: WorkloadState | undefined, expected: Expectation): Difference[] {
  const what = `Deployment ${application}-primary`;
  if (!primary) return differ(what, 'there', 'missing');
  return [
    ...differ(`${what}: image`, expected.image, primary.image),
    ...differ(`${what}: environment`, ordered(expected.goodEnv), ordered(primary.env)),
    ...differ(`${what}: ready pods`, String(primary.wanted), String(primary.ready)),
    ...differ(`${what}: pods`, String(primary.wanted), String(primary.replicas)),
  ];
}

function restDifferences({ target, weights }: FinalWorld): Difference[] {
  const primary = weights[`${application}-primary`] ?? 0;
  const canary = Object.entries(weights)
    .filter(([name]) => name !== `${application}-primary`)
    .reduce((sum, [, weight]) => sum + weight, 0);
  return [
    ...differ(`Deployment ${application}: replicas`, '0', String(target?.wanted ?? 'missing')),
    ...differ('route: primary/canary', '100/0', `${primary}/${canary}`),
  ];
}

function statusDifferences({ canary, source }: FinalWorld, expected: Expectation): Difference[] {
  const what = `Canary ${application}`;
  const rejected = (canary.rejected ?? []).map(({ commit }) => commit).join(', ');
  return [
    ...differ(`${what}: phase`, 'Succeeded', canary.phase || 'none'),
    ...differ(`${what}: last-known-good`, expected.goodDigest, canary.lastKnownGood?.digest ?? 'none'),
    ...differ(`${what}: last promoted commit`, expected.headCommit, canary.lastPromotedCommit ?? 'none'),
    ...differ(`${what}: rejected`, expected.badCommit, rejected || 'none'),
    ...differ(`${what}: last applied commit`, expected.headCommit, canary.lastAppliedCommit ?? 'none'),
    ...differ(`${what}: condition Promoted`, 'True', conditionOf(canary, 'Promoted')),
    ...differ(`${what}: condition Ready`, 'True', conditionOf(canary, 'Ready')),
    ...differ(`${what}: condition Reverted`, 'False', conditionOf(canary, 'Reverted')),
    ...differ(`Source ${application}: applied commit`, expected.headCommit, source.appliedCommit ?? 'none'),
    ...differ(`Source ${application}: condition Ready`, 'True', conditionOf(source, 'Ready')),
  ];
}

function conditionOf({ conditions }: Pick<CanaryStatus, 'conditions'>, type: string): string {
  return conditions?.find((entry) => entry.type === type)?.status ?? 'none';
}

function differ(what: string, expected: string, found: string): Difference[] {
  return expected === found ? [] : [{ what, expected, found }];
}

function ordered(env: Readonly<Record<string, string>>): string {
  const entries = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return entries.sort().join(' ');
}
