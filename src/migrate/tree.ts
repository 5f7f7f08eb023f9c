import { basename, dirname, join } from 'node:path';
import type { Document } from 'yaml';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { InputError } from '../api/problems.ts';
import type { FormerOwner } from '../engine/sync/scope/former-owner.ts';
import { renderPlain } from '../render/render.ts';
import { type FileProblem, formatProblem, type Origin } from '../render/rendered-object.ts';
import { isKustomization, kustomizationNames } from '../render/tree.ts';
import { decodeText } from '../render/yaml/documents.ts';
import { writeYaml } from '../render/yaml/values.ts';
import { readLocalFiles } from '../review/local-files.ts';
import { edited, type Files, identityOf, listed, withoutDocument } from './edit.ts';

/** An object of the tree, and where it is. */
export interface Placed {
  readonly object: KubernetesObject;
  readonly origin: Origin;
}

/** What a folder of manifests holds of the tools that apply others. */
export interface MoveTree {
  readonly files: Files;
  readonly objects: readonly Placed[];
  /** Files that name one of the tools and cannot be read, with `file:line: field: message`; there are no objects of them. */
  readonly broken: ReadonlyMap<string, readonly string[]>;
  /** `file:line`. */
  at(origin: Origin, field: string): string;
}

const key = (name: string) => `\\b${name}["']?[^\\S\\n]*:[^\\S\\n]*["']?`;
/** Names of the tools also stand in labels, comments and values of charts. */
const tools = new RegExp(
  `${key('apiVersion')}(?:[a-z]+\\.toolkit\\.fluxcd\\.io|argoproj\\.io|holdfast\\.dev)/`,
);
const moved = new RegExp(
  `${key('kind')}(?:Kustomization|GitRepository|Application|ApplicationSet|Source)\\b`,
);

/** What is read of a tree. */
interface TreeInterest {
  /** Files whose objects are read. */
  readonly kept: RegExp;
  /** Of those, the ones of which it is told that they are broken. */
  readonly told: RegExp;
}

/** Rollouts of Argo Rollouts, and whatever may name them. */
export const rolloutInterest: TreeInterest = {
  kept: new RegExp(key('apiVersion')),
  told: new RegExp(`${key('kind')}(?:Rollout|(?:Cluster)?AnalysisTemplate)\\b`),
};

/**
 * Reads a file or folder; what concerns neither tool is passed over, broken or not. An object may be there more than once, as for two
 * clusters, or in a patch. Throws InputError where the tree as a whole cannot be read, and for nothing that is in it.
 */
export async function readMoveTree(
  path: string,
  { kept: named, told }: TreeInterest = { kept: tools, told: moved },
): Promise<MoveTree> {
  const local = await readLocalFiles([path]);
  const texts = local.files.flatMap((file) => {
    const { text } = decodeText(file.bytes);
    if (text === undefined) return [];
    // As it is on the disk: a line feed at the end may have been added.
    const isWhole = file.bytes.at(-1) === 0x0a;
    return [[file.path, isWhole ? text : text.replace(/\n$/, '')] as const];
  });
  const kept = texts.filter(([file, text]) => isKustomization(file) || named.test(text));
  const files = new Map(kept);
  const isManifest = (file: string) => files.has(file) && !isKustomization(file);
  const results = new Map(
    local.files
      .filter((file) => isManifest(file.path))
      .map((file) => [file.path, renderPlain([file])] as const),
  );
  const all = [...results.values()];
  const isFatal = ({ file }: FileProblem) => file === path || file === '';
  const broken = [...results].filter(([file, { problems }]) => {
    return file !== path && problems.length > 0 && told.test(files.get(file) ?? '');
  });
  const fatal = [...local.problems, ...all.flatMap(({ problems }) => problems)].filter(isFatal);
  if (fatal.length > 0) throw new InputError(fatal.map(formatProblem).join('\n'));
  return {
    files,
    objects: all.flatMap(({ objects }) => objects),
    broken: new Map(broken.map(([file, { problems }]) => [file, problems.map(formatProblem)])),
    at: (origin, field) => {
      const line = field ? results.get(origin.file)?.lineOf(origin, field) : undefined;
      return `${origin.file}:${line ?? origin.line}`;
    },
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

/** The files with the document of one object changed; the same files where there is none. */
export function withPlacedEdited(
  files: Files,
  placed: Placed | undefined,
  edit: (document: Document, placed: Placed) => void,
): Files {
  if (!placed) return files;
  const { object, origin } = placed;
  return edited(files, origin.file, identityOf(object), (document) => edit(document, placed));
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
  return kustomizationNames.map((name) => join(dirname(file), name)).find((name) => files.has(name));
}

/** One thing to move, as far as the tree says it. */
export interface Subject {
  readonly former: FormerOwner;
  readonly owner?: Placed | undefined;
  readonly source?: Placed | undefined;
}
