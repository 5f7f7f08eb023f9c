import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { EventSink, References } from '../../../contracts/cluster.ts';
import type { RouteKind } from '../../../contracts/routing.ts';
import type { Action, Decision } from '../../../rollout/outcome.ts';
import type { World } from '../../../rollout/world.ts';
import type { AlertOutbox } from '../../alerts/alert-outbox.ts';
import type { Applied } from '../../applied.ts';
import type { EventHooks } from '../../checks/event-hooks.ts';
import type { Correction } from '../../corrections.ts';
import type { ConditionNews } from '../../status-patch.ts';
import type { FlaggerWatch } from './flagger-watch.ts';
import type { Observation, ReadParts } from './observation.ts';
import type { AfterRevert } from './reproduction.ts';

/** Everything one pass over a Canary uses. */
export interface CanaryParts extends ReadParts {
  readonly references: References;
  /** Kinds of the routing objects of every provider. */
  readonly routeKinds: readonly RouteKind[];
  readonly events: EventSink;
  readonly eventHooks: EventHooks;
  readonly flagger: FlaggerWatch;
  readonly afterRevert: AfterRevert;
  readonly outbox: AlertOutbox;
  /** What of a Canary is in Git, for its condition; undefined: not looked at yet. */
  readonly writtenToGit: (canaryKey: string) => ConditionNews | 'absent' | undefined;
  readonly applied: Applied;
  /** So many objects of a Canary (namespace/name), which others had changed, were put back. */
  readonly onCorrected?: (canaryKey: string, objects: number) => void;
  /** The pure core; a parameter so that tests can put their own decisions here. */
  readonly step: (world: World) => Decision;
}

/** What an action is performed with: the parts, and the observation it was decided on. */
export interface ActionContext {
  readonly parts: CanaryParts;
  readonly observation: Observation;
  /** Called with each object that an action has changed. */
  readonly changed?: ((object: KubernetesObject) => void) | undefined;
  /** Called with what others had changed and an action has put back. */
  readonly corrected?: ((correction: Correction) => void) | undefined;
}

/** Performs one type of action; true when something was written. Throws StaleView when the cluster changed since the observation. */
export type Performer<Type extends Action['type']> = (
  context: ActionContext,
  action: Extract<Action, { type: Type }>,
) => Promise<boolean>;

/** How actions are done, by their type. */
export type Performers = { readonly [Type in Action['type']]: Performer<Type> };
