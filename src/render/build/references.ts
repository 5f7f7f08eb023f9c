import { listOf, recordOf } from '../../api/kubernetes.ts';
import type { FileProblem, RenderLimits } from '../rendered-object.ts';
import { type ScannedDocument, scanFile } from '../yaml/scan.ts';
import type { Reference, References } from './builder.ts';

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

// Kustomize reads names of fields whatever their case, so that a name that is not written as here could be one that names a file, read over
// the network. Only the exact names are taken.

/** Fields of a kustomization that only say something of themselves. */
const plainFields = [
  ...['apiVersion', 'kind', 'metadata', 'namePrefix', 'nameSuffix', 'namespace', 'commonLabels', 'labels'],
  ...['commonAnnotations', 'images', 'imageTags', 'replicas', 'vars', 'sortOptions', 'generatorOptions'],
  'buildMetadata',
];

const patch = ['path', 'patch', 'target', 'options'];
const generator = ['namespace', 'name', 'behavior', 'literals', 'files', 'envs', 'env', 'options', 'type'];
const replacement = ['path', 'source', 'sourceValue', 'targets'];

/** Lists of a kustomization whose entries may name files, with the fields of an entry. */
const entryFields: Readonly<Record<string, readonly string[]>> = {
  patches: patch,
  patchesJson6902: patch,
  replacements: replacement,
  configMapGenerator: generator,
  secretGenerator: generator,
};

const kustomizationFields = [
  ...plainFields,
  ...chartFields,
  ...Object.keys(listFields),
  ...Object.keys(entryFields),
  'openapi',
];

/** Kinds of builtin generators and transformers that name files, with their fields. */
const fileKinds: Readonly<Record<string, readonly string[]>> = {
  ConfigMapGenerator: generator,
  SecretGenerator: generator,
  PatchTransformer: patch,
  PatchJson6902Transformer: ['path', 'target', 'jsonOp'],
  PatchStrategicMergeTransformer: ['paths', 'patches'],
  ReplacementTransformer: ['replacements'],
  ValueAddTransformer: ['value', 'targets', 'targetFilePath'],
};

/** Those that name none, whatever their fields. */
const plainKinds = [
  ...['AnnotationsTransformer', 'HashTransformer', 'IAMPolicyGenerator', 'ImageTagTransformer'],
  ...['LabelTransformer', 'LegacyOrderTransformer', 'NamespaceTransformer', 'PrefixTransformer'],
  ...['PrefixSuffixTransformer', 'ReplicaCountTransformer', 'SortOrderTransformer', 'SuffixTransformer'],
];

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
  if (document && !second) return kustomizationReferences(file.path, document, limits);
  return { references: [], problems: [{ file: file.path, line: 0, message: 'must hold one document' }] };
}

/** Everything that a kustomization names; remote addresses, charts and fields that are not known are refused with their line. */
function kustomizationReferences(
  file: string,
  { value, lineOf }: ScannedDocument,
  limits: RenderLimits,
): References {
  const root = recordOf(value);
  const openapi = recordOf(root.openapi);
  const isChart =
    'charts are not rendered through kustomize; give the chart a Source of its own (renderer: helm)';
  const problems: FieldProblem[] = [
    ...chartFields.filter((field) => root[field] !== undefined).map((field) => ({ field, message: isChart })),
    ...unknownFields(root, '', kustomizationFields),
    ...unknownInEntries(root),
    ...unknownFields(openapi, 'openapi.', ['path', 'version']),
  ];
  const found = [
    ...Object.entries(listFields).flatMap(([name, use]) =>
      listOf(root[name])
        .map((value, index): Found => ({ value, field: `${name}[${index}]`, use }))
        .filter(({ value }) => !inlineFields.includes(name) || !isInline(value)),
    ),
    ...objectPaths(root),
    { value: openapi.path, field: 'openapi.path', use: 'data' as const },
  ];
  const inline = inlineConfigs(file, root, lineOf, limits);
  const { references, problems: all } = checked(file, found, problems, lineOf);
  return {
    references: [...references, ...inline.references],
    problems: [...all, ...inline.problems],
  };
}

interface FieldProblem {
  readonly field: string;
  readonly message: string;
}

function unknownFields(
  object: Readonly<Record<string, unknown>>,
  prefix: string,
  known: readonly string[],
): FieldProblem[] {
  return Object.keys(object)
    .filter((key) => !known.includes(key))
    .map((key) => ({
      field: `${prefix}${/^[\w-]+$/.test(key) ? key : JSON.stringify(key)}`,
      message: `is not known here; names of fields are case-sensitive, and these are taken: ${known.join(', ')}`,
    }));
}

function unknownInEntries(root: Readonly<Record<string, unknown>>): FieldProblem[] {
  return Object.entries(entryFields).flatMap(([name, known]) =>
    listOf(root[name]).flatMap((entry, index) => unknownFields(recordOf(entry), `${name}[${index}].`, known)),
  );
}

/** What the builtin generators and transformers of a file name. */
function configReferences(file: string, documents: readonly ScannedDocument[]): References {
  const all = documents.map(({ value, lineOf }) => {
    const root = recordOf(value);
    const { apiVersion, kind, metadata: _, ...fields } = root;
    const known = fileKinds[String(kind)];
    const found = known ? [...configPaths(root), ...generatorPaths(root, ''), ...objectPaths(root)] : [];
    const unknown = [
      ...unknownFields(fields, '', known ?? Object.keys(fields)),
      ...unknownInEntries(kind === 'ReplacementTransformer' ? root : {}),
    ];
    const kindProblem = whyNotBuiltin(String(apiVersion), String(kind));
    const problems = [...(kindProblem ? [{ field: 'kind', message: kindProblem }] : []), ...unknown];
    return checked(file, found, problems, lineOf);
  });
  return {
    references: all.flatMap(({ references }) => references),
    problems: all.flatMap(({ problems }) => problems),
  };
}

function whyNotBuiltin(apiVersion: string, kind: string): string | undefined {
  if (kind.startsWith('HelmChart')) return 'charts are not rendered through kustomize';
  if (apiVersion === 'builtin' && (Object.hasOwn(fileKinds, kind) || plainKinds.includes(kind)))
    return undefined;
  return 'is not a builtin generator or transformer of kustomize (apiVersion: builtin); plugins and functions are not run';
}

/** Generators and transformers that are written into the kustomization in place of a path. */
function inlineConfigs(
  file: string,
  root: Readonly<Record<string, unknown>>,
  lineOf: (field: string) => number,
  limits: RenderLimits,
): References {
  const references: Reference[] = [];
  const problems: FileProblem[] = [];
  const lists = Object.keys(listFields).filter((name) => listFields[name] === 'config');
  const entries = lists.flatMap((name) =>
    listOf(root[name]).map((value, index) => ({ value, field: `${name}[${index}]` })),
  );
  for (const { value, field } of entries) {
    if (!isInline(value)) continue;
    // Lines are those of the list's entry: those of the text in it are not known.
    const line = lineOf(field);
    const scanned = scanFile({ path: file, bytes: new TextEncoder().encode(value) }, limits);
    if (!scanned.ok) {
      problems.push({ ...scanned.problem, line, field });
      continue;
    }
    const found = configReferences(file, scanned.documents);
    references.push(
      ...found.references.map((reference) => ({ ...reference, line, field: `${field}.${reference.field}` })),
    );
    problems.push(
      ...found.problems.map((problem) => ({ ...problem, line, field: `${field}.${problem.field}` })),
    );
  }
  return { references, problems };
}

/** Lists that may hold whole objects as text in place of a path. */
const inlineFields = ['generators', 'transformers', 'validators', 'patchesStrategicMerge'];

/** Fields of entries: patches, replacements, and the files of generators. */
function objectPaths(root: Readonly<Record<string, unknown>>): Found[] {
  const entries = (name: string) =>
    listOf(root[name]).map((entry, index) => ({ entry: recordOf(entry), at: `${name}[${index}].` }));
  const patches = ['patches', 'patchesJson6902', 'replacements'].flatMap((name) =>
    entries(name).map(({ entry, at }): Found => ({ value: entry.path, field: `${at}path`, use: 'manifest' })),
  );
  const generators = ['configMapGenerator', 'secretGenerator'].flatMap((name) =>
    entries(name).flatMap(({ entry, at }) => generatorPaths(entry, at)),
  );
  return [...patches, ...generators];
}

function generatorPaths(entry: Readonly<Record<string, unknown>>, at: string): Found[] {
  return [
    ...listOf(entry.files).map((value, index): Found => {
      return {
        // `key=path`, or the path alone.
        value: typeof value === 'string' ? value.slice(value.indexOf('=') + 1) : value,
        field: `${at}files[${index}]`,
        use: 'data',
      };
    }),
    ...listOf(entry.envs).map((value, index): Found => {
      return { value, field: `${at}envs[${index}]`, use: 'data' };
    }),
    { value: entry.env, field: `${at}env`, use: 'data' },
  ];
}

/** Paths at the top of builtin transformers. */
function configPaths(root: Readonly<Record<string, unknown>>): Found[] {
  const listed = listOf(root.paths).map(
    (value, index): Found => ({ value, field: `paths[${index}]`, use: 'manifest' }),
  );
  return [
    { value: root.path, field: 'path', use: 'manifest' },
    { value: root.targetFilePath, field: 'targetFilePath', use: 'data' },
    ...listed.filter(({ value }) => !isInline(value)),
  ];
}

/** Whether an entry is a text of YAML in place of a path. */
function isInline(value: unknown): value is string {
  return typeof value === 'string' && /^\{|\n/.test(value.trim());
}

function checked(
  file: string,
  found: readonly Found[],
  before: readonly FieldProblem[],
  lineOf: (field: string) => number,
): References {
  const references: Reference[] = [];
  const problems: FileProblem[] = before.map((problem) => ({
    file,
    line: lineOf(problem.field),
    ...problem,
  }));
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
