import type { RouteView } from '../../src/api/observed.ts';
import type { Action } from '../../src/rollout/outcome.ts';
import type { ScalerView } from '../../src/rollout/world.ts';

interface Copy {
  desired: number;
  ready: number;
  oldReady: number;
}

/** The part of the model that scalers look at. */
interface Scaled {
  nowMs: number;
  primary: Copy | undefined;
  target: Copy | undefined;
  route: RouteView | undefined;
}

/** What metrics take to show a change of the load. */
const lagMs = 45_000;

/**
 * Scalers under a steady load: each copy is brought to what its share of the traffic needed a while ago, at least minReplicas. The floor
 * is what keeps a copy large enough for the share it has now.
 */
export class ScalerModel {
  readonly view: ScalerView;
  /** Moments at which a copy got more traffic than its pods carry. */
  readonly overloads: string[] = [];
  load: number;
  private readonly shares: Array<{ sinceMs: number; canary: number }> = [];

  constructor(kind: ScalerView['kind'], load: number, { canaryMax = 20 } = {}) {
    this.load = load;
    const side = (maxReplicas: number) => ({
      minReplicas: 1,
      maxReplicas,
      restoreMinReplicas: undefined,
      paused: false,
    });
    this.view = { kind, name: 'podinfo', canary: side(canaryMax), primary: side(20), settleMs: 60_000 };
  }

  work({ nowMs, primary, target, route }: Scaled): void {
    const canaryShare = this.seenShare(nowMs, (route?.canaryWeight ?? 0) / 100);
    this.scale(primary, this.view.primary, 1 - canaryShare);
    this.scale(target, this.view.canary, canaryShare);
  }

  change(action: Extract<Action, { type: 'SetScalerFloor' | 'PauseScaler' }>): void {
    const scaler = this.view[action.side];
    if (!scaler) return;
    if (action.type === 'PauseScaler') {
      scaler.paused = action.paused;
      return;
    }
    const before = scaler.restoreMinReplicas ?? scaler.minReplicas;
    scaler.restoreMinReplicas = action.minReplicas === undefined ? undefined : before;
    scaler.minReplicas = action.minReplicas ?? before;
  }

  /** What a rollout has not given back. */
  left(side: 'canary' | 'primary'): string[] {
    const { paused, minReplicas, restoreMinReplicas } = this.view[side] ?? {};
    const left = [paused ? 'paused' : '', minReplicas === 1 ? '' : `minReplicas ${minReplicas}`];
    return [...left, restoreMinReplicas === undefined ? '' : 'annotation'].filter((what) => what !== '');
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

  private seenShare(nowMs: number, canary: number): number {
    this.shares.push({ sinceMs: nowMs, canary });
    const old = this.shares.findLastIndex(({ sinceMs }) => sinceMs <= nowMs - lagMs);
    this.shares.splice(0, Math.max(0, old));
    return this.shares[0]?.canary ?? canary;
  }

  private scale(copy: Copy | undefined, scaler: ScalerView['canary'], share: number): void {
    // KEDA scales up from zero by itself, a HorizontalPodAutoscaler does not.
    const rests = copy?.desired === 0 && this.view.kind === 'HorizontalPodAutoscaler';
    if (!copy || !scaler || rests) return;
    const wanted = Math.max(scaler.minReplicas, Math.ceil(this.load * share));
    copy.desired = scaler.paused ? 0 : Math.min(scaler.maxReplicas, wanted);
    copy.ready = Math.min(copy.ready, copy.desired);
    copy.oldReady = Math.min(copy.oldReady, copy.desired);
  }
}
