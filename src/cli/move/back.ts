/** From a Source back to another tool. Pure. */
import type { Document } from 'yaml';
import { describe, type KubernetesObject } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source.ts';
import { isTrackOf } from '../../engine/source/former-owner.ts';
import { tracksOn } from '../../engine/source/tracks.ts';
import { objectKey } from '../../render/render.ts';
import {
  type BackInput,
  ownerFile,
  prunesAfter,
  sourceFile,
  withOwner,
  withoutSource,
  withPruning,
  withSourceHeld,
} from './back-files.ts';
import { changesBetween } from './edit.ts';
import type { Member } from './facts.ts';
import { finding, isObserved, named } from './findings.ts';
import { pruneAfterAnnotation } from './prune-after.ts';
import { isReleased, releaseCommands } from './release.ts';
import { applyCommands, shellLine } from './shell.ts';
import type { Finding, Step } from './step.ts';

/** What the tools do in their own ways. */
export interface BackTool {
  /** An object that is in the tree applies again, and does not prune yet. */
  resume(document: Document): void;
  /** It prunes from now on. */
  prune(document: Document): void;
  /** The live object applies, as it is now. */
  applies(live: KubernetesObject): true | string;
  prunes(live: KubernetesObject): boolean;
}

/** The steps, in order. */
export function backSteps(tool: BackTool, input: BackInput): Step[] {
  const { files } = input;
  const held = withSourceHeld(files, input);
  const given = withOwner(held, input, tool.resume);
  const taken = withoutSource(given, input);
  const pruning = withPruning(taken, input, tool.prune);
  return [
    { ...holding(input), changes: changesBetween(files, held) },
    { ...giving(tool, input), changes: changesBetween(held, given) },
    { ...removal(tool, input), changes: changesBetween(given, taken) },
    { ...releasing(input), changes: [] },
    { ...ending(tool, input), changes: changesBetween(taken, pruning) },
  ];
}

function still({ facts }: BackInput): Finding {
  return finding(facts, 'Holdfast neither applies nor deletes', ({ source }) => whyItActs(source) ?? true);
}

function sourceGone({ facts }: BackInput): Finding {
  return finding(facts, 'the Source is gone', ({ source }) => source === undefined || 'it is there');
}

function holding(input: BackInput): Omit<Step, 'changes'> {
  const seen = `Source ${key(input)} is suspended, prunes nothing, and Holdfast has seen it`;
  return {
    title: 'keep Holdfast from applying and from deleting anything',
    requires: [],
    ends: [
      finding(input.facts, seen, ({ source }) => {
        const acts = whyItActs(source);
        if (acts) return acts;
        return !source || isObserved(source) || 'it has not looked at it since it was changed';
      }),
    ],
    commands: applyCommands(input.facts, sourceFile(input)),
    verify: [shellLine('kubectl', '-n', input.former.namespace, 'get', 'source', input.former.name)],
  };
}

function giving(tool: BackTool, input: BackInput): Omit<Step, 'changes'> {
  return {
    title: `let ${what(input)} take over what is there`,
    requires: [still(input)],
    ends: tookOver(tool, input),
    commands: applyCommands(input.facts, ownerFile(input)),
    verify: verify(input),
  };
}

function removal(tool: BackTool, input: BackInput): Omit<Step, 'changes'> {
  const { facts, former } = input;
  const isRemoved = facts?.source === undefined || facts.parent?.prunes === true;
  return {
    title: `take Source ${key(input)} away, and nothing of what it applied`,
    requires: [
      still(input),
      ...tookOver(tool, input),
      finding(facts, 'no other Source depends on it', ({ sourceDependents }) => {
        return sourceDependents.length === 0 || named(sourceDependents);
      }),
    ],
    ends: [sourceGone(input)],
    commands: isRemoved
      ? []
      : [shellLine('kubectl', '-n', former.namespace, 'delete', 'source', former.name)],
    verify: [shellLine('kubectl', '-n', former.namespace, 'get', 'source')],
  };
}

function releasing(input: BackInput): Omit<Step, 'changes'> {
  const { facts } = input;
  return {
    title: 'let go of what Holdfast applied',
    requires: [sourceGone(input)],
    ends: [
      finding(facts, 'no object has the label or the fields of a Source any more', ({ members }) => {
        const left = members.flatMap(({ live }) => (live && !isReleased(live) ? [describe(live)] : []));
        return left.length === 0 || named(left);
      }),
    ],
    commands: facts ? releaseCommands(facts.members) : [],
    verify: [],
  };
}

function ending(tool: BackTool, input: BackInput): Omit<Step, 'changes'> {
  const prunes = prunesAfter(input);
  return {
    title: prunes ? 'turn pruning on' : 'end the move',
    requires: tookOver(tool, input),
    ends: [
      finding(input.facts, prunes ? `${what(input)} prunes` : 'the move has ended', ({ owner }) => {
        if (!owner) return 'it is not in the cluster';
        const isMarkedStill = owner.metadata.annotations?.[pruneAfterAnnotation] !== undefined;
        if (isMarkedStill) return `it has ${pruneAfterAnnotation}`;
        return !prunes || tool.prunes(owner) || 'it does not prune';
      }),
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

function tookOver(tool: BackTool, input: BackInput): Finding[] {
  const { facts, former } = input;
  return [
    finding(facts, `${what(input)} applies`, ({ owner }) =>
      owner ? tool.applies(owner) : 'it is not in the cluster',
    ),
    finding(
      facts,
      'every object of the Source is in its inventory, with its mark',
      ({ members, ownMembers }) => {
        const own = new Map(members.map((member) => [keyOf(member), member]));
        const left = ownMembers.filter((member) => {
          const live = own.get(keyOf(member))?.live;
          return !live || !tracksOn(live).some((track) => isTrackOf(track, former));
        });
        return left.length === 0 || `not yet: ${named(left.map(({ reference }) => describe(reference)))}`;
      },
    ),
  ];
}

function keyOf({ reference: { apiVersion, kind, name, namespace } }: Member): string {
  return objectKey({ apiVersion, kind, metadata: { name, ...(namespace ? { namespace } : {}) } });
}

function key({ former }: BackInput): string {
  return `${former.namespace}/${former.name}`;
}

function what({ former }: BackInput): string {
  return `${former.kind} ${former.namespace}/${former.name}`;
}

function verify({ facts, former: { kind, namespace, name } }: BackInput): string[] {
  const plural =
    kind === 'Application' ? 'applications.argoproj.io' : 'kustomizations.kustomize.toolkit.fluxcd.io';
  return [
    ...(facts?.parent ? [facts.parent.look] : []),
    shellLine('kubectl', '-n', namespace, 'get', plural, name),
  ];
}
