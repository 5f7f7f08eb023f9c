import { createHash } from 'node:crypto';
import { limits } from '../../api/limits.ts';
import type { FileProblem, RenderedObject } from '../rendered-object.ts';
import type { TreeFile } from '../tree.ts';
import type { FolderFiles, ProcessResult } from './process.ts';

/** A program that turns files into manifests: kustomize or helm. */
export interface Builder {
  /** Text of its version; part of what its output depends on. Throws when the program cannot be run. */
  version(): Promise<string>;
  /**
   * Runs it in a private folder that holds these files and nothing else. Where many wait, each tenant has its turn, however many runs of others
   * came before. Throws the signal's reason.
   */
  run(
    args: readonly string[],
    files: FolderFiles,
    signal: AbortSignal,
    tenant?: string,
  ): Promise<ProcessResult>;
}

/** The programs that were found; a Source that needs another one waits and says so. */
export interface Builders {
  readonly kustomize: Builder | undefined;
  readonly helm: Builder | undefined;
}

/** What one kustomization or chart gave. */
export interface Built {
  readonly objects: readonly RenderedObject[];
  readonly problems: readonly FileProblem[];
  /** Bytes that were printed: what keeping it costs. */
  readonly bytes: number;
  /** It may come out otherwise when it is tried again: the machine was busy. */
  readonly isFleeting?: boolean;
}

/** What a failed run gives: a problem of the file that the program was asked about. */
export function failedBuild(problem: FileProblem, { reason }: ProcessResult & { ok: false }): Built {
  return { objects: [], problems: [problem], bytes: 0, isFleeting: reason === 'time' || reason === 'memory' };
}

/** Why a program gave nothing, for people. Its error output is cut, freed of our folder's name, and of what the files may hold as secrets. */
export function failureText(name: string, result: ProcessResult & { ok: false }): string {
  if (result.reason === 'time') return `${name} timed out; check for a loop`;
  if (result.reason === 'output') return `${name} printed more output than is allowed`;
  if (result.reason === 'memory') return `${name} exceeded its memory limit`;
  const message = withoutNoise(result.errorOutput);
  return `${name} failed: ${message === '' ? 'no message' : message}`;
}

const maxShownCharacters = 600;
/** Characters of a failing program's words that are looked at. */
const maxReadCharacters = 4_000;

function withoutNoise(errorOutput: string): string {
  // Cut first: a chart chooses these words, and the patterns take the square of their length.
  const isRead = errorOutput.length <= maxReadCharacters;
  const text = errorOutput
    .slice(0, maxReadCharacters)
    .replace(/^# Warning:.*$/gm, '')
    .replace(/\/[^\s'"]*\/render-[^/\s'"]+\/?/g, '')
    // YAML readers quote the value that does not fit.
    .replace(/`[^`\n]*`/g, '`...`')
    .replace(/^Error: /m, '')
    .replace(/\s+/g, ' ')
    .trim();
  // The sign of a cut also says that a secret may have been cut there.
  return isRead && text.length <= maxShownCharacters ? text : `${text.slice(0, maxShownCharacters)}…`;
}

/** Something that a kustomization, or a generator or transformer of it, names by path. */
export interface Reference {
  /** As it is written, relative to the kustomization's folder. */
  readonly path: string;
  /** Where it is written, such as `resources[0]`. */
  readonly field: string;
  readonly line: number;
  /** `config`: a file with generators or transformers, which may name files in turn. `manifest`: YAML. `data`: any bytes. */
  readonly use: 'base' | 'manifest' | 'config' | 'data';
}

/** What one kustomization leads to, and why it is refused. */
export interface References {
  readonly references: readonly Reference[];
  readonly problems: readonly FileProblem[];
}

/** By role, id and path of a file. */
export type KnownReferences = Map<string, References>;

/** What programs gave, by everything it depends on; bounded, the longest unused goes first. Shared by all Sources. */
export interface BuildCache {
  get(key: string): Built | undefined;
  set(key: string, built: Built): void;
  /** What the files of kustomizations refer to. */
  readonly references: KnownReferences;
}

/** An empty cache. Its results are shared and must not be changed. */
export function createBuildCache(): BuildCache {
  const known = new Map<string, Built>();
  let bytes = 0;
  return {
    references: new Map(),
    get(key) {
      const built = known.get(key);
      if (!built) return undefined;
      known.delete(key);
      known.set(key, built);
      return built;
    },
    set(key, built) {
      bytes += costOf(built) - costOf(known.get(key));
      known.delete(key);
      known.set(key, built);
      for (const [oldest, old] of known) {
        if (bytes <= limits.renderCacheBytes) break;
        known.delete(oldest);
        bytes -= costOf(old);
      }
    },
  };
}

/** Objects cost more than their text; the figure bounds, it does not measure. */
function costOf(built: Built | undefined): number {
  return built ? built.bytes + 512 : 0;
}

/** Everything a build depends on, as one hash: the program's version, its settings, and the ids of all files by path. */
export function buildKey(
  version: string,
  settings: unknown,
  files: ReadonlyMap<string, Pick<TreeFile, 'oid'>>,
): string {
  const hash = createHash('sha256').update(JSON.stringify([version, settings]));
  for (const path of [...files.keys()].sort())
    hash.update(`\n${JSON.stringify(path)} ${files.get(path)?.oid}`);
  return hash.digest('hex');
}
