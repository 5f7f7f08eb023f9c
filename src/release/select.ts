import { isSuspended, type KubernetesObject, objectKey, recordOf } from '../api/kubernetes.ts';
import {
  type FileProblem,
  fileOfOrigin,
  formatOrigin,
  formatProblem,
  type RenderedObject,
} from '../render/rendered-object.ts';
import {
  type Candidate,
  canaryProblem,
  candidatesOf,
  type LineOf,
  scalerKey,
  sharedTargets,
  targetKey,
} from './candidates.ts';
import type { CanaryPlan, PreviousPlan } from './plan.ts';
import { type ConfigReference, isService, isTracked, trackedReferences } from './release.ts';

/** One rendered commit, and what is known from before. */
interface SelectInput {
  objects: readonly RenderedObject[];
  /** Problems of rendering; their files have no objects. */
  problems: readonly FileProblem[];
  /** Canaries of the cluster whose targets this Source may have; one that is also in Git is taken from there. */
  liveCanaries: readonly KubernetesObject[];
  /** Of these: the Source held it before, as the cluster says. What came before is not known after a start. */
  isHeld?: (canary: KubernetesObject) => boolean;
  /** Of these: another Source holds it by now, or its target. */
  isElsewhere?: (canary: KubernetesObject) => boolean;
  /** A Source that what left the files may have moved to, and that has yet to read the commit. */
  behind?: string | undefined;
  /** The previous release of each Canary of this Source, by `canaryKey`. */
  previous: ReadonlyMap<string, PreviousPlan>;
  /** Whether ConfigMaps and Secrets are part of releases (Flagger's -enable-config-tracking). Default true. */
  tracksConfig?: boolean;
  lineOf: LineOf;
}

/** One commit, divided into a plan for each Canary and the rest. */
export interface Selection {
  plans: CanaryPlan[];
  /** Objects of no Canary, and the Canaries themselves: the Source loop applies them. */
  rest: RenderedObject[];
  /** Problems found here, about Canaries; those of rendering are not repeated. */
  problems: FileProblem[];
}

interface Context extends SelectInput {
  byKey: ReadonlyMap<string, RenderedObject>;
}

/** Divides the objects of a Source by Canary, and freezes Canaries of which a file is broken. */
export function selectPlans(input: SelectInput): Selection {
  const context = {
    ...input,
    byKey: new Map(input.objects.map((entry) => [objectKey(entry.object), entry])),
  };
  const candidates = candidatesOf(input.objects, input.liveCanaries, input.previous.keys(), input.lineOf);
  const shared = sharedTargets(candidates, input.liveCanaries, input.lineOf);
  const excluded = new Set<string>();
  const plans: CanaryPlan[] = [];
  for (const candidate of candidates) {
    const own = [...candidate.problems, ...(shared.get(candidate.key) ?? [])];
    const plan = own.length > 0 ? frozen(candidate, own) : planOf(candidate, context);
    if (!plan) continue;
    plans.push(plan);
    for (const key of excludedKeys(candidate, plan, context)) excluded.add(key);
  }
  const rendering: ReadonlySet<FileProblem> = new Set(input.problems);
  // Of those, each Canary that may be in a broken file has all.
  const found = plans.flatMap((plan) =>
    plan.state === 'release' || plan.problems === input.problems ? [] : plan.problems,
  );
  return {
    plans,
    rest: input.objects.filter(({ object }) => !excluded.has(objectKey(object))),
    problems: found.filter((problem) => !rendering.has(problem)),
  };
}

/** The plan of a valid Canary. Undefined: it does not belong to this Source. */
function planOf(candidate: Candidate, context: Context): CanaryPlan | undefined {
  const previous = context.previous.get(candidate.key);
  const target = context.byKey.get(targetKey(candidate) ?? '');
  if (!target && !candidate.origin && !previous && !mayBeBroken(candidate, context)) return undefined;
  const files = new Set(['', ...(previous?.origins ?? []).map(fileOfOrigin)]);
  const concerning = context.problems.filter(({ file }) => files.has(file));
  if (concerning.length > 0) return frozen(candidate, concerning);
  if (target) return releasePlan(candidate, target, context);
  // The target may be in any of the broken files.
  if (context.problems.length > 0) return frozen(candidate, context.problems);
  const { object, origin } = candidate;
  if (!object || (!origin && context.isElsewhere?.(object))) return undefined;
  if (!origin && previous && context.behind !== undefined) return leaving(candidate, context.behind);
  return missing(candidate, context);
}

/** Nothing of it was read, and it may be in one of the broken files. */
function mayBeBroken({ object }: Candidate, { isHeld, problems }: Context): boolean {
  return problems.length > 0 && object !== undefined && isHeld?.(object) === true;
}

function releasePlan(candidate: Candidate, target: RenderedObject, context: Context): CanaryPlan {
  const references = trackedReferences(target.object, context.tracksConfig);
  const inGit = references.map((reference) => context.byKey.get(configKey(reference, target.object)));
  const known = context.previous.get(candidate.key)?.liveConfigs ?? [];
  const lost = references.some(({ kind, name }, index) => {
    return !inGit[index] && !known.some((live) => live.kind === kind && live.name === name);
  });
  // A new config that was not found may be in a broken file: without it this would be another release.
  if (lost && context.problems.length > 0) return frozen(candidate, context.problems);
  const configs = inGit.filter((entry) => entry !== undefined).filter(({ object }) => isTracked(object));
  const scaler = context.byKey.get(scalerKey(candidate) ?? '');
  const origins = [target, ...configs, ...(scaler ? [scaler] : [])].map(({ origin }) => formatOrigin(origin));
  return {
    state: 'release',
    canary: candidate.name,
    object: candidate.origin ? candidate.parsed : undefined,
    origin: candidate.origin,
    target,
    configs,
    scaler,
    origins: [...(candidate.origin ? [formatOrigin(candidate.origin)] : []), ...origins],
    tracksConfig: context.tracksConfig !== false,
  };
}

function frozen(candidate: Candidate, problems: readonly FileProblem[]): CanaryPlan {
  const [first, ...others] = problems;
  const more = others.length > 0 ? ` (and ${others.length} more)` : '';
  const message = `the previous plan stays in effect until this is fixed: ${first ? formatProblem(first) : ''}${more}`;
  return { state: 'frozen', canary: candidate.name, message, problems };
}

function leaving({ name }: Candidate, behind: string): CanaryPlan {
  const message = `it left the files of this Source; the previous plan stays in effect until Source ${behind}, of the same repository, has read this commit whole (suspend it if it cannot)`;
  return { state: 'frozen', canary: name, message, problems: [], waitsFor: behind };
}

function missing(candidate: Candidate, context: Context): CanaryPlan {
  const reference = recordOf(recordOf(candidate.object?.spec).targetRef);
  const message = `${reference.kind} ${candidate.name.namespace}/${reference.name}, the target of Canary ${candidate.key}, is in no file of this Source`;
  // It waits for somebody, and so for its target; one that left the files may be a mistake.
  const isYetToCome =
    candidate.object !== undefined && isSuspended(candidate.object) && !context.previous.has(candidate.key);
  return {
    state: 'missing',
    canary: candidate.name,
    object: candidate.origin ? candidate.parsed : undefined,
    message,
    problems: isYetToCome ? [] : [canaryProblem(candidate, 'spec.targetRef.name', message, context.lineOf)],
  };
}

/**
 * Objects that the Source loop must not write: those that the rollout writes, those of a frozen plan, and invalid Canaries. Not a target of
 * kind Service: the rollout writes only copies of it.
 */
function excludedKeys(candidate: Candidate, plan: CanaryPlan, context: Context): string[] {
  const target = targetKey(candidate);
  const rendered = target ? context.byKey.get(target)?.object : undefined;
  const isWritten = rendered !== undefined && !isService(rendered);
  const references = rendered ? trackedReferences(rendered, context.tracksConfig) : [];
  const configs = references.flatMap((reference) => {
    const entry = rendered && context.byKey.get(configKey(reference, rendered));
    return entry && isTracked(entry.object) ? [objectKey(entry.object)] : [];
  });
  const previous = plan.state === 'frozen' ? context.previous.get(candidate.key) : undefined;
  const earlier = previous ? [previous.target, ...previous.configs] : [];
  const frozenKeys = earlier.filter((object) => !isService(object)).map(objectKey);
  const invalid = candidate.problems.length > 0 && candidate.object ? [objectKey(candidate.object)] : [];
  return [isWritten ? target : undefined, scalerKey(candidate), ...configs, ...frozenKeys, ...invalid].filter(
    (key) => key !== undefined,
  );
}

function configKey(reference: ConfigReference, target: KubernetesObject): string {
  const { namespace } = target.metadata;
  return objectKey({ apiVersion: 'v1', kind: reference.kind, namespace, name: reference.name });
}
