import type { RouteView } from '../../src/api/observed.ts';
import type { Action } from '../../src/rollout/action.ts';
import type { ScalerView } from '../../src/rollout/world.ts';

interface Copy {
  desired: number;
  ready: number;
  oldReady: number;
}

/** The part of the model that scalers look at. */
interface Scaled {
  primary: Copy | undefined;
  target: Copy | undefined;
  route: RouteView | undefined;
}

/** Scalers under a steady load: each copy is brought to what its share of the traffic needs, at least minReplicas, one tick later. */
export class ScalerModel {
  readonly view: ScalerView;
  /** Moments at which a copy got more traffic than its pods carry. */
  readonly overloads: string[] = [];
  readonly load: number;

  constructor(kind: ScalerView['kind'], load: number, { canaryMax = 20 } = {}) {
    this.load = load;
    const side = (maxReplicas: number) => ({
      minReplicas: 1,
      maxReplicas,
      restoreMinReplicas: undefined,
      paused: false,
    });
    this.view = { kind, name: 'podinfo', canary: side(canaryMax), primary: side(20) };
  }

  work({ primary, target, route }: Scaled): void {
    const canaryShare = (route?.canaryWeight ?? 0) / 100;
    this.scale(primary, this.view.primary, 1 - canaryShare);
    this.scale(target, this.view.canary, canaryShare);
  }

  change(action: Extract<Action, { type: 'SetScalerFloor' | 'PauseScaler' }>): void {
    if (action.type === 'PauseScaler') {
      if (this.view.canary) this.view.canary.paused = action.paused;
      return;
    }
    const { side, minReplicas } = action;
    const scaler = this.view[side];
    if (!scaler) return;
    const before = scaler.restoreMinReplicas ?? scaler.minReplicas;
    scaler.restoreMinReplicas = minReplicas === undefined ? undefined : before;
    scaler.minReplicas = minReplicas ?? before;
  }

  measure({ primary, target, route }: Scaled, where: string): void {
    if (!route || route.matched) return;
    const tooMuch = (copy: Copy | undefined, weight: number) =>
      Math.floor((weight * this.load) / 100) > (copy ? copy.ready + copy.oldReady : 0);
    if (tooMuch(primary, route.primaryWeight))
      this.overloads.push(`primary at ${route.primaryWeight} % ${where}`);
    if (tooMuch(target, route.canaryWeight))
      this.overloads.push(`canary at ${route.canaryWeight} % ${where}`);
  }

  private scale(copy: Copy | undefined, scaler: ScalerView['canary'], share: number): void {
    if (!copy || !scaler || copy.desired === 0) return;
    const wanted = Math.max(scaler.minReplicas, Math.ceil(this.load * share));
    copy.desired = scaler.paused ? 0 : Math.min(scaler.maxReplicas, wanted);
    copy.ready = Math.min(copy.ready, copy.desired);
    copy.oldReady = Math.min(copy.oldReady, copy.desired);
  }
}
