import type { FileProblem, RenderLimits } from '../rendered-object.ts';
import { listOf, mappingOf, type ScannedDocument, scanFile } from '../yaml/scan.ts';

/** Something that a kustomization, or a generator or transformer of it, names by path. */
export interface Reference {
  /** As it is written, relative to the kustomization's folder. */
  readonly path: string;
  /** Where it is written, such as `resources[0]`. */
  readonly field: string;
  readonly line: number;
  /** `config`: a file with generators or transformers, which may name files in turn. `manifest`: YAML. `data`: any bytes. */
  readonly use: 'base' | 'manifest' | 'config' | 'data';
}

/** What one kustomization leads to, and why it is refused. */
export interface References {
  readonly references: readonly Reference[];
  readonly problems: readonly FileProblem[];
}

type Use = Reference['use'];

interface Found {
  readonly value: unknown;
  readonly field: string;
  readonly use: Use;
}

/** Lists whose entries are paths. */
const listFields: Readonly<Record<string, Use>> = {
  resources: 'base',
  bases: 'base',
  components: 'base',
  crds: 'data',
  configurations: 'manifest',
  generators: 'config',
  transformers: 'config',
  validators: 'config',
  patchesStrategicMerge: 'manifest',
};

const chartFields = ['helmCharts', 'helmChartInflationGenerator', 'helmGlobals'];

/** What a file is read as. */
export type FileRole = 'kustomization' | 'config' | 'manifest';

/** What a file refers to, or why it cannot be read. */
export function referencesIn(
  file: { readonly path: string; readonly bytes: Uint8Array },
  role: FileRole,
  limits: RenderLimits,
): References {
  const scanned = scanFile(file, limits);
  if (!scanned.ok) return { references: [], problems: [scanned.problem] };
  if (role === 'manifest') return { references: [], problems: [] };
  if (role === 'config') return configReferences(file.path, scanned.documents);
  const [document, second] = scanned.documents;
  if (document && !second) return kustomizationReferences(file.path, document);
  return { references: [], problems: [{ file: file.path, line: 0, message: 'must hold one document' }] };
}

/** Everything that a kustomization names, remote addresses and charts refused with their line. */
function kustomizationReferences(file: string, { value, lineOf }: ScannedDocument): References {
  const root = mappingOf(value);
  const problems: FileProblem[] = chartFields
    .filter((field) => root[field] !== undefined)
    .map((field) => ({
      file,
      line: lineOf(field),
      field,
      message:
        'charts are not rendered through kustomize; give the chart a Source of its own (renderer: helm)',
    }));
  const found = [...listedPaths(root), ...objectPaths(root, ''), ...openApiPaths(root)];
  return checked(file, found, problems, lineOf);
}

/** What the builtin generators and transformers of a file name. */
function configReferences(file: string, documents: readonly ScannedDocument[]): References {
  const all = documents.map((document) => {
    const root = mappingOf(document.value);
    const charts = String(root.kind).startsWith('HelmChart')
      ? [
          {
            file,
            line: document.lineOf('kind'),
            field: 'kind',
            message: 'charts are not rendered through kustomize',
          },
        ]
      : [];
    const found = [
      ...inlinePaths(root),
      ...objectPaths(root, ''),
      ...objectPaths({ configMapGenerator: [root] }, ''),
    ];
    return checked(file, found, charts, document.lineOf);
  });
  return {
    references: all.flatMap(({ references }) => references),
    problems: all.flatMap(({ problems }) => problems),
  };
}

function listedPaths(root: Readonly<Record<string, unknown>>): Found[] {
  return Object.entries(listFields).flatMap(([name, use]) =>
    listOf(root[name])
      .map((value, index): Found => ({ value, field: `${name}[${index}]`, use }))
      .filter(({ value }) => !isInline(value)),
  );
}

/** Fields of entries: patches, replacements, and the files of generators. */
function objectPaths(root: Readonly<Record<string, unknown>>, prefix: string): Found[] {
  const entries = (name: string) =>
    listOf(root[name]).map((entry, index) => ({ entry: mappingOf(entry), at: `${prefix}${name}[${index}]` }));
  const patches = ['patches', 'patchesJson6902', 'replacements'].flatMap((name) =>
    entries(name).map(
      ({ entry, at }): Found => ({ value: entry.path, field: `${at}.path`, use: 'manifest' }),
    ),
  );
  const generators = ['configMapGenerator', 'secretGenerator'].flatMap((name) =>
    entries(name).flatMap(({ entry, at }) => [
      ...listOf(entry.files).map((value, index): Found => {
        return { value: pathOfFile(value), field: `${at}.files[${index}]`, use: 'data' };
      }),
      ...listOf(entry.envs).map((value, index): Found => {
        return { value, field: `${at}.envs[${index}]`, use: 'data' };
      }),
      { value: entry.env, field: `${at}.env`, use: 'data' as const },
    ]),
  );
  return [...patches, ...generators];
}

function openApiPaths(root: Readonly<Record<string, unknown>>): Found[] {
  return [{ value: mappingOf(root.openapi).path, field: 'openapi.path', use: 'data' }];
}

/** `path` and `paths` of the builtin patch transformers. */
function inlinePaths(root: Readonly<Record<string, unknown>>): Found[] {
  const listed = listOf(root.paths).map(
    (value, index): Found => ({ value, field: `paths[${index}]`, use: 'manifest' }),
  );
  return [
    { value: root.path, field: 'path', use: 'manifest' },
    ...listed.filter(({ value }) => !isInline(value)),
  ];
}

/** `key=path`, or the path alone. */
function pathOfFile(value: unknown): unknown {
  return typeof value === 'string' ? value.slice(value.indexOf('=') + 1) : value;
}

/** Some lists hold whole objects as text in place of a path. */
function isInline(value: unknown): boolean {
  return typeof value === 'string' && /^\{|\n/.test(value.trim());
}

function checked(
  file: string,
  found: readonly Found[],
  before: readonly FileProblem[],
  lineOf: (field: string) => number,
): References {
  const references: Reference[] = [];
  const problems = [...before];
  for (const { value, field, use } of found) {
    if (value === undefined || value === null || value === '') continue;
    const line = lineOf(field);
    const message = typeof value === 'string' ? pathProblem(value, use) : 'must be a path';
    if (message === undefined) references.push({ path: String(value), field, line, use });
    else problems.push({ file, line, field, message });
  }
  return { references, problems };
}

/**
 * Kustomize fetches what has a scheme, and clones what names a user, or github.com without a scheme. No honest path holds a colon.
 */
function pathProblem(path: string, use: Use): string | undefined {
  const cloned = use === 'base' && /@|^(www\.)?github\.com(\/|$)/i.test(path);
  if (path.includes(':') || cloned)
    return 'is remote, and nothing is fetched while rendering; copy it into the repository and reference it by path';
  return path.startsWith('/') ? 'is absolute; write it relative to this folder' : undefined;
}
