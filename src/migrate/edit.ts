/** Changes of the files of a tree, as text: comments and order stay. Pure. */
import {
  type Alias,
  type Document,
  isMap,
  isSeq,
  type Node,
  parseDocument,
  type ScalarTag,
  visit,
} from 'yaml';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { linesOf, sectionsOf } from '../review/diff-sections.ts';

/** Files by path, as they are shown. */
export type Files = ReadonlyMap<string, string>;

/** A file before and after; undefined: it is not there. */
export interface FileChange {
  readonly file: string;
  readonly before?: string | undefined;
  readonly after?: string | undefined;
}

/** Which document of a file. */
interface Identity {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** By what the document of an object is found. */
export function identityOf({ kind, metadata }: KubernetesObject): Identity {
  return { kind, name: metadata.name, namespace: metadata.namespace };
}

/** The files with one document changed; the same files where it is not there. */
export function edited(
  files: Files,
  file: string,
  which: Identity,
  edit: (document: Document) => void,
): Files {
  return rewritten(files, file, (chunk) => {
    const { head, body } = split(chunk);
    const document = asWritten(body);
    if (!isIt(document, which)) return chunk;
    const before = asText(document, body);
    withAnchors(document, edit);
    const after = asText(document, body);
    return after === before ? chunk : head + after;
  });
}

/** The files with texts of YAML behind one document, each a document of its own; of that one too, as `copy` changes it. */
export function withFollowing(
  files: Files,
  file: string,
  which: Identity,
  { texts = [], copy }: { readonly texts?: readonly string[]; readonly copy?: (document: Document) => void },
): Files {
  return rewritten(files, file, (chunk) => {
    const { body } = split(chunk);
    const document = asWritten(body);
    if (!isIt(document, which)) return chunk;
    if (copy) withAnchors(document, copy);
    const added = [...(copy ? [asText(document, body)] : []), ...texts];
    return [chunk.replace(/\n?$/, '\n'), ...added.map((text) => `---\n${text}`)].join('');
  });
}

/** The files without one document; a file that holds nothing else goes. */
export function withoutDocument(files: Files, file: string, which: Identity): Files {
  return rewritten(files, file, (chunk) => (isIt(parseDocument(split(chunk).body), which) ? '' : chunk));
}

/** What an edit takes away may have an anchor that is named further down: it stands there then. */
function withAnchors(document: Document, edit: (document: Document) => void): void {
  const named = new Map<Alias, Node | undefined>();
  visit(document, { Alias: (_, alias) => void named.set(alias, alias.resolve(document)) });
  edit(document);
  visit(document, { Alias: (_, alias) => (alias.resolve(document) ? undefined : named.get(alias)) });
}

/** Numbers that the library would write otherwise stay as they are: without its zero `0644` is another number to Kubernetes. */
function asWritten(text: string): Document {
  return parseDocument(text, {
    customTags: (tags) =>
      tags.map((tag) =>
        typeof tag === 'object' && tag.tag === 'tag:yaml.org,2002:int' && tag.format === undefined
          ? ({ ...tag, test: /^[-+]?(?:0|[1-9]\d{0,14})$/ } as ScalarTag)
          : tag,
      ),
  });
}

/** `resources` of a kustomization with an entry added next to its sibling, or with an entry removed. The same files where nothing changes. */
export function listed(
  files: Files,
  kustomization: string,
  { entry, sibling }: { readonly entry: string; readonly sibling?: string },
): Files {
  const text = files.get(kustomization);
  if (text === undefined) return files;
  const document = asWritten(text);
  const resources = document.get('resources');
  if (!isSeq(resources)) return files;
  const names = (resources.toJSON() as unknown[]).map(String);
  const placeOf = (file: string) => names.findIndex((name) => name === file || name === `./${file}`);
  const at = placeOf(entry);
  const isAdded = sibling !== undefined;
  if (at >= 0 === isAdded || (isAdded && placeOf(sibling) < 0)) return files;
  if (isAdded) resources.add(entry);
  else resources.delete(at);
  return new Map([...files, [kustomization, asText(document, text)]]);
}

/** Sets a field. One above it that is there without a value, as `syncPolicy:` alone, becomes a mapping. */
export function setField(document: Document, path: readonly string[], value: unknown): void {
  const empty = path.findIndex((_, at) => at > 0 && document.getIn(path.slice(0, at)) === null);
  if (empty > 0) document.deleteIn(path.slice(0, empty));
  document.setIn(path, value);
}

/** Deletes a field, and the fields above it that hold nothing else. */
export function deleteField(document: Document, path: readonly (string | number)[]): void {
  if (!document.hasIn(path)) return;
  document.deleteIn(path);
  const above = path.slice(0, -1);
  const parent = document.getIn(above);
  if (above.length > 1 && (isMap(parent) || isSeq(parent)) && parent.items.length === 0)
    deleteField(document, above);
}

/** The files that differ. */
export function changesBetween(before: Files, after: Files): FileChange[] {
  const names = [...new Set([...before.keys(), ...after.keys()])].sort();
  return names
    .map((file): FileChange => ({ file, before: before.get(file), after: after.get(file) }))
    .filter((change) => change.before !== change.after);
}

function rewritten(files: Files, file: string, change: (chunk: string) => string): Files {
  const text = files.get(file);
  if (text === undefined) return files;
  const chunks = text.split(/^(?=---(?:\s|$))/m);
  const changed = chunks.map(change);
  const next = changed.join('');
  if (next === text) return files;
  const isEmpty = changed.every((chunk) => parseDocument(split(chunk).body).contents === null);
  const others = [...files].filter(([name]) => name !== file);
  return new Map(isEmpty ? others : [...files, [file, next]]);
}

function split(chunk: string): { head: string; body: string } {
  const head = /^---[^\S\n]*(?:#[^\n]*)?\n/.exec(chunk)?.[0] ?? '';
  return { head, body: chunk.slice(head.length) };
}

function isIt(document: Document, { kind, name, namespace }: Identity): boolean {
  if (document.errors.length > 0 || !isMap(document.contents)) return false;
  const found = document.getIn(['metadata', 'namespace']);
  return (
    document.get('kind') === kind &&
    document.getIn(['metadata', 'name']) === name &&
    (found === undefined || namespace === undefined || found === namespace)
  );
}

/** In the style of the text that it was read from, and with its line ends. */
function asText(document: Document, text: string): string {
  // Lists below their key or beside it, braces with or without spaces.
  const [, key = '', dash = '  '] = /^( *)[\w-]+:[^\S\n]*\n( *)- /m.exec(text) ?? [];
  const lines = document.toString({
    lineWidth: 0,
    indentSeq: dash.length > key.length,
    flowCollectionPadding: !/[{[][^\s{}[\]]/.test(text),
  });
  return text.includes('\r\n') ? lines.replaceAll('\n', '\r\n') : lines;
}

// A unified diff of small texts. Pure.

/** Lines as `diff -u` and `git apply` know them, without line feeds. */
export function unifiedDiff({ file, before, after }: FileChange): string[] {
  const sections = sectionsOf(patchLines(before), patchLines(after));
  // Counts from 1; where there is no line, it is the one before.
  const range = (start: number, end: number) => `${start === end ? start : start + 1},${end - start}`;
  return [
    before === undefined ? '--- /dev/null' : `--- a/${file}`,
    after === undefined ? '+++ /dev/null' : `+++ b/${file}`,
    ...sections.flatMap(({ oldStart, oldEnd, newStart, newEnd, lines }) => [
      `@@ -${range(oldStart, oldEnd)} +${range(newStart, newEnd)} @@`,
      ...lines.flatMap((line) => line.split('\n')),
    ]),
  ];
}

/** The last one with a remark where no line feed is behind it: without that the diff does not fit the file. */
function patchLines(text: string | undefined): string[] {
  const lines = linesOf(text);
  const last = lines.pop();
  if (last === undefined) return lines;
  return [...lines, text?.endsWith('\n') ? last : `${last}\n\\ No newline at end of file`];
}
