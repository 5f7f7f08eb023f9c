import { gitPart } from '../../api/commit.ts';
import { describe, keyOf as keyOfPlan, objectKey } from '../../api/kubernetes.ts';
import { listNames } from '../../api/limits.ts';
import { fileOfOrigin, type RenderedObject } from '../../render/rendered-object.ts';
import type { WantedRevert } from '../../writeback/decide.ts';
import { type FileVersions, type RevertedFiles, revertFiles } from '../../writeback/revert-files.ts';
import type { Snapshot } from '../sync/context/context.ts';
import type { FileChanges } from '../sync/read/commit-files.ts';
import type { SourceGit } from '../sync/read/source-git.ts';

/** A revert that was built and rendered before anything is pushed. */
export type BuiltRevert =
  /** Only this Canary's release changes, to the last-known-good. */
  | { readonly kind: 'exact'; readonly head: string; readonly files: FileChanges }
  /** Whole commits are reverted, and `others` change with them: a person decides. */
  | {
      readonly kind: 'whole';
      readonly head: string;
      readonly files: FileChanges;
      readonly others: readonly string[];
      /** What is taken back, the newest first. */
      readonly commits: readonly string[];
      /** Why less was not enough. */
      readonly why: string;
    }
  /** Head holds something else by now. */
  | { readonly kind: 'moved' }
  /** Nothing can be built without guessing. */
  | { readonly kind: 'impossible'; readonly why: string };

/** Files other than manifests are read too; a commit with more than this many is no release of one workload. */
const maximumFiles = 500;
/** Commits that were pushed together, as by a merge that rebases them, of which one or several made the release. */
const maximumCommits = 10;

/**
 * Builds the change that reverts a release in Git: only the hunks in this Canary's documents, verified by rendering; where that does not lead to
 * exactly the last-known-good, the whole commit, with those before it that are needed (design section 2.2, issue 4). `head`: the commit that it is made on. Pushes nothing. Throws Git's
 * errors when Git cannot be read.
 */
export async function buildRevert(
  git: SourceGit,
  canaryKey: string,
  wanted: WantedRevert,
  head = git.head(),
): Promise<BuiltRevert> {
  if (head === undefined) return { kind: 'moved' };
  const before = await git.render(head);
  const atHead = git.digestIn(before, canaryKey);
  // Git does not know the part of config outside Git.
  if (atHead === undefined || gitPart(atHead) !== gitPart(wanted.digest)) return { kind: 'moved' };
  const [bad, good] = await Promise.all([git.render(wanted.bad), git.render(wanted.good)]);
  const rendered = { head, before, bad, good };
  const exact = await buildExact(git, canaryKey, wanted, rendered);
  if (typeof exact !== 'string') return exact;
  return buildWhole(git, canaryKey, wanted, { ...rendered, why: exact });
}

interface Renderings {
  readonly head: string;
  /** Of `head`, of the commit that is taken back, and of the last-known-good's. */
  readonly before: Snapshot;
  readonly bad: Snapshot;
  readonly good: Snapshot;
}

/** The revert of the Canary's own lines, or why it does not lead to the last-known-good. */
async function buildExact(
  git: SourceGit,
  canaryKey: string,
  wanted: WantedRevert,
  { head, before, bad, good }: Renderings,
): Promise<BuiltRevert | string> {
  const lines = { bad: ownLines(bad, canaryKey), good: ownLines(good, canaryKey) };
  const paths = [...new Set([...lines.bad.keys(), ...lines.good.keys()])];
  const files = await versionsOf(git, paths, { head, bad: wanted.bad, good: wanted.good });
  const result = revertFiles(
    files.map((file) => ({
      ...file,
      only: { bad: lines.bad.get(file.path) ?? [], good: lines.good.get(file.path) ?? [] },
    })),
  );
  if (result.conflicts.length > 0) return changedSince(result.conflicts);
  if (result.changes.size === 0) return "taking the Canary's own lines back changes nothing";
  const after = await git.render(head, result.changes);
  const digest = git.digestIn(after, canaryKey);
  if (digest === undefined || gitPart(digest) !== gitPart(wanted.goodDigest))
    return "its own lines alone do not lead to the last-known-good's release";
  const others = othersChanged(before, after, canaryKey);
  if (others.length > 0) return `its own lines also shape ${listNames(others)}`;
  if (after.problems.length > before.problems.length)
    return 'the result could not be rendered without problems';
  return { kind: 'exact', head, files: result.changes };
}

async function buildWhole(
  git: SourceGit,
  canaryKey: string,
  wanted: WantedRevert,
  at: Renderings & { readonly why: string },
): Promise<BuiltRevert> {
  const good = git.digestIn(at.good, canaryKey);
  const impossible = (what: string): BuiltRevert => ({ kind: 'impossible', why: `${at.why}, and ${what}` });
  if (good === undefined)
    return impossible("the last-known-good's commit does not hold this release in the Source");
  const commits: string[] = [];
  const paths = new Set<string>();
  for (let commit = wanted.bad; commit !== wanted.good && commits.length < maximumCommits; ) {
    const { parent, paths: changed } = await git.repository.changesOf(commit);
    commits.push(commit);
    for (const path of changed) paths.add(path);
    if (paths.size > maximumFiles) return impossible(`the commit changed ${paths.size} files`);
    const { conflicts, changes } = revertFiles(
      await versionsOf(git, [...paths], { head: at.head, bad: wanted.bad, good: parent }),
    );
    if (conflicts.length > 0) return impossible(changedSince(conflicts));
    if (changes.size > 0) {
      const after = await git.render(at.head, changes);
      if (git.digestIn(after, canaryKey) === good) {
        const others = othersChanged(at.before, after, canaryKey);
        return { kind: 'whole', head: at.head, files: changes, others, commits, why: at.why };
      }
    }
    commit = parent;
  }
  return impossible(`taking back ${commits.length} commits does not lead to the last-known-good`);
}

function changedSince(conflicts: RevertedFiles['conflicts']): string {
  return `the same lines of ${listNames(conflicts)} changed since`;
}

/** First lines of the Canary's objects, by file. */
function ownLines(snapshot: Snapshot, canaryKey: string): Map<string, number[]> {
  const plan = snapshot.plans.find(({ canary }) => keyOfPlan(canary) === canaryKey);
  const lines = new Map<string, number[]>();
  for (const origin of plan?.state === 'release' ? plan.origins : []) {
    const file = fileOfOrigin(origin);
    lines.set(file, [...(lines.get(file) ?? []), Number(origin.slice(file.length + 1))]);
  }
  return lines;
}

async function versionsOf(
  { repository }: SourceGit,
  paths: readonly string[],
  at: { head: string; bad: string; good: string },
): Promise<FileVersions[]> {
  const head = await repository.readPaths(at.head, paths);
  const bad = await repository.readPaths(at.bad, paths);
  const good = await repository.readPaths(at.good, paths);
  return paths.map((path) => ({ path, head: head.get(path), bad: bad.get(path), good: good.get(path) }));
}

/** Objects that differ between two renderings and are not this Canary's own, as people name them. */
function othersChanged(before: Snapshot, after: Snapshot, canaryKey: string): string[] {
  const own = new Set([before, after].flatMap((snapshot) => ownKeys(snapshot, canaryKey)));
  const byKey = ({ rest, plans }: Snapshot) =>
    new Map([...rest, ...plans.flatMap(objectsOf)].map(({ object }) => [objectKey(object), object]));
  const [old, now] = [byKey(before), byKey(after)];
  const objects = new Map([...old, ...now]);
  const isOther = (key: string) =>
    !own.has(key) && JSON.stringify(old.get(key)) !== JSON.stringify(now.get(key));
  return [...objects].filter(([key]) => isOther(key)).map(([, object]) => describe(object));
}

/** Keys of the objects of a Canary. Config that two Canaries use belongs to neither. */
function ownKeys({ plans }: Snapshot, canaryKey: string): string[] {
  const plan = plans.find(({ canary }) => keyOfPlan(canary) === canaryKey);
  if (!plan) return [];
  const keysOf = (one: Plan) => objectsOf(one).map(({ object }) => objectKey(object));
  const shared = new Set(plans.filter((one) => keyOfPlan(one.canary) !== canaryKey).flatMap(keysOf));
  const canary = plan.state === 'release' && plan.object ? [objectKey(plan.object)] : [];
  return [...keysOf(plan), ...canary].filter((key) => !shared.has(key));
}

type Plan = Snapshot['plans'][number];

function objectsOf(plan: Plan): RenderedObject[] {
  if (plan.state !== 'release') return [];
  return [plan.target, ...plan.configs, ...(plan.scaler ? [plan.scaler] : [])];
}
