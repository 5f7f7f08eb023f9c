/** What keeps a Source from being followed that only what polls it and reads its refs can tell. */
import type { Problem } from '../../api/problems.ts';
import type { Source } from '../../api/source/source.ts';
import { rangeProblem } from '../wire/semver.ts';
import { scheduleProblem } from './schedule.ts';

/** A schedule or a range of versions that cannot be read. */
export function followProblems({ spec }: Source, nowMs: number): Problem[] {
  const { schedule, timeZone, ref } = spec;
  const found: Array<[path: string, message: string | undefined]> = [
    ['spec.schedule', schedule ? scheduleProblem(schedule, timeZone, nowMs) : undefined],
    ['spec.ref.semver', ref.semver === undefined ? undefined : rangeProblem(ref.semver)],
  ];
  return found.flatMap(([path, message]) => (message === undefined ? [] : [{ path, message }]));
}
