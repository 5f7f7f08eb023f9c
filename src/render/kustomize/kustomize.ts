import { createPause } from '../../api/clock.ts';
import { type KubernetesObject, listOf, recordOf } from '../../api/kubernetes.ts';
import { type Builder, type Built, failedBuild, failureText } from '../build/builder.ts';
import { renderFile } from '../render.ts';
import type { FileProblem, Origin, RenderedObject, RenderLimits } from '../rendered-object.ts';
import { isKustomization, pathFrom, type TreeFile } from '../tree.ts';
import { splitDocuments } from '../yaml/documents.ts';
import { scanFile } from '../yaml/scan.ts';

/** What one folder is built from. */
interface KustomizeInput {
  /** From the root of the repository. */
  readonly folder: string;
  /** All that it refers to, by path from the root. */
  readonly files: ReadonlyMap<string, TreeFile>;
  readonly limits: RenderLimits;
  readonly signal: AbortSignal;
}

/**
 * Builds a folder with kustomize: files below the kustomization only, no plugins, no charts, no network. Every object keeps the file it
 * came from. A failure is a problem of the kustomization. Throws the signal's reason.
 */
export async function buildKustomization(builder: Builder, input: KustomizeInput): Promise<Built> {
  const { folder, files, limits, signal } = input;
  const own = [...files.keys()].find((path) => isIn(folder, path)) ?? folder;
  const inputs = new Map([...files].map(([path, { bytes }]) => [path, bytes]));
  const withOrigins = askForOrigins(own, inputs.get(own) ?? new Uint8Array(), limits);
  if (withOrigins) inputs.set(own, withOrigins);
  const result = await builder.run(kustomizeArgs(folder), inputs, signal);
  if (!result.ok)
    return failedBuild({ file: own, line: 0, message: failureText('kustomize', result) }, result);
  const printed = withOrigins
    ? takeOrigins(result.output, folder)
    : splitDocuments(result.output).map((text) => ({ text, file: undefined }));
  const objects: RenderedObject[] = [];
  const problems: FileProblem[] = [];
  const originOf = createOrigins(own, files, limits);
  const pause = createPause(signal);
  for (const { text, file } of printed) {
    await pause();
    // Problems are shown at the kustomization: the lines are those of a text that is not shown.
    const read = renderFile({ path: own, bytes: new TextEncoder().encode(text) }, limits);
    problems.push(...read.problems.map((problem) => ({ ...problem, line: 0 })));
    for (const { object } of read.objects) objects.push({ object, origin: originOf(object, file) });
  }
  return { objects, problems, bytes: result.output.length };
}

/** What kustomize is called with; plugins, charts and functions are off unless asked for. */
export function kustomizeArgs(folder: string): string[] {
  return ['build', '--load-restrictor=LoadRestrictionsRootOnly', '--', folder === '' ? '.' : folder];
}

/** Finds the place of an object in the file it came from; each file is looked through once. */
function createOrigins(own: string, files: ReadonlyMap<string, TreeFile>, limits: RenderLimits) {
  const known = new Map<string, Place[]>();
  return ({ kind, metadata }: KubernetesObject, file: string | undefined): Origin => {
    const at = file === undefined ? undefined : files.get(file);
    if (file === undefined || !at || isKustomization(file))
      return { file: file ?? own, line: 1, document: 0, items: [] };
    const places = known.get(file) ?? placesIn({ path: file, bytes: at.bytes }, limits);
    known.set(file, places);
    return { file, ...placeOf(places, { kind, name: metadata.name }) };
  };
}

function isIn(folder: string, path: string): boolean {
  const name = folder === '' ? path : path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : '/';
  return !name.includes('/') && isKustomization(name);
}

const originKey = 'config.kubernetes.io/origin';

/**
 * The kustomization with one more line at its end, by which every object names the file that it came from. Undefined where that line
 * would not be read so: a file in flow style, or one that says itself what its objects are annotated with; and for one that says nothing,
 * which kustomize refuses as empty: with the line it would have no objects, and all that were applied would be pruned.
 */
export function askForOrigins(path: string, bytes: Uint8Array, limits: RenderLimits): Uint8Array | undefined {
  const text = new TextDecoder().decode(bytes);
  const scanned = scanFile({ path, bytes }, limits);
  const [document] = scanned.ok ? scanned.documents : [];
  if (!document) return undefined;
  const { apiVersion: _, kind: __, ...fields } = recordOf(document.value);
  if (fields.buildMetadata !== undefined || !Object.values(fields).some(Boolean)) return undefined;
  if (/^[ \t]*[{[]|^\.\.\.|^---[ \t]*\{/m.test(text)) return undefined;
  return new TextEncoder().encode(`${text.replace(/\n?$/, '\n')}buildMetadata: [originAnnotations]\n`);
}

/** One object as the program printed it, and the file it came from as far as it names one. */
interface PrintedObject {
  readonly text: string;
  readonly file: string | undefined;
}

/**
 * Removes the origins again; the rest are the bytes that the program prints without them. `folder`: of the kustomization;
 * paths are from the repository's root.
 */
export function takeOrigins(output: string, folder: string): PrintedObject[] {
  return splitDocuments(output).map((text) => {
    const lines = text.split('\n');
    const start = originLine(lines);
    if (start === undefined) return { text, file: undefined };
    const length = lines.slice(start + 1).findIndex((line) => !line.startsWith('      '));
    const end = start + 1 + length;
    const path = lines
      .slice(start + 1, end)
      .map((line) => /^ +(?:path|configuredIn): (?<path>.+)$/.exec(line)?.groups?.path)
      .find((found) => found !== undefined);
    // The annotations may have been made for this one alone.
    const alone = lines[start - 1] === '  annotations:' && !lines[end]?.startsWith('    ');
    lines.splice(alone ? start - 1 : start, end - start + (alone ? 1 : 0));
    return {
      text: lines.join('\n'),
      // Kustomize writes paths plain, or quoted where YAML needs it.
      file: path === undefined ? undefined : pathFrom(folder, path.replace(/^(['"])(.*)\1$/, '$2')),
    };
  });
}

/** The line of the object's own annotation: in its metadata, which is not indented. */
function originLine(lines: readonly string[]): number | undefined {
  const metadata = lines.indexOf('metadata:');
  if (metadata < 0) return undefined;
  for (let index = metadata + 1; lines[index]?.startsWith(' '); index += 1) {
    if (lines[index] === `    ${originKey}: |`) return index;
  }
  return undefined;
}

/** An object of a file and its place. */
interface Place {
  readonly kind: unknown;
  readonly name: string;
  readonly line: number;
  readonly document: number;
  readonly items: readonly number[];
}

/** All objects of a file, whole or not. */
export function placesIn(file: { path: string; bytes: Uint8Array }, limits: RenderLimits): Place[] {
  const scanned = scanFile(file, limits);
  if (!scanned.ok) return [];
  return scanned.documents.flatMap(({ value, lineOf, index: document }) => {
    const whole = recordOf(value);
    const items = listOf(whole.items).map((item, index) =>
      place(recordOf(item), lineOf(`items[${index}]`), document, [index]),
    );
    return [place(whole, lineOf(''), document, []), ...items];
  });
}

/** The place of an object, found by kind and name: kustomize may have added a prefix or suffix to the name. */
export function placeOf(
  places: readonly Place[],
  { kind, name }: { kind: string; name: string },
): Omit<Place, 'kind' | 'name'> {
  const same = places.filter((entry) => entry.kind === kind);
  const best =
    same.find((entry) => entry.name === name) ??
    same.find((entry) => entry.name !== '' && name.includes(entry.name)) ??
    same[0];
  const { line = 1, document = 0, items = [] } = best ?? {};
  return { line, document, items };
}

function place(
  object: Readonly<Record<string, unknown>>,
  line: number,
  document: number,
  items: readonly number[],
): Place {
  return { kind: object.kind, name: String(recordOf(object.metadata).name ?? ''), line, document, items };
}
