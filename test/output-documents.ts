/** Checks what commands print for programs against the schemas of docs/schemas. */
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { headOf } from '../src/terminal/output.ts';
import { type OutputKind, outputSchemas } from '../src/terminal/schemas/output-schemas.ts';

/** All kinds of output. */
export const outputKinds = Object.keys(outputSchemas) as OutputKind[];

/** Kubernetes objects keep the apiVersion of their kind, and their schema is that of the CustomResourceDefinition. */
const isObject = (apiVersion: string) => apiVersion !== '' && !/^holdfast\.dev\/v\d+$/.test(apiVersion);

/**
 * The kind of each document in this text, items of a List in place of the list; for the objects of Kubernetes `Object`. Throws where one is no
 * document of a known kind, does not fit its schema, or says more than the schema.
 */
export function outputKindsIn(text: string): string[] {
  return documentsIn(text).flatMap(kindsOf);
}

/** The schema of a whole document of this kind. */
export function documentSchemaOf(kind: OutputKind): z.ZodType {
  const { apiVersion } = headOf(kind);
  const head = z.object({
    apiVersion: z.literal(apiVersion).describe('Version of this schema.'),
    kind: z.literal(kind).describe('Kind of output.'),
  });
  const schema = outputSchemas[kind];
  return schema instanceof z.ZodObject ? z.object({ ...head.shape, ...schema.shape }) : schema.and(head);
}

function documentsIn(text: string): unknown[] {
  try {
    return [JSON.parse(text)];
  } catch {
    const lines = text.split('\n').filter(Boolean);
    const isLines = lines.length > 0 && lines.every((line) => line.startsWith('{"'));
    if (isLines) return lines.map((line) => JSON.parse(line) as unknown);
    return parseAllDocuments(text).map((document) => document.toJS() as unknown);
  }
}

function kindsOf(document: unknown): string[] {
  const { apiVersion = '', kind = '', items } = (document ?? {}) as Record<string, unknown>;
  if (apiVersion === 'v1' && kind === 'List') return (items as unknown[]).flatMap(kindsOf);
  if (isObject(String(apiVersion))) return ['Object'];
  if (!outputKinds.includes(kind as OutputKind))
    throw new Error(`no schema for ${apiVersion} ${kind}: ${JSON.stringify(document).slice(0, 200)}`);
  const schema = documentSchemaOf(kind as OutputKind);
  const checked = schema.safeParse(document);
  if (!checked.success) throw new Error(`${kind}: ${checked.error.message}`);
  const untold = fieldsBeyond(document, checked.data);
  if (untold.length > 0)
    throw new Error(`${kind}: fields that its schema does not have: ${untold.join(', ')}`);
  return [String(kind)];
}

/** Reading a document leaves out what its schema does not know. */
function fieldsBeyond(document: unknown, known: unknown, path = ''): string[] {
  if (typeof document !== 'object' || document === null) return [];
  if (typeof known !== 'object' || known === null) return [path];
  return Object.entries(document).flatMap(([field, value]) => {
    const inner = (known as Record<string, unknown>)[field];
    return inner === undefined ? [`${path}.${field}`] : fieldsBeyond(value, inner, `${path}.${field}`);
  });
}
