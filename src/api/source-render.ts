/** How the files of a Source become objects, beside `spec.renderer` (ADR 24). */
import * as z from 'zod';
import { nameReference, text } from './schema.ts';

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

const variableName = /^[_A-Za-z][_A-Za-z0-9]*$/;

/** Variables that are filled into what was rendered, in Flux's manner. */
export const sourceSubstituteSchema = z.object({
  variables: z
    .record(text(256).regex(variableName), text(65_536))
    .describe('Values by name; they win over those of from.')
    .optional(),
  from: z
    .array(
      z.object({
        kind: z.enum(['ConfigMap', 'Secret']).describe('What holds the values.'),
        name: text(253).min(1).describe('Its name, in the namespace of the Source; each key is a variable.'),
        optional: z.boolean().describe('Whether it may be missing. Default false.').optional(),
      }),
    )
    .max(50)
    .describe('ConfigMaps and Secrets with values; a later one wins over an earlier one.')
    .optional(),
  strict: z
    .boolean()
    .describe('Refuses a variable that is not set and has no default. Default false: it is empty.')
    .optional(),
});

export type SourceSubstitute = z.infer<typeof sourceSubstituteSchema>;

/** How encrypted files are opened. */
export const sourceDecryptionSchema = z.object({
  secretRef: nameReference().describe('Secret with age keys, under names that end in .agekey.'),
});
