/** What commands say about files and commits. */
import * as z from 'zod';
import { canaryName, fileFinding } from './parts.ts';

/** What `holdfast validate` prints. */
export const validation = z.object({
  files: z.int().describe('Number of files.'),
  objects: z.int().describe('Number of objects in them.'),
  problems: z.array(fileFinding).describe('What Holdfast would refuse.'),
  warnings: z.array(fileFinding).describe('What is doubtful.'),
  notes: z.array(fileFinding).describe('What is good to know.'),
  leftAlone: z.array(z.string()).describe('Files that hold no object of Kubernetes.'),
});

const side = z.object({
  revision: z.string().describe('As it was asked for; empty: the working tree.'),
  commit: z
    .object({
      commit: z.string().describe('Full SHA.'),
      subject: z.string().describe("First line of the commit's message."),
    })
    .describe('Absent: the working tree, with what is not committed.')
    .optional(),
});

const objectChange = z.object({
  change: z.enum(['added', 'changed', 'removed']).describe('What becomes of it in Git.'),
  apiVersion: z.string().describe('apiVersion of the object.'),
  kind: z.string().describe('Kind of the object.'),
  namespace: z.string().describe('Namespace of the object.').optional(),
  name: z.string().describe('Name of the object.'),
  role: z
    .enum(['target', 'config', 'scaler', 'canary', 'other'])
    .describe('What it is to its Source; target, config and scaler are written by rollouts.'),
  canaries: z.array(z.string()).describe('Namespaces and names of the Canaries it belongs to.'),
  origin: z.string().describe('`path:line` of it at head; of a removed one at base.'),
  diff: z
    .array(z.string())
    .describe(
      'Lines of its YAML behind `+`, `-` or a space; `...` for equal ones. What is secret is hidden.',
    ),
  fate: z
    .enum(['pruned', 'handedBack', 'waitsForApproval', 'stays'])
    .describe('What becomes of a removed one in the cluster.')
    .optional(),
  fateReason: z.string().describe('Why.').optional(),
});

const flight = z.object({
  strategy: z.enum(['canary', 'A/B', 'blue/green', 'in place', 'none']).describe('How it is rolled out.'),
  isAnalysed: z.boolean().describe('False: neither steps nor checks come before the primary is written.'),
  provider: z.string().describe('Routing provider.'),
  intervalMs: z.number().describe('Interval of the analysis.'),
  steps: z
    .array(
      z.object({
        weight: z.number().describe("The canary's share of the traffic in percent."),
        iteration: z.int().describe('Number of the check, where checks are counted.').optional(),
        mirrored: z.boolean().describe('Requests are copied to the canary.').optional(),
      }),
    )
    .describe('Where the canary stands, one interval each at the least.'),
  isStuck: z.boolean().describe('No step leads on from some weight.'),
  threshold: z.number().describe('Failed checks that stop it.'),
  analysisMs: z.number().describe('Length of the analysis.'),
  promotionMs: z.number().describe('Length of the move to the primary.'),
  verificationMs: z.number().describe('Length of the checks after promotion.'),
  shortestMs: z.number().describe('All of it, without what pods take to become ready.'),
  metrics: z
    .array(
      z.object({
        name: z.string().describe('Name of the metric.'),
        when: z.enum(['analysis', 'afterPromotion']).describe('When it is asked.'),
        min: z.number().describe('Lower bound.').optional(),
        max: z.number().describe('Upper bound.').optional(),
        maxRelativeIncrease: z
          .number()
          .describe('Percent that the canary may be above the primary.')
          .optional(),
        confidencePercent: z
          .number()
          .describe("Confidence at which it is compared with the primary's.")
          .optional(),
        window: z.string().describe('Time over which it is asked.'),
      }),
    )
    .describe('What is measured.'),
  holds: z
    .array(
      z.object({
        kind: z.enum(['window', 'gate', 'hook']).describe('What it is.'),
        name: z.string().describe('Its name.'),
        effect: z.string().describe('When it holds, and what follows.'),
      }),
    )
    .describe('What may keep it where it is.'),
});

const promotedState = z.object({
  from: z.enum(['cluster', 'ledger']).describe('Where it was read.'),
  promoted: z
    .object({ commit: z.string().describe('Full SHA.'), subject: z.string().describe('Its first line.') })
    .describe('The last known good release; absent: none yet.')
    .optional(),
  phase: z.string().describe('Phase of the Canary.').optional(),
  state: z.string().describe('State after promotion.').optional(),
  message: z.string().describe('The line of the status.').optional(),
  serving: z
    .array(
      z.object({
        workload: z.string().describe('Name of the workload.'),
        commit: z.string().describe('Commit that it runs.'),
        weight: z.number().describe('Share of the traffic in percent.'),
      }),
    )
    .describe('Who answers requests.'),
  rejected: z
    .array(
      z.object({
        digest: z.string().describe('Digest of the release.'),
        commit: z.string().describe('Its commit.'),
        reason: z.string().describe('Why.'),
      }),
    )
    .describe('Releases that are not tried again.'),
  isBase: z.boolean().describe('Whether base is what is promoted.').optional(),
  deviation: z.string().describe('Where base is not what runs.').optional(),
});

const canaryPlanned = z.object({
  canary: canaryName,
  change: z
    .enum([
      'release',
      'first',
      'again',
      'rejected',
      'settings',
      'spec',
      'frozen',
      'missing',
      'removed',
      'none',
    ])
    .describe(
      'release: a rollout begins; first: there is nothing before it; again: head is proven already; rejected: head was rejected; settings: applied without analysis; spec: the Canary alone; frozen: something is broken; missing: its target is not in the Source; removed: it leaves Git; none.',
    ),
  summary: z.string().describe('One sentence.'),
  flight: flight.describe('How it is rolled out.').optional(),
  measured: z
    .array(
      z.object({
        name: z.string().describe('Name of the metric.'),
        when: z.enum(['analysis', 'afterPromotion']).describe('When it is asked.'),
        value: z.number().describe('Its value for the primary now.').optional(),
        verdict: z.enum(['pass', 'fail', 'unknown']).describe('Whether that would pass.'),
        detail: z.string().describe('Why there is no value.').optional(),
      }),
    )
    .describe('The metrics as they are now.')
    .optional(),
  revert: z
    .object({
      possible: z.enum(['yes', 'no', 'unknown']).describe('unknown: what is promoted was not read.'),
      onFailure: z.enum(['auto', 'hold', 'revert', 'halt']).describe('spec.postPromotion.onFailure.'),
      to: z
        .object({
          commit: z.string().describe('Full SHA.'),
          subject: z.string().describe('Its first line.'),
          from: z.enum(['cluster', 'ledger', 'base']).describe('Who says so.'),
        })
        .describe('What a revert goes back to.')
        .optional(),
      why: z.string().describe('One sentence.'),
    })
    .describe('Whether it could be taken back.')
    .optional(),
  standing: promotedState.describe('What is promoted and serves.').optional(),
});

const count = z.int().min(0);

/** What `holdfast plan` prints. */
export const plan = z.object({
  base: side.describe('What is compared with.'),
  head: side.describe('The change.'),
  summary: z
    .object({
      added: count.describe('Objects that are new.'),
      changed: count.describe('Objects that change.'),
      removed: count.describe('Objects that leave Git.'),
      rollouts: count.describe('Canaries that roll out.'),
      oneWay: count.describe('Changes that a revert does not undo.'),
      refused: count.describe('Changes that the API server cannot make.'),
      problems: count.describe('What cannot be read.'),
    })
    .describe('Counts over all Sources.'),
  sources: z
    .array(
      z.object({
        source: z.string().describe('Namespace and name; the path where no Source was found.'),
        path: z.string().describe('Folder in the repository.'),
        change: z
          .enum(['same', 'changed', 'added', 'removed'])
          .describe('What becomes of the Source itself.'),
        problems: z.array(z.string()).describe('`file:line: field: message`.'),
        objects: z.array(objectChange).describe('Objects that differ.'),
        canaries: z.array(canaryPlanned).describe('What it means for each Canary.'),
        oneWay: z
          .array(
            z.object({
              rule: z
                .enum([
                  'immutableField',
                  'recreated',
                  'deletion',
                  'crdVersion',
                  'volumeSize',
                  'jobRuns',
                  'serviceType',
                  'frozenConfig',
                  'configKeys',
                ])
                .describe('Which rule found it.'),
              severity: z
                .enum(['oneWay', 'refused', 'note'])
                .describe(
                  'oneWay: going back does not undo it; refused: the API server cannot change it in place.',
                ),
              object: z.string().describe('`Kind namespace/name`.'),
              origin: z.string().describe('`path:line`.'),
              message: z.string().describe('What happens.'),
            }),
          )
          .describe('Changes that a revert does not undo, or that are refused.'),
        dryRun: z
          .array(
            z.object({
              object: z.string().describe('`Kind namespace/name`.'),
              state: z.enum(['differs', 'missing', 'refused']).describe('What the API server says.'),
              fields: z.array(z.string()).describe('`field: now -> then`.'),
              message: z.string().describe('Why it is refused.').optional(),
            }),
          )
          .describe('What a dry run says; absent: not asked.')
          .optional(),
        notes: z.array(z.string()).describe('What is not in this plan, and why.'),
      }),
    )
    .describe('Each Source.'),
  notes: z.array(z.string()).describe('What is not in this plan, and why.'),
});
