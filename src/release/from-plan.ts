import { describe } from '../api/kubernetes.ts';
import type { CommitInfo } from '../api/observed.ts';
import type { FileProblem } from '../render/types.ts';
import { buildRelease, type ReleaseCanary } from './build.ts';
import type { LineOf } from './candidates.ts';
import { undeclaredPort } from './port-findings.ts';
import type { Release } from './release.ts';
import type { CanaryPlan } from './select.ts';

/** What a release needs beside its plan. */
export interface PlanInput {
  plan: Extract<CanaryPlan, { state: 'release' }>;
  /** The Canary that counts: the plan's own, or the one in the cluster when Git holds none. */
  canary: ReleaseCanary;
  commit: CommitInfo;
  /** HMAC key of the cluster, at least 32 bytes. */
  secretKey: Uint8Array;
  lineOf: LineOf;
}

/** The release of a plan, or the problem with file, line and field. Throws RangeError when the key is too short. */
export function releaseOfPlan(
  input: PlanInput,
): { ok: Release; problem?: never } | { ok?: never; problem: FileProblem } {
  const { plan, canary, commit, secretKey, lineOf } = input;
  const configs = plan.configs.map(({ object }) => object);
  const target = plan.target.object;
  const { origins, tracksConfig } = plan;
  const built = buildRelease({ canary, target, configs, commit, secretKey, origins, tracksConfig });
  if (!built.problem) return built;
  const { object, field, message } = built.problem;
  const entry = [plan.target, ...plan.configs].find((one) => describe(one.object) === object);
  // A Canary that only the cluster has is told of at its target.
  const origin = entry?.origin ?? plan.origin ?? plan.target.origin;
  const place = { file: origin.file, line: lineOf(origin, field) };
  return { problem: { ...place, field, message: `${object}: ${message}` } };
}

/** What is doubtful about a release of this plan, with file, line and field; nothing waits for it. */
export function releaseWarnings(
  { plan, canary, lineOf }: Pick<PlanInput, 'plan' | 'canary' | 'lineOf'>,
  release: Release,
): FileProblem[] {
  const found = undeclaredPort(canary.spec.service, release);
  if (!found) return [];
  const origin = plan.origin ?? plan.target.origin;
  return [{ file: origin.file, line: lineOf(origin, found.field), ...found }];
}
