import { basename, dirname, join } from 'node:path';
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { FormerOwner } from '../engine/sync/scope/former-owner.ts';
import { isKustomization } from '../render/build/collect.ts';
import { renderPlain } from '../render/render.ts';
import { type FileProblem, formatProblem, type Origin } from '../render/rendered-object.ts';
import { decodeText } from '../render/yaml/documents.ts';
import { writeYaml } from '../render/yaml/values.ts';
import { readLocalFiles } from '../review/local-files.ts';
import { type Files, identityOf, listed, withoutDocument } from './edit.ts';

/** An object of the tree, and where it is. */
export interface Placed {
  readonly object: KubernetesObject;
  readonly origin: Origin;
}

/** What a folder of manifests holds of the tools that apply others. */
export interface MoveTree {
  readonly files: Files;
  readonly objects: readonly Placed[];
  /** `file:line: field: message` of files that name one of the tools and cannot be read. */
  readonly problems: readonly string[];
  /** `file:line`. */
  at(origin: Origin, field: string): string;
}

const tools = /\b(?:[a-z]+\.toolkit\.fluxcd\.io|argoproj\.io|holdfast\.dev)\//;

/** Reads a file or folder; what concerns neither tool is passed over, broken or not. Never throws on what it finds. */
export async function readMoveTree(path: string): Promise<MoveTree> {
  const local = await readLocalFiles([path]);
  const texts = local.files.flatMap((file) => {
    const { text } = decodeText(file.bytes);
    if (text === undefined) return [];
    // As it is on the disk: a line feed at the end may have been added.
    const isWhole = file.bytes.at(-1) === 0x0a;
    return [[file.path, isWhole ? text : text.replace(/\n$/, '')] as const];
  });
  const kept = texts.filter(([file, text]) => isKustomization(file) || tools.test(text));
  const names = new Set(kept.map(([file]) => file));
  const read = renderPlain(local.files.filter((file) => names.has(file.path) && !isKustomization(file.path)));
  const isFatal = ({ file }: FileProblem) => file === path || file === '';
  return {
    files: new Map(kept),
    objects: read.objects,
    problems: [...local.problems.filter(isFatal), ...read.problems].map(formatProblem),
    at: (origin, field) => `${origin.file}:${field ? read.lineOf(origin, field) : origin.line}`,
  };
}

/** The files with one more that holds these objects, listed in the kustomization of its folder if that lists `sibling`, a file of the same folder. */
export function withSiblingFile(
  files: Files,
  file: string,
  objects: readonly KubernetesObject[],
  sibling: string,
): Files {
  const added = new Map([...files, [file, objects.map(writeYaml).join('---\n')]]);
  const kustomization = kustomizationFor(files, file);
  return kustomization ? listed(added, kustomization, { entry: basename(file), sibling }) : added;
}

/** The files without these documents; a file that held nothing else goes, also from the kustomization of its folder. */
export function withoutPlaced(files: Files, placed: readonly Placed[]): Files {
  return placed.reduce((all, { object, origin: { file } }) => {
    const rest = withoutDocument(all, file, identityOf(object));
    const kustomization = rest.has(file) ? undefined : kustomizationFor(rest, file);
    return kustomization ? listed(rest, kustomization, { entry: basename(file) }) : rest;
  }, files);
}

function kustomizationFor(files: Files, file: string): string | undefined {
  return ['kustomization.yaml', 'kustomization.yml', 'Kustomization']
    .map((name) => join(dirname(file), name))
    .find((name) => files.has(name));
}

/** One thing to move, as far as the tree says it. */
export interface Subject {
  readonly former: FormerOwner;
  readonly owner?: Placed | undefined;
  readonly source?: Placed | undefined;
}
