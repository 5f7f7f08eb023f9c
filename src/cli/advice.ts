import { canaryStatus, conditionOf } from '../api/canary/summary.ts';
import { revertCommand, runbookOf } from '../api/incident.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { nothing, rolloutReasons } from '../api/reasons.ts';

/** What a person can do about a Canary now. */
interface Advice {
  readonly text: string;
  /** To copy into a shell. */
  readonly command?: string;
}

/** From the table of reasons, and the commands that fit the state; nothing when all is well. */
export function adviceFor(canary: KubernetesObject): Advice[] {
  const status = canaryStatus(canary);
  const { lastAppliedCommit: head = '', lastPromotedCommit: good, rejected = [] } = status;
  const reason = conditionOf(status, 'Ready')?.reason ?? '';
  const row = Object.hasOwn(rolloutReasons, reason)
    ? rolloutReasons[reason as keyof typeof rolloutReasons]
    : undefined;
  const advice: Advice[] = [];
  const add = (text: string, command: string) => advice.push({ text, command });
  if (row && row.act !== nothing) advice.push({ text: row.act });
  if (row && runbookOf(reason)) add('what to check, and how to resolve it', holdfast('runbook', canary));
  if (canary.metadata.annotations?.['holdfast.dev/pause'] === 'true')
    add('it is paused; to resume', holdfast('resume', canary));
  advice.push(...adviceAtGate(canary));
  const isHeld = status.postPromotion?.state === 'Held';
  if (isHeld) add('to go back to the last known good release now', holdfast('abort', canary));
  // While a bad release is held or rejected at head, a revert in Git ends it everywhere.
  const revert = revertCommand(head);
  if ((status.phase === 'Failed' || isHeld) && head !== good && revert)
    add('to revert the commit in Git', revert);
  // Nothing but a commit may come from a status into a command that somebody pastes into a shell.
  const isCommit = /^[0-9a-f]{40,64}$/.test(head);
  if (isCommit && rejected.some(({ commit }) => commit === head))
    add('to retry the release', holdfast('retry', canary));
  return advice;
}

function adviceAtGate(canary: KubernetesObject): Advice[] {
  const { phase, run } = canaryStatus(canary);
  if (run?.awaitsWindow === true)
    return [{ text: 'to start without waiting for the window', command: holdfast('ignore-window', canary) }];
  if (phase !== 'Waiting' && phase !== 'WaitingPromotion') return [];
  return [{ text: 'to let it through its gate', command: holdfast('approve', canary) }];
}

function holdfast(command: string, { metadata }: KubernetesObject): string {
  return `holdfast ${command} -n ${metadata.namespace ?? 'default'} canary/${metadata.name}`;
}
