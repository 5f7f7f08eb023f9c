import { describe } from '../../api/kubernetes.ts';
import { InputError } from '../../app/options.ts';
import { canaryStatus } from '../status-rows.ts';
import { type VerbCommand, verbCommand } from './verb-command.ts';

/** `holdfast retry`: what was rejected at head is tried again. */
export const retry: VerbCommand = {
  name: 'retry',
  verb: 'retry',
  description: 'try the rejected release at head again',
  flag: '--revision <commit>',
  flagMeaning: 'only if this commit or digest is at head; default: whatever is',
  revision(_client, canary) {
    const { rejected, lastAppliedSpec, run } = canaryStatus(canary);
    const digest = run?.digest ?? lastAppliedSpec;
    if (digest && rejected?.some((entry) => entry.digest === digest)) return digest;
    throw new InputError(`${describe(canary)}: what is at head was not rejected`);
  },
  isWanted: (outcome) => outcome === 'Succeeded',
};

/** The command of it. */
export const retryCommand = verbCommand(retry);
