import type { Canary } from '../../../api/canary/canary.ts';
import type { CanaryStatus } from '../../../api/canary/status.ts';
import type { CommitInfo } from '../../../api/commit.ts';
import {
  type KubernetesObject,
  namespacedName,
  type ObjectReference,
  recordOf,
  recordsOf,
  valueAt,
} from '../../../api/kubernetes.ts';
import type { Cluster } from '../../../contracts/cluster.ts';
import { buildRelease, viewOf } from '../../../release/build.ts';
import { recordTooLarge } from '../../../release/record.ts';
import { type ConfigReference, type Release, trackedReferences } from '../../../release/release.ts';
import { commitOfDigest } from '../../../rollout/commits.ts';
import { wantedConfig, wantedTarget } from '../../../workload/adopted-target.ts';
import { commitAnnotation } from '../../../workload/shared/metadata.ts';
import { recordViews } from '../../records/records.ts';
import { commonInstanceLabel, isListedAs, tracksOn } from '../../tracks.ts';
import type { Head } from './heads.ts';
import { createLiveConfig, readConfigs } from './live-config.ts';
import type { NamespaceView } from './namespace-view.ts';
import type { LiveHeads } from './observation.ts';

interface Known {
  /** Of everything the head was built from; another one builds anew. */
  readonly version: string;
  readonly references: readonly ConfigReference[];
  readonly head: Head;
}

/** What the reader works with. */
interface LiveHeadOptions {
  readonly cluster: Pick<Cluster, 'get'>;
  /** The cluster's HMAC key. */
  readonly secretKey: Uint8Array;
  /** False: ConfigMaps and Secrets are no part of a release. */
  readonly tracksConfig: boolean;
}

/** A reader that has read nothing yet. */
export function createLiveHeads({ cluster, secretKey, tracksConfig }: LiveHeadOptions): LiveHeads {
  const memory = new Map<string, Known>();
  const liveConfig = createLiveConfig(cluster, secretKey);

  async function build(canary: Canary, live: KubernetesObject, view: NamespaceView): Promise<Head> {
    const target = wantedTarget(live);
    const found = await readConfigs(cluster, view.namespace, trackedReferences(target, tracksConfig));
    const configs = found.map(wantedConfig);
    const input = { canary, target, configs, secretKey, tracksConfig, origins: [], commit: noCommit };
    const built = buildRelease(input);
    if (!built.ok) return broken('InvalidManifests', `${built.problem.object}: ${built.problem.message}`);
    const problem = recordTooLarge(built.ok);
    if (problem) return broken('RecordTooLarge', problem);
    const release = { ...built.ok, commit: await commitFor(built.ok, canary, { live, view }) };
    const seen = { ...viewOf(release), hasLiveConfig: release.configs.length > 0 };
    return { view: { kind: 'release', release: seen }, release };
  }

  /**
   * The commit of a digest stays what it was found to be first, and what the Canary remembers of it after a start: tools, and who stamps
   * manifests, tell of their newest one, which may not have touched it.
   */
  async function commitFor(
    { digest, canary: name }: Release,
    canary: Canary,
    { live, view }: { live: KubernetesObject; view: NamespaceView },
  ): Promise<CommitInfo> {
    const before = memory.get(namespacedName(canary))?.head.release;
    if (before?.digest === digest && before.commit.commit) return before.commit;
    const records = recordViews(view.records(), name);
    const { lastAppliedSpec, lastAppliedCommit, run } = (canary.status ?? {}) as CanaryStatus;
    const startedLast = { run, lastAppliedSpec, lastAppliedCommit };
    const started = before ? undefined : commitOfDigest({ status: startedLast, rejected: [] }, digest);
    if (started) return started;
    const annotated = annotatedCommit(live);
    if (annotated) return { ...noCommit, commit: annotated };
    const recorded = records.find((record) => record.digest === digest)?.commit;
    if (recorded?.commit) return recorded;
    return { ...noCommit, commit: await trackedCommit(cluster, live) };
  }

  return {
    withLiveConfig: liveConfig.withLiveConfig,
    async read(canary, target, view) {
      const wanted = wantedTarget(target);
      const references = trackedReferences(wanted, tracksConfig);
      const versions = references.map(({ kind, name }) => view.configVersion(kind, name));
      if (versions.includes(undefined)) return undefined;
      const { service, revisionIgnore } = canary.spec;
      const seen = [target.metadata.uid, annotatedCommit(target), wanted, versions, service, revisionIgnore];
      const version = JSON.stringify(seen);
      const before = memory.get(namespacedName(canary));
      if (before?.version === version) return before.head;
      const head = await build(canary, target, view);
      memory.set(namespacedName(canary), { version, references, head });
      return head;
    },
    names(canaryKey, config) {
      const { kind, metadata } = config;
      const references = memory.get(canaryKey)?.references ?? [];
      const isNamed = references.some((one) => one.kind === kind && one.name === metadata.name);
      return isNamed || liveConfig.names(canaryKey, config);
    },
    forget(canaryKey) {
      memory.delete(canaryKey);
      liveConfig.forget(canaryKey);
    },
  };
}

const noCommit: CommitInfo = { commit: '', subject: '', author: '', time: '' };

function broken(reason: string, message: string): Head {
  return { view: { kind: 'unknown', reason, message } };
}

const fullCommit = /(?:^|[:@/+-])([0-9a-f]{40})(?:$|[^0-9a-f])/;

/** What the object's own annotation says; empty when it says no full SHA. */
function annotatedCommit({ metadata }: KubernetesObject): string {
  return commitIn(metadata.annotations?.[commitAnnotation]);
}

/**
 * The commit that Flux or Argo CD applies or applied last, from the object of theirs that tracks the target. Empty when none is known: it
 * only names a release, so that no right and no answer are no reason to wait.
 */
async function trackedCommit(cluster: Pick<Cluster, 'get'>, target: KubernetesObject): Promise<string> {
  for (const { reference, revisions } of trackersOf(target)) {
    const tracker = await cluster.get(reference).catch(() => undefined);
    const commit = tracker && revisions(tracker).map(commitIn).find(Boolean);
    if (commit) return commit;
  }
  return '';
}

interface Tracker {
  readonly reference: ObjectReference;
  /** Where it names a revision, the best first. */
  readonly revisions: (tracker: KubernetesObject) => unknown[];
}

function trackersOf(target: KubernetesObject): Tracker[] {
  const tracks = tracksOn(target);
  const ownerOf = (wanted: 'Kustomization' | 'Application') =>
    tracks.find(({ kind }) => kind === wanted)?.owner;
  const [kustomization, application] = [ownerOf('Kustomization'), ownerOf('Application')];
  const instance = target.metadata.labels?.[commonInstanceLabel];
  return [
    ...(kustomization === undefined ? [] : [kustomizationOf(kustomization)]),
    ...(application === undefined ? [] : [applicationOf(application)]),
    ...(application !== undefined || instance === undefined
      ? []
      : [listing(applicationOf(instance), target)]),
  ];
}

/** Charts set the label that Argo CD may track by, too: only an Application that lists the target has applied it. */
function listing({ reference, revisions }: Tracker, target: KubernetesObject): Tracker {
  const lists = ({ status }: KubernetesObject) =>
    recordsOf(recordOf(status).resources).some((one) => isListedAs(target, one));
  return { reference, revisions: (tracker) => (lists(tracker) ? revisions(tracker) : []) };
}

function kustomizationOf(owner: string): Tracker {
  const [namespace = '', name = ''] = owner.split('/');
  return {
    reference: { apiVersion: 'kustomize.toolkit.fluxcd.io/v1', kind: 'Kustomization', namespace, name },
    // Written before anything of the revision is applied, so that it names what is being applied now.
    revisions: ({ status }) =>
      ['lastAttemptedOriginRevision', 'lastAttemptedRevision'].map((field) => valueAt(status, [field])),
  };
}

function applicationOf(owner: string): Tracker {
  const [name = '', namespace = 'argocd'] = owner.split('_').reverse();
  return {
    reference: { apiVersion: 'argoproj.io/v1alpha1', kind: 'Application', namespace, name },
    revisions: ({ status }) => [
      valueAt(status, ['operationState', 'syncResult', 'revision']),
      valueAt(status, ['sync', 'revision']),
    ],
  };
}

function commitIn(revision: unknown): string {
  return typeof revision === 'string' ? (fullCommit.exec(revision)?.[1] ?? '') : '';
}
