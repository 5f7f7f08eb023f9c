import type { KubernetesObject } from '../api/kubernetes.ts';

/** One selected file of a commit. `path` is relative to the root of the repository, with `/`. */
export interface SourceFile {
  path: string;
  bytes: Uint8Array;
}

/** Where an object was read. Lines count from 1. */
export interface Origin {
  file: string;
  /** Line of the object's first key. */
  line: number;
  /** Position of the document in its file, from 0. */
  document: number;
  /** Position inside a `List`, outermost first; absent for an object that is a document of its own. */
  items?: readonly number[];
}

/** One object with the place it came from. */
export interface RenderedObject {
  object: KubernetesObject;
  origin: Origin;
}

/** Something a person must change in Git. `message` names no value of the file, because the file may hold a Secret (S31). */
export interface Problem {
  file: string;
  /** From 1; 0 when the file as a whole is meant. */
  line: number;
  /** Dotted path of the field, such as `spec.targetRef.name`. */
  field?: string;
  message: string;
}

/** `file:line: field: message`, the one way a problem is shown. */
export function formatProblem(problem: Problem): string {
  const place = problem.line > 0 ? `${problem.file}:${problem.line}` : problem.file;
  const text = problem.field ? `${problem.field}: ${problem.message}` : problem.message;
  return place === '' ? text : `${place}: ${text}`;
}

/** `path:line`, as people and editors read it. */
export function formatOrigin(origin: Origin): string {
  return `${origin.file}:${origin.line}`;
}
