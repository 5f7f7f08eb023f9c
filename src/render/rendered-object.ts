import type { KubernetesObject } from '../api/kubernetes.ts';

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
  /** Position inside a `List`, outermost first; empty for an object that is a document of its own. */
  items: readonly number[];
}

/** One object with the place it came from. */
export interface RenderedObject {
  object: KubernetesObject;
  origin: Origin;
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
export interface RenderLimits {
  sourceFiles: number;
  fileBytes: number;
  sourceBytes: number;
  documentsPerFile: number;
  /** Nesting of one document. */
  yamlDepth: number;
  /** Nodes of one document after aliases are expanded. */
  yamlNodes: number;
  /** Uses of aliases in one document. */
  yamlAliases: number;
  objectsPerSource: number;
  /** Bytes of one object as JSON. */
  objectBytes: number;
}
