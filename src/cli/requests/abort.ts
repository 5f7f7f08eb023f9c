import { releaseUnderWay } from './under-way.ts';
import { type VerbCommand, verbCommand } from './verb-command.ts';

/** `holdfast abort`: the release under way ends and is rejected. */
export const abort: VerbCommand = {
  name: 'abort',
  verb: 'abort',
  description: 'end the release under way and go back to the last known good one',
  flag: '--revision <commit>',
  flagMeaning: 'only if this commit or digest is under way; default: whatever is',
  revision: (_client, canary) => releaseUnderWay(canary),
  isWanted: (outcome) => outcome === 'Failed',
};

/** The command of it. */
export const abortCommand = verbCommand(abort);
