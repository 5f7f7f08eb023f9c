import {
  describe,
  type KubernetesObject,
  namespacedName,
  type ObjectReference,
  referenceOf,
} from '../../../api/kubernetes.ts';
import { type Action, laneOf } from '../../../rollout/outcome.ts';
import { workloadKind } from '../../../workload/kinds.ts';
import { type Failure, failureOf, isStale } from '../../failure.ts';
import type { ActionContext, Performer, Performers } from '../context/context.ts';
import { hidingFor } from '../context/heads.ts';
import type { ActionFailure } from './action-text.ts';
import { adoptionPerformers } from './adopt-primary.ts';
import { disownPerformers, releasePerformers } from './disown.ts';
import { finalizerPerformers } from './finalizer.ts';
import { nativePerformers } from './native.ts';
import { inLanes, isReversible, reliesOn } from './order.ts';
import { recordPerformers } from './records.ts';
import { scalerPerformers } from './scalers.ts';
import { trafficPerformers } from './traffic.ts';
import { copyPerformers, revisionPerformers, workloadPerformers } from './workloads.ts';

const performers: Performers = {
  ...recordPerformers,
  ...workloadPerformers,
  ...scalerPerformers,
  ...trafficPerformers,
  ...adoptionPerformers,
  ...disownPerformers,
  ...releasePerformers,
  ...finalizerPerformers,
  // Controllers of copies replace pods that are not ready themselves.
  ReplacePods: async () => false,
};

/** Actions that are performed otherwise, by what the two sides of the Canary are. */
const performersBySides: Readonly<
  Record<'native' | ReturnType<typeof workloadKind>['sides'], Partial<Performers>>
> = {
  workloads: {},
  copies: copyPerformers,
  revisions: revisionPerformers,
  native: nativePerformers,
};

/** An action that wrote something (S33), and the objects that it changed. */
interface Written {
  readonly action: Action;
  readonly objects: readonly ObjectReference[];
}

/** What keeps actions from being performed. */
export interface Limits {
  /** The intent is in the status; false: it could not be written. Default true. */
  readonly hasIntent?: boolean;
  /** Types of actions that are left out: another writer undoes them. */
  readonly paused?: ReadonlySet<Action['type']>;
}

/** The result of the actions of one decision. */
export interface Performed {
  readonly written: readonly Written[];
  readonly failures: readonly ActionFailure[];
  /** Actions that failed, that are paused, or were left out since they rely on such a one. */
  readonly undone: readonly Action[];
}

/**
 * Performs the actions lane by lane; one that fails blocks only those that depend on it (ADR 31). Without the intent in the status, which could
 * not be written, only what can be undone is performed. Throws a conflict or StaleView: the cluster changed and has to be observed again.
 */
export async function performAll(
  context: ActionContext,
  actions: readonly Action[],
  { hasIntent = true, paused }: Limits = {},
): Promise<Performed> {
  const failures: ActionFailure[] = [];
  const undone: Action[] = [];
  const written: Written[] = [];
  let stale: unknown;

  function failed(action: Action, error: unknown): void {
    undone.push(action);
    if (!isStale(error)) failures.push({ action, failure: shownFailure(context, error) });
    // Traffic is moved on a fresh read of its own, of which the Services are no part.
    else if (action.type === 'EnsureServices') stale = error;
    else throw error;
  }

  for (const action of inLanes(actions)) {
    if (stale !== undefined && laneOf(action) !== 'safety') break;
    const isBlocked =
      paused?.has(action.type) ||
      (!hasIntent && !isReversible(action)) ||
      undone.some((other) => reliesOn(action, other));
    if (isBlocked) undone.push(action);
    else {
      const objects = new Map<string, ObjectReference>();
      const changed = (object: KubernetesObject) => void objects.set(describe(object), referenceOf(object));
      await perform({ ...context, changed }, action).then(
        (wrote) => {
          if (wrote) written.push({ action, objects: [...objects.values()] });
        },
        (error: unknown) => failed(action, error),
      );
    }
  }
  if (stale !== undefined) throw stale;
  return { written, failures, undone };
}

/** The API server and its webhooks may quote what they were sent. */
function shownFailure({ parts, observation }: ActionContext, error: unknown): Failure {
  const failure = failureOf(error);
  const hide = hidingFor(parts.heads.of(namespacedName(observation.canary)));
  return { ...failure, message: hide(failure.message) };
}

function perform(context: ActionContext, action: Action): Promise<boolean> {
  const { world, canary } = context.observation;
  const sides = world.sharesWorkload ? 'native' : workloadKind(canary).sides;
  const performer = (performersBySides[sides][action.type] ?? performers[action.type]) as Performer<
    Action['type']
  >;
  return performer(context, action);
}
