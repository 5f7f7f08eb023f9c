import { isRecord, type KubernetesObject } from '../api/kubernetes.ts';
import type {
  FileProblem,
  Origin,
  RenderedFile,
  RenderedObject,
  RenderLimits,
  SourceFile,
} from './rendered-object.ts';
import { decodeText, lineFinder, readDocuments, YamlFault } from './yaml/documents.ts';
import { documentValue, offsetOf, pathSteps } from './yaml/values.ts';

/** Problems reported of one file; more would hide the first. */
const maxProblems = 50;

/** Reads one file. Depends on its bytes, path and the limits alone, so results may be cached by blob id. Never throws on bad input. */
export function renderFile(file: SourceFile, limits: RenderLimits): RenderedFile {
  if (file.bytes.length > limits.fileBytes) {
    const message = `has ${file.bytes.length} bytes; at most ${limits.fileBytes} are read`;
    return { objects: [], problems: [{ file: file.path, line: 0, message }] };
  }
  const decoded = decodeText(file.bytes);
  if (decoded.problem !== undefined) {
    return { objects: [], problems: [{ file: file.path, line: decoded.line, message: decoded.problem }] };
  }
  const lineOf = lineFinder(decoded.text);
  try {
    const result = readObjects(file.path, decoded.text, lineOf, limits);
    return result.problems.length > 0 ? { objects: [], problems: result.problems } : result;
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    return {
      objects: [],
      problems: [{ file: file.path, line: lineOf(error.offset), message: error.message }],
    };
  }
}

function readObjects(
  path: string,
  text: string,
  lineOf: (offset: number) => number,
  limits: RenderLimits,
): RenderedFile {
  const objects: RenderedObject[] = [];
  const problems: FileProblem[] = [];
  let index = 0;
  for (const document of readDocuments(text, limits)) {
    const value = documentValue(document, text, limits);
    const found = value === undefined ? { objects: [], problems: [] } : objectsOf(value);
    const lineAt = (field: string) => lineOf(offsetOf(document.contents, pathSteps(field)));
    for (const { object, items } of found.objects) {
      const line = lineAt(documentPath(items, ''));
      objects.push({ object, origin: { file: path, line, document: index, items } });
    }
    for (const { path: field, message } of found.problems.slice(0, maxProblems - problems.length)) {
      problems.push({ file: path, line: lineAt(field), ...(field ? { field } : {}), message });
    }
    index += 1;
  }
  return { objects, problems };
}

/**
 * Line of a field of an object, or of the deepest field on the way to it that the file mentions. Reads the file again: problems are rare,
 * and trees are large. `field`: as messages name it, such as `spec.analysis.metrics[0].name`. Falls back to the object's line.
 */
export function lineOfField(file: SourceFile, origin: Origin, field: string, limits: RenderLimits): number {
  const { text } = decodeText(file.bytes);
  if (text === undefined) return origin.line;
  let index = 0;
  try {
    for (const document of readDocuments(text, limits)) {
      if (index === origin.document) {
        return lineFinder(text)(offsetOf(document.contents, pathSteps(documentPath(origin.items, field))));
      }
      index += 1;
    }
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
  }
  return origin.line;
}

/** A problem inside one document; `path` is that of the document. */
interface DocumentProblem {
  path: string;
  message: string;
}

/** One object of a document, before its origin is known. */
interface DocumentObject {
  object: KubernetesObject;
  /** Positions in lists, outermost first. */
  items: readonly number[];
}

/** The objects in a document: itself, or the items of a `List`. An object that is not complete is a problem. */
export function objectsOf(
  value: unknown,
  items: readonly number[] = [],
): { objects: DocumentObject[]; problems: DocumentProblem[] } {
  const at = (field: string) => documentPath(items, field);
  if (!isRecord(value))
    return { objects: [], problems: [{ path: at(''), message: 'is not a Kubernetes object (a mapping)' }] };
  if (isList(value)) return listedObjects(value, items);
  const problems = identityProblems(value).map(({ path, message }) => ({ path: at(path), message }));
  if (problems.length > 0) return { objects: [], problems };
  return { objects: [{ object: value as KubernetesObject, items }], problems: [] };
}

/** The path in its document of a field of an object. */
function documentPath(items: readonly number[], field: string): string {
  const prefix = items.map((item) => `items[${item}]`).join('.');
  if (prefix === '' || field === '') return `${prefix}${field}`;
  return field.startsWith('[') ? `${prefix}${field}` : `${prefix}.${field}`;
}

interface ListObject extends Record<string, unknown> {
  kind: string;
  items: unknown[];
}

/** `v1 List`, or a typed one such as ConfigMapList, whose items may leave out what the list says. */
function isList(value: Record<string, unknown>): value is ListObject {
  return typeof value.kind === 'string' && value.kind.endsWith('List') && Array.isArray(value.items);
}

function listedObjects(list: ListObject, items: readonly number[]): ReturnType<typeof objectsOf> {
  const kind = list.kind.slice(0, -'List'.length);
  const defaults = kind === '' ? {} : { apiVersion: list.apiVersion, kind };
  const found = list.items.map((item, index) => {
    return objectsOf(isRecord(item) ? { ...defaults, ...item } : item, [...items, index]);
  });
  return {
    objects: found.flatMap(({ objects }) => objects),
    problems: found.flatMap(({ problems }) => problems),
  };
}

function identityProblems(value: Record<string, unknown>): DocumentProblem[] {
  const problems: DocumentProblem[] = [];
  for (const field of ['apiVersion', 'kind']) {
    if (!isText(value[field])) problems.push({ path: field, message: textMessage(value[field]) });
  }
  if (String(value.apiVersion).startsWith('kustomize.config.k8s.io/')) {
    return [{ path: '', message: 'is a file for kustomize, which the plain renderer does not build' }];
  }
  const metadata = value.metadata;
  if (!isRecord(metadata)) return [...problems, { path: 'metadata', message: 'is missing or no mapping' }];
  return [...problems, ...metadataProblems(metadata)];
}

function metadataProblems(metadata: Record<string, unknown>): DocumentProblem[] {
  const problems: DocumentProblem[] = [];
  const problem = (path: string, message: string) => problems.push({ path: `metadata.${path}`, message });
  if (!isText(metadata.name)) {
    if (metadata.generateName === undefined || metadata.name !== undefined)
      problem('name', textMessage(metadata.name));
    else problem('generateName', 'would create a new object at every commit; set metadata.name');
  }
  const { namespace } = metadata;
  if (namespace !== undefined && namespace !== null && typeof namespace !== 'string')
    problem('namespace', 'must be a string: quote it');
  for (const field of ['labels', 'annotations']) problems.push(...textMapProblems(field, metadata[field]));
  return problems;
}

function textMapProblems(field: string, value: unknown): DocumentProblem[] {
  if (value === undefined || value === null) return [];
  if (!isRecord(value)) return [{ path: `metadata.${field}`, message: 'must be a mapping' }];
  const wrong = Object.keys(value).filter((key) => value[key] !== null && typeof value[key] !== 'string');
  // The file is broken with the first one; looking up the lines of thousands would be slow.
  return wrong.slice(0, 10).map((key) => ({
    path: `metadata.${field}[${JSON.stringify(key)}]`,
    message: 'must be a string: quote it',
  }));
}

function textMessage(value: unknown): string {
  return value === undefined || value === null || value === '' ? 'is missing' : 'must be a string: quote it';
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
