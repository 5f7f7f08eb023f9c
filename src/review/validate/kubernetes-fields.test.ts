import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { modelOfKind } from './kubernetes-fields.ts';

const library = dirname(createRequire(import.meta.url).resolve('@kubernetes/client-node'));
const models = join(library, 'gen/models');
const page = join(import.meta.dirname, 'kubernetes-fields.ts');

interface Attribute {
  readonly baseName: string;
  readonly type: string;
  readonly format: string;
}

/** Fields that the library calls strings and that take numbers, too. */
const quantities =
  /^(limits|requests|capacity|hard|default|defaultRequest|max|min|maxLimitRequestRatio|overhead|sizeLimit|divisor|averageValue|allocatedResources|allocatable|used)$/;

function typeOf(model: string, { baseName, type, format }: Attribute): string {
  const isQuantity = quantities.test(baseName) || (model === 'V2MetricTarget' && baseName === 'value');
  if (type === 'string') return isQuantity ? 'Quantity' : 'string';
  if (type === '{ [key: string]: string; }')
    return isQuantity && model !== 'V1ScopeSelector' ? '{}Quantity' : '{}string';
  if (type.startsWith('{')) return '{}any';
  if (type === 'number') return format === 'double' ? 'number' : 'integer';
  if (type === 'Date') return 'string';
  const item = /^Array<(.+)>$/.exec(type)?.[1];
  return item === undefined ? type : `[]${typeOf(model, { baseName: '', type: item, format })}`;
}

/** Every model that the kinds lead to; `!` behind a field: it is required. */
async function table(): Promise<Record<string, Record<string, string>>> {
  const found: Record<string, Record<string, string>> = {};
  const pending = Object.values(modelOfKind);
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    const file = join(models, `${name}.js`);
    if (found[name] || !existsSync(file)) continue;
    const declared = readFileSync(join(models, `${name}.d.ts`), 'utf8');
    const code = await import(pathToFileURL(file).href);
    const attributes: Attribute[] = code[name].attributeTypeMap;
    const fields = attributes.map((attribute): [string, string] => {
      const isRequired = new RegExp(`^ {4}'${attribute.baseName.replace('$', '\\$')}': `, 'm').test(declared);
      return [`${attribute.baseName}${isRequired ? '!' : ''}`, typeOf(name, attribute)];
    });
    found[name] = Object.fromEntries(fields);
    pending.push(...fields.map(([, type]) => type.replace(/^(\[\]|\{\})/, '')));
  }
  return Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)));
}

it('the fields are those of the client library (UPDATE_DOCS=1 writes them)', async () => {
  const before = readFileSync(page, 'utf8');
  const [head = ''] = before.split('\n// Made from');
  const rows = Object.entries(await table()).map(
    ([name, fields]) => `  ${name}: ${JSON.stringify(fields)},\n`,
  );
  const type = 'Readonly<Record<string, Readonly<Record<string, string>>>>';
  const made = `// Made from the models of @kubernetes/client-node.\nexport const fieldsOfModel: ${type} = {`;
  const after = `${head}\n${made}\n${rows.join('')}};\n`;
  if (process.env.UPDATE_DOCS === '1') writeFileSync(page, after);
  expect(after === readFileSync(page, 'utf8'), 'renew with UPDATE_DOCS=1').toBe(true);
});
