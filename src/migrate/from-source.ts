/** From a Source back to another tool. Pure. */
import { basename, dirname, join } from 'node:path';
import type { Document } from 'yaml';
import { describe, type KubernetesObject, keyOf, objectKey } from '../api/kubernetes.ts';
import { listNames } from '../api/limits.ts';
import type { Source } from '../api/source/source.ts';
import { type FormerOwner, isTrackOf } from '../engine/sync/scope/former-owner.ts';
import { tracksOn } from '../engine/tracks.ts';
import { changesBetween, deleteField, edited, type Files, setField } from './edit.ts';
import { type MoveFacts, pruneAfterAnnotation } from './facts.ts';
import { applyCommands, isReleased, releaseCommands, shellLine, showCommands } from './kubectl.ts';
import { type Finding, finding, isObserved, type Step } from './steps.ts';
import { type Placed, withoutPlaced, withPlacedEdited, withSiblingFile } from './tree.ts';

/** What one way back is about. */
interface FromSourceInput {
  /** Who gets the objects. */
  readonly former: FormerOwner;
  readonly files: Files;
  readonly source?: Placed | undefined;
  /** Its object in the tree, where there is one already. */
  readonly owner?: Placed | undefined;
  /** Its objects, to be committed. */
  readonly wanted: readonly KubernetesObject[];
  readonly facts?: MoveFacts | undefined;
}

/** What differs between the tools. */
export interface FromSourceTool {
  /** An object that is in the tree applies again, and does not prune yet. */
  resume(document: Document): void;
  /** It prunes from now on. */
  prune(document: Document): void;
  /** The live object applies, as it is now. */
  applies(live: KubernetesObject): true | string;
  /** The live object has applied this one, although no mark of its own shows that. */
  hasApplied(live: KubernetesObject, member: KubernetesObject): boolean;
  prunes(live: KubernetesObject): boolean;
}

/** The steps, in order. */
export function fromSourceSteps(tool: FromSourceTool, input: FromSourceInput): Step[] {
  const { files, source, owner, wanted, former } = input;
  const { kind, namespace, name } = former;
  const held = withPlacedEdited(files, source, holdSource);
  let given = withPlacedEdited(held, owner, tool.resume);
  if (!owner && wanted.length > 0)
    given = withSiblingFile(held, ownerFile(input), wanted, basename(sourceFile(input)));
  const taken = source ? withoutPlaced(given, [source]) : given;
  const pruning = edited(taken, ownerFile(input), { kind, namespace, name }, (document) => {
    deleteField(document, ['metadata', 'annotations', pruneAfterAnnotation]);
    if (prunesAfter(input)) tool.prune(document);
  });
  return [
    { ...suspendStep(input), changes: changesBetween(files, held) },
    { ...takeOverStep(tool, input), changes: changesBetween(held, given) },
    { ...removalStep(tool, input), changes: changesBetween(given, taken) },
    { ...releaseStep(input), changes: [] },
    { ...pruningStep(tool, input), changes: changesBetween(taken, pruning) },
  ];
}

function holdfastStopped({ facts }: FromSourceInput): Finding {
  return finding(facts, 'Holdfast neither applies nor deletes', ({ source }) => whyItActs(source) ?? true);
}

function sourceGone({ facts }: FromSourceInput): Finding {
  return finding(facts, 'the Source is gone', ({ source }) => source === undefined || 'it still exists');
}

function suspendStep(input: FromSourceInput): Omit<Step, 'changes'> {
  const seen = `Source ${keyOf(input.former)} is suspended, does not prune, and Holdfast has observed that`;
  return {
    title: 'stop Holdfast from applying and deleting',
    requires: [],
    ends: [
      finding(input.facts, seen, ({ source }) => {
        const acts = whyItActs(source);
        if (acts) return acts;
        return !source || isObserved(source) || 'Holdfast has not observed the change yet';
      }),
    ],
    commands: applyCommands(input.facts, sourceFile(input)),
    verify: [shellLine('kubectl', '-n', input.former.namespace, 'get', 'source', input.former.name)],
  };
}

function takeOverStep(tool: FromSourceTool, input: FromSourceInput): Omit<Step, 'changes'> {
  return {
    title: `let ${describe(input.former)} take over the existing objects`,
    requires: [holdfastStopped(input)],
    ends: tookOver(tool, input),
    commands: applyCommands(input.facts, ownerFile(input)),
    verify: verify(input),
  };
}

function removalStep(tool: FromSourceTool, input: FromSourceInput): Omit<Step, 'changes'> {
  const { facts, former } = input;
  const isRemoved = facts?.source === undefined || facts.parent?.prunes === true;
  return {
    title: `delete Source ${keyOf(input.former)}, but none of the objects it applied`,
    requires: [
      holdfastStopped(input),
      ...tookOver(tool, input),
      finding(facts, 'no other Source depends on it', ({ sourceDependents }) => {
        return sourceDependents.length === 0 || listNames(sourceDependents);
      }),
    ],
    ends: [sourceGone(input)],
    commands: isRemoved
      ? []
      : [shellLine('kubectl', '-n', former.namespace, 'delete', 'source', former.name)],
    verify: [shellLine('kubectl', '-n', former.namespace, 'get', 'source')],
  };
}

function releaseStep(input: FromSourceInput): Omit<Step, 'changes'> {
  const { facts } = input;
  return {
    title: 'release the objects that Holdfast applied',
    requires: [],
    ends: [
      sourceGone(input),
      finding(facts, 'no object has the label or the managed fields of a Source', ({ members }) => {
        const left = members.flatMap(({ live }) => (live && !isReleased(live) ? [describe(live)] : []));
        return left.length === 0 || listNames(left);
      }),
    ],
    commands: facts ? releaseCommands(facts.members) : [],
    verify: [],
  };
}

function pruningStep(tool: FromSourceTool, input: FromSourceInput): Omit<Step, 'changes'> {
  const prunes = prunesAfter(input);
  return {
    title: prunes ? 'turn pruning on' : 'finish the migration',
    requires: tookOver(tool, input),
    ends: [
      finding(
        input.facts,
        prunes ? `${describe(input.former)} prunes` : 'the migration is finished',
        ({ owner }) => {
          if (!owner) return 'it is not in the cluster';
          const isMarkedStill = owner.metadata.annotations?.[pruneAfterAnnotation] !== undefined;
          if (isMarkedStill) return `it has ${pruneAfterAnnotation}`;
          return !prunes || tool.prunes(owner) || 'it does not prune';
        },
      ),
    ],
    commands: applyCommands(input.facts, ownerFile(input)),
    verify: verify(input),
  };
}

function whyItActs(source: KubernetesObject | undefined): string | undefined {
  const { suspend, prune } = ((source as Source | undefined)?.spec ?? {}) as Partial<Source['spec']>;
  if (!source) return undefined;
  if (prune === true) return 'spec.prune is true';
  return suspend === true ? undefined : 'it is not suspended';
}

function tookOver(tool: FromSourceTool, input: FromSourceInput): Finding[] {
  const { facts, former } = input;
  return [
    finding(facts, `${describe(input.former)} applies`, ({ owner }) =>
      owner ? tool.applies(owner) : 'it is not in the cluster',
    ),
    finding(
      facts,
      'every object of the Source is in its inventory, with its label or annotation',
      ({ members, ownMembers, owner }) => {
        const own = new Map(members.map((member) => [objectKey(member.reference), member]));
        const left = ownMembers.filter((member) => {
          const live = own.get(objectKey(member.reference))?.live;
          const isMarked = live && tracksOn(live).some((track) => isTrackOf(track, former));
          return !live || !(isMarked || (owner && tool.hasApplied(owner, live)));
        });
        return left.length === 0 || `not yet: ${listNames(left.map(({ reference }) => describe(reference)))}`;
      },
    ),
  ];
}

function verify({ facts, former }: FromSourceInput): string[] {
  // To Argo CD what has the label app.kubernetes.io/instance, as charts set it, is synced before it was applied.
  const sync = former.kind === 'Application' ? [shellLine('argocd', 'app', 'sync', former.name)] : [];
  return showCommands(facts, former).toSpliced(-1, 0, ...sync);
}

/** Where the Source is; empty: nowhere in the tree. */
function sourceFile({ source }: FromSourceInput): string {
  return source?.origin.file ?? '';
}

/** Where the other tool's object is, or will be: next to the Source. */
function ownerFile(input: FromSourceInput): string {
  const tool = input.former.kind === 'Application' ? 'application' : 'flux';
  return (
    input.owner?.origin.file ?? join(dirname(sourceFile(input) || '.'), `${input.former.name}-${tool}.yaml`)
  );
}

/** The Source neither applies nor deletes; an annotation says whether it pruned. */
function holdSource(document: Document, { object }: Placed): void {
  if ((object as Source).spec.prune === true)
    setField(document, ['metadata', 'annotations', pruneAfterAnnotation], 'true');
  document.setIn(['spec', 'prune'], false);
  document.setIn(['spec', 'suspend'], true);
}

/** Whether the move was begun with a Source that prunes. */
function prunesAfter({ source, owner, wanted, facts }: FromSourceInput): boolean {
  const objects = [source?.object, owner?.object, ...wanted, facts?.owner, facts?.source];
  const isSaid = objects.some((object) => object?.metadata.annotations?.[pruneAfterAnnotation] === 'true');
  return isSaid || (source?.object as Source | undefined)?.spec.prune === true;
}
