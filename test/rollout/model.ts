import type { HookType } from '../../src/api/canary/analysis.ts';
import { type Canary, hooksOf } from '../../src/api/canary/canary.ts';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import { gitPart } from '../../src/api/commit.ts';
import type { CheckOutcome, CheckRequest, HookAnswer, RouteView } from '../../src/api/observed.ts';
import { inLanes, reliesOn } from '../../src/engine/canary/perform/order.ts';
import type { ConfigCopyView, ForeignChange, WorkloadView } from '../../src/health/workload-view.ts';
import { isSame } from '../../src/rollout/finish.ts';
import type { Action, Decision, RolloutEvent } from '../../src/rollout/outcome.ts';
import { step } from '../../src/rollout/step.ts';
import {
  type FreezeView,
  type HeadView,
  lastKnownGood,
  newestFirst,
  type PeersView,
  type RecordView,
  type RejectionView,
  type ReleaseView,
  runOf,
  type ScalerView,
  type WindowView,
  type World,
} from '../../src/rollout/world.ts';
import {
  isLetThrough,
  noteAnswer,
  type PassedChecks,
  withoutCheck,
  withoutCheckOnPrimary,
} from './analysis-ledger.ts';
import { copy } from './copy.ts';
import { frozen } from './frozen.ts';
import { afterWrite, type Gateway } from './gateway-model.ts';
import { type Violation, violations } from './invariants.ts';
import {
  type BrokenPods,
  brokenOf,
  countsOf,
  faultsOf,
  type Pods,
  resized,
  rolled,
  type Side,
} from './pods-model.ts';
import { savedRecord, shaOf, withProven } from './record-model.ts';
import { newBackendStage, routeRead, seeBackends, servedBy } from './route-model.ts';
import { ScalerModel } from './scaler-model.ts';

/** How a release behaves in the model. */
export interface Behaviour {
  canaryReady: boolean;
  primaryReady: boolean;
  canaryMetric: number | undefined;
  primaryMetric: number | undefined;
  /** What single metrics say instead, by their id. */
  metrics?: Readonly<Record<string, number>>;
}

export const GOOD: Behaviour = {
  canaryReady: true,
  primaryReady: true,
  canaryMetric: 100,
  primaryMetric: 100,
};

const NO_GATEWAY = 'the gateway has not taken over what was written';

/** What Flagger writes where Holdfast writes a digest. */
export const FLAGGERS_HASH = '85d557f47b';

const OPTIONS = { minIntervalMs: 1000, defaultProvider: 'kubernetes' } as const;

/** A small world around the pure core: one Canary, workloads that become ready one tick later, a route, records and a clock. */
export class Model {
  nowMs = Date.parse('2026-01-01T00:00:00Z');
  status: CanaryStatus = {};
  head: HeadView = { kind: 'unknown', reason: 'SourceNotRead', message: 'not read yet' };
  primary: Pods | undefined;
  target: Pods | undefined;
  route: RouteView | undefined;
  /** The generated Services that are there. */
  services = { apex: false, primary: false, canary: false };
  records: RecordView[] = [];
  rejected: RejectionView[] = [];
  answer: CheckOutcome | undefined;
  asked: CheckRequest | undefined;
  /** Every check that was answered: `role purpose digest`. */
  readonly asks: string[] = [];
  events: RolloutEvent[] = [];
  broken: Violation[] = [];
  /** Moments at which requests would have failed. */
  outages: string[] = [];
  /** Digests the primary was written with, in order, where it ran another one before. */
  written: string[] = [];
  /** Digests whose way back was begun. */
  reverts: string[] = [];
  writes = 0;
  behaviours = new Map<string, Behaviour>();
  recreate = false;
  /** Another tool applies the target: its template changes with the commit, and only its pods are the rollout's. */
  foreign = false;
  /** Another writer undoes what is written. */
  contention: World['contention'];
  /** The primary carries no mark of ours: Flagger wrote it last. */
  unmarked = false;
  /** Two digests of one and the same template. */
  renamed: { readonly from: string; readonly to: string } | undefined;
  /** What is at head was on the target when Flagger wrote the status last. */
  headWasTried = true;
  /** The workloads are DaemonSets: their pods follow nodes, whatever number is asked for. */
  followsNodes = false;
  scalers: ScalerModel | undefined;
  /** Most pods of the primary that find a node. */
  room = Number.POSITIVE_INFINITY;
  /** A webhook gives the primary no more pods than this, whatever is written. */
  capped = Number.POSITIVE_INFINITY;
  /** While the canary has pods, the last new pod of the primary finds no room, and this is why. */
  crowdedBy: string | undefined;
  /** Digests whose record was damaged, and those of them that Git gives although head is another one. */
  damaged = new Set<string>();
  /** Release of the primary's copy of its ConfigMap; undefined while it is gone. */
  copy: string | undefined;
  inGit = new Set<string>();
  providerDown = false;
  /** It was created again together with its target, after its records. */
  private recreated = false;
  /** The Canary is deleted, and what it owned with it. */
  gone = false;
  /** What the garbage collector leaves. */
  ownerless = { routes: false, primary: false };
  /** The window of the Source; undefined: it has none. */
  window: WindowView | undefined;
  freeze: FreezeView | undefined;
  freezesStartsOnly = false;
  /** Digests of which something was written while the window was open, or that a person let through. */
  private readonly began = new Set<string>();
  /** The spec names this provider, which needs no copies; once it is in effect nobody looks here any more. */
  movesTo: string | undefined;
  /** Git holds the route, with backends of its own. */
  routeInGit = false;
  private readonly backends = newBackendStage();
  /** Pods that never become ready, by side. */
  brokenPods: Partial<Record<Side, BrokenPods>> = {};
  /** The controller of the canary reports ProgressDeadlineExceeded, as long as one pod of it is missing. */
  isCanaryGivenUp = false;
  /** Pods that the manifest asks for. */
  replicas = 2;
  /** The target's pods go before new ones come; `recreate` is about the primary alone. */
  recreateTarget = false;
  /** Types of actions that the API server refuses, and what was refused. */
  refused = new Set<Action['type']>();
  readonly refusals: string[] = [];
  /** Why the Secret with the rejections can be neither read nor written. */
  rejectionsProblem: string | undefined;
  /** The data plane takes over what was written after this time. */
  gatewayDelayMs = 0;
  private gatewayStoppedUntilMs = 0;
  private gateway: Gateway | undefined;
  private routeProblem: string | undefined;
  /** How far the clock of whoever leads is off the true one. */
  clockOffsetMs = 0;
  /** On that clock; undefined: it has led for ever. */
  leadingSinceMs: number | undefined;
  /** Since when whoever leads sees the Canary being deleted, on its clock. */
  deletingSinceMs: number | undefined;
  /** Somebody changed the primary's template. */
  drift: ForeignChange | undefined;
  peers: PeersView = { verifying: 0, failingNow: 0, failedTimes: [] };
  /** What webhooks say, by type; those not named approve, and rollback refuses. `hang`: no answer comes while it is so. */
  hooks: Partial<Record<HookType, HookAnswer['verdict'] | 'hang'>> = {};
  /** Times the webhooks of a type were asked, and digests they approved. */
  hookCalls = new Map<HookType, number>();
  gatesPassed = new Set<string>();
  private readonly passedChecks: PassedChecks = new Set();
  /** The release under way whose promotion began under skipAnalysis, and the one that a person let through: both stay so if that is taken back. */
  private skipped: string | undefined;
  private letThrough: string | undefined;
  readonly canary: Canary;

  constructor(spec: Partial<Canary['spec']> = {}) {
    this.canary = {
      apiVersion: 'flagger.app/v1beta1',
      kind: 'Canary',
      metadata: { name: 'podinfo', namespace: 'test', generation: 1 },
      spec: {
        provider: 'gatewayapi:v1',
        targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'podinfo' },
        service: { port: 80 },
        progressDeadlineSeconds: 60,
        analysis: {
          interval: '10s',
          threshold: 2,
          stepWeight: 50,
          maxWeight: 50,
          metrics: [{ name: 'rate', thresholdRange: { min: 99 }, interval: '10s' }],
        },
        postPromotion: { metrics: [{ name: 'rate', thresholdRange: { min: 99 }, interval: '10s' }] },
        ...spec,
      } as Canary['spec'],
    };
  }

  /** Commits a release; the same letter is the same digest. */
  commit(digest: string, behaviour: Behaviour = GOOD, settingsKey = 's1', sha = shaOf(digest)): void {
    this.behaviours.set(gitPart(digest), behaviour);
    const release = { ...releaseOf(digest, sha, settingsKey), replicas: this.replicas };
    this.head = { kind: 'release', release: this.foreign ? { ...release, hasLiveConfig: true } : release };
    if (this.foreign)
      this.target = this.applied(
        this.target,
        digest,
        this.target?.desired ?? this.replicas,
        this.recreateTarget,
      );
  }

  /** The other tool applies its manifest again, replicas included. */
  applyAgain(): void {
    if (this.foreign && this.target) this.target.desired = this.replicas;
  }

  /** Somebody deletes the Canary; with `revertOnDeletion` it waits for its finalizer. */
  delete(): void {
    this.canary.metadata.deletionTimestamp = new Date(this.nowMs).toISOString();
    this.deletingSinceMs = this.clockMs;
    if (this.canary.spec.revertOnDeletion !== true) this.goWithOwner();
  }

  /** The garbage collector takes what the Canary owns: the primary and the routes, unless they were handed over. */
  private goWithOwner(): void {
    const before = this.answering();
    this.gone = true;
    if (!this.ownerless.primary) this.primary = undefined;
    if (!this.ownerless.routes) {
      this.route = undefined;
      this.services = { apex: false, primary: false, canary: false };
    }
    if (this.canary.spec.revertOnDeletion === true && before > 0 && this.answering() === 0)
      this.broken.push({ rule: 'S2', detail: 'the Canary took with it what served' });
  }

  /** Pods that requests reach. */
  private answering(): number {
    const { route } = this;
    if (!route) return 0;
    const ready = (pods: Pods | undefined, share: boolean) =>
      pods && share ? pods.ready + pods.oldReady : 0;
    return (
      ready(this.primary, route.primaryWeight > 0 || route.matched) +
      ready(this.target, route.canaryWeight > 0)
    );
  }

  /** The Canary is created again, with an empty status; what nobody owned is still there. */
  createAgain(): void {
    delete this.canary.metadata.deletionTimestamp;
    this.deletingSinceMs = undefined;
    this.gone = false;
    this.ownerless = { routes: false, primary: false };
    this.status = {};
  }

  /** Canary and target are deleted and created again together by another tool; the target runs this release. */
  createWithTarget(digest: string): void {
    this.delete();
    this.createAgain();
    this.recreated = true;
    this.target = { ...this.target!, digest, desired: this.replicas, ready: this.replicas, oldReady: 0 };
    this.commit(digest);
  }

  /** A person asks for something: `<commit or digest>[@anything]`. */
  ask(verb: string, value: string): void {
    this.canary.metadata.annotations = {
      ...this.canary.metadata.annotations,
      [`holdfast.dev/${verb}`]: value,
    };
  }

  /** Config outside Git changes: another digest of the same commit. */
  rotate(live: string): void {
    if (this.head.kind !== 'release') return;
    const { release } = this.head;
    this.head = { kind: 'release', release: { ...release, digest: `${gitPart(release.digest)}+${live}` } };
  }

  /** From now on this many pods of a side are not ready: those of what it runs, of another release, or of any. */
  breakPods(side: Side, count: number, { fault, of }: { fault?: string; of?: string } = {}): void {
    const pods = this.podsAt(side);
    this.brokenPods[side] = { count, fault, of: of === 'any' ? undefined : (of ?? pods?.digest) };
    if (pods) pods.ready = Math.min(pods.ready, pods.desired - brokenOf(pods, this.brokenPods[side]));
  }

  healPods(): void {
    this.brokenPods = {};
  }

  /** Every pod of this release is gone for good, wherever it runs, until `behaviours` says otherwise. */
  die(digest: string): void {
    const dead = { canaryReady: false, primaryReady: false };
    this.behaviours.set(gitPart(digest), { ...this.behaviourOf(digest), ...dead });
    for (const pods of [this.primary, this.target]) {
      if (pods?.digest === digest) pods.ready = 0;
      if (pods?.oldDigest === digest) pods.oldReady = 0;
    }
  }

  /** kubectl scale. */
  scaleByHand(side: Side, pods: number): void {
    const copy = this.podsAt(side);
    if (copy) resized(copy, pods);
  }

  /** kubectl set image: the pods are replaced by others, which come up. */
  editPrimary(image = 'podinfo:by-hand'): void {
    const path = 'spec.template.spec.containers[app].image';
    const expected = this.primary?.digest ?? '';
    this.drift = { manager: 'kubectl-set', fields: [{ path, expected, actual: image }] };
    if (this.primary) this.primary.version += 1;
  }

  /** The controller of the gateway stands still: what is written meanwhile counts afterwards. At 0 it runs again, and takes over what waits. */
  stopGateway(forMs: number): void {
    this.gatewayStoppedUntilMs = this.nowMs + forMs;
    if (forMs === 0 && this.gateway) this.gateway = { ...this.gateway, untilMs: this.nowMs };
  }

  /** The controller of the gateway refuses the route as it is, for this reason; undefined: it accepts it again. */
  refuseRoute(why: string | undefined): void {
    this.routeProblem = why;
  }

  /** Another process leads from now on, whose clock is off by so much; answers of before are lost. */
  leadAnew(clockOffsetMs = 0): void {
    this.clockOffsetMs = clockOffsetMs;
    this.leadingSinceMs = this.clockMs;
    if (this.deletingSinceMs !== undefined) this.deletingSinceMs = this.clockMs;
    this.answer = undefined;
  }

  /** What whoever leads takes for now. */
  get clockMs(): number {
    return this.nowMs + this.clockOffsetMs;
  }

  /** What requests follow now. */
  get served(): RouteView | undefined {
    return this.isWritten ? this.route : this.gateway?.serves;
  }

  /** The data plane has taken over the last write. */
  private get isWritten(): boolean {
    return !this.gateway || this.nowMs >= this.gateway.untilMs || !this.route;
  }

  private podsAt(side: Side): Pods | undefined {
    return side === 'primary' ? this.primary : this.target;
  }

  private behaviourOf(digest: string): Behaviour {
    return this.behaviours.get(gitPart(digest)) ?? GOOD;
  }

  world(): World {
    const { clockMs: nowMs, leadingSinceMs, rejectionsProblem, status } = this;
    const others = {
      ...(leadingSinceMs === undefined ? {} : { leadingSinceMs }),
      ...(rejectionsProblem === undefined ? {} : { rejectionsProblem }),
      deletingSinceMs: this.deletingSinceMs,
      head: this.head,
      records: this.records.map((record) => this.recordAsRead(record)).sort(newestFirst),
      rejected: rejectionsProblem === undefined ? [...this.rejected] : [],
      primary: this.primaryAsRead(),
      target: this.targetAsRead(),
      ...(this.foreign ? { foreignTarget: true } : {}),
      ...(this.recreated ? { recreated: true } : {}),
      adoptable: this.adoptable(),
      movesTo: this.movesTo,
      contention: this.contention,
      routeInGit: this.isSucceeded || undefined,
      scaler: copy(this.scalers?.view),
      route: this.routeAsRead(),
      checks: this.answer,
      window: this.windowNow(),
      freeze: this.freeze,
      stepFreeze: this.freezesStartsOnly ? undefined : this.freeze,
      peers: this.peers,
      options: OPTIONS,
    };
    return { nowMs, canary: this.canary, status, ...others };
  }

  private routeAsRead(): RouteView | undefined {
    const read = this.route && routeRead(this.route, this.isSucceeded);
    const problem = this.routeProblem ?? (this.isWritten ? undefined : NO_GATEWAY);
    return read && problem !== undefined ? { ...read, accepted: false, problem } : read;
  }

  /** Objects and status as Flagger left them: what the primary runs, and what is on the target and at head. */
  leaveByFlagger(
    status: CanaryStatus,
    left: { primary: string; target: string; pods: number; weight: number },
  ): void {
    const pods = (digest: string, desired: number): Pods => {
      return { digest, settingsKey: 's1', desired, ready: desired, oldReady: 0, version: 1 };
    };
    this.foreign = true;
    this.unmarked = true;
    this.primary = pods(left.primary, 2);
    this.target = pods(left.target, left.pods);
    const { weight } = left;
    this.services = { apex: true, primary: true, canary: true };
    this.route = {
      ...{ primaryWeight: 100 - weight, canaryWeight: weight },
      ...{ mirrored: false, matched: false, accepted: true },
    };
    this.status = { lastAppliedSpec: FLAGGERS_HASH, lastPromotedSpec: '6c9f8b44d5', ...status };
    this.commit(left.target);
  }

  /** What was taken over and given back, once Flagger has looked at another revision: the primary is as it was. */
  leaveAgain(status: CanaryStatus, left: { target: string; pods: number; weight: number }): void {
    const { weight } = left;
    this.target = {
      ...{ digest: left.target, settingsKey: 's1', desired: left.pods, ready: left.pods },
      ...{ oldReady: 0, version: 1 },
    };
    this.route = {
      ...{ primaryWeight: 100 - weight, canaryWeight: weight },
      ...{ mirrored: false, matched: false, accepted: true },
    };
    this.status = status;
    this.commit(left.target);
  }

  private get isSucceeded(): boolean {
    return this.routeInGit && this.movesTo !== undefined;
  }

  private get isOver(): boolean {
    return this.gone || this.hasMoved;
  }

  /** It is rolled out in place now. */
  get hasMoved(): boolean {
    return this.movesTo !== undefined && this.status.provider === this.movesTo;
  }

  /** As a workload is left by a provider that rolls out in place: it serves alone, and nothing is made beside it. */
  leaveInPlace(digest: string, route?: RouteView): void {
    this.commit(digest);
    const { provider = 'kubernetes' } = this.canary.spec;
    this.target = { digest, settingsKey: 's1', desired: 2, ready: 2, oldReady: 0, version: 1 };
    this.records = withProven([savedRecord(digest)], digest, this.nowMs);
    this.status = {
      phase: 'Succeeded',
      provider,
      move: { to: provider, startTime: new Date(this.nowMs).toISOString() },
    };
    this.route = route;
  }

  private adoptable(): World['adoptable'] {
    if (!this.primary || this.head.kind !== 'release' || this.status.run) return undefined;
    const { digest } = this.primary;
    const isRenamed = this.renamed?.from === digest && this.renamed.to === this.head.release.digest;
    const wasFlaggers = this.status.lastAppliedSpec === FLAGGERS_HASH;
    if (!this.unmarked && !isRenamed && !wasFlaggers) return undefined;
    const isHead = isRenamed || this.head.release.digest === digest;
    const release = isHead ? this.head.release : releaseOf(digest, '', 's1');
    return { release, isHead, headWasTried: this.headWasTried };
  }

  private primaryAsRead(): WorkloadView | undefined {
    const seen = this.view('podinfo-primary', this.primary, 'primary');
    return seen && this.unmarked ? { ...seen, digest: undefined, settingsKey: undefined } : seen;
  }

  private targetAsRead(): WorkloadView | undefined {
    const seen = this.view('podinfo', this.target, 'canary');
    if (!this.foreign || this.head.kind === 'release') return seen;
    return seen && { ...seen, digest: undefined };
  }

  private recordAsRead(record: RecordView): RecordView {
    if (!this.damaged.has(record.digest)) return record;
    const atHead = this.head.kind === 'release' && this.head.release.digest === record.digest;
    return {
      ...record,
      damaged: `Secret ${record.name} is gone`,
      inGit: atHead || this.inGit.has(record.digest),
    };
  }

  /** One reconcile: decide, then act; `crashAfter` stops after that many writes (intent and status count). */
  reconcile(crashAfter = Number.POSITIVE_INFINITY): boolean {
    if (this.isOver) return false;
    const decision = step(this.world());
    let budget = crashAfter;
    const changed = decision.status !== undefined && !isSame(decision.status, this.status);
    if (decision.intentFirst && budget-- > 0) this.save(decision);
    if (budget < 0) return true;
    const { acted, left } = this.act(decision, budget);
    budget = left;
    if (budget <= 0) return true;
    if (changed) this.writes += 1;
    this.save(decision);
    this.hear(decision);
    this.asked = decision.check;
    if (!this.asked) return acted || changed;
    return this.hearAnswer(this.asked) || acted || changed;
  }

  /** False while nothing comes. */
  private hearAnswer(asked: CheckRequest): boolean {
    if (asked.hooks.some((type) => this.hooks[type] === 'hang')) return false;
    this.answer = this.answerTo(asked);
    this.asks.push(`${asked.role} ${asked.purpose} ${asked.facts.digest}`);
    noteAnswer(this.passedChecks, this.world(), asked, this.answer);
    return true;
  }

  /** Does the actions lane by lane, up to so many; what is left of them is below zero where it crashed on the way. */
  private act({ actions, status }: Decision, budget: number): { acted: boolean; left: number } {
    let [acted, left] = [false, budget];
    const undone: Action[] = [];
    // What a person lifted with this very decision bars nothing, whichever lane is first.
    const lifted = new Set(actions.flatMap((one) => (one.type === 'Unreject' ? [one.digest] : [])));
    for (const action of inLanes(actions)) {
      if (undone.some((other) => reliesOn(action, other))) {
        undone.push(action);
        continue;
      }
      if (left-- <= 0) return { acted, left };
      const rejected = this.rejected.filter(({ digest }) => !lifted.has(digest));
      this.broken.push(...this.judge({ ...this.world(), status, rejected }, action));
      if (this.refuses(action)) undone.push(action);
      else acted = this.perform(action) || acted;
      this.look();
    }
    return { acted, left };
  }

  /** Every rule that this action would break. */
  private judge(world: World, action: Action): Violation[] {
    return [
      ...violations(world, action),
      ...this.beforeItsCheck(world, action),
      ...this.behindGates(action),
      ...this.behindWindow(action),
      ...this.toNoService(action),
      ...this.whileItDiffers(action),
    ];
  }

  /** Just after a start the bytes of a release without a record come with the first look at Git. */
  private isWithoutBytes(action: Action): boolean {
    const isUnread = this.head.kind === 'unknown' && this.head.reason === 'SourceNotRead';
    return (
      action.type === 'SaveRecord' && isUnread && !this.records.some(({ digest }) => digest === action.digest)
    );
  }

  private refuses(action: Action): boolean {
    const { type } = action;
    const isKept = type === 'Reject' || type === 'Unreject';
    const isKeptOut = isKept && this.rejectionsProblem !== undefined;
    const isRefused = this.refused.has(type) || isKeptOut || this.isWithoutBytes(action);
    if (isRefused) this.refusals.push(type);
    return isRefused;
  }

  /** S9: what somebody changed by hand has proven nothing. */
  private whileItDiffers({ type }: Action): Violation[] {
    if (type !== 'MarkProven' || !this.drift) return [];
    return [{ rule: 'S9', detail: `MarkProven while the primary runs ${this.drift.fields[0]?.actual}` }];
  }

  /** S4, S5: on whichever side it is tried. */
  private beforeItsCheck(world: World, action: Action): Violation[] {
    const digest = runOf(world.status)?.digest;
    if (digest !== undefined && (digest === this.skipped || digest === this.letThrough)) return [];
    return [
      ...(this.target?.digest === digest ? withoutCheck(this.passedChecks, world, action) : []),
      ...(this.isFlaggers(world, action) ? [] : withoutCheckOnPrimary(this.passedChecks, world, action)),
    ];
  }

  /** Flagger analysed what the primary runs, and had written it. */
  private isFlaggers(world: World, { type }: Action): boolean {
    const digest = runOf(world.status)?.digest;
    return type === 'SetTraffic' && digest !== undefined && !this.written.includes(digest);
  }

  private save({ status }: Decision): void {
    this.status = frozen(status);
    const run = runOf(this.status);
    if (run && !run.awaitsWindow && !run.awaitsConfirmation && this.windowNow()?.open !== false)
      this.began.add(run.digest);
    const { digest } = run ?? {};
    if (this.skipped !== digest) this.skipped = undefined;
    if (this.letThrough !== digest) this.letThrough = undefined;
    if (this.canary.spec.skipAnalysis && status?.phase === 'Promoting') this.skipped = digest;
    if (digest && isLetThrough(this.canary, digest)) this.letThrough = digest;
  }

  private hear({ events, status }: Decision): void {
    this.events.push(...events);
    const digest = runOf(status)?.digest;
    if (digest && events.some(({ reason }) => reason === 'Reverting')) this.reverts.push(digest);
  }

  /** Lets time pass: pods of the current templates become ready (or not), then the loop settles. */
  tick(ms = 5000, crashAfter = Number.POSITIVE_INFINITY): void {
    this.nowMs += ms;
    this.scaleByLoad(crashAfter);
    this.roll(this.primary, 'primaryReady');
    this.roll(this.target, 'canaryReady');
    this.look();
    let passes = 0;
    while (this.reconcile(crashAfter) && passes++ < 20 && crashAfter === Number.POSITIVE_INFINITY);
  }

  /** Ticks until the phase (and no run) is reached; throws when it takes too long. */
  until(phase: string, ticks = 200): void {
    for (let count = 0; count < ticks; count += 1) {
      if (this.status.phase === phase && this.status.run === undefined) return;
      this.tick();
    }
    throw new Error(`not ${phase} but ${this.status.phase}: ${this.status.message}`);
  }

  /** From here on both copies have a scaler; the load needs this many pods, and the primary has them. */
  scale(kind: ScalerView['kind'], load: number, bounds?: { canaryMax?: number }): void {
    this.scalers = new ScalerModel(kind, load, bounds);
    if (this.primary) this.primary.desired = load;
  }

  /** Scalers do their work, and the loop looks before the controllers have seen it. */
  private scaleByLoad(crashAfter: number): void {
    if (!this.scalers) return;
    const copies = [this.primary, this.target];
    const before = copies.map((pods) => pods?.desired);
    this.scalers.work(this);
    const scaled = copies.filter((pods, index) => pods && pods.desired !== before[index]);
    for (const pods of scaled) if (pods) pods.unseen = true;
    if (scaled.length > 0) this.reconcile(crashAfter);
    delete this.primary?.unseen;
    delete this.target?.unseen;
  }

  private roll(pods: Pods | undefined, role: 'primaryReady' | 'canaryReady'): void {
    if (!pods) return;
    const side = role === 'primaryReady' ? 'primary' : 'canary';
    const most = side === 'primary' ? this.room : Number.POSITIVE_INFINITY;
    rolled(pods, { healthy: this.behaviourOf(pods.digest)[role], most, broken: this.brokenAt(side) });
  }

  private brokenAt(side: Side): BrokenPods | undefined {
    const { primary, target, crowdedBy } = this;
    const isCrowded = crowdedBy !== undefined && side === 'primary' && (target?.desired ?? 0) > 0;
    const isNew = primary !== undefined && primary.ready < primary.desired;
    return isCrowded && isNew ? { count: 1, fault: crowdedBy, of: undefined } : this.brokenPods[side];
  }

  private view(name: string, pods: Pods | undefined, role: 'primary' | 'canary'): WorkloadView | undefined {
    if (!pods) return undefined;
    const stuck = pods.ready < pods.desired;
    const behaviour = this.behaviourOf(pods.digest);
    const broken = role === 'primary' ? !behaviour.primaryReady : !behaviour.canaryReady;
    const isPrimary = role === 'primary';
    const image = (isPrimary ? this.drift?.fields[0]?.actual : undefined) ?? pods.digest;
    const keepsReadyPod = !this.followsNodes && !(isPrimary ? this.recreate : this.recreateTarget);
    return {
      name,
      uid: name,
      resourceVersion: String(pods.version),
      digest: pods.digest,
      settingsKey: pods.settingsKey,
      drift: isPrimary ? this.drift : undefined,
      configCopies: role === 'primary' ? [this.copyOf(pods)] : [],
      ...countsOf(pods),
      ...(isPrimary && !this.scalers && !this.followsNodes ? { wantedReplicas: this.replicas } : {}),
      followsNodes: this.followsNodes,
      progressDeadlineExceeded: role === 'canary' && this.isCanaryGivenUp,
      keepsReadyPod,
      faults:
        stuck && broken && !pods.unseen
          ? [{ pod: 'p', container: 'app', reason: 'ProbeFailing', message: 'not ready' }]
          : faultsOf(name, pods, this.brokenAt(role)),
      restarts: 0,
      imagesMatch: true,
      images: [{ container: 'app', image, found: [image], ids: [image] }],
      podContainers: ['app'],
    };
  }

  /** The one copy that the primary's release needs. */
  private copyOf({ digest }: Pods): ConfigCopyView {
    const here = this.copy === undefined ? 'missing' : this.copy === digest ? 'asWritten' : 'otherRelease';
    return { kind: 'ConfigMap', name: 'settings-primary', state: here, drift: undefined };
  }

  private answerTo(request: CheckRequest): CheckOutcome {
    const pods = request.role === 'primary' ? this.primary : this.target;
    const behaviour = this.behaviourOf(pods?.digest ?? '');
    const overall = request.role === 'primary' ? behaviour.primaryMetric : behaviour.canaryMetric;
    const readings = request.metrics.map((name) => {
      if (this.providerDown)
        return { name, reading: { kind: 'error' as const, detail: 'connection refused' } };
      const value = behaviour.metrics?.[name] ?? overall;
      if (value === undefined) return { name, reading: { kind: 'noData' as const, detail: 'no values' } };
      return { name, reading: { kind: 'value' as const, value } };
    });
    const hooks = request.hooks.flatMap((type) => this.answersOf(type, request.facts.digest));
    return { key: request.key, atMs: this.clockMs, readings, hooks };
  }

  private answersOf(type: HookType, digest: string): HookAnswer[] {
    this.hookCalls.set(type, (this.hookCalls.get(type) ?? 0) + 1);
    const verdict = this.hooks[type] ?? (type === 'rollback' ? 'refused' : 'approved');
    if (verdict === 'hang') return [];
    if (verdict === 'approved') this.gatesPassed.add(`${type} ${digest}`);
    const status = verdict === 'approved' ? 200 : 403;
    return hooksOf(this.canary, type).map(({ name }) => ({
      name,
      type,
      verdict,
      detail: `answered ${status}`,
    }));
  }

  /** Traffic goes to a Service that is there, or that nobody can make: what its ports are is lost. */
  private toNoService(action: Action): Violation[] {
    if (action.type !== 'SetTraffic' || this.refused.has('EnsureServices')) return [];
    const { primaryWeight, canaryWeight, matched } = action.route;
    const { primary, target } = this.world();
    const misses = (side: 'primary' | 'canary', view: WorkloadView | undefined) =>
      !this.services[side] && view?.digest !== undefined && this.isKept(view.digest);
    const missing = [
      ...((primaryWeight > 0 || matched) && misses('primary', primary) ? ['primary'] : []),
      ...(canaryWeight > 0 && misses('canary', target) ? ['canary'] : []),
    ];
    return missing.map((side) => ({
      rule: 'S1',
      detail: `traffic for the Service of the ${side}, which is gone`,
    }));
  }

  private isKept(digest: string): boolean {
    const atHead = this.head.kind === 'release' && this.head.release.digest === digest;
    return atHead || this.records.some((one) => one.digest === digest && !this.damaged.has(digest));
  }

  /** S29: nothing of a release is written before its gates approved, whatever a crash left behind. */
  private behindGates(action: Action): Violation[] {
    const { spec } = this.canary;
    const good = lastKnownGood(this.world())?.digest;
    if (action.type !== 'ApplyPrimary' && action.type !== 'ApplyCanary') return [];
    if (action.digest === good || good === undefined || (action.type === 'ApplyCanary' && !action.replicas))
      return [];
    const isSkipped = spec.skipAnalysis === true || action.digest === this.skipped;
    const analysed = !isSkipped && this.status.run?.fastLane !== true;
    const approved = (this.status.run as { approved?: string[] } | undefined)?.approved ?? [];
    const isAsked = runOf(this.status)?.rollback !== undefined;
    const gates: HookType[] = approved.includes('Waiting') || isAsked ? [] : ['confirm-rollout'];
    if (
      action.type === 'ApplyPrimary' &&
      analysed &&
      !approved.includes('WaitingPromotion') &&
      runOf(this.status)?.side !== 'primary'
    )
      gates.push('confirm-promotion');
    return gates
      .filter((type) => hooksOf(this.canary, type).length > 0)
      .filter((type) => !this.gatesPassed.has(`${type} ${action.digest}`))
      .map((type) => ({ rule: 'S29', detail: `${action.type} ${action.digest} before ${type} approved` }));
  }

  /** Undefined: until it is lifted. */
  freezeFor(forMs: number | undefined): void {
    const untilMs = forMs === undefined ? undefined : this.nowMs + forMs;
    this.freeze = { by: 'ConfigMap shop/sale', untilMs, reason: 'the sale' };
  }

  /** Closed until this much time has passed, then open. */
  closeWindow(forMs: number): void {
    this.window = { open: false, nextOpeningMs: this.nowMs + forMs };
  }

  private windowNow(): WindowView | undefined {
    const { window, nowMs } = this;
    if (!window || nowMs >= (window.nextOpeningMs ?? nowMs)) return window && { open: true };
    return { ...window, nextOpeningMs: (window.nextOpeningMs ?? nowMs) + this.clockOffsetMs };
  }

  /** Nothing of a release is written first while its window is closed, unless it is a way back or a person wants it. */
  private behindWindow(action: Action): Violation[] {
    const starts = action.type === 'ApplyPrimary' || (action.type === 'ApplyCanary' && action.replicas > 0);
    const { canary, status, began } = this;
    if (!starts || lastKnownGood(this.world()) === undefined) return [];
    const { digest } = action;
    const isProven = this.records.some((one) => one.digest === digest && one.promotedTime !== undefined);
    const run = runOf(status);
    const asked = canary.metadata.annotations?.['holdfast.dev/ignore-window'];
    const isAsked = run?.promoteNow === true || run?.rollback !== undefined || asked !== undefined;
    if (this.windowNow()?.open !== false || isProven || isAsked) began.add(digest);
    if (began.has(digest)) return [];
    return [{ rule: 'Window', detail: `${action.type} ${digest} while the window is closed` }];
  }

  /** Requests fail where traffic meets a copy without ready pods. */
  private look(): void {
    if (!this.route) return;
    this.scalers?.measure(this, `${this.status.phase}/${this.status.postPromotion?.state ?? '-'}`);
    this.broken.push(
      ...seeBackends(this.backends, { route: this.route, inGit: this.isSucceeded, nowMs: this.nowMs }),
    );
    const ready = (pods: Pods | undefined) => (pods ? pods.ready + pods.oldReady : 0);
    const served = servedBy(this.served ?? this.route);
    const where = `${this.status.phase}/${this.status.postPromotion?.state ?? '-'}`;
    if (served.primary && ready(this.primary) === 0) this.outages.push(`primary ${where}`);
    if (served.target && ready(this.target) === 0) this.outages.push(`canary ${where}`);
  }

  private perform(action: Action): boolean {
    const all = () => [
      [this.primary, this.target, this.route, this.scalers?.view],
      [this.records, this.rejected, [...this.damaged], this.copy, this.services, this.drift],
    ];
    const before = JSON.stringify(all());
    this.change(action);
    if (this.primary && this.primary.desired > this.capped) resized(this.primary, this.capped);
    const changed = before !== JSON.stringify(all());
    if (changed) this.writes += 1;
    return changed;
  }

  private reject({ digest, commit, reason, cause }: Extract<Action, { type: 'Reject' }>): void {
    if (this.rejected.some((entry) => entry.digest === digest)) return;
    const time = new Date(this.clockMs).toISOString();
    this.rejected.push({ digest, commit, reason, time, ...(cause ? { cause } : {}) });
  }

  private saveRecord(digest: string): void {
    this.damaged.delete(digest);
    if (!this.records.some((record) => record.digest === digest)) this.records.unshift(savedRecord(digest));
  }

  private change(action: Action): void {
    switch (action.type) {
      case 'SaveRecord':
        return this.saveRecord(action.digest);
      case 'MarkProven':
        this.records = withProven(this.records, action.digest, this.clockMs, action.after);
        return;
      case 'RemoveRecords':
        this.records = this.records.filter(({ name }) => !action.names.includes(name));
        return;
      case 'ApplyCanary':
        return this.writeTarget(action.digest, action.replicas);
      case 'ScaleCanary':
        return this.scaleTarget(action.replicas);
      case 'ApplyPrimary':
        this.unmarked = false;
        return this.applyPrimary(action.digest);
      case 'AdoptPrimary':
        this.unmarked = false;
        this.copy = action.digest;
        if (this.primary) this.primary.digest = action.digest;
        return;
      case 'RestoreConfigs':
        this.copy = action.digest;
        return;
      case 'ApplySettings':
        if (this.primary) this.primary.settingsKey = action.settingsKey;
        if (this.primary && !this.scalers && !this.followsNodes) resized(this.primary, this.replicas);
        return;
      case 'ScalePrimary':
        if (this.primary) resized(this.primary, action.replicas);
        return;
      case 'EnsureServices':
        return this.ensureServices(action);
      case 'ApplyScalers':
      case 'RemoveScaler':
        return;
      case 'SetScalerFloor':
      case 'PauseScaler':
        return this.scalers?.change(action);
      case 'SetTraffic':
        return this.setRoute(routeRead(action.route, this.isSucceeded));
      case 'Reject':
        return this.reject(action);
      case 'Unreject':
        this.rejected = this.rejected.filter((entry) => entry.digest !== action.digest);
        return;
      case 'Disown':
        this.ownerless = { routes: true, primary: this.ownerless.primary || action.primary };
        return;
      case 'ReleaseCopies':
        this.primary = undefined;
        this.copy = undefined;
        return;
      case 'RemoveFinalizer':
        this.goWithOwner();
    }
  }

  private setRoute(after: RouteView): void {
    const untilMs = Math.max(this.nowMs + this.gatewayDelayMs, this.gatewayStoppedUntilMs);
    const gateway = this.isWritten ? undefined : this.gateway;
    this.gateway =
      untilMs > this.nowMs ? afterWrite(gateway, { before: this.route, after, untilMs }) : gateway;
    this.route = after;
  }

  /** Under a scaler the number is left alone. */
  private primaryPods(): number {
    return this.scalers ? (this.primary?.desired ?? 1) : this.replicas;
  }

  /** Of a lost release nobody can tell the ports. */
  private ensureServices({ primaryDigest, canaryDigest }: Extract<Action, { type: 'EnsureServices' }>): void {
    if (this.isKept(primaryDigest)) Object.assign(this.services, { apex: true, primary: true });
    if (canaryDigest !== undefined && this.isKept(canaryDigest)) this.services.canary = true;
  }

  private writeTarget(digest: string, replicas: number): void {
    this.services.canary = true;
    const isAsked = this.target?.digest === digest;
    if (this.foreign && !isAsked) throw new Error("another tool's target was to be written");
    if (this.foreign) this.scaleTarget(replicas);
    else
      this.target = this.applied(
        this.target,
        digest,
        this.podsOf(replicas),
        this.followsNodes || this.recreateTarget,
      );
  }

  private scaleTarget(replicas: number): void {
    const { target } = this;
    if (!target || target.desired === this.podsOf(replicas)) return;
    resized(target, this.podsOf(replicas));
  }

  private applyPrimary(digest: string): void {
    this.copy = digest;
    if (this.primary?.digest !== digest) this.written.push(digest);
    const recreate = this.recreate || this.followsNodes;
    if (this.drift && this.primary?.digest === digest) this.replaceEdited(this.primary, recreate);
    this.drift = undefined;
    this.primary = this.applied(this.primary, digest, this.primaryPods(), recreate);
  }

  /** Its template is written again over what somebody made of it. */
  private replaceEdited(pods: Pods, recreate: boolean): void {
    const serving = pods.ready + pods.oldReady;
    Object.assign(pods, { ready: 0, oldReady: recreate ? 0 : Math.min(serving, pods.desired) });
    pods.version += 1;
  }

  /** A DaemonSet runs on both nodes or on none. */
  private podsOf(replicas: number): number {
    return this.followsNodes && replicas > 0 ? 2 : replicas;
  }

  private applied(pods: Pods | undefined, digest: string, desired: number, recreate: boolean): Pods {
    const settingsKey =
      this.head.kind === 'release' ? this.head.release.settingsKey : (pods?.settingsKey ?? 's1');
    if (!pods) return { digest, settingsKey, desired, ready: 0, oldReady: 0, version: 1 };
    if (pods.digest === digest)
      return { ...pods, desired, ready: Math.min(pods.ready, desired), settingsKey };
    const serving = pods.ready + pods.oldReady;
    const oldReady = recreate ? 0 : Math.min(serving, desired);
    const { digest: oldDigest, version } = pods;
    return { digest, settingsKey, desired, ready: 0, oldReady, oldDigest, version: version + 1 };
  }
}

export function releaseOf(digest: string, sha: string, settingsKey: string): ReleaseView {
  return {
    digest,
    commit: { commit: sha, subject: `release ${digest}`, author: 'dev', time: '2026-01-01T00:00:00Z' },
    settingsKey,
    replicas: 2,
    mountsConfig: false,
  };
}
