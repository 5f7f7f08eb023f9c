/** From another tool to a Source: the steps that both tools share. Pure. */
import { basename, dirname, join } from 'node:path';
import { apiVersionOf } from '../api/kinds/kinds.ts';
import { describe, type KubernetesObject, keyOf } from '../api/kubernetes.ts';
import { listNames } from '../api/limits.ts';
import type { Source } from '../api/source/source.ts';
import { adoptFromAnnotation, type FormerOwner, formerOwnerText } from '../engine/sync/scope/former-owner.ts';
import { changesBetween, deleteField, edited, type Files } from './edit.ts';
import { type MoveFacts, pruneAfterAnnotation } from './facts.ts';
import { applyCommands, shellLine } from './kubectl.ts';
import {
  adoptsFinding,
  appliedFindings,
  comparisonFindings,
  type Finding,
  finding,
  type Step,
  takenFinding,
} from './steps.ts';
import { type Placed, withoutPlaced, withSiblingFile } from './tree.ts';

/** What one move is about. */
export interface ToSourceInput {
  readonly former: FormerOwner;
  readonly files: Files;
  /** The owner in the tree; undefined: it was taken out already. */
  readonly owner?: Placed | undefined;
  /** The Source in the tree. */
  readonly source?: Placed | undefined;
  /** The Source to be committed, from the owner; undefined where that is gone. */
  readonly wanted?: Source | undefined;
  /** Undefined: no cluster was asked. */
  readonly facts?: MoveFacts | undefined;
}

/** What differs between the tools. */
export interface ToSourceTool {
  /** Steps that keep it from deleting and from applying. */
  hold(input: ToSourceInput): HoldStep[];
  /** What must be true while its object is removed. */
  safe(input: ToSourceInput): Finding[];
  /** Objects that are removed together with the owner. */
  also(input: ToSourceInput): Placed[];
  /** Deletes the owner in the cluster and nothing else. */
  readonly remove: (former: FormerOwner) => string;
}

/** A step before the Source comes. */
export interface HoldStep extends Pick<Step, 'title' | 'requires' | 'ends' | 'commands' | 'verify'> {
  readonly edit: (files: Files) => Files;
}

/** The steps, in order. */
export function toSourceSteps(tool: ToSourceTool, input: ToSourceInput): Step[] {
  const steps: Step[] = [];
  let files = input.files;
  const add = (step: Omit<Step, 'changes'>, next: Files) => {
    steps.push({ ...step, changes: changesBetween(files, next) });
    files = next;
  };
  for (const { edit, ...step } of tool.hold(input)) add(step, edit(files));
  const { owner, source, wanted, former } = input;
  const { namespace, name } = former;
  const file = sourceFile(input);
  const isToBeAdded = wanted !== undefined && source === undefined;
  const sibling = basename(owner?.origin.file ?? '');
  add(takeOverStep(tool, input), isToBeAdded ? withSiblingFile(files, file, [wanted], sibling) : files);
  add(removalStep(tool, input), owner ? withoutPlaced(files, [owner, ...tool.also(input)]) : files);
  // After the move the Source no longer takes over objects, and prunes where the owner did.
  const finished = edited(files, file, { kind: 'Source', namespace, name }, (document) => {
    for (const key of [adoptFromAnnotation, pruneAfterAnnotation])
      deleteField(document, ['metadata', 'annotations', key]);
    if (prunesAfter(input)) document.setIn(['spec', 'prune'], true);
  });
  add(pruningStep(input), finished);
  return steps;
}

function takeOverStep(tool: ToSourceTool, input: ToSourceInput): Omit<Step, 'changes'> {
  const { facts, former } = input;
  const key = keyOf(former);
  const isThere = facts?.source !== undefined;
  const applied = [adoptsFinding(facts, key, former), ...appliedFindings(facts, key)];
  return {
    title: 'let the Source take over the existing objects',
    requires: [
      ...tool.safe(input),
      finding(
        facts,
        'the CRD of Source is installed',
        ({ hasKinds }) => hasKinds || 'run holdfast install first',
      ),
      finding(facts, 'the Sources that it depends on are Ready', ({ missingDependencies }) => {
        return missingDependencies.length === 0 || `migrate these first: ${listNames(missingDependencies)}`;
      }),
      ...(isThere ? [] : comparisonFindings(facts)),
    ],
    ends: [...applied, takenFinding(facts, sourceOf(input), former)],
    commands: isThere ? [] : applyCommands(facts, sourceFile(input)),
    verify: [shellLine('kubectl', '-n', former.namespace, 'get', 'source', former.name)],
  };
}

function removalStep(tool: ToSourceTool, input: ToSourceInput): Omit<Step, 'changes'> {
  const { facts, former } = input;
  const what = describe(former);
  const removesItself = facts?.parent?.prunes === true;
  return {
    title: `delete ${what}, but none of the objects it applied`,
    requires: [
      ...tool.safe(input),
      ...appliedFindings(facts, keyOf(former)),
      takenFinding(facts, sourceOf(input), former),
      finding(facts, 'nothing else depends on it', ({ dependents }) => {
        return (
          dependents.length === 0 || `migrate these first, up to the same step: ${listNames(dependents)}`
        );
      }),
    ],
    ends: [
      finding(facts, `${what} is gone`, ({ owner }) => owner === undefined || 'it still exists'),
      ...appliedFindings(facts, keyOf(former)),
    ],
    commands: facts?.owner && !removesItself ? [tool.remove(former)] : [],
    verify: [shellLine('kubectl', '-n', former.namespace, 'get', 'source', former.name)],
  };
}

function pruningStep(input: ToSourceInput): Omit<Step, 'changes'> {
  const { facts, former } = input;
  const prunes = prunesAfter(input);
  const what = describe(former);
  return {
    title: prunes ? 'turn pruning on' : 'finish the migration',
    requires: [
      finding(facts, `${what} is gone`, ({ owner }) => owner === undefined || 'it still exists'),
      finding(facts, 'no other object has its label or annotation', ({ leftBehind }) => {
        return leftBehind.length === 0 || `not in the Source: ${listNames(leftBehind)}`;
      }),
    ],
    ends: [
      finding(facts, `Source ${keyOf(former)} no longer takes over objects`, ({ source }) => {
        if (!source) return 'it is not in the cluster';
        return (
          source.metadata.annotations?.[adoptFromAnnotation] === undefined || `it has ${adoptFromAnnotation}`
        );
      }),
      ...(prunes
        ? [
            finding(facts, 'it prunes', ({ source }) => {
              return (source as Source | undefined)?.spec.prune === true || 'it does not';
            }),
          ]
        : []),
    ],
    commands: applyCommands(facts, sourceFile(input)),
    verify: [shellLine('kubectl', '-n', former.namespace, 'get', 'source', former.name, '-o', 'yaml')],
  };
}

function sourceOf({ former }: ToSourceInput): KubernetesObject {
  const { namespace, name } = former;
  return { apiVersion: apiVersionOf('Source'), kind: 'Source', metadata: { namespace, name } };
}

/** Where the Source is, or will be: next to the owner. */
function sourceFile({ source, owner, former }: ToSourceInput): string {
  return source?.origin.file ?? join(dirname(owner?.origin.file ?? '.'), `${former.name}-source.yaml`);
}

/** From the annotation of the Source; it is set where the owner pruned when the move began. */
function prunesAfter({ source, wanted, facts }: ToSourceInput): boolean {
  const of = (object: Placed['object'] | undefined) => object?.metadata.annotations?.[pruneAfterAnnotation];
  return (of(source?.object) ?? of(wanted) ?? of(facts?.source)) === 'true';
}

/** The Source as it is committed first: it takes over the objects and does not prune yet. */
export function firstSource(former: FormerOwner, spec: Source['spec'], prunes: boolean): Source {
  const annotations = {
    [adoptFromAnnotation]: formerOwnerText(former),
    ...(prunes ? { [pruneAfterAnnotation]: 'true' } : {}),
  };
  const { namespace, name } = former;
  return {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name, namespace, annotations },
    spec,
  };
}
