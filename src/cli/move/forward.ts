/** From another tool to a Source: the steps that both tools share. Pure. */

import { apiVersionOf } from '../../api/kinds.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source.ts';
import { adoptFromAnnotation, type FormerOwner } from '../../engine/source/former-owner.ts';
import { changesBetween, type Files } from './edit.ts';
import {
  adoptsFinding,
  appliedFindings,
  comparisonFindings,
  finding,
  named,
  takenFinding,
} from './findings.ts';
import {
  type ForwardInput,
  prunesAfter,
  sourceFile,
  withoutOwner,
  withPruning,
  withSource,
} from './forward-files.ts';
import { applyCommands, shellLine } from './shell.ts';
import type { Finding, Step } from './step.ts';
import type { Placed } from './tree.ts';

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
  add(removal(tool, input), withoutOwner(files, input, tool.also(input)));
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
    commands: isThere ? [] : applyCommands(facts, sourceFile(input)),
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
    commands: applyCommands(facts, sourceFile(input)),
    verify: [shellLine('kubectl', '-n', former.namespace, 'get', 'source', former.name, '-o', 'yaml')],
  };
}

function sourceKey({ former }: ForwardInput): string {
  return `${former.namespace}/${former.name}`;
}

function sourceOf({ former }: ForwardInput): KubernetesObject {
  const { namespace, name } = former;
  return { apiVersion: apiVersionOf('Source'), kind: 'Source', metadata: { namespace, name } };
}
