/** Steps of a move from another tool to Holdfast, or back, and where it stands. Pure. */
import { describe, isRecord, type KubernetesObject, liveCondition, partOfLabel } from '../api/kubernetes.ts';
import { listNames } from '../api/limits.ts';
import type { Source } from '../api/source/source.ts';
import { applySetId } from '../engine/apply-set.ts';
import {
  adoptFromAnnotation,
  type FormerOwner,
  formerOwnerText,
  isMarkedBy,
} from '../engine/sync/scope/former-owner.ts';
import { covers } from '../workload/compare/semantic-compare.ts';
import type { FileChange } from './edit.ts';
import type { Comparison, MoveFacts } from './facts.ts';
import type { MoveTree } from './tree.ts';

/** Something that a step depends on, or ends with, as it was read back from the cluster. */
export interface Finding {
  readonly what: string;
  /** Undefined: it was not read. */
  readonly holds: boolean | undefined;
  /** What was found instead, for people. */
  readonly found?: string | undefined;
}

/** One step: at most one commit, and the commands that Git cannot stand in for. */
export interface Step {
  readonly title: string;
  /** What must be true before; one that was not read back as true stops the move. */
  readonly requires: readonly Finding[];
  /** What is true after it. */
  readonly ends: readonly Finding[];
  /** What the commit changes in the tree; none: the tree says so already. */
  readonly changes: readonly FileChange[];
  /** Shell commands for a person. */
  readonly commands: readonly string[];
  /** Shell commands that show whether it has ended. */
  readonly verify: readonly string[];
}

/**
 * `done`: read back. `next`: to be done now. `waits`: everything was done, the cluster does not show it yet. `refused`: something must be true first.
 * `later`: after the one before. `unread`: no cluster was asked.
 */
export type StepState = 'done' | 'next' | 'waits' | 'refused' | 'later' | 'unread';

/** A step and where it stands. */
export interface PlacedStep extends Step {
  readonly state: StepState;
}

/** One Kustomization, Application or Source on its way. */
export interface Move {
  /** `Kustomization flux-system/apps`. */
  readonly name: string;
  /** Why it cannot be moved; steps are empty then. */
  readonly stops: readonly string[];
  /** What is otherwise afterwards, or could not be compared. */
  readonly notes: readonly string[];
  /** What keeps its meaning; absent where that is not listed. */
  readonly converted?: readonly string[];
  readonly steps: readonly PlacedStep[];
}

/** The files that may hold one and cannot be read. */
export function unreadMoves({ broken }: Pick<MoveTree, 'broken'>): Move[] {
  return [...broken].map(([file, stops]) => ({ name: `File ${file}`, stops, notes: [], steps: [] }));
}

/** Where each step stands: the first that has not ended is the one to look at. */
export function placeSteps(steps: readonly Step[]): PlacedStep[] {
  const current = steps.findIndex(({ ends }) => !ends.every(({ holds }) => holds === true));
  const isUnread = steps.every(({ ends }) => ends.every(({ holds }) => holds === undefined));
  return steps.map((step, index) => ({
    ...step,
    state: isUnread ? 'unread' : stateOf(step, index, current),
  }));
}

function stateOf({ ends, requires, changes, commands }: Step, index: number, current: number): StepState {
  if (ends.every(({ holds }) => holds === true)) return 'done';
  if (index !== current) return 'later';
  if (requires.some(({ holds }) => holds !== true)) return 'refused';
  return changes.length + commands.length > 0 ? 'next' : 'waits';
}

/** 0: everything is moved; 1: something is refused; 3: there is a step to do, or one whose effect is not seen yet. */
export function movesExitCode(moves: readonly Move[]): 0 | 1 | 3 {
  const states = moves.flatMap(({ steps }) => steps.map(({ state }) => state));
  if (moves.some(({ stops }) => stops.length > 0) || states.includes('refused')) return 1;
  return states.every((state) => state === 'done') ? 0 : 3;
}

// What was read back, as findings. Pure.

/** A finding that is undefined until facts are there. */
export function finding<Facts = MoveFacts>(
  facts: Facts | undefined,
  what: string,
  look: (facts: Facts) => true | string,
): Finding {
  if (!facts) return { what, holds: undefined };
  const found = look(facts);
  return found === true ? { what, holds: true } : { what, holds: false, found };
}

/** The controller has seen the object as it is. */
export function isObserved(object: KubernetesObject | undefined): boolean {
  const { observedGeneration } = (object?.status ?? {}) as { observedGeneration?: number };
  return object !== undefined && observedGeneration === object.metadata.generation;
}

/** The dry run, a finding for each thing that may not be. */
export function comparisonFindings(facts: MoveFacts | undefined): Finding[] {
  const none = (what: string, pick: (comparison: Comparison) => readonly string[]) =>
    finding(facts, what, ({ comparison }) => {
      if (!comparison) return 'it was not compared';
      if (comparison.problem !== undefined) return comparison.problem;
      const found = pick(comparison);
      return found.length === 0 || listNames(found);
    });
  return [
    none('the Source holds every object of the inventory', ({ missing }) => missing),
    none('the dry run creates none', ({ created }) => created),
    none('the dry run changes none, so no pod restarts', ({ changed }) => changed),
    none('it is allowed to apply all of them', ({ refused }) => refused),
  ];
}

/** Holdfast follows the Source and has applied its head. */
export function appliedFindings(facts: MoveFacts | undefined, name: string): Finding[] {
  return [
    finding(facts, `Source ${name} has applied its head`, ({ source }) => {
      const applied = liveCondition(source, 'Applied');
      if (!source) return 'it is not in the cluster';
      if (!isObserved(source)) return 'Holdfast has not observed the change yet';
      if (applied?.status !== 'True') return applied?.message ?? 'it has no condition Applied';
      const { head, appliedCommit } = (source as Source).status ?? {};
      return (
        head?.commit === appliedCommit || `applied ${appliedCommit ?? 'nothing'}, head is ${head?.commit}`
      );
    }),
  ];
}

/** Every object of the inventory is the Source's, and no mark of the owner is left on it. */
export function takenFinding(
  facts: MoveFacts | undefined,
  source: KubernetesObject,
  former: FormerOwner,
): Finding {
  const id = applySetId(source);
  return finding(
    facts,
    'every object of the inventory belongs to the Source, without a label or annotation of the other tool',
    (seen) => {
      const gone = seen.members.filter(({ live }) => !live).map(({ reference }) => describe(reference));
      if (gone.length > 0) return `not in the cluster: ${listNames(gone)}`;
      const left = seen.members.flatMap(({ live }) => {
        if (!live) return [];
        const { apiVersion, kind, metadata } = live;
        // Git may set this label itself, as charts do; whether it does is not known here.
        const instance = metadata.labels?.['app.kubernetes.io/instance'];
        const labels = instance === undefined ? {} : { 'app.kubernetes.io/instance': instance };
        const inGit = { apiVersion, kind, metadata: { name: metadata.name, labels } };
        const isTaken = metadata.labels?.[partOfLabel] === id && !isMarkedBy(live, inGit, former);
        return isTaken ? [] : [live];
      });
      return left.length === 0 || `not yet: ${listNames(left.map(describe))}`;
    },
  );
}

/** The Source names the owner whose objects it takes over. */
export function adoptsFinding(facts: MoveFacts | undefined, name: string, former: FormerOwner): Finding {
  const text = formerOwnerText(former);
  return finding(
    facts,
    `Source ${name} is in the cluster, with ${adoptFromAnnotation}: ${text}`,
    ({ source, owner }) => {
      if (!source) return 'it is not in the cluster';
      if (!owner) return true;
      return (
        source.metadata.annotations?.[adoptFromAnnotation] === text || 'it does not have this annotation'
      );
    },
  );
}

/** A field of the tree is in the cluster as it is there; what the server fills in makes no difference. */
export function isSameField(live: unknown, tree: unknown): boolean {
  return tree === undefined || tree === null ? live === undefined || live === null : covers(live, tree);
}

/** Fields that are in the cluster alone, as a patch or another program sets them: a Source that is made from the file lacks them. */
export function missingInFile(live: unknown, tree: unknown, path: string): string[] {
  if (isRecord(live) && isRecord(tree))
    return Object.entries(live).flatMap(([key, value]) => missingInFile(value, tree[key], `${path}.${key}`));
  return (tree === undefined || tree === null) && !covers(undefined, live) ? [path] : [];
}

/** What to do about them. */
export function whyMissingInFile(paths: readonly string[]): true | string {
  if (paths.length === 0) return true;
  return `${listNames(paths)}: set in the cluster, and not in the file, as by a patch of what applies it; write it into the file`;
}
