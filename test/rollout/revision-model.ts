import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import type { RouteView } from '../../src/api/observed.ts';
import type { WorkloadView } from '../../src/health/workload-view.ts';
import type { Release, WorkloadSettings } from '../../src/release/release.ts';
import type { Action } from '../../src/rollout/outcome.ts';
import type { World } from '../../src/rollout/world.ts';
import { nativeKind } from '../../src/workload/kinds.ts';
import { type NativeView, viewNative } from '../../src/workload/native-view.ts';
import { nativeWorkload, type Stage } from '../../src/workload/native-workload.ts';
import { promotedDigestOf, stepShareOf } from '../../src/workload/shared/metadata.ts';
import type { ViewSource } from '../../src/workload/shared/workload-kind.ts';
import { NativeModel } from './native-model.ts';

type Json = Record<string, unknown>;

interface ModelPod {
  readonly name: string;
  readonly uid: string;
  /** Digest of the release whose template it is of. */
  readonly digest: string;
  readonly place: number;
  ready: boolean;
  stopping: boolean;
}

/** The same for kinds that tell templates apart by revisions; the objects are built and read by the code that runs in the cluster. */
export abstract class RevisionModel extends NativeModel {
  live: KubernetesObject | undefined;
  pods: ModelPod[] = [];
  protected born = 0;
  protected observed: { generation: number; update: string; current: string } | undefined;

  abstract wantedPlaces(): number[];
  /** One small thing of its controller. */
  protected abstract manage(): void;
  protected abstract reported(of: { alive: ModelPod[]; updated: number }): Json;

  override triedPods(): number {
    const promoted = this.live && promotedDigestOf(this.live);
    return promoted === undefined ? 0 : this.alive().filter(({ digest }) => digest !== promoted).length;
  }

  override ready(): number {
    return this.alive().filter((pod) => pod.ready).length;
  }

  alive(): ModelPod[] {
    return this.pods.filter((pod) => !pod.stopping);
  }

  /** Somebody, or something, ends the pod of this place. */
  end(place: number): void {
    for (const pod of this.alive()) if (pod.place === place) pod.stopping = true;
  }

  protected make(place: number, digest: string): void {
    this.born += 1;
    const uid = `uid-${this.born}`;
    this.pods.push({ name: `web-${place}`, uid, digest, place, ready: false, stopping: false });
  }

  /** Digest of the release whose template the workload has. */
  protected template(): string {
    const { template } = (this.live?.spec ?? {}) as {
      template?: { spec: { containers: Array<{ image: string }> } };
    };
    return template?.spec.containers[0]?.image ?? '';
  }

  protected strategy(): { type: string; rollingUpdate?: { partition?: number } } {
    const { updateStrategy = { type: '' } } = (this.live?.spec ?? {}) as {
      updateStrategy?: { type: string; rollingUpdate?: { partition?: number } };
    };
    return updateStrategy;
  }

  protected override control(): void {
    if (!this.live) return;
    const template = this.template();
    const current = this.observed?.current ?? template;
    this.observed = { generation: this.live.metadata.generation ?? 0, update: template, current };
    this.pods = this.pods.filter((pod) => !pod.stopping);
    this.manage();
    for (const pod of this.alive()) pod.ready = !this.unready.has(pod.digest);
    const alive = this.alive();
    const places = this.wantedPlaces();
    if (alive.length === places.length && alive.every((pod) => pod.ready && pod.digest === template))
      this.observed.current = template;
  }

  protected override look(): void {
    if (!this.live || promotedDigestOf(this.live) === undefined) return;
    const share = stepShareOf(this.live) ?? 0;
    const tried = this.triedPods();
    const most = Math.ceil((share * this.wantedPlaces().length) / 100);
    const digest = this.asked() ?? '';
    this.mostTried.set(digest, Math.max(tried, this.mostTried.get(digest) ?? 0));
    if (tried > most) this.broken.push({ rule: 'S4', detail: `${tried} pods at ${share} %` });
  }

  protected override asked(): string | undefined {
    return this.live?.metadata.annotations?.['holdfast.dev/digest'];
  }

  protected override snapshot(): string {
    return JSON.stringify([this.live, this.records, this.rejected]);
  }

  protected override change(action: Action): void {
    switch (action.type) {
      case 'ApplyCanary':
        return this.apply(action.digest, { kind: 'withheld', older: this.releaseOf(this.asked() ?? '') });
      case 'ApplyPrimary':
        return this.apply(action.digest, { kind: 'whole' });
      case 'SetTraffic':
        return this.setShare(action.route.canaryWeight);
      case 'ReplacePods':
        return this.replace(action.pods, 'stuck');
      default:
        return super.change(action);
    }
  }

  private setShare(weightPercent: number): void {
    const { live } = this;
    if (!live) return;
    const promoted = promotedDigestOf(live);
    if (weightPercent === 0 && promoted !== undefined) return this.apply(promoted, { kind: 'returning' });
    if (weightPercent === 0) {
      const isBack = stepShareOf(live) !== undefined && this.seen()?.route.canaryWeight === 0;
      return isBack ? this.apply(this.asked() ?? '', { kind: 'whole' }) : undefined;
    }
    const { settings } = this.settings();
    const { held, replace } = nativeKind(this.canary).next({
      source: this.source(live),
      weightPercent,
      settings,
    });
    const before = JSON.stringify(live);
    const older = this.releaseOf(promoted ?? '');
    this.apply(this.asked() ?? '', { kind: 'held', older, weightPercent, held });
    if (before === JSON.stringify(this.live)) this.replace(replace, 'step');
  }

  private replace(pods: ReadonlyArray<{ name: string; uid: string }>, why: 'stuck' | 'step'): void {
    for (const pod of this.pods) {
      if (!pods.some(({ uid }) => uid === pod.uid)) continue;
      if (why === 'stuck' && (pod.ready || pod.digest === this.template()))
        this.broken.push({ rule: 'ADR 27', detail: `pod ${pod.name} was not stuck` });
      pod.stopping = true;
    }
  }

  private apply(digest: string, stage: Stage): void {
    const { live, canary } = this;
    const { settings, replicas } = this.settings();
    const release = this.releaseOf(digest);
    const source = { canary, release, settings, settingsKey: 's1', replicas };
    const wanted = nativeWorkload({ ...source, live: live && this.source(live).workload }, stage);
    const { generation = 0 } = live?.metadata ?? {};
    const isSame = JSON.stringify(live?.spec) === JSON.stringify(wanted.spec);
    const metadata = { ...wanted.metadata, uid: 'web', generation: isSame ? generation : generation + 1 };
    const next = { ...wanted, metadata };
    if (JSON.stringify({ ...live, status: undefined }) !== JSON.stringify({ ...next, status: undefined }))
      this.live = next;
  }

  protected abstract settings(): {
    readonly settings: WorkloadSettings;
    readonly replicas: number | undefined;
  };

  private releaseOf(digest: string): Release {
    const { kind } = this.canary.spec.targetRef;
    const labels = { app: 'web' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'app', image: digest }] } };
    const metadata = { name: 'web', namespace: 'test' };
    const target = {
      apiVersion: 'apps/v1',
      kind,
      metadata,
      spec: { selector: { matchLabels: labels }, template },
    };
    return { digest, target, configs: [], commit: { commit: digest } } as unknown as Release;
  }

  protected source(live: KubernetesObject): ViewSource {
    const alive = this.alive();
    const update = this.observed?.update ?? '';
    const updated = alive.filter(({ digest }) => digest === update).length;
    const ownerReferences = [
      { apiVersion: 'apps/v1', kind: live.kind, name: 'web', uid: 'web', controller: true },
    ];
    const status = {
      observedGeneration: this.observed?.generation ?? 0,
      ...this.reported({ alive, updated }),
    };
    const revisions = [...new Set([...this.pods.map(({ digest }) => digest), update])].filter(Boolean);
    return {
      workload: { ...live, status } as KubernetesObject,
      pods: this.pods.map((pod) => ({
        ...{ apiVersion: 'v1', kind: 'Pod' },
        metadata: {
          ...{ name: pod.name, namespace: 'test', uid: pod.uid, ownerReferences },
          labels: { 'controller-revision-hash': pod.digest },
          ...(pod.stopping ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
        },
        spec: { nodeName: `node-${pod.place}`, containers: [{ name: 'app', image: pod.digest }] },
        status: { conditions: [{ type: 'Ready', status: pod.ready ? 'True' : 'False' }] },
      })),
      controllerRevisions: revisions.map((digest) => ({
        ...{ apiVersion: 'apps/v1', kind: 'ControllerRevision', revision: digest === update ? 2 : 1 },
        metadata: { name: digest, ownerReferences, labels: { 'controller-revision-hash': digest } },
      })),
      replicaSets: [],
      service: undefined,
    };
  }

  private seen(): NativeView | undefined {
    return this.live && viewNative(nativeKind(this.canary), this.source(this.live));
  }

  protected override primary(): WorkloadView | undefined {
    const seen = this.seen();
    return seen && { ...seen.primary, drift: undefined, configCopies: [] };
  }

  protected override target(): WorkloadView | undefined {
    const seen = this.seen();
    return seen && { ...seen.target, drift: undefined, configCopies: [] };
  }

  protected override route(): RouteView {
    const none = { primaryWeight: 100, canaryWeight: 0, mirrored: false, matched: false, accepted: true };
    return this.seen()?.route ?? none;
  }

  protected override stuckPods(): World['stuckPods'] {
    return this.seen()?.stuckPods ?? [];
  }
}

/** A controller that goes by order and partition. */
export class StatefulSetModel extends RevisionModel {
  constructor(replicas: number, analysis: object = {}) {
    super(replicas, analysis, 'StatefulSet');
  }

  override wantedPlaces(): number[] {
    const { replicas = this.replicas } = (this.live?.spec ?? {}) as { replicas?: number };
    return Array.from({ length: replicas }, (_, index) => index);
  }

  protected override settings() {
    return { settings: { replicas: this.replicas }, replicas: this.replicas };
  }

  protected override manage(): void {
    const partition = this.strategy().rollingUpdate?.partition ?? 0;
    const { update, current } = this.observed ?? { update: '', current: '' };
    const at = (place: number) => this.pods.find((pod) => pod.place === place);
    for (const place of this.wantedPlaces()) {
      const pod = at(place);
      if (!pod) this.make(place, place < partition ? current : update);
      if (!pod?.ready) return;
    }
    for (const place of this.wantedPlaces().reverse()) {
      if (place < partition) return;
      if (at(place)?.digest !== update) return this.end(place);
    }
  }

  protected override reported({ alive, updated }: { alive: ModelPod[]; updated: number }): Json {
    const ready = alive.filter((pod) => pod.ready).length;
    return {
      ...{ replicas: this.pods.length, readyReplicas: ready, availableReplicas: ready },
      ...{ updatedReplicas: updated, updateRevision: this.observed?.update },
      currentRevision: this.observed?.current,
    };
  }
}

/** One pod a node; nodes may come. */
export class DaemonSetModel extends RevisionModel {
  constructor(nodes: number, analysis: object = {}) {
    super(nodes, analysis, 'DaemonSet');
  }

  override wantedPlaces(): number[] {
    return Array.from({ length: this.replicas }, (_, index) => index);
  }

  /** Nobody takes pods of a step at this moment: the template is that of the older pods. */
  stands(): boolean {
    return this.template() === (this.live && promotedDigestOf(this.live));
  }

  protected override settings() {
    const rollingUpdate = { maxSurge: 0, maxUnavailable: 1 };
    return { settings: { strategy: { type: 'RollingUpdate', rollingUpdate } }, replicas: undefined };
  }

  protected override manage(): void {
    const update = this.observed?.update ?? '';
    for (const place of this.wantedPlaces())
      if (!this.pods.some((pod) => pod.place === place)) this.make(place, update);
    if (this.strategy().type === 'OnDelete') return;
    const old = this.alive().filter(({ digest }) => digest !== update);
    const away = this.wantedPlaces().length - this.ready();
    const next = old.find(({ ready }) => !ready) ?? (away < 1 ? old[0] : undefined);
    if (next) next.stopping = true;
  }

  protected override reported({ alive, updated }: { alive: ModelPod[]; updated: number }): Json {
    const ready = alive.filter((pod) => pod.ready).length;
    return {
      ...{ desiredNumberScheduled: this.replicas, currentNumberScheduled: this.pods.length },
      ...{ updatedNumberScheduled: updated, numberReady: ready, numberAvailable: ready },
    };
  }
}
