/** Parts that several kinds of output share. */
import * as z from 'zod';

/** `namespace/name` of a Canary. */
export const canaryName = z.string().describe('Namespace and name of the Canary, as `shop/web`.');

/** Full SHA, or empty. */
export const commit = z
  .string()
  .describe('Full SHA of the commit; empty for a release that came from no Source.');

export const subject = z
  .string()
  .describe("First line of the commit's message; empty where it is not known.");

export const time = z.string().meta({ format: 'date-time' });

/** Names a release. */
export const releaseName = z.object({
  digest: z.string().describe('Digest of the release.'),
  commit,
  subject,
});

/** One property of a workload: expected and found. */
export const comparison = z.object({
  name: z.string().describe('What is compared, as `ready-pods`.'),
  expected: z.string().describe('What it must be.'),
  actual: z.string().describe('What it is.'),
  met: z.boolean().describe('Whether it is as it must be.'),
  severity: z
    .enum(['blocks', 'fails', 'tells'])
    .describe(
      'blocks: no traffic goes there; fails: a check after promotion fails; tells: it is only reported.',
    ),
  detail: z.string().describe('What differs, in one sentence.').optional(),
  value: z.number().describe('The count, where it is one.').optional(),
  min: z.number().describe('Its lower bound.').optional(),
  max: z.number().describe('Its upper bound.').optional(),
});

/** One field that is not as it must be. */
export const fieldDifference = z.object({
  path: z
    .string()
    .describe(
      'Path of the field, as `spec.template.spec.containers[app].image`; `:12` is the line of a long text.',
    ),
  expected: z.string().describe('What it must be; `(hidden)` for what is secret.'),
  actual: z.string().describe('What it is; absent: the field is missing.').optional(),
});

/** A place in a file and what is to be said about it. */
export const fileFinding = z.object({
  file: z.string().describe('Path of the file.'),
  line: z.int().describe('Line, from 1; 0: the file as a whole.'),
  field: z.string().describe('Path of the field, as `spec.targetRef.name`.').optional(),
  message: z.string().describe('What is wrong, in one sentence.'),
});

/** One thing that `holdfast check` looked at. */
export const checkLine = z.object({
  state: z
    .enum(['ok', 'warning', 'failed'])
    .describe('failed: Holdfast cannot do its work; warning: it can, but someone should look.'),
  subject: z.string().describe('What was checked, as `Source shop/shop`.'),
  detail: z.string().describe('What was found.'),
  actor: z
    .enum(['administrator', 'author', 'nobody'])
    .describe('Who has to act: who runs the cluster, who writes the manifests, or nobody.')
    .optional(),
  act: z.string().describe('What to do.').optional(),
});
