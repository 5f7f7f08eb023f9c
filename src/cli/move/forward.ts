/** From another tool to a Source: the steps that both tools share. Pure. */
import { basename, dirname, join } from 'node:path';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source.ts';
import { adoptFromAnnotation, type FormerOwner, formerOwnerText } from '../../engine/source/former-owner.ts';
import { changesBetween, edited, type Files, listed, withObjects, withoutDocument } from './edit.ts';
import type { MoveFacts } from './facts.ts';
import {
  adoptsFinding,
  appliedFindings,
  comparisonFindings,
  finding,
  named,
  takenFinding,
} from './findings.ts';
import { shellLine } from './shell.ts';
import type { Finding, Step } from './step.ts';
import { kustomizationBeside, type Placed } from './tree.ts';

/** On what is moved, while it is moved: whether pruning is turned on at the end. */
export const pruneAfterAnnotation = 'holdfast.dev/prune-after-move';

/** What one move is about. */
export interface ForwardInput {
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

/** What the tools do in their own ways. */
export interface Tool {
  /** Steps that keep it from deleting and from applying. */
  hold(input: ForwardInput): HoldStep[];
  /** What must be so while its object is taken away. */
  safe(input: ForwardInput): Finding[];
  /** Objects beside the owner that are taken away with it. */
  also(input: ForwardInput): Placed[];
  /** Deletes the owner in the cluster and nothing else. */
  readonly remove: (former: FormerOwner) => string;
}

/** A step before the Source comes. */
export interface HoldStep extends Pick<Step, 'title' | 'requires' | 'ends' | 'commands' | 'verify'> {
  readonly edit: (files: Files) => Files;
}

/** The steps, in order. */
export function forwardSteps(tool: Tool, input: ForwardInput): Step[] {
  const steps: Step[] = [];
  let files = input.files;
  const add = (step: Omit<Step, 'changes'>, next: Files) => {
    steps.push({ ...step, changes: changesBetween(files, next) });
    files = next;
  };
  for (const { edit, ...step } of tool.hold(input)) add(step, edit(files));
  add(takeOver(tool, input), withSource(files, input));
  add(removal(tool, input), withoutOwner(tool, files, input));
  add(ending(input), withPruning(files, input));
  return steps;
}

function takeOver(tool: Tool, input: ForwardInput): Omit<Step, 'changes'> {
  const { facts, former } = input;
  const key = sourceKey(input);
  const isThere = facts?.source !== undefined;
  const applied = [adoptsFinding(facts, key, former), ...appliedFindings(facts, key)];
  return {
    title: 'let the Source take over what is there',
    requires: [
      ...tool.safe(input),
      finding(
        facts,
        'the cluster has the kind Source',
        ({ hasKinds }) => hasKinds || 'run holdfast install first',
      ),
      finding(facts, 'the Sources that it depends on are Ready', ({ missingDependencies }) => {
        return missingDependencies.length === 0 || `move these first: ${named(missingDependencies)}`;
      }),
      ...(isThere ? [] : comparisonFindings(facts)),
    ],
    ends: [...applied, takenFinding(facts, sourceOf(input), former)],
    commands: applyCommands(input, facts?.source === undefined),
    verify: [shellLine('kubectl', '-n', former.namespace, 'get', 'source', former.name)],
  };
}

function removal(tool: Tool, input: ForwardInput): Omit<Step, 'changes'> {
  const { facts, former } = input;
  const what = `${former.kind} ${former.namespace}/${former.name}`;
  const removesItself = facts?.parent?.prunes === true;
  return {
    title: `take ${what} away, and nothing of what it applied`,
    requires: [
      ...tool.safe(input),
      ...appliedFindings(facts, sourceKey(input)),
      takenFinding(facts, sourceOf(input), former),
      finding(facts, 'nobody else needs it', ({ dependents }) => {
        return dependents.length === 0 || `move these first, up to the same step: ${named(dependents)}`;
      }),
    ],
    ends: [
      finding(facts, `${what} is gone`, ({ owner }) => owner === undefined || 'it is there'),
      ...appliedFindings(facts, sourceKey(input)),
    ],
    commands: facts?.owner && !removesItself ? [tool.remove(former)] : [],
    verify: [shellLine('kubectl', '-n', former.namespace, 'get', 'source', former.name)],
  };
}

function ending(input: ForwardInput): Omit<Step, 'changes'> {
  const { facts, former } = input;
  const prunes = prunesAfter(input);
  const what = `${former.kind} ${former.namespace}/${former.name}`;
  return {
    title: prunes ? 'turn pruning on' : 'end the move',
    requires: [
      finding(facts, `${what} is gone`, ({ owner }) => owner === undefined || 'it is there'),
      finding(facts, 'nothing else carries its mark', ({ leftBehind }) => {
        return leftBehind.length === 0 || `not in the Source: ${named(leftBehind)}`;
      }),
    ],
    ends: [
      finding(facts, `Source ${sourceKey(input)} takes nothing over any more`, ({ source }) => {
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
    commands: applyCommands(input, true),
    verify: [shellLine('kubectl', '-n', former.namespace, 'get', 'source', former.name, '-o', 'yaml')],
  };
}

/** Nobody applies the files: a person does. */
function applyCommands(input: ForwardInput, isNeeded: boolean): string[] {
  const { facts } = input;
  if (!facts || !isNeeded || facts.parent) return [];
  return [shellLine('kubectl', 'apply', '-f', sourceFile(input))];
}

function sourceKey({ former }: ForwardInput): string {
  return `${former.namespace}/${former.name}`;
}

function sourceOf({ former }: ForwardInput): KubernetesObject {
  const { namespace, name } = former;
  return { apiVersion: 'holdfast.dev/v1alpha1', kind: 'Source', metadata: { namespace, name } };
}

/** Where the Source is, or will be: beside the owner. */
export function sourceFile({ source, owner, former }: ForwardInput): string {
  return source?.origin.file ?? join(dirname(owner?.origin.file ?? '.'), `${former.name}-source.yaml`);
}

function withSource(files: Files, input: ForwardInput): Files {
  const { wanted, source } = input;
  if (!wanted || source) return files;
  const file = sourceFile(input);
  const kustomization = kustomizationBeside(files, file);
  const added = withObjects(files, file, [wanted]);
  return kustomization
    ? listed(added, kustomization, {
        entry: basename(file),
        beside: basename(input.owner?.origin.file ?? ''),
      })
    : added;
}

function withoutOwner(tool: Tool, files: Files, input: ForwardInput): Files {
  if (!input.owner) return files;
  const placed = [input.owner, ...tool.also(input)];
  const rest = placed.reduce(
    (all, { object, origin }) => withoutDocument(all, origin.file, object_(object)),
    files,
  );
  const gone = placed.map(({ origin }) => origin.file).filter((file) => !rest.has(file));
  return gone.reduce((all, file) => {
    const kustomization = kustomizationBeside(all, file);
    return kustomization ? listed(all, kustomization, { entry: basename(file) }) : all;
  }, rest);
}

/** Kind and name of a document. */
export function object_({ kind, metadata }: KubernetesObject) {
  return { kind, name: metadata.name, namespace: metadata.namespace };
}

function withPruning(files: Files, input: ForwardInput): Files {
  const prunes = prunesAfter(input);
  return edited(files, sourceFile(input), object_(sourceOf(input)), (document) => {
    for (const key of [adoptFromAnnotation, pruneAfterAnnotation])
      document.deleteIn(['metadata', 'annotations', key]);
    const annotations = document.getIn(['metadata', 'annotations']) as { items?: unknown[] } | undefined;
    if (annotations?.items?.length === 0) document.deleteIn(['metadata', 'annotations']);
    if (prunes) document.setIn(['spec', 'prune'], true);
  });
}

/** As the annotation says that the move was begun with. */
function prunesAfter({ source, wanted, facts }: ForwardInput): boolean {
  const of = (object: KubernetesObject | undefined) => object?.metadata.annotations?.[pruneAfterAnnotation];
  return (of(source?.object) ?? of(wanted) ?? of(facts?.source)) === 'true';
}

/** The Source as it is committed first. */
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
