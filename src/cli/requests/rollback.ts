import { describe, type KubernetesObject } from '../../api/kubernetes.ts';
import { InputError } from '../../app/options.ts';
import type { RecordView } from '../../rollout/world.ts';
import { canaryStatus } from '../status-rows.ts';
import { keptReleases } from './kept.ts';
import { type VerbCommand, verbCommand } from './verb-command.ts';

/** `holdfast rollback`: a kept release serves again. */
export const rollback: VerbCommand = {
  name: 'rollback',
  verb: 'rollback-to',
  description: 'go back to a kept release that proved itself',
  flag: '--to <commit>',
  flagMeaning: 'commit or digest as holdfast history shows it; default: the good one before what runs now',
  async revision(client, canary) {
    const wanted = before(canary, await keptReleases(client, canary));
    if (wanted) return wanted.digest;
    throw new InputError(
      `${describe(canary)}: no older good release is kept; holdfast history shows what is`,
    );
  },
  // What was at head is rejected, so the phase is Failed once the older release serves.
  isWanted: (outcome) => outcome === 'Failed' || outcome === 'Succeeded',
};

/** The command of it. */
export const rollbackCommand = verbCommand(rollback);

/** With a release under way the last-known-good, else the good one before it. */
function before(canary: KubernetesObject, kept: readonly RecordView[]): RecordView | undefined {
  const { run, rejected = [] } = canaryStatus(canary);
  const bad = new Set(rejected.map(({ digest }) => digest));
  const good = kept.filter(({ digest, promotedTime }) => promotedTime !== undefined && !bad.has(digest));
  return run ? good[0] : good[1];
}
