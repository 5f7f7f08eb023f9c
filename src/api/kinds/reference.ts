/** Reference pages of the kinds as Markdown, from the same schema that validates and makes the CRDs. */
import { objectSchemaOf, type StructuralSchema } from './crd.ts';
import { apiVersionOf, type KindName, kinds } from './kinds.ts';

/** The page of one kind; ends with a newline. */
export function referencePage(name: KindName): string {
  const { kind, description, plural, group, columns } = kinds[name];
  const { spec, status } = objectSchemaOf(name).properties ?? {};
  return [
    `# ${kind}`,
    description,
    `\`apiVersion: ${apiVersionOf(name)}\`, \`kind: ${kind}\`. On the command line: \`kubectl get ${plural}.${group}\`.`,
    'This page is made from the schema in `src/api`. To renew it: `UPDATE_DOCS=1 npx vitest run --project unit src/api/kinds/reference.test.ts`.',
    ...(spec ? sections('spec', spec) : []),
    ...(status ? sections('status', status) : []),
    '## Columns of `kubectl get`',
    table(
      ['Column', 'Shows', 'Only with `-o wide`'],
      columns.map((column) => [
        column.name.toUpperCase(),
        `\`${column.jsonPath}\``,
        column.priority ? 'yes' : '',
      ]),
    ),
  ]
    .join('\n\n')
    .concat('\n');
}

/** One table per object, in the order of the schema; the top one is a heading of the second level. */
function sections(path: string, schema: StructuralSchema): string[] {
  const fields = Object.entries(schema.properties ?? {});
  if (fields.length === 0) return [];
  const rows = fields.map(([name, field]) => [
    `\`${name}\`${schema.required?.includes(name) ? ' *' : ''}`,
    typeOf(field),
    meaningOf(field),
  ]);
  const required = schema.required?.length ? ['Fields with * are required.'] : [];
  return [
    `${path.includes('.') ? '###' : '##'} ${path}`,
    ...(schema.oneOf ? [groupSentence(schema.oneOf)] : []),
    ...required,
    table(['Field', 'Type', 'Meaning'], rows),
    ...fields.flatMap(([name, field]) => nested(`${path}.${name}`, field)),
  ];
}

function nested(path: string, schema: StructuralSchema): string[] {
  if (schema.items) return nested(`${path}[]`, schema.items);
  if (schema.additionalProperties) return nested(`${path}.*`, schema.additionalProperties);
  return sections(path, schema);
}

function typeOf(schema: StructuralSchema): string {
  if (schema['x-kubernetes-int-or-string']) return 'integer or string';
  if (schema.items) return `list of ${typeOf(schema.items)}`;
  if (schema.additionalProperties) return `map to ${typeOf(schema.additionalProperties)}`;
  return schema.format === 'date-time' ? 'time' : (schema.type ?? '');
}

function meaningOf(schema: StructuralSchema): string {
  const choices = schema.enum?.filter((choice) => choice !== '');
  const parts = [
    schema.description ?? '',
    choices && choices.length > 1 ? `One of ${choices.map((choice) => `\`${choice}\``).join(', ')}.` : '',
    boundsOf(schema),
  ];
  return parts.filter(Boolean).join(' ').replaceAll('|', '\\|');
}

function boundsOf({ minimum, maximum, maxItems }: StructuralSchema): string {
  if (maxItems !== undefined) return `At most ${maxItems}.`;
  if (minimum !== undefined && maximum !== undefined) return `From ${minimum} to ${maximum}.`;
  if (minimum !== undefined) return `At least ${minimum}.`;
  return '';
}

function groupSentence(branches: readonly unknown[]): string {
  const alternatives = branches.flatMap(
    (branch) => (branch as { required?: string[] }).required?.join(' + ') ?? [],
  );
  const rule = alternatives.length < branches.length ? 'At most one' : 'Exactly one';
  return `${rule} of: ${alternatives.map((alternative) => `\`${alternative}\``).join(', ')}.`;
}

function table(head: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  const lines = [head, head.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
