import { nothing, type ReasonRow, row } from './reason-row.ts';

/** Reasons of work beside other tools, and of taking over what Flagger left (design section 2.5). */
export const besideReasons = {
  TargetScaledUp: row(
    'another tool scales the target up while it rests',
    'as before',
    'it is scaled down again, less and less often',
    "leave replicas out of the other tool's manifest",
  ),
  Adopted: row('what Flagger left was taken over as it is', 'as before', nothing),
  FailedUnderFlagger: row(
    'head had failed under Flagger, before Holdfast took over',
    'primary with the last-known-good',
    'nothing; the digest is rejected',
    'fix or revert it in Git, or retry',
  ),
} as const satisfies Record<string, ReasonRow>;
