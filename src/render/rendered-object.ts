import type { KubernetesObject } from '../api/kubernetes.ts';
import type { YamlLimits } from './yaml/documents.ts';

/** One selected file of a commit. `path` is relative to the root of the repository, with `/`. */
export interface SourceFile {
  path: string;
  bytes: Uint8Array;
  /** Git's id of the content. With it, a file that did not change need not be read again. */
  oid?: string;
}

/** Where an object was read. */
export interface Origin {
  file: string;
  /** Line of the object's first key, from 1. */
  line: number;
  /** Position of the document in its file, from 0. */
  document: number;
  /** Position inside a `List`, outermost first; empty for an object that is a whole document. */
  items: readonly number[];
}

/** One object with the place it came from. */
export interface RenderedObject {
  object: KubernetesObject;
  origin: Origin;
  /** What was encrypted in Git or came from a Secret, and may be in it: whoever quotes the object must not show it (S31). */
  secrets?: readonly string[];
}

/** Something a person must change in Git. No message holds a value of the file, because the file may hold a Secret (S31). */
export interface FileProblem {
  /** Empty when the Source as a whole is meant. */
  file: string;
  /** From 1; 0 when the file as a whole is meant. */
  line: number;
  /** Path of the field, such as `spec.targetRef.name`. */
  field?: string;
  message: string;
}

/** `file:line: field: message`, the one way a problem is shown. */
export function formatProblem(problem: FileProblem): string {
  const place = problem.line > 0 ? `${problem.file}:${problem.line}` : problem.file;
  return [place, problem.field, problem.message].filter(Boolean).join(': ');
}

/** `path:line`, as people and editors read it. */
export function formatOrigin(origin: Pick<Origin, 'file' | 'line'>): string {
  return `${origin.file}:${origin.line}`;
}

/** The file of a `path:line`. */
export function fileOfOrigin(origin: string): string {
  return origin.replace(/:\d+$/, '');
}

/** Bounds that hold before and while files are parsed. */
export interface RenderLimits extends YamlLimits {
  sourceFiles: number;
  fileBytes: number;
  sourceBytes: number;
  objectsPerSource: number;
}

/** What rendering depends on in addition to the files. */
export interface RenderOptions {
  /** Namespace for objects of namespaced kinds that name none. */
  defaultNamespace?: string | undefined;
  /** Whether the API server knows the kind as namespaced; asked only together with `defaultNamespace`. */
  isNamespaced?: ((apiVersion: string, kind: string) => boolean) | undefined;
  limits?: RenderLimits | undefined;
  /** Files that were read already. Use it with one set of limits. */
  cache?: RenderCache | undefined;
}

/** The objects of the valid files, and what is wrong with the others. */
export interface RenderResult {
  /** Objects of files without a problem, in the order of files and documents. */
  objects: RenderedObject[];
  /** A file with a problem gives no objects; a problem without a file means that nothing was read. */
  problems: FileProblem[];
  /** Line of a field (`spec.analysis.metrics[0].name`) of an object, for problems found later. */
  lineOf: (origin: Origin, field: string) => number;
}

/** What one file holds: its objects, or its problems. All or nothing (S24). */
export interface RenderedFile {
  objects: RenderedObject[];
  problems: FileProblem[];
}

/** The last result for each file of one Source, so that a commit costs only what it changes. */
export interface RenderCache {
  /** Undefined unless a file of this path and content was read; a file without `oid` never is. */
  get(file: SourceFile): RenderedFile | undefined;
  set(file: SourceFile, rendered: RenderedFile): void;
  /** Forgets every other file, so that the cache never outgrows one commit. */
  keepOnly(files: readonly SourceFile[]): void;
}
