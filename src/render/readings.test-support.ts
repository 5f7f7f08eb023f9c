import { readFileSync } from 'node:fs';

/** How a text is to be read. Every row is compared with kubectl itself in test/cluster/yaml.test.ts. */
interface Reading {
  name: string;
  text: string;
  /** The objects in the text; undefined: it is refused. */
  objects: unknown[] | undefined;
  /** Whether kubectl reads the text, too (and then the same). */
  kubectlReads: boolean;
}

interface Row {
  name?: string;
  /** Fields below the head of an object. */
  yaml?: string;
  /** A whole file. */
  file?: string;
  /** Fields for `yaml`, objects for `file`. */
  reads?: Record<string, unknown> | unknown[];
  refused?: true;
  /** Where kubectl differs, on purpose. */
  kubectl?: 'reads' | 'refuses';
}

const head = 'apiVersion: x/v1\nkind: T\nmetadata: {name: a}\n';
const identity = { apiVersion: 'x/v1', kind: 'T', metadata: { name: 'a' } };

/** All rows of testdata/readings.json. */
export function readings(): Reading[] {
  const rows = JSON.parse(
    readFileSync(new URL('./testdata/readings.json', import.meta.url), 'utf8'),
  ) as Row[];
  return rows.map((row) => ({
    name: row.name ?? JSON.stringify(row.yaml ?? row.file),
    text: row.file ?? `${head}${row.yaml}`,
    objects: objectsOf(row),
    kubectlReads: row.kubectl ? row.kubectl === 'reads' : !row.refused,
  }));
}

function objectsOf(row: Row): unknown[] | undefined {
  if (row.refused) return undefined;
  return Array.isArray(row.reads) ? row.reads : [{ ...identity, ...row.reads }];
}
