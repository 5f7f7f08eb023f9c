/** When a workload may carry traffic. */
import type { WorkloadView } from '../rollout/world.ts';

/** The answer, with its reason for people and conditions. */
export interface Readiness {
  ready: boolean;
  /** CamelCase. */
  reason:
    | 'Ready'
    | 'ScaledToZero'
    | 'GenerationNotObserved'
    | 'ProgressDeadlineExceeded'
    | 'PodsUpdating'
    | 'OldPodsTerminating'
    | 'PodsUnavailable';
  message: string;
}

/**
 * Flagger's rules (flagger-behaviour.md 2.6) with two defects fixed: nothing desired is never ready, and the threshold counts from the
 * desired number, not from the updated one. `thresholdPercent` is 0-100; at least one pod must be available whatever it says (S1).
 */
export function readinessOf(view: WorkloadView, thresholdPercent = 100): Readiness {
  const { name, desiredReplicas: desired, updatedReplicas: updated, availableReplicas: available } = view;
  if (!view.observed)
    return no('GenerationNotObserved', `${name}: its controller has not seen the last change yet`);
  if (desired === 0) return no('ScaledToZero', `${name} is scaled to zero`);
  if (view.progressDeadlineExceeded)
    return no('ProgressDeadlineExceeded', `${name} made no progress within its deadline${worst(view)}`);
  if (updated < desired)
    return no('PodsUpdating', `${name}: ${updated} of ${desired} pods updated${worst(view)}`);
  if (view.replicas > updated)
    return no('OldPodsTerminating', `${name}: ${view.replicas - updated} old pods still there${worst(view)}`);
  const needed = Math.max(1, Math.floor((desired * thresholdPercent) / 100));
  if (available < needed)
    return no('PodsUnavailable', `${name}: ${available} of ${needed} needed pods available${worst(view)}`);
  return { ready: true, reason: 'Ready', message: `${name}: ${available} of ${desired} pods available` };
}

function no(reason: Readiness['reason'], message: string): Readiness {
  return { ready: false, reason, message };
}

function worst({ faults }: WorkloadView): string {
  const [fault] = faults;
  if (!fault) return '';
  const where = fault.container ? `${fault.pod}, container ${fault.container}` : fault.pod;
  return ` (${fault.reason} in ${where})`;
}
