import { type ReasonRow, row } from './reason-row.ts';

/** Reasons of webhooks and gates. */
export const hookReasons = {
  Waiting: row(
    'a gate (confirm-rollout) keeps the release from starting',
    'primary',
    'starts when the gate opens',
    'open the gate, approve, or revert it in Git',
  ),
  WaitingForTrafficIncrease: row(
    'a gate (confirm-traffic-increase) keeps the weight where it is',
    'both, by the last step',
    'the next step when the gate opens; checks go on',
    'open the gate, or revert it in Git',
  ),
  WaitingPromotion: row(
    'a gate (confirm-promotion) keeps the release from the primary',
    'both, by the last step',
    'promotion when the gate opens; checks go on',
    'open the gate, approve, or revert it in Git',
  ),
  GateOpened: row('a closed gate opened', 'as before', 'what it kept back'),
  GateSwitched: row(
    'somebody opened or closed a gate that Holdfast serves',
    'as before',
    'what it kept back',
  ),
  GateDeadlineExceeded: row(
    'a gate stayed closed beyond its deadline',
    'primary',
    'nothing; the digest is rejected',
    'open the gate, then retry',
  ),
  PreRolloutPassed: row('webhooks of type pre-rollout approved', 'primary', 'the first step'),
  RolledBackByWebhook: row(
    'a webhook of type rollback approved',
    'primary with the last-known-good',
    'nothing; the digest is rejected',
    'fix or revert it in Git, or retry',
  ),
  PostRolloutPassed: row('webhooks of type post-rollout approved', 'as before', 'nothing'),
  PostRolloutFailed: row(
    'a webhook of type post-rollout did not approve; the release is what it was',
    'as before',
    'nothing',
    'look at the webhook',
  ),
} as const satisfies Record<string, ReasonRow>;
