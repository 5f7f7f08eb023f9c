import { describe } from '../api/kubernetes.ts';
import type { CommitInfo } from '../api/observed.ts';
import type { FileProblem } from '../render/types.ts';
import { buildRelease, type ReleaseCanary } from './build.ts';
import type { LineOf } from './candidates.ts';
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
  const origin = entry?.origin ?? plan.origin;
  const place = origin ? { file: origin.file, line: lineOf(origin, field) } : { file: '', line: 0 };
  return { problem: { ...place, field, message: `${object}: ${message}` } };
}
