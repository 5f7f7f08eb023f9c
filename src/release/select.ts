import type { Canary } from '../api/canary/canary.ts';
import type { KubernetesObject, NamespacedName, PodTemplate } from '../api/kubernetes.ts';
import { objectKey } from '../render/render.ts';
import {
  type FileProblem,
  fileOfOrigin,
  formatOrigin,
  formatProblem,
  type Origin,
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
import { recordOf } from './json.ts';
import { type ConfigReference, configReferences, isTracked } from './refs.ts';
import type { Release } from './release.ts';
import { isKnative, isService } from './service-content.ts';

/** What one commit plans for one Canary. */
export type CanaryPlan =
  /** Everything it is about was read. */
  | {
      state: 'release';
      canary: NamespacedName;
      /** As in Git; undefined when the Canary itself is in no file of this Source. */
      object: Canary | undefined;
      /** Where the Canary stands in Git. */
      origin: Origin | undefined;
      target: RenderedObject;
      /** ConfigMaps and Secrets of the Source that the template names and that are tracked. */
      configs: RenderedObject[];
      /** The object that `autoscalerRef` names, if the Source holds it. */
      scaler: RenderedObject | undefined;
      /** `path:line` of all of them. */
      origins: string[];
      /** False: the release is about the template and ports alone. */
      tracksConfig: boolean;
    }
  /** Something that concerns it is broken: the previous plan stays (S24). */
  | { state: 'frozen'; canary: NamespacedName; message: string; problems: FileProblem[] }
  /** The Source was read whole and does not hold the target. */
  | {
      state: 'missing';
      canary: NamespacedName;
      object: Canary | undefined;
      message: string;
      problems: FileProblem[];
    };

/** What a Canary's plan was before: its last release. */
export type PreviousPlan = Pick<Release, 'origins' | 'liveConfigs' | 'target' | 'configs'>;

/** One commit as rendered, and what was known before it. */
interface SelectInput {
  objects: readonly RenderedObject[];
  /** Of rendering; their files gave no objects. */
  problems: readonly FileProblem[];
  /** Canaries of the cluster whose targets this Source may hold; one that is also in Git counts as in Git. */
  liveCanaries: readonly KubernetesObject[];
  /** The previous release of each Canary of this Source, by `canaryKey`. */
  previous: ReadonlyMap<string, PreviousPlan>;
  /** Whether ConfigMaps and Secrets are part of releases (Flagger's -enable-config-tracking). Default true. */
  tracksConfig?: boolean;
  lineOf: LineOf;
}

/** What one commit is for: a plan for each Canary, and the rest. */
export interface Selection {
  plans: CanaryPlan[];
  /** Objects of no Canary, and the Canaries themselves: the source loop applies them. */
  rest: RenderedObject[];
  /** Problems found here, about Canaries; those of rendering are not repeated. */
  problems: FileProblem[];
}

interface Context extends SelectInput {
  byKey: ReadonlyMap<string, RenderedObject>;
}

/** Says which objects of a Source belong to which Canary, and which Canaries must wait because something about them is broken. */
export function selectPlans(input: SelectInput): Selection {
  const context = {
    ...input,
    byKey: new Map(input.objects.map((entry) => [objectKey(entry.object), entry])),
  };
  const candidates = candidatesOf(input.objects, input.liveCanaries, input.previous.keys(), input.lineOf);
  const shared = sharedTargets(candidates, input.liveCanaries, input.lineOf);
  const held = new Set<string>();
  const plans: CanaryPlan[] = [];
  for (const candidate of candidates) {
    const own = [...candidate.problems, ...(shared.get(candidate.key) ?? [])];
    const plan = own.length > 0 ? frozen(candidate, own) : planOf(candidate, context);
    if (!plan) continue;
    plans.push(plan);
    for (const key of heldKeys(candidate, plan, context)) held.add(key);
  }
  const found = plans.flatMap((plan) => (plan.state === 'release' ? [] : plan.problems));
  return {
    plans,
    rest: input.objects.filter(({ object }) => !held.has(objectKey(object))),
    problems: found.filter((problem) => !input.problems.includes(problem)),
  };
}

/** The plan of a Canary that is sound itself. Undefined: no business of this Source. */
function planOf(candidate: Candidate, context: Context): CanaryPlan | undefined {
  const previous = context.previous.get(candidate.key);
  const target = context.byKey.get(targetKey(candidate) ?? '');
  if (!target && !candidate.origin && !previous) return undefined;
  const files = new Set(['', ...(previous?.origins ?? []).map(fileOfOrigin)]);
  const concerning = context.problems.filter(({ file }) => files.has(file));
  if (concerning.length > 0) return frozen(candidate, concerning);
  if (target) return releasePlan(candidate, target, context);
  // Its place may be in any of the broken files.
  if (context.problems.length > 0) return frozen(candidate, context.problems);
  return candidate.object ? missing(candidate, context) : undefined;
}

function releasePlan(candidate: Candidate, target: RenderedObject, context: Context): CanaryPlan {
  const references = referencesIn(target.object, context);
  const inGit = references.map((reference) => context.byKey.get(configKey(reference, target.object)));
  const known = context.previous.get(candidate.key)?.liveConfigs ?? [];
  const lost = references.some(({ kind, name }, index) => {
    return !inGit[index] && !known.some((live) => live.kind === kind && live.name === name);
  });
  // A name that is new and not found may stand in a broken file: going on without it would be another release.
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

function referencesIn(target: KubernetesObject, { tracksConfig }: Context): ConfigReference[] {
  return tracksConfig === false || isKnative(target) ? [] : configReferences(templateIn(target));
}

function frozen(candidate: Candidate, problems: FileProblem[] | readonly FileProblem[]): CanaryPlan {
  const [first, ...others] = problems;
  const more = others.length > 0 ? ` (and ${others.length} more)` : '';
  const message = `the previous plan stays in effect until this is fixed: ${first ? formatProblem(first) : ''}${more}`;
  return { state: 'frozen', canary: candidate.name, message, problems: [...problems] };
}

function missing(candidate: Candidate, context: Context): CanaryPlan {
  const reference = recordOf(recordOf(candidate.object?.spec).targetRef);
  const message = `${reference.kind} ${candidate.name.namespace}/${reference.name}, the target of Canary ${candidate.key}, is in no file of this Source`;
  return {
    state: 'missing',
    canary: candidate.name,
    object: candidate.origin ? candidate.parsed : undefined,
    message,
    problems: [canaryProblem(candidate, 'spec.targetRef.name', message, context.lineOf)],
  };
}

/**
 * Objects the source loop must not write: the rollout writes them, or they wait with a frozen plan, or are no valid Canary. A target of kind
 * Service is not among them: the rollout writes copies of it only.
 */
function heldKeys(candidate: Candidate, plan: CanaryPlan, context: Context): string[] {
  const target = targetKey(candidate);
  const rendered = target ? context.byKey.get(target)?.object : undefined;
  const isWritten = rendered !== undefined && !isService(rendered);
  const references = rendered ? referencesIn(rendered, context) : [];
  const configs = references.flatMap((reference) => {
    const entry = rendered && context.byKey.get(configKey(reference, rendered));
    return entry && isTracked(entry.object) ? [objectKey(entry.object)] : [];
  });
  const previous = plan.state === 'frozen' ? context.previous.get(candidate.key) : undefined;
  const earlier = previous ? [previous.target, ...previous.configs] : [];
  const waiting = earlier.filter((object) => !isService(object)).map(objectKey);
  const invalid = candidate.problems.length > 0 && candidate.object ? [objectKey(candidate.object)] : [];
  return [isWritten ? target : undefined, scalerKey(candidate), ...configs, ...waiting, ...invalid].filter(
    (key) => key !== undefined,
  );
}

function templateIn(object: KubernetesObject): PodTemplate {
  return recordOf(recordOf(object.spec).template) as unknown as PodTemplate;
}

function configKey(reference: ConfigReference, target: KubernetesObject): string {
  const { namespace } = target.metadata;
  const metadata = namespace ? { name: reference.name, namespace } : { name: reference.name };
  return objectKey({ apiVersion: 'v1', kind: reference.kind, metadata });
}
