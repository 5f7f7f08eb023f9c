/** How the files of a Source become objects, beside `spec.renderer` (ADR 20). */
import { z } from 'zod';
import { text } from './schema.ts';

const releaseName = text(53).regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
const namespaceName = text(63).regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);

/** What a chart is rendered with. */
export const sourceHelmSchema = z.object({
  releaseName: releaseName
    .describe('Name of the release that templates see. Default: the name of the Source.')
    .optional(),
  namespace: namespaceName
    .describe(
      'Namespace of the release, and of objects that name none. Default: defaultNamespace, else that of the Source.',
    )
    .optional(),
  valuesFiles: z
    .array(text(1024).min(1))
    .max(50)
    .describe(
      'Files of values in the repository, relative to path; a later one wins over an earlier one, and both over values.yaml of the chart.',
    )
    .optional(),
  values: z.record(z.string(), z.unknown()).describe('Values that win over those of all files.').optional(),
  skipHooks: z
    .boolean()
    .describe(
      'Leaves out the hooks of the chart, which are never run. Default false: a chart with hooks other than tests is refused.',
    )
    .optional(),
});

export type SourceHelm = z.infer<typeof sourceHelmSchema>;
