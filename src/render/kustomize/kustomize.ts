import type { KubernetesObject } from '../../api/kubernetes.ts';
import { type Builder, type Built, failedBuild, failureText } from '../build/builder.ts';
import { splitDocuments } from '../build/split.ts';
import { renderFile } from '../file.ts';
import { createPause } from '../pause.ts';
import type { TreeFile } from '../tree.ts';
import type { FileProblem, Origin, RenderedObject, RenderLimits } from '../types.ts';
import { isKustomization } from './collect.ts';
import { askForOrigins, type Place, placeOf, placesIn, takeOrigins } from './output.ts';

/** What one folder is built from. */
export interface KustomizeInput {
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
  const given = new Map([...files].map(([path, { bytes }]) => [path, bytes]));
  const asked = askForOrigins(own, given.get(own) ?? new Uint8Array(), limits);
  if (asked) given.set(own, asked);
  const result = await builder.run(kustomizeArgs(folder), given, signal);
  if (!result.ok)
    return failedBuild({ file: own, line: 0, message: failureText('kustomize', result) }, result);
  const printed = asked
    ? takeOrigins(result.output, folder)
    : splitDocuments(result.output).map((text) => ({ text, file: undefined }));
  const objects: RenderedObject[] = [];
  const problems: FileProblem[] = [];
  const originOf = createOrigins(own, files, limits);
  const pause = createPause(signal);
  for (const { text, file } of printed) {
    await pause();
    // Problems are shown at the kustomization: the lines are those of a text that nobody sees.
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
