import { revertCommand, runbookOf } from '../api/incident-text.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { rolloutReasons } from '../api/reasons.ts';
import { canaryStatus, conditionOf } from './status-rows.ts';

/** What a person can do about a Canary now. */
export interface Advice {
  readonly text: string;
  /** To copy into a shell. */
  readonly command?: string;
}

/** From the table of reasons, and the commands that fit the state; nothing when all is well. */
export function adviceFor(canary: KubernetesObject): Advice[] {
  const status = canaryStatus(canary);
  const reason = conditionOf(status, 'Ready')?.reason ?? '';
  const row = Object.hasOwn(rolloutReasons, reason)
    ? rolloutReasons[reason as keyof typeof rolloutReasons]
    : undefined;
  const general = row && row.act !== 'nothing to do' ? [{ text: `${row.act} (${runbookOf(reason)})` }] : [];
  return [...general, ...resume(canary), ...undo(canary), ...retry(canary)];
}

function resume(canary: KubernetesObject): Advice[] {
  if (canary.metadata.annotations?.['holdfast.dev/pause'] !== 'true') return [];
  return [{ text: 'it is paused; to go on', command: holdfast('resume', canary) }];
}

/** While a bad release is held or rejected at head, a revert in Git ends it everywhere. */
function undo(canary: KubernetesObject): Advice[] {
  const status = canaryStatus(canary);
  const { lastAppliedCommit: head, lastPromotedCommit: good } = status;
  const bad = status.phase === 'Failed' || status.postPromotion?.state === 'Held';
  const command = revertCommand(head ?? '');
  if (!bad || head === good || !command) return [];
  return [{ text: 'to take the commit back in Git', command }];
}

function retry(canary: KubernetesObject): Advice[] {
  const status = canaryStatus(canary);
  const { lastAppliedCommit: head } = status;
  const rejected = status.rejected?.some(({ commit }) => commit === head);
  if (!rejected || !head || !isCommit(head)) return [];
  return [{ text: 'to try it once more', command: holdfast('retry', canary) }];
}

function holdfast(command: string, { metadata }: KubernetesObject): string {
  return `holdfast ${command} -n ${metadata.namespace ?? 'default'} canary/${metadata.name}`;
}

/** Nothing else from a status may stand in a command that somebody pastes into a shell. */
function isCommit(text: string): boolean {
  return /^[0-9a-f]{40,64}$/.test(text);
}
