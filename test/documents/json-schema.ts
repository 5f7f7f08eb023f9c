import * as z from 'zod';
import { versionOf } from '../../src/terminal/output.ts';
import type { OutputKind } from '../../src/terminal/schemas/output-schemas.ts';
import { documentSchemaOf } from '../output-documents.ts';

/** The JSON Schema (draft 2020-12) of a kind of output, for docs/schemas. Further fields are allowed, since later versions add some. */
export function jsonSchemaOf(kind: OutputKind): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(documentSchemaOf(kind), {
    io: 'input',
    override: ({ jsonSchema }) => {
      // Bounds of what JavaScript counts exactly are no promise.
      for (const bound of ['minimum', 'maximum'] as const)
        if (Math.abs(Number(jsonSchema[bound])) === Number.MAX_SAFE_INTEGER) delete jsonSchema[bound];
    },
  });
  return { $schema, title: `${kind} (holdfast.dev/${versionOf(kind)})`, ...schema };
}
