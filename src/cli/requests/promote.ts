import { releaseUnderWay } from './under-way.ts';
import { type VerbCommand, verbCommand } from './verb-command.ts';

/** `holdfast promote`: the rest of the analysis, or of the checks after promotion, is left out. */
export const promote: VerbCommand = {
  name: 'promote',
  verb: 'promote',
  description: 'promote the release under way without further checks; one that is verified counts as good',
  flag: '--revision <commit>',
  flagMeaning: 'only if this commit or digest is under way; default: whatever is',
  revision: (_client, canary) => releaseUnderWay(canary),
  isWanted: (outcome) => outcome === 'Succeeded',
};

/** The command of it. */
export const promoteCommand = verbCommand(promote);
