import { type Draft, note, say } from '../draft.ts';
import type { Run } from '../run.ts';
import { nameOf } from './admit.ts';
import { end } from './ending.ts';

/** Failed checks add up over the run; the one that reaches the threshold fails the release. */
export function countFailure(draft: Draft, run: Run, findings: string): void {
  const { plan, status } = draft;
  const failed = (status.failedChecks ?? 0) + 1;
  status.failedChecks = failed;
  say(draft, 'Warning', 'CheckFailed', `failed check ${failed} of ${plan.threshold} ${findings}`);
  if (failed < plan.threshold)
    return note(draft, 'CheckFailed', `failed check ${failed} of ${plan.threshold} ${findings}`);
  const message = `${nameOf(run)} failed its analysis ${findings}`;
  end(draft, run, { phase: 'Failed', reason: 'AnalysisFailed', message }, 'AnalysisFailed');
}
