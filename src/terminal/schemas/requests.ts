/** What commands say that ask Holdfast for something. */
import * as z from 'zod';
import { windowSchema } from '../../api/source/source.ts';
import { canaryName, commit, subject, time } from './parts.ts';

const outcome = z.enum(['Succeeded', 'RolledBack', 'Failed', 'Superseded', 'Held', 'TimedOut']);

/** What promote, approve, skip-step, ignore-window, abort, retry and rollback print. */
export const requestResult = z.object({
  canary: canaryName,
  verb: z.string().describe('What was requested, as in the annotation `holdfast.dev/VERB`.'),
  value: z.string().describe('Value of the annotation.'),
  result: z
    .enum(['Done', 'Refused'])
    .describe('What Holdfast answered; absent: it has not answered within the time.')
    .optional(),
  reason: z.string().describe('Why, as in the table of reasons.').optional(),
  message: z.string().describe('What follows, or why nothing does.').optional(),
  time: time.describe('When it was handled.').optional(),
  outcome: outcome.describe('With --wait: where the release came to rest.').optional(),
  why: z.string().describe('With --wait: why it failed or is held, or what it waits for.').optional(),
});

/** What `holdfast wait` prints. */
export const waitResult = z.object({
  canary: canaryName,
  outcome: outcome.describe(
    'Where the release came to rest; Superseded: Git moved on before it was promoted; TimedOut: nowhere within the time.',
  ),
  phase: z.string().describe('Phase of the Canary.').optional(),
  lastAppliedCommit: commit.describe('Commit of the newest release that was started or rejected.').optional(),
  lastPromotedCommit: commit.describe('Commit of the last known good release.').optional(),
  message: z.string().describe('The line of the status; after TimedOut what was waited for.').optional(),
  why: z.string().describe('Why it failed.').optional(),
});

/** What `holdfast sync` prints. */
export const syncResult = z.object({
  source: z.string().describe('Namespace and name of the Source.'),
  fetched: z.boolean().describe('Whether Holdfast has polled Git; false: not within the time.'),
  head: z
    .object({
      commit,
      subject: subject.optional(),
      author: z.string().describe('Who wrote it.').optional(),
      time: time.describe('When it was committed.').optional(),
    })
    .describe('The newest commit.')
    .optional(),
  appliedCommit: z.string().describe('The last commit of which everything was applied.').optional(),
  ready: z
    .object({
      type: z.string().describe('Ready.'),
      status: z.string().describe('True, False or Unknown.'),
      reason: z.string().describe('Why, in one word.'),
      message: z.string().describe('Why, in one line.'),
      lastTransitionTime: time.describe('When the status last changed.').optional(),
      lastUpdateTime: time.describe('When it was last written.').optional(),
      observedGeneration: z.int().describe('Generation of the Source that it is about.').optional(),
    })
    .describe('The condition Ready after that.')
    .optional(),
});

/** What `holdfast pause` and `resume` print about a Canary. */
export const pause = z.object({
  canary: canaryName,
  paused: z.boolean().describe('Whether it is paused now.'),
});

/** What `holdfast suspend` and `resume` print about a Source. */
export const suspension = z.object({
  source: z.string().describe('Namespace and name of the Source.'),
  suspended: z.boolean().describe('Whether it is suspended now.'),
});

/** What `holdfast freeze` prints. */
export const freeze = z.object({
  freeze: z.string().describe('Namespace and name of the ConfigMap.'),
  selector: z.string().describe('Labels of the Canaries; absent: all of them.').optional(),
  windows: z.array(windowSchema).describe('When it freezes; absent: from now on.').optional(),
  holds: z.enum(['all', 'starts']).describe('starts: what began continues to its end.'),
  until: time.describe('When it ends; absent: with `holdfast unfreeze`.').optional(),
  reason: z.string().describe('Why.'),
  canaries: z
    .int()
    .describe('How many Canaries it is for now; absent: they could not be counted.')
    .optional(),
});

/** What `holdfast unfreeze` prints. */
export const freezesLifted = z.object({
  lifted: z.array(z.string()).describe('Namespaces and names of the ConfigMaps that were deleted.'),
});

/** What `holdfast gate` prints. */
export const gates = z.object({
  canary: canaryName,
  gate: z.boolean().describe('Whether the gate at /gate/check is open.'),
  rollbackGate: z.boolean().describe('Whether the one at /rollback/check is open.'),
});
