import type { CommitInfo } from '../api/commit.ts';
import {
  describe,
  isRecord,
  type KubernetesObject,
  nameOf,
  pointerSteps,
  recordOf,
  recordsOf,
  textOf,
} from '../api/kubernetes.ts';
import type { FileProblem } from '../render/rendered-object.ts';
import type { LineOf } from './candidates.ts';
import { configKeyOf, digestOf } from './digest.ts';
import type { CanaryPlan } from './plan.ts';
import {
  type FieldFinding,
  type ServicePortSpec,
  servicePorts,
  undeclaredPort,
  unknownPort,
} from './ports.ts';
import {
  configReferences,
  digestedPart,
  isExternalName,
  isKnative,
  isService,
  isTracked,
  type Release,
  selectorOf,
  settingsKey,
  settingsOf,
  templateOf,
  trackedReferences,
  type WorkloadSettings,
  workloadKinds,
} from './release.ts';

/** The part of a Canary that its releases depend on. */
export interface ReleaseCanary {
  metadata: { name: string; namespace?: string | undefined };
  spec: {
    service?: ServicePortSpec | undefined;
    revisionIgnore?: readonly string[] | undefined;
  };
}

/** Everything a release is built from. */
export interface ReleaseInput {
  canary: ReleaseCanary;
  /** As in Git, namespace filled in. */
  target: KubernetesObject;
  /** Objects of the Source; only ConfigMaps and Secrets that the template names, in the target's namespace, are used. */
  configs: readonly KubernetesObject[];
  commit: CommitInfo;
  /** HMAC key of the cluster, at least 32 bytes. */
  secretKey: Uint8Array;
  /** `path:line` of every object the release is read from. */
  origins: readonly string[];
  /** Whether ConfigMaps and Secrets that the template names are part of the release. Default true. */
  tracksConfig?: boolean;
}

/** Why there is no release. The message names object and field, never a value (S31). */
interface ReleaseProblem {
  /** `Kind namespace/name` of the object to change. */
  object: string;
  /** Dotted path of the field in it. */
  field: string;
  message: string;
}

type ReleaseResult = { ok: Release; problem?: never } | { ok?: never; problem: ReleaseProblem };

/** The Release of one Canary at one commit, or a problem of its objects in Git. Throws RangeError if the key is too short. */
export function buildRelease(input: ReleaseInput): ReleaseResult {
  if (input.secretKey.length < 32) throw new RangeError('the cluster key must have at least 32 bytes');
  const { canary, target } = input;
  const wrongTarget = targetProblem(target, canary.spec.service?.port);
  if (wrongTarget) return { problem: { object: describe(target), ...wrongTarget } };
  const wrongCanary = ignoreProblem(canary, target) ?? unknownPort(canary.spec.service, target);
  if (wrongCanary) {
    return { problem: { object: describe({ kind: 'Canary', ...nameOf(canary) }), ...wrongCanary } };
  }
  const template = templateOf({ target });
  const references = trackedReferences(target, input.tracksConfig);
  const inGit = references.map(({ kind, name }) =>
    input.configs.find(
      (object) =>
        object.apiVersion === 'v1' &&
        object.kind === kind &&
        object.metadata.name === name &&
        object.metadata.namespace === target.metadata.namespace,
    ),
  );
  const configs = inGit.filter((object) => object !== undefined).filter(isTracked);
  const configProblem = configs.map(dataProblem).find((found) => found !== undefined);
  if (configProblem) return { problem: configProblem };
  // If the target is a Service, it has its own ports, and no Service is generated.
  const ports = target.kind === 'Service' ? [] : servicePorts(canary.spec.service, template);
  const revisionIgnore = [...(canary.spec.revisionIgnore ?? [])];
  const digest = digestOf({
    ...digestedPart(target),
    ports,
    configs,
    revisionIgnore,
    secretKey: input.secretKey,
  });
  const configKey = configKeyOf(configs, input.secretKey);
  const release: Release = {
    digest,
    commit: { ...input.commit },
    canary: nameOf(canary),
    target,
    ports,
    configs,
    liveConfigs: references
      .filter((_, index) => inGit[index] === undefined)
      .map(({ kind, name, optional }) => ({ kind, name, optional })),
    origins: [...new Set(input.origins)].sort(),
    ...(configKey === undefined ? {} : { configKey }),
  };
  return { ok: revisionIgnore.length > 0 ? { ...release, revisionIgnore } : release };
}

/** What the rollout core needs of a release. */
interface ReleaseSummary {
  digest: string;
  commit: CommitInfo;
  settingsKey: string;
  replicas: number | undefined;
  mountsConfig: boolean;
}

/** The core's view of a release (`ReleaseView`). */
export function viewOf(release: Release): ReleaseSummary {
  const settings: WorkloadSettings = settingsOf(release.target);
  return {
    digest: release.digest,
    commit: release.commit,
    settingsKey: settingsKey(settings),
    replicas: settings.replicas,
    mountsConfig: mountsConfig(release),
  };
}

/** Whether running pods mount tracked config as a volume, so that a write to the copies reaches them before new pods start. */
export function mountsConfig(release: Pick<Release, 'target' | 'configs' | 'liveConfigs'>): boolean {
  const tracked = new Set([
    ...release.configs.map((object) => `${object.kind}/${object.metadata.name}`),
    ...release.liveConfigs.map((reference) => `${reference.kind}/${reference.name}`),
  ]);
  const references = configReferences(release.target);
  return references.some(
    (reference) => reference.mounted && tracked.has(`${reference.kind}/${reference.name}`),
  );
}

function ignoreProblem(canary: ReleaseCanary, target: KubernetesObject): FieldFinding | undefined {
  const below = isService(target) ? ['spec'] : ['spec', 'template'];
  const index = (canary.spec.revisionIgnore ?? []).findIndex((pointer) => {
    const steps = pointerSteps(pointer);
    return (
      steps === undefined || steps.length <= below.length || below.some((step, at) => steps[at] !== step)
    );
  });
  if (index < 0) return undefined;
  return {
    field: `spec.revisionIgnore[${index}]`,
    message: `must be a JSON pointer below /${below.join('/')}/`,
  };
}

/** The API server accepts only strings here (and null, which it drops). */
function dataProblem(object: KubernetesObject): ReleaseProblem | undefined {
  const fields = object.kind === 'Secret' ? ['data', 'stringData'] : ['data', 'binaryData'];
  for (const field of fields) {
    const value = object[field];
    if (value === undefined || value === null) continue;
    const problem = (message: string) => ({ object: describe(object), field, message });
    if (!isRecord(value)) return problem('must be a map of strings');
    const wrong = Object.keys(value).find((key) => value[key] !== null && typeof value[key] !== 'string');
    if (wrong !== undefined)
      return problem(`the value of key ${JSON.stringify(wrong)} must be a string: quote it`);
  }
  return undefined;
}

/** A plan and what else its release needs. */
interface PlanInput {
  plan: Extract<CanaryPlan, { state: 'release' }>;
  /** The plan's own Canary, or the one in the cluster if Git has none. */
  canary: ReleaseCanary;
  commit: CommitInfo;
  /** HMAC key of the cluster, at least 32 bytes. */
  secretKey: Uint8Array;
  lineOf: LineOf;
}

/** The release of a plan, or the problem with file, line and field. Throws RangeError if the key is too short. */
export function releaseOfPlan(
  input: PlanInput,
): { ok: Release; problem?: never } | { ok?: never; problem: FileProblem } {
  const { plan, canary, commit, secretKey, lineOf } = input;
  const configs = plan.configs.map(({ object }) => object);
  const target = plan.target.object;
  const { origins, tracksConfig } = plan;
  const built = buildRelease({ canary, target, configs, commit, secretKey, origins, tracksConfig });
  if (!built.problem) return built;
  const { object, field, message } = built.problem;
  const entry = [plan.target, ...plan.configs].find((one) => describe(one.object) === object);
  // A problem of a Canary that is not in Git is reported at its target.
  const origin = entry?.origin ?? plan.origin ?? plan.target.origin;
  const place = { file: origin.file, line: lineOf(origin, field) };
  return { problem: { ...place, field, message: `${object}: ${message}` } };
}

/** Warnings about a release of this plan, with file, line and field; they do not stop it. */
export function releaseWarnings(
  { plan, canary, lineOf }: Pick<PlanInput, 'plan' | 'canary' | 'lineOf'>,
  release: Release,
): FileProblem[] {
  const found = undeclaredPort(canary.spec.service, release);
  if (!found) return [];
  const origin = plan.origin ?? plan.target.origin;
  return [{ file: origin.file, line: lineOf(origin, found.field), ...found }];
}

/** Why a target cannot be rolled out; undefined if it can. `port`: the one that the Canary's route sends requests to. */
function targetProblem(target: KubernetesObject, port: number | undefined): FieldFinding | undefined {
  if (isService(target)) return serviceProblem(target, port);
  if (!workloadKinds.includes(target.kind) && !isKnative(target)) {
    const known = [...workloadKinds, 'Service'].join(', ');
    return {
      field: 'kind',
      message: `a Canary can roll out ${known}, not ${target.kind} of ${target.apiVersion}`,
    };
  }
  const template = recordOf(target.spec).template;
  if (!isRecord(template)) return { field: 'spec.template', message: 'the workload has no pod template' };
  const containers = recordOf(template.spec).containers;
  if (!Array.isArray(containers) || containers.length === 0)
    return { field: 'spec.template.spec.containers', message: 'the pod template has no containers' };
  if (isKnative(target)) return undefined;
  const nameless = containers.findIndex((container) => textOf(recordOf(container).name) === undefined);
  if (nameless < 0) return undefined;
  return { field: `spec.template.spec.containers[${nameless}].name`, message: 'the container has no name' };
}

/** The copies of a Service select pods only by its selector; endpoints that are written by hand have the name of the original. */
function serviceProblem({ spec }: KubernetesObject, port: number | undefined): FieldFinding | undefined {
  if (isExternalName(spec)) return undefined;
  if (!selectorOf(spec))
    return { field: 'spec.selector', message: 'is missing: a copy of this Service would reach no pod' };
  const offered = recordsOf(recordOf(spec).ports).map((entry) => entry.port);
  if (port === undefined || offered.includes(port)) return undefined;
  return {
    field: 'spec.ports',
    message: `has no port ${port}, where spec.service.port of the Canary sends the requests`,
  };
}
