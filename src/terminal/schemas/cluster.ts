/** What commands say about the cluster, the program and what went wrong. */
import * as z from 'zod';
import { canaryName, checkLine, fieldDifference } from './parts.ts';

/** What `holdfast check` prints. */
export const check = z.object({ checks: z.array(checkLine).describe('Everything that was checked.') });

/** What `holdfast version` prints. */
export const version = z.object({
  client: z.object({ version: z.string().describe('Version of this program.') }),
  controller: z
    .object({
      version: z.string().describe('Version of the controller that leads.').optional(),
      holder: z.string().describe('Who leads: `<pod>_<uid of the pod>_<process>`.').optional(),
      reason: z.string().describe('Why the version is not known.').optional(),
    })
    .describe('Absent: with --client, or no cluster is configured.')
    .optional(),
});

/** What every command prints with -o json or yaml where there is no answer (exit code 2, or a question that was not confirmed). */
export const failure = z.object({
  exitCode: z.int().describe('Exit code of the program.'),
  reason: z
    .string()
    .describe(
      'In one word: InvalidArguments, InvalidInput, NotConfirmed, GitError, the kind of refusal of the API server (Forbidden, NotFound, Timeout, ...), or Failed.',
    ),
  message: z.string().describe('The same text as on standard error.'),
});

/** What `holdfast migrate plan` prints. */
export const adoptionPlan = z.object({
  canaries: z.array(
    z.object({
      canary: canaryName,
      phase: z.string().describe('Phase in the status now.'),
      canaryWeight: z.number().describe('canaryWeight in the status now.'),
      outcome: z
        .enum(['takenOver', 'carriedOn', 'rolledOut', 'waits', 'refused', 'ours'])
        .describe(
          "takenOver: by metadata alone; carriedOn: what Flagger was doing is finished; rolledOut: a rollout starts; waits, refused: nothing happens; ours: it is Holdfast's already.",
        ),
      what: z.string().describe('What would be done.'),
      why: z.string().describe('Why.'),
      differences: z.array(fieldDifference).describe('Where the target is not what the primary runs.'),
      notActedOn: z.array(z.string()).describe('Fields that have no effect.'),
      waitsFor: z.string().describe('Who acts on it now; Holdfast does nothing until that ends.').optional(),
    }),
  ),
  cluster: z.array(checkLine).describe('What of the cluster is not as Holdfast needs it.'),
});

const stepFinding = z.object({
  what: z.string().describe('What must be true.'),
  holds: z.boolean().describe('Whether it is; absent: it was not read.').optional(),
  found: z.string().describe('What was found instead.').optional(),
});

/** What `holdfast migrate steps` and `handback --to flux|argocd` print. */
export const moveSteps = z.object({
  moves: z.array(
    z.object({
      name: z.string().describe('What moves, as `Kustomization flux-system/apps`.'),
      stops: z.array(z.string()).describe('Why it cannot be moved; there are no steps then.'),
      notes: z.array(z.string()).describe('What is otherwise afterwards, or could not be compared.'),
      converted: z
        .array(z.string())
        .describe('Fields that keep their meaning; absent where they are not listed.')
        .optional(),
      steps: z.array(
        z.object({
          title: z.string().describe('What the step does.'),
          state: z
            .enum(['done', 'next', 'waits', 'refused', 'later', 'unread'])
            .describe('Its state; unread: no cluster was asked.'),
          requires: z.array(stepFinding).describe('What must be true before.'),
          ends: z.array(stepFinding).describe('What is true after it.'),
          changes: z
            .array(
              z.object({
                file: z.string().describe('Path of the file.'),
                before: z.string().describe('Its content before; absent: it is not there.').optional(),
                after: z.string().describe('Its content after; absent: it is removed.').optional(),
              }),
            )
            .describe('What its commit changes.'),
          commands: z.array(z.string()).describe('Shell commands to run.'),
          verify: z.array(z.string()).describe('Shell commands that show whether it has ended.'),
        }),
      ),
    }),
  ),
  readBack: z.boolean().describe('Whether a cluster was asked; false with --offline.'),
});

/** What `holdfast handback --to flagger` prints. */
export const handBack = z.object({
  canaries: z.array(
    z.object({
      canary: canaryName,
      outcome: z
        .enum(['handedBack', 'notOurs', 'refused'])
        .describe('With --dry-run: what would become of it. notOurs: Holdfast never took it over.'),
      why: z.string().describe('Why.'),
    }),
  ),
});
