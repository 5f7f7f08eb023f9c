import { type KubernetesObject, recordsOf } from '../../src/api/kubernetes.ts';
import { asString, at } from '../api-server/json.ts';

/**
 * Why a pod never becomes ready. `NotReady`: it runs, and its readiness probe fails. `InitFails`: its first init container ends with an
 * error; a pod without one has nothing that could. `Waiting`: its containers do not start, for what `waiting` says.
 */
export type PodFailure =
  | 'ImagePullBackOff'
  | 'CrashLoopBackOff'
  | 'Unschedulable'
  | 'NotReady'
  | 'InitFails'
  | 'Waiting';

/** How one pod behaves. Times count from its creation. */
export interface PodOutcome {
  /** Default: the behaviour's `podReadyMs`. */
  readonly readyAfterMs?: number;
  readonly failure?: PodFailure;
  /** `Waiting` only: what a kubelet says of the containers; `ContainerCreating` without a message when absent. */
  readonly waiting?: { readonly reason: string; readonly message: string };
  /** `CrashLoopBackOff` only: age of the first crash, default 0; the pod may be ready until then. */
  readonly crashAfterMs?: number;
  /** `CrashLoopBackOff` only: `OOMKilled` when it needs more memory than it may have; default `Error`. */
  readonly crashReason?: 'Error' | 'OOMKilled';
  /** Container restarts to show. */
  readonly restarts?: number;
  /** What its containers print, and printed before they were restarted; default: a line. */
  readonly log?: readonly string[];
  readonly previousLog?: readonly string[];
  /** Stops being ready again at this age. */
  readonly unreadyAfterMs?: number;
  /** Share of its requests that fail, 0-100. */
  readonly errorPercent?: number;
  /** `errorPercent` holds only from this age on. */
  readonly errorAfterMs?: number;
  /** Time a request takes. */
  readonly delayMs?: number;
}

/** Says how a pod behaves; undefined leaves it to the next rule. */
type PodRule = (pod: KubernetesObject) => PodOutcome | undefined;

/** The adjustable part of the sandbox. */
export interface Behaviour {
  /** Adds a rule before all others; the returned function removes it. Pods change immediately in both cases. */
  rule(rule: PodRule): () => void;
  outcomeOf(pod: KubernetesObject): PodOutcome;
}

/** Settings with defaults. */
export interface BehaviourOptions {
  /** Age at which a healthy pod becomes ready; default 100 ms. */
  readonly podReadyMs?: number;
}

/** Behaviour from rules added later, else from the pod template's own environment (see `environmentRule`). */
export function createBehaviour(options: BehaviourOptions, changed: () => void): Behaviour {
  let rules: readonly PodRule[] = [environmentRule];
  const standard = { readyAfterMs: options.podReadyMs ?? 100 };
  return {
    rule(rule) {
      rules = [rule, ...rules];
      changed();
      return () => {
        rules = rules.filter((each) => each !== rule);
        changed();
      };
    },
    outcomeOf(pod) {
      const outcome = rules.map((rule) => rule(pod)).find((each) => each !== undefined);
      return { ...standard, ...outcome };
    },
  };
}

/**
 * The same switches as the test bed's application: READY=false, READY_AFTER_MS, START_DELAY_MS, ERROR_PERCENT, ERROR_AFTER_MS, DELAY_MS,
 * CRASH_AFTER_MS; with the prefix PRIMARY_ they hold only for pods whose name contains `-primary-`. Images under `missing/` cannot be pulled.
 */
function environmentRule(pod: KubernetesObject): PodOutcome {
  const containers = recordsOf(at(pod, 'spec', 'containers'));
  const env = new Map(
    containers
      .flatMap((each) => recordsOf(each.env))
      .map((each) => [asString(each.name), asString(each.value)]),
  );
  const primary = pod.metadata.name.includes('-primary-');
  const setting = (name: string): string | undefined =>
    (primary ? env.get(`PRIMARY_${name}`) : undefined) ?? env.get(name);
  const failure = failureOf(
    setting,
    containers.some((each) => /(^|\/)missing\//.test(asString(each.image))),
  );
  return {
    ...(failure ? { failure } : {}),
    ...numeric('readyAfterMs', setting('START_DELAY_MS') ?? setting('READY_AFTER_MS')),
    ...numeric('crashAfterMs', setting('CRASH_AFTER_MS')),
    ...numeric('errorPercent', setting('ERROR_PERCENT')),
    ...numeric('errorAfterMs', setting('ERROR_AFTER_MS')),
    ...numeric('delayMs', setting('DELAY_MS')),
  };
}

function failureOf(
  setting: (name: string) => string | undefined,
  imageMissing: boolean,
): PodFailure | undefined {
  if (imageMissing) return 'ImagePullBackOff';
  if (setting('CRASH_AFTER_MS') !== undefined) return 'CrashLoopBackOff';
  return setting('READY') === 'false' ? 'NotReady' : undefined;
}

function numeric(field: keyof PodOutcome, text: string | undefined): PodOutcome {
  const value = Number(text);
  return text === undefined || text === '' || Number.isNaN(value) ? {} : { [field]: value };
}

/** Share of the pod's requests that fail at this age, 0-100. */
export function errorPercentAt(outcome: PodOutcome, ageMs: number): number {
  return ageMs >= (outcome.errorAfterMs ?? 0) ? (outcome.errorPercent ?? 0) : 0;
}
