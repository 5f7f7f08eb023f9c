/** What commands say about one Canary or Source. */
import * as z from 'zod';
import { canaryName, commit, comparison, fieldDifference, releaseName, subject, time } from './parts.ts';

const forecastMoment = z.object({
  timeMs: z.number().describe('When, in milliseconds since the epoch.'),
  phase: z.string().describe('Phase of the Canary then.'),
  state: z.string().describe('State after promotion then.').optional(),
  message: z.string().describe('The line of the status then.'),
  actions: z.array(z.string()).describe('What would be written.'),
});

const judgement = z.object({
  cause: z.string().describe('The cause in one word; see the table of causes.'),
  title: z.string().describe('The cause in a few words.'),
  endedBy: z.string().describe('What ends it, as `release` or `cluster`.'),
  fix: z.string().describe('What to do about it.'),
  evidence: z.array(z.string()).describe('What it was concluded from.'),
  onCanaryToo: z
    .boolean()
    .describe('Whether the canary has the same fault; absent: it cannot show it.')
    .optional(),
  onFailure: z.string().describe('spec.postPromotion.onFailure in effect.'),
  action: z.enum(['hold', 'revert']).describe('What Holdfast does.'),
  why: z.string().describe('Why it does that.'),
});

const releaseChanges = z.object({
  from: releaseName.describe('The last known good release.'),
  to: releaseName.describe('The release under way.'),
  objects: z
    .array(
      z.object({
        kind: z.string().describe('Kind, as `Deployment` or `ConfigMap`.'),
        name: z.string().describe('Name of the object in Git.'),
        change: z.enum(['added', 'changed', 'removed']).describe('What the release does to it.'),
        diff: z
          .array(z.string())
          .describe(
            'Lines of its YAML behind `+`, `-` or a space; `...` for equal ones. What is secret is hidden.',
          ),
      }),
    )
    .describe('The pod template and the config that it references, where they differ.'),
  notes: z.array(z.string()).describe('What could not be compared, and why.'),
});

/** What `holdfast explain` prints. */
export const explanation = z.object({
  canary: canaryName,
  assumed: z.array(z.string()).describe('What was assumed with --what-if.'),
  phase: z.string().describe('Phase of the Canary; empty: not reconciled yet.'),
  state: z.string().describe('State after promotion; empty: none.'),
  release: releaseName.describe('The release that must be on the primary; empty fields: none yet.'),
  primary: z.array(comparison).describe('What must be true of the primary, and what is.'),
  judgement: judgement.describe('Why the release on the primary is not accepted.').optional(),
  underWay: releaseChanges
    .describe('What the release under way changes; absent: none is, or there is nothing before it.')
    .optional(),
  stops: z
    .string()
    .describe('What only a person can end, such as a refused write; absent: nothing.')
    .optional(),
  forecast: z
    .object({
      moments: z.array(forecastMoment).describe('What is decided and when, if the cluster stays as it is.'),
      end: z.string().describe('Why the forecast ends.'),
    })
    .describe('What comes next.'),
});

const objectDifference = z.object({
  kind: z.string().describe('Kind of the object.'),
  name: z.string().describe('Name of the object.'),
  state: z.enum(['same', 'differs', 'missing']).describe('Whether it is as it must be.'),
  changedBy: z.string().describe('Field manager that changed it, where it is known.').optional(),
  fields: z.array(fieldDifference).describe('The fields that differ, at most 100.'),
});

/** What `holdfast diff canary/NAME` prints. */
export const canaryDifference = z.object({
  canary: canaryName,
  release: releaseName.describe('The release that must be on the primary.'),
  differs: z.boolean().describe('Whether something of the primary is not as its release says.'),
  findings: z.array(comparison).describe('What is not true of the primary that must be.'),
  objects: z.array(objectDifference).describe('The objects that Holdfast writes for the Canary.'),
  underWay: releaseChanges
    .describe('What the release under way changes; absent: none is, or there is nothing before it.')
    .optional(),
});

/** What `holdfast diff source/NAME` prints. */
export const sourceDifference = z.object({
  source: z.string().describe('Namespace and name of the Source.'),
  commit: z.object({ commit, subject }).describe('The commit that is compared.'),
  differs: z.boolean().describe('Whether an object is not as that commit says.'),
  problems: z.array(z.string()).describe('What cannot be read of the commit: `file:line: field: message`.'),
  objects: z
    .array(
      z.object({
        ...objectDifference.shape,
        namespace: z.string().describe('Namespace of the object; absent: it has none.').optional(),
        state: z
          .enum(['same', 'differs', 'missing', 'refused'])
          .describe('refused: it would not be applied, and message says why.'),
        message: z.string().describe('Why it is refused.').optional(),
      }),
    )
    .describe('The objects that the Source applies.'),
});

/** What `holdfast history` prints. */
export const history = z.object({
  canary: canaryName,
  releases: z
    .array(
      z.object({
        digest: z.string().describe('Digest of the release.'),
        commit,
        author: z.string().describe('Who wrote the commit.').optional(),
        subject: subject.optional(),
        promotedTime: time
          .describe('When it was found good; absent: never, or no record is kept.')
          .optional(),
        endTime: time.describe('When its rollout ended.').optional(),
        state: z
          .string()
          .describe(
            'LastKnownGood, Kept (a rollback can go there), UnderWay, NotProven (its checks did not end), or how it ended.',
          ),
        reason: z.string().describe('Why it ended so.').optional(),
        rejected: z.string().describe('Why it is not tried again.').optional(),
      }),
    )
    .describe('The releases, newest first.'),
});

/** What `holdfast drill` prints. */
export const drill = z.object({
  canaries: z.array(
    z.object({
      canary: canaryName,
      release: releaseName.describe('The release that was tried; absent: none has been promoted.').optional(),
      passed: z.boolean().describe('Whether the cluster would accept it.'),
      findings: z
        .array(
          z.object({
            object: z.string().describe('`Kind namespace/name`.'),
            reason: z.string().describe('Why, in one word.'),
            message: z.string().describe('What the API server says.'),
          }),
        )
        .describe('What would prevent a revert.'),
      unseen: z
        .array(
          z.object({
            object: z.string().describe('`Kind namespace/name`.'),
            why: z.string().describe('Why it could not be asked.'),
          }),
        )
        .describe('What could not be asked.'),
      objects: z.int().describe('Number of objects that were tried, with those in `unseen`.'),
    }),
  ),
});

/** What `holdfast runbook` prints. */
export const runbook = z.object({
  reason: z.string().describe('The reason that it is about.'),
  canary: canaryName.describe('The Canary that it was filled in for.').optional(),
  text: z.string().describe('The page, in Markdown.'),
});

/** What `holdfast runbook` prints without a subject. */
export const runbookReasons = z.object({
  reasons: z.array(z.string()).describe('The reasons that have a runbook.'),
});

const treeFields = {
  apiVersion: z.string().describe('apiVersion of the object.'),
  kind: z.string().describe('Kind of the object.'),
  namespace: z.string().describe('Namespace of the object; absent: it has none.').optional(),
  name: z.string().describe('Name of the object.'),
  health: z
    .enum(['healthy', 'progressing', 'failed', 'missing', 'unknown'])
    .describe('How it is, as Holdfast judges it.'),
  detail: z.string().describe('Phase of a Canary, and why something is not healthy.'),
  owner: z.string().describe('Who else than its parent writes it; empty: nobody.'),
  drift: z.string().describe('What someone else changed; empty: nothing is known.'),
  role: z.string().describe('What it is to its Canary.').optional(),
};

interface TreeNode extends z.infer<z.ZodObject<typeof treeFields>> {
  readonly children: readonly TreeNode[];
}

const treeNode: z.ZodType<TreeNode> = z.object({
  ...treeFields,
  children: z.array(z.lazy(() => treeNode)).describe('What belongs to it.'),
});

z.globalRegistry.add(treeNode, { id: 'TreeNode' });

/** What `holdfast tree` prints. */
export const trees = z.object({
  trees: z
    .array(
      z.object({
        ...treeFields,
        children: z.array(treeNode).describe('What belongs to it.'),
        unread: z.array(z.string()).describe('What could not be read, and why.'),
      }),
    )
    .describe('A tree for each Source or Canary.'),
});
