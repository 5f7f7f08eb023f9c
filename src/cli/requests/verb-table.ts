import type { CanaryStatus } from '../../api/canary/status.ts';
import { canaryStatus, lastKnownGoodServes, rejectedHead } from '../../api/canary/summary.ts';
import { gitPart } from '../../api/commit.ts';
import { commandOn, nameOf } from '../../api/kubernetes.ts';
import { InputError } from '../../api/problems.ts';
import { isApiError, onApiError } from '../../cluster/errors.ts';
import { storedReleases } from '../history.ts';
import { abortEffect, asNamed, rollbackEffect, UnfitRequestError } from './effect.ts';
import { releaseUnderWay, type VerbCommand, verbCommand } from './verbs.ts';

/** `holdfast promote`: skips the rest of the analysis, or of the checks after promotion. */
export const promote: VerbCommand = {
  name: 'promote',
  verb: 'promote',
  flagMeaning: 'only if this commit or digest is being rolled out (default: any)',
};

/** `holdfast abort`: the release under way ends and is rejected. */
export const abort: VerbCommand = {
  name: 'abort',
  verb: 'abort',
  flagMeaning: 'only if this commit or digest is being rolled out (default: any)',
  effect: async (_client, canary) => abortEffect(canary),
  wanted: ['Failed'],
};

/** `holdfast retry`: what was rejected at head is tried again. */
export const retry: VerbCommand = {
  name: 'retry',
  verb: 'retry',
  flagMeaning: 'only if this commit or digest is at head (default: any)',
  revision(_client, canary) {
    const status = canaryStatus(canary);
    const digest = rejectedHead(status);
    if (digest !== undefined) return digest;
    throw new UnfitRequestError('NotApplicable', whyNoRetry(status));
  },
};

/** While a release ends, the status does not say what is at head. */
function whyNoRetry({ run, postPromotion }: CanaryStatus): string {
  if (run?.ending || postPromotion?.state === 'Reverting')
    return 'a release is ending: retry once it has ended, or name the commit at head with --revision COMMIT';
  return postPromotion?.state === 'Held'
    ? 'the release is held and was not rejected: abort it first, then retry'
    : 'the release at head was not rejected';
}

/** `holdfast rollback`: a stored release serves again. */
export const rollback: VerbCommand = {
  name: 'rollback',
  verb: 'rollback-to',
  flag: '--to <commit>',
  flagMeaning: 'commit or digest as listed by holdfast history (default: the previous good release)',
  async revision(client, canary) {
    const status = canaryStatus(canary);
    const { rejected = [], lastKnownGood } = status;
    const stored = await storedReleases(client, canary).catch((error: unknown) => {
      if (!isApiError(error, 'forbidden')) throw error;
      const { namespace } = canary.metadata;
      throw new InputError(
        `Secrets of namespace ${namespace}, where releases are kept, cannot be listed: name one with --to (${error.message})`,
      );
    });
    const good = stored.filter(
      ({ digest, promotedTime }) =>
        promotedTime !== undefined && !rejected.some((entry) => entry.digest === digest),
    );
    // What only config outside Git tells from the one that serves would change nothing: that config is kept nowhere.
    const older = good.find(({ digest }) => gitPart(digest) !== gitPart(lastKnownGood?.digest ?? ''));
    const wanted = lastKnownGoodServes(status) ? older : good[0];
    if (wanted) return wanted.digest;
    const history = commandOn('history', nameOf(canary));
    throw new UnfitRequestError(
      'NotKept',
      `no earlier good release is kept; to list the releases, run: ${history}`,
    );
  },
  async digests(client, canary) {
    const { history = [] } = canaryStatus(canary);
    const stored = await storedReleases(client, canary).catch(onApiError(['forbidden'], () => history));
    return stored.map(({ digest }) => digest);
  },
  async effect(client, canary, { revision, ...how }) {
    const stored = await storedReleases(client, canary).catch((error: unknown) => {
      // Whoever may ask for a rollback need not be able to list the records.
      if (isApiError(error, 'forbidden')) return [asNamed(canary, revision)];
      throw error;
    });
    const wanted = stored.find(
      ({ digest, commit }) => digest.startsWith(revision) || commit.commit.startsWith(revision),
    );
    // The controller says what is wrong with a revision that is not kept.
    return wanted && rollbackEffect(canary, wanted, how);
  },
  wanted: ['RolledBack', 'Succeeded'],
};

/** `holdfast approve`: opens the gate that a release waits at. */
export const approve: VerbCommand = {
  name: 'approve',
  verb: 'approve',
  flagMeaning: 'only if this commit or digest waits (default: any)',
};

/** `holdfast skip-step`: the check of the step is left out once. */
export const skipStep: VerbCommand = {
  name: 'skip-step',
  verb: 'skip-step',
  flagMeaning: 'only if this commit or digest is at its step (default: any)',
};

/** `holdfast ignore-window`: one release starts although its window is closed. */
export const ignoreWindow: VerbCommand = {
  name: 'ignore-window',
  verb: 'ignore-window',
  flagMeaning: 'only if this commit or digest waits (default: any)',
  revision(_client, canary) {
    const digest = releaseUnderWay(canary, 'ignore-window');
    if (!canaryStatus(canary).postPromotion) return digest;
    throw new UnfitRequestError(
      'NotApplicable',
      'no window holds back the release under way, which was written to the primary; to let a newer one start, name it with --revision COMMIT',
    );
  },
};

/** Every command that requests a verb. */
export const verbCommands = {
  promote: verbCommand(promote),
  approve: verbCommand(approve),
  skipStep: verbCommand(skipStep),
  ignoreWindow: verbCommand(ignoreWindow),
  abort: verbCommand(abort),
  retry: verbCommand(retry),
  rollback: verbCommand(rollback),
};
