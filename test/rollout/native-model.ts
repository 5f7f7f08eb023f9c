import type { Canary } from '../../src/api/canary/canary.ts';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import type { CheckOutcome, RouteView } from '../../src/api/observed.ts';
import type { WorkloadView } from '../../src/health/workload-view.ts';
import { isSame } from '../../src/rollout/finish.ts';
import type { Action } from '../../src/rollout/outcome.ts';
import { step } from '../../src/rollout/step.ts';
import {
  type HeadView,
  newestFirst,
  type RecordView,
  type RejectionView,
  type World,
} from '../../src/rollout/world.ts';
import {
  grantedBy,
  type Hold,
  isWholeStep,
  nextHold,
  podsOfShare,
} from '../../src/workload/shared/rolling-update.ts';
import { copy } from './copy.ts';
import { frozen } from './frozen.ts';
import { type Violation, violations } from './invariants.ts';
import { releaseOf } from './model.ts';
import { savedRecord, withProven } from './record-model.ts';

/** Pods of one template: asked for, and ready; `held`: never available. */
interface Pods {
  spec: number;
  ready: number;
  held: boolean;
}

const OWN = { maxSurge: 1, maxUnavailable: 1 };

/** A Deployment with the marks of ADR 21, and its controller's arithmetic: one write of it is one whole state. */
interface Deployment {
  digest: string;
  /** What old pods run while another release is tried. */
  promoted: string | undefined;
  share: number | undefined;
  paused: boolean;
  hold: Hold | undefined;
  version: number;
  seen: number;
}

/** One Canary whose both sides are pods of one Deployment. */
export class NativeModel {
  nowMs = Date.parse('2026-01-01T00:00:00Z');
  status: CanaryStatus = {};
  head: HeadView = { kind: 'unknown', reason: 'SourceNotRead', message: 'not read yet' };
  web: Deployment | undefined;
  sets = new Map<string, Pods>();
  records: RecordView[] = [];
  rejected: RejectionView[] = [];
  answer: CheckOutcome | undefined;
  broken: Violation[] = [];
  /** Digests whose pods never become ready, and those whose checks fail. */
  unready = new Set<string>();
  failing = new Set<string>();
  /** Digests that had pods while they were tried, with the most of them. */
  mostTried = new Map<string, number>();
  gone = false;
  /** The spec names this provider, which copies; once it is in effect nobody looks here any more. */
  movesTo: string | undefined;
  readonly canary: Canary;
  replicas: number;

  constructor(
    replicas: number,
    analysis: object = {},
    kind: 'Deployment' | 'StatefulSet' | 'DaemonSet' = 'Deployment',
  ) {
    this.replicas = replicas;
    this.canary = {
      apiVersion: 'flagger.app/v1beta1',
      kind: 'Canary',
      metadata: { name: 'web', namespace: 'test', generation: 1 },
      spec: {
        provider: 'native',
        targetRef: { apiVersion: 'apps/v1', kind, name: 'web' },
        progressDeadlineSeconds: 60,
        analysis: {
          ...{ interval: '10s', threshold: 2, stepWeight: 20, maxWeight: 60 },
          metrics: [{ name: 'rate', thresholdRange: { min: 99 }, interval: '10s' }],
          ...analysis,
        },
        postPromotion: { metrics: [{ name: 'rate', thresholdRange: { min: 99 }, interval: '10s' }] },
      } as Canary['spec'],
    };
  }

  commit(digest: string): void {
    this.head = { kind: 'release', release: releaseOf(digest, `sha-${digest}`, 's1') };
  }

  /** Pods of the template that is not the promoted one. */
  triedPods(): number {
    return this.web?.promoted === undefined ? 0 : (this.sets.get(this.web.digest)?.spec ?? 0);
  }

  ready(): number {
    return [...this.sets.values()].reduce((sum, { ready }) => sum + ready, 0);
  }

  /** Time passes: the controller and pods do `work` small things, the loop looks after each; it may be killed after some writes. */
  tick(ms: number, work: number, crashAfter = Number.POSITIVE_INFINITY): void {
    this.nowMs += ms;
    for (let count = 0; count < work; count += 1) {
      this.control();
      this.look();
      this.reconcile(crashAfter);
    }
    for (let count = 0; count < 10 && this.reconcile(crashAfter); count += 1);
  }

  until(phase: string, ticks = 300): void {
    for (let count = 0; count < ticks; count += 1) {
      if (this.status.phase === phase && this.status.run === undefined) return;
      this.tick(5000, 3);
    }
    throw new Error(`not ${phase} but ${this.status.phase}: ${this.status.message}`);
  }

  world(): World {
    const { nowMs, canary, status } = this;
    const others = copy({
      ...{
        head: this.head,
        records: [...this.records].sort(newestFirst),
        rejected: this.rejected,
        checks: this.answer,
      },
      ...{ primary: this.primary(), target: this.target(), route: this.route() },
      ...{ sharesWorkload: true, adoptable: undefined, stuckPods: this.stuckPods(), movesTo: this.movesTo },
      peers: { verifying: 0, failingNow: 0, failedTimes: [] },
      options: { minIntervalMs: 1000, defaultProvider: 'kubernetes' },
    });
    return { nowMs, canary, status, ...others } as World;
  }

  /** Decides and acts; stops after `crashAfter` writes, the intent and the status among them. */
  reconcile(crashAfter = Number.POSITIVE_INFINITY): boolean {
    if (this.gone || this.hasMoved) return false;
    const decision = step(this.world());
    let budget = crashAfter;
    const changed = !isSame(decision.status, this.status);
    if (decision.intentFirst && budget-- > 0) this.status = frozen(decision.status);
    if (budget < 0) return true;
    let acted = false;
    for (const action of decision.actions) {
      if (budget-- <= 0) return true;
      this.broken.push(...violations({ ...this.world(), status: decision.status }, action));
      const before = this.snapshot();
      this.change(action);
      acted = acted || before !== this.snapshot();
      this.look();
    }
    if (budget <= 0) return true;
    this.status = frozen(decision.status);
    if (decision.check) this.answer = this.answerTo(decision.check.key, decision.check.metrics);
    return acted || changed || decision.check !== undefined;
  }

  /** Copies of it are rolled out now. */
  get hasMoved(): boolean {
    return this.movesTo !== undefined && this.status.provider === this.movesTo;
  }

  /** What actions change. */
  protected snapshot(): string {
    return JSON.stringify([this.web, this.records, this.rejected]);
  }

  /** What the workload is asked to run. */
  protected asked(): string | undefined {
    return this.web?.digest;
  }

  protected stuckPods(): World['stuckPods'] {
    return [];
  }

  protected answerTo(key: string, metrics: readonly string[]): CheckOutcome {
    const value = this.failing.has(this.asked() ?? '') ? 50 : 100;
    const readings = metrics.map((name) => ({ name, reading: { kind: 'value' as const, value } }));
    return { key, atMs: this.nowMs, readings, hooks: [] };
  }

  /** No pod beyond the step, and none lost below what the user's own bounds allow. */
  protected look(): void {
    const { web, replicas } = this;
    if (!web) return;
    const tried = this.triedPods();
    const most = web.share ? podsOfShare(web.share, replicas) : 0;
    if (web.promoted !== undefined) {
      this.mostTried.set(web.digest, Math.max(tried, this.mostTried.get(web.digest) ?? 0));
      if (tried > most)
        this.broken.push({ rule: 'S4', detail: `${tried} pods at ${web.share} % of ${replicas}` });
    }
    const total = [...this.sets.values()].reduce((sum, { spec }) => sum + spec, 0);
    if (total > replicas + OWN.maxSurge) this.broken.push({ rule: 'S2', detail: `${total} pods` });
  }

  /** One small thing of the Deployment's controller, then of the pods. */
  protected control(): void {
    const { web, replicas } = this;
    if (!web) return;
    web.seen = web.version;
    if (web.paused) this.scaleAlone(replicas);
    else this.roll(web, replicas);
    for (const [digest, pods] of this.sets)
      pods.ready = this.unready.has(digest) ? 0 : Math.min(pods.spec, pods.ready + 2);
  }

  /** Also a paused Deployment keeps its number of pods, where all of them are of one ReplicaSet. */
  private scaleAlone(replicas: number): void {
    const active = [...this.sets.values()].filter(({ spec }) => spec > 0);
    const [only] = active;
    if (only && active.length === 1) only.spec = replicas;
  }

  private roll(web: Deployment, replicas: number): void {
    const newest = this.sets.get(web.digest) ?? { spec: 0, ready: 0, held: false };
    this.sets.set(web.digest, newest);
    newest.held = web.hold !== undefined;
    const surge = web.hold ? Math.ceil((web.hold.surgePercent * replicas) / 100) : OWN.maxSurge;
    const unavailable = web.hold
      ? Math.floor((web.hold.unavailablePercent * replicas) / 100)
      : OWN.maxUnavailable;
    const all = [...this.sets.values()];
    const sum = (of: (pods: Pods) => number) => all.reduce((total, pods) => total + of(pods), 0);
    const available = (pods: Pods) => (pods.held ? 0 : pods.ready);
    const room = Math.min(replicas + surge - sum(({ spec }) => spec), replicas - newest.spec);
    if (room > 0) {
      newest.spec += room;
      return;
    }
    const least = replicas - unavailable;
    let down = sum(({ spec }) => spec) - least - (newest.spec - available(newest));
    const old = all.filter((pods) => pods !== newest);
    for (const pods of old) down -= this.shrink(pods, Math.min(down, pods.spec - available(pods)));
    let spare = Math.min(down, sum(available) - least);
    for (const pods of old) spare -= this.shrink(pods, spare);
  }

  private shrink(pods: Pods, count: number): number {
    const down = Math.max(0, Math.min(count, pods.spec));
    pods.spec -= down;
    pods.ready = Math.min(pods.ready, pods.spec);
    return down;
  }

  protected change(action: Action): void {
    switch (action.type) {
      case 'SaveRecord':
        if (this.records.some(({ digest }) => digest === action.digest)) return;
        this.records.unshift(savedRecord(action.digest));
        return;
      case 'MarkProven':
        this.records = withProven(this.records, action.digest, this.nowMs);
        return;
      case 'RemoveRecords':
        this.records = this.records.filter(({ name }) => !action.names.includes(name));
        return;
      case 'ApplyCanary':
        return this.write({ digest: action.digest, promoted: this.promoted(), share: 0, paused: true });
      case 'ApplyPrimary':
        return this.write({ digest: action.digest });
      case 'SetTraffic':
        return this.share(action.route.canaryWeight);
      case 'Reject':
        if (this.rejected.some(({ digest }) => digest === action.digest)) return;
        this.rejected.push({ ...action, time: new Date(this.nowMs).toISOString() });
        return;
      case 'Unreject':
        this.rejected = this.rejected.filter(({ digest }) => digest !== action.digest);
        return;
      case 'RemoveFinalizer':
        this.gone = true;
        return;
      case 'EnsureServices':
      case 'ApplySettings':
        return;
      default:
        this.broken.push({ rule: 'ADR 21', detail: `${action.type} has no meaning for one workload` });
    }
  }

  protected promoted(): string | undefined {
    return this.web?.promoted ?? this.web?.digest;
  }

  protected share(weightPercent: number): void {
    const { web, replicas } = this;
    if (!web) return;
    if (weightPercent === 0) {
      if (web.promoted !== undefined) return this.write({ digest: web.promoted, share: 0 });
      if (web.share !== undefined && this.route().canaryWeight === 0) web.share = undefined;
      return;
    }
    const ready = this.sets.get(web.digest)?.ready ?? 0;
    const hold = nextHold({ replicas, weightPercent, hold: web.hold, ready, own: OWN });
    this.write({ digest: web.digest, promoted: web.promoted, share: weightPercent, hold });
  }

  private write(wanted: Partial<Deployment> & { digest: string }): void {
    const { version = 0, seen = 0 } = this.web ?? {};
    const next: Deployment = {
      ...{ promoted: undefined, share: undefined, paused: false, hold: undefined },
      ...{ ...wanted, version, seen },
    };
    if (JSON.stringify(next) !== JSON.stringify(this.web)) this.web = { ...next, version: version + 1 };
  }

  private counts() {
    const { web } = this;
    const current = this.sets.get(web?.digest ?? '') ?? { spec: 0, ready: 0 };
    const total = [...this.sets.values()].reduce((sum, { spec }) => sum + spec, 0);
    return { current, old: { spec: total - current.spec, ready: this.ready() - current.ready } };
  }

  protected primary(): WorkloadView | undefined {
    const { web, replicas } = this;
    if (!web) return undefined;
    const { current, old } = this.counts();
    const whole = web.promoted === undefined;
    const desired = whole
      ? replicas
      : replicas - Math.floor(((web.hold?.unavailablePercent ?? 0) * replicas) / 100);
    const updated = whole ? current : old;
    const counts = {
      replicas: whole ? current.spec + old.spec : old.spec,
      updated: updated.spec,
      ready: whole ? this.ready() : old.ready,
      updatedReady: updated.ready,
    };
    return this.view(this.promoted(), desired, counts);
  }

  protected target(): WorkloadView | undefined {
    const { web, replicas } = this;
    if (!web) return undefined;
    if (web.promoted === undefined || !web.hold)
      return this.view(web.digest, 0, { replicas: 0, updated: 0, ready: 0, updatedReady: 0 });
    const { current } = this.counts();
    const { spec, ready } = current;
    const counts = { replicas: spec, updated: spec, ready, updatedReady: ready };
    return this.view(web.digest, grantedBy(web.hold, replicas), counts);
  }

  protected route(): RouteView {
    const { web, replicas } = this;
    const { current, old } = this.counts();
    const at = (canaryWeight: number, accepted: boolean): RouteView => {
      return { primaryWeight: 100 - canaryWeight, canaryWeight, mirrored: false, matched: false, accepted };
    };
    if (!web || (web.promoted === undefined && web.share === undefined)) return at(0, true);
    if (web.promoted === undefined)
      return at(old.spec > 0 ? Math.max(1, Math.min(100, Math.round((100 * old.spec) / replicas))) : 0, true);
    const weightPercent = web.share ?? 0;
    if (weightPercent === 0) return at(0, true);
    const isReached = isWholeStep({ replicas, weightPercent, hold: web.hold, ready: current.ready });
    return at(weightPercent, isReached && current.spec + old.spec <= replicas && web.seen === web.version);
  }

  private view(
    digest: string | undefined,
    desired: number,
    counts: { replicas: number; updated: number; ready: number; updatedReady: number },
  ): WorkloadView {
    const { version = 0, seen = 0 } = this.web ?? {};
    return {
      ...{ name: 'web', uid: 'web', resourceVersion: String(version), digest, settingsKey: 's1' },
      ...{ drift: undefined, configCopies: [], observed: seen === version, desiredReplicas: desired },
      ...{ replicas: counts.replicas, updatedReplicas: counts.updated, readyReplicas: counts.ready },
      ...{ availableReplicas: counts.ready, updatedReadyReplicas: counts.updatedReady },
      ...{ followsNodes: false, progressDeadlineExceeded: false, keepsReadyPod: true, faults: [] },
      ...{ restarts: 0, imagesMatch: true, images: [], podContainers: [], endpoints: undefined },
    };
  }
}
