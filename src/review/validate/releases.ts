import { type Canary, sharesWorkload } from '../../api/canary/canary.ts';
import { keyOf, objectKey, recordOf, recordsOf, textOf } from '../../api/kubernetes.ts';
import { releaseOfPlan, releaseWarnings } from '../../release/build.ts';
import type { CanaryPlan } from '../../release/plan.ts';
import {
  isKnative,
  isService,
  type Release,
  settingsKey,
  settingsOf,
  templateOf,
} from '../../release/release.ts';
import { selectPlans } from '../../release/select.ts';
import type { FileProblem, Origin, RenderResult } from '../../render/rendered-object.ts';
import { canaryObjects, primaryObjects } from '../../workload/kinds.ts';
import { primaryScaler, scalerKindOf } from '../../workload/scaler.ts';
import { RefusedError } from '../../workload/shared/refusal.ts';
import type { Severity } from './kinds.ts';
import { kubernetesProblems } from './kubernetes-objects.ts';
import { selectorFindings } from './selectors.ts';

/** Something to say about a place in a file. */
export interface Finding extends FileProblem {
  readonly severity: Severity;
}

/** What else is known of the set of files. */
interface ReleaseOptions {
  /** A Source is among the files, so that what is missing here is missing for certain. */
  readonly complete: boolean;
  readonly selectorLabels: readonly string[];
  /** Of Canaries without spec.provider. */
  readonly defaultProvider: string;
}

/** No Secret is compared here, so any key will do. */
const secretKey = new Uint8Array(32);
const commit = { commit: '', subject: '', author: '', time: '' };

/** What the Canaries of the files lead to: targets that are missing, shared or cannot be rolled out. `problems`: of reading the files. */
export function releaseFindings(
  rendered: RenderResult,
  problems: readonly FileProblem[],
  options: ReleaseOptions,
): Finding[] {
  const { objects, lineOf } = rendered;
  const selection = selectPlans({ objects, problems, liveCanaries: [], previous: new Map(), lineOf });
  const missing = new Set(selection.plans.flatMap((plan) => (plan.state === 'missing' ? plan.problems : [])));
  return [
    ...selection.problems.map((problem): Finding => {
      if (options.complete || !missing.has(problem)) return { ...problem, severity: 'problem' };
      const message = `${problem.message.replace(/is in no file of this Source$/, 'is in none of these files')}; it must come from elsewhere`;
      return { ...problem, message, severity: 'warning' };
    }),
    ...selection.plans.flatMap((plan) =>
      plan.state === 'release' ? planFindings(plan, rendered, options) : [],
    ),
  ];
}

type ReleasePlan = Extract<CanaryPlan, { state: 'release' }>;

function planFindings(
  plan: ReleasePlan,
  rendered: RenderResult,
  { complete, selectorLabels, defaultProvider }: ReleaseOptions,
): Finding[] {
  const { lineOf } = rendered;
  const canary = plan.object;
  if (!canary) return [];
  const built = releaseOfPlan({ plan, canary, commit, secretKey, lineOf });
  if (!built.ok) return [{ ...built.problem, severity: 'problem' }];
  const scaler = scalerFindings(canary, plan, lineOf).map((finding) => ({
    ...finding,
    // Read from the cluster, where another tool applies it, it has every version.
    severity: complete ? ('problem' as const) : ('warning' as const),
  }));
  const doubts = releaseWarnings({ plan, canary, lineOf }, built.ok).map(
    (doubt): Finding => ({ ...doubt, severity: 'warning' }),
  );
  try {
    const primary = primaryOf(canary, built.ok, selectorLabels);
    const missing = primary.missing.map(
      ({ kind, name }): Finding => ({
        file: plan.target.origin.file,
        line: plan.target.origin.line,
        message: `${kind} ${name}, which the pod template names, is in none of these files; it must come from elsewhere`,
        severity: 'warning',
      }),
    );
    const selectors = selectorFindings(rendered, {
      canary,
      plan,
      primary: primary.workload,
      defaultProvider,
    }).map((doubt): Finding => ({ ...doubt, severity: 'warning' }));
    const isCopied = !sharesWorkload(canary.spec.provider ?? defaultProvider);
    const claims = isCopied ? claimFindings(rendered, plan) : [];
    return [...scaler, ...doubts, ...missing, ...selectors, ...claims];
  } catch (error) {
    return [{ ...refusalIn(error, plan, plan.target.origin, lineOf), severity: 'problem' }];
  }
}

/** Volumes that one node can mount, where the pods of the canary run beside those of the primary. */
function claimFindings({ objects, lineOf }: RenderResult, { target }: ReleasePlan): Finding[] {
  const { object, origin } = target;
  if (isService(object) || isKnative(object)) return [];
  return recordsOf(recordOf(templateOf({ target: object }).spec).volumes).flatMap((volume, index) => {
    const name = textOf(recordOf(volume.persistentVolumeClaim).claimName);
    if (name === undefined) return [];
    const { namespace } = object.metadata;
    const key = objectKey({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name });
    const claim = objects.find((one) => objectKey(one.object) === key);
    const modes = recordOf(claim?.object.spec).accessModes;
    if (!Array.isArray(modes) || modes.some((mode) => /Many$/.test(`${mode}`))) return [];
    const field = `spec.template.spec.volumes[${index}].persistentVolumeClaim.claimName`;
    const message = `PersistentVolumeClaim ${name} is ${modes.join(', ')}: pods of the canary cannot start on other nodes than those of the primary; use a claim that is ReadWriteMany, or roll out in place with provider native`;
    return [{ file: origin.file, line: lineOf(origin, field), field, message, severity: 'warning' as const }];
  });
}

/** Whether the scaler of the files can be written for both sides. */
function scalerFindings(canary: Canary, plan: ReleasePlan, lineOf: RenderResult['lineOf']): FileProblem[] {
  const { scaler } = plan;
  const kind = scalerKindOf(canary.spec);
  // A version that Kubernetes does not have is reported elsewhere.
  if (!kind || !scaler || kubernetesProblems(scaler.object).length > 0) return [];
  try {
    primaryScaler(kind, canary, { source: scaler.object, live: undefined });
    return [];
  } catch (error) {
    return [refusalIn(error, plan, scaler.origin, lineOf)];
  }
}

/** Why an object of the files was refused, at its place. Throws every other error. */
function refusalIn(
  error: unknown,
  { canary }: ReleasePlan,
  origin: Origin,
  lineOf: RenderResult['lineOf'],
): FileProblem {
  if (!(error instanceof RefusedError)) throw error;
  const { field, object, message } = error.refusal;
  const about = `${object} of Canary ${keyOf(canary)}: ${message}`;
  return { file: origin.file, line: lineOf(origin, field), field, message: about };
}

/** Builds both sides as a rollout would. Throws RefusedError. */
function primaryOf(canary: Canary, release: Release, selectorLabels: readonly string[]) {
  const settings = settingsOf(release.target);
  const source = {
    canary,
    release,
    settings,
    settingsKey: settingsKey(settings),
    replicas: settings.replicas,
    selectorLabels,
  };
  canaryObjects(source);
  return primaryObjects({
    ...source,
    live: undefined,
    liveConfigs: [],
    sharedConfigs: new Set(),
    includeLabelPrefixes: [],
  });
}
