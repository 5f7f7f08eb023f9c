import { splitDocuments } from '../build/split.ts';
import { listOf, mappingOf, scanFile } from '../scan.ts';
import { pathFrom } from '../tree.ts';
import type { RenderLimits } from '../types.ts';

const originKey = 'config.kubernetes.io/origin';

/**
 * The kustomization with the wish that every object name the file it came from, as one more line at its end. Undefined where that line
 * would not be read so: a file in flow style, or one that says itself what its objects are annotated with.
 */
export function askForOrigins(path: string, bytes: Uint8Array, limits: RenderLimits): Uint8Array | undefined {
  const text = new TextDecoder().decode(bytes);
  const scanned = scanFile({ path, bytes }, limits);
  const [document] = scanned.ok ? scanned.documents : [];
  if (!document || mappingOf(document.value).buildMetadata !== undefined) return undefined;
  if (/^\s*[{[]|^\.\.\.|^---\s*\{/m.test(text)) return undefined;
  return new TextEncoder().encode(`${text.replace(/\n?$/, '\n')}buildMetadata: [originAnnotations]\n`);
}

/** One object as the program printed it, and the file it came from as far as it said so. */
export interface PrintedObject {
  readonly text: string;
  readonly file: string | undefined;
}

/**
 * Takes the origins out again: what is left are the bytes that the program prints when it is not asked. `folder`: of the kustomization;
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
      file: path === undefined ? undefined : pathFrom(folder, plainText(path)),
    };
  });
}

/** Where the annotation of the object itself stands: in its metadata, which is not indented. */
function originLine(lines: readonly string[]): number | undefined {
  const metadata = lines.indexOf('metadata:');
  if (metadata < 0) return undefined;
  for (let index = metadata + 1; lines[index]?.startsWith(' '); index += 1) {
    if (lines[index] === `    ${originKey}: |`) return index;
  }
  return undefined;
}

/** Kustomize writes paths plain, or quoted where YAML needs it. */
function plainText(text: string): string {
  return text.replace(/^(['"])(.*)\1$/, '$2');
}

/** An object of a file, and where it stands. */
export interface Place {
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
  return scanned.documents.flatMap(({ value, lineOf }, document) => {
    const whole = mappingOf(value);
    const items = listOf(whole.items).map((item, index) =>
      place(mappingOf(item), lineOf(`items[${index}]`), document, [index]),
    );
    return [place(whole, lineOf(''), document, []), ...items];
  });
}

/** The place of an object as far as kind and name still tell: kustomize may have put something around its name. */
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
  return { kind: object.kind, name: String(mappingOf(object.metadata).name ?? ''), line, document, items };
}
