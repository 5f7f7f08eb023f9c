import { nothing, type ReasonRow, row } from './reason-row.ts';

/** Reasons about what Holdfast reads from and writes to Git beside the manifests (design section 2.2, `write`). */
export const gitReasons = {
  StartedFromLedger: row(
    "a new cluster starts from the ledger's commit",
    'what served before',
    'head is rolled out as a canary',
  ),
  LedgerUnavailable: row(
    "the ledger's commit cannot be used",
    'what served before',
    'read again, or head is the first release where it is gone for good',
    'see docs/guides/write-back.md',
  ),
  WrittenToGit: row('ledger, commit status or revert were written to Git', 'as read back', nothing),
  GitUnavailable: row(
    'Git or the forge could not be reached for a write',
    'as read back',
    'tried again; the cluster does not wait for it',
  ),
  GitRefused: row(
    'Git or the forge refused a write three times',
    'as read back',
    nothing,
    'give the credentials the right, or change spec.write; see docs/guides/write-back.md',
  ),
  RevertByHand: row(
    'the rejected release could not be taken back in Git without guessing',
    'primary with the last-known-good',
    nothing,
    'revert or fix it in Git',
  ),
} as const satisfies Record<string, ReasonRow>;
