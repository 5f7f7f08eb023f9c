import { type Action, laneOf } from '../../../rollout/outcome.ts';
import { type Failure, joinFailures } from '../../failure.ts';

/** What an action does, in a few words for people who look before it is done. `inPlace`: both sides are pods of one workload. */
export function describeAction(action: Action, inPlace = false): string {
  return (inPlace ? inPlaceWords(action) : undefined) ?? words(action);
}

/** Those that do something else to one workload than to two. */
function inPlaceWords(action: Action): string | undefined {
  switch (action.type) {
    case 'SetTraffic':
      return action.route.canaryWeight > 0
        ? `share: ${action.route.canaryWeight} % of the pods run the release`
        : 'all pods run the release before';
    case 'ApplyCanary':
      return `the template is that of release ${action.digest.slice(0, 15)}, without a pod of it`;
    case 'ApplyPrimary':
      return `all pods get release ${action.digest.slice(0, 15)}`;
    case 'EnsureServices':
      return 'the Service of the new pods is written';
    default:
      return undefined;
  }
}

function words(action: Action): string {
  switch (action.type) {
    case 'SetTraffic':
      return `traffic: ${action.route.primaryWeight} % primary, ${action.route.canaryWeight} % canary`;
    case 'ApplyPrimary':
      return `the primary is written from release ${action.digest.slice(0, 15)}`;
    case 'AdoptPrimary':
      return `the primary is marked as running release ${action.digest.slice(0, 15)}; no pod restarts`;
    case 'ApplyCanary':
      return `the canary is written from release ${action.digest.slice(0, 15)}`;
    case 'ScaleCanary':
      return `the canary gets ${action.replicas} pods`;
    case 'ScalePrimary':
      return `the primary gets ${action.replicas} pods`;
    case 'ApplyScalers':
      return 'the scalers of both copies are written';
    case 'RemoveScaler':
      return `the primary's copy of ${action.kind} ${action.name} is deleted`;
    case 'SetScalerFloor':
      return action.minReplicas === undefined
        ? `the ${action.side}'s scaler gets its minReplicas back`
        : `the ${action.side}'s scaler gets ${action.minReplicas} as minReplicas`;
    case 'PauseScaler':
      return `the ${action.side}'s scaler ${action.paused ? 'is paused' : 'is resumed'}`;
    case 'ReplacePods':
      return `pods of the release that is left are replaced: ${action.pods.map(({ name }) => name).join(', ')}`;
    case 'Reject':
      return `release ${action.digest.slice(0, 15)} is rejected: ${action.reason}`;
    case 'Unreject':
      return `the rejection of release ${action.digest.slice(0, 15)} is lifted`;
    case 'SaveRecord':
      return `a record of release ${action.digest.slice(0, 15)} is kept`;
    case 'MarkProven':
      return `release ${action.digest.slice(0, 15)} becomes the last-known-good`;
    case 'RemoveRecords':
      return `records that are not needed any more are deleted: ${action.names.join(', ')}`;
    case 'RestoreConfigs':
      return 'copies of ConfigMaps and Secrets are written again for the primary';
    case 'ApplySettings':
      return 'replicas, strategy and deadlines are applied to the primary';
    case 'EnsureServices':
      return 'the Services are written';
    case 'Disown':
      return `Services${action.primary ? ', primary' : ''} and routes stay, without an owner`;
    case 'ReleaseCopies':
      return 'Services and routes stay, without an owner; the primary is deleted with its copies';
    case 'RemoveFinalizer':
      return 'the finalizer of the Canary is removed';
  }
}

/** An action that failed, and why. */
export interface ActionFailure {
  readonly action: Action;
  readonly failure: Failure;
}

/** All failures as one: each action with what it was about, and why it failed. Its line is that of the first which keeps the rollout from going on. */
export function joinActionFailures(
  { failures, undone }: { readonly failures: readonly ActionFailure[]; readonly undone: readonly Action[] },
  inPlace: boolean,
): Failure | undefined {
  const stopping = undone.some(isOfRollout)
    ? (failures.find(({ action }) => isOfRollout(action)) ?? failures[0])
    : undefined;
  const each = failures.map((one) => {
    const { reason, message, transient } = one.failure;
    const whole = `${one.action.type} (${describeAction(one.action, inPlace)}): ${message}`;
    return { reason, message: whole, transient, ...(one === stopping ? { line: message } : {}) };
  });
  return joinFailures(each);
}

/** Not only bookkeeping or upkeep, beside which a rollout goes on. */
function isOfRollout(action: Action): boolean {
  return laneOf(action) === 'safety' || laneOf(action) === 'teardown';
}
