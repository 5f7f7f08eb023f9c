import type { Canary } from '../../../api/canary/canary.ts';
import type { CanaryStatus } from '../../../api/canary/status.ts';
import { type KubernetesObject, namespacedName } from '../../../api/kubernetes.ts';
import type { CommitInfo } from '../../../api/observed.ts';
import type { Cluster } from '../../../contracts/cluster.ts';
import { buildRelease, viewOf } from '../../../release/build.ts';
import { recordTooLarge } from '../../../release/record.ts';
import {
  type ConfigReference,
  configReferences,
  isKnative,
  type Release,
  templateOf,
} from '../../../release/release.ts';
import { commitOfDigest } from '../../../rollout/state.ts';
import { wantedConfig, wantedTarget } from '../../../workload/adopted-target.ts';
import { recordViews } from '../../records/records.ts';
import type { Head } from './heads.ts';
import { createLiveConfig, type LiveHeads } from './live-config.ts';
import type { NamespaceView } from './namespace-view.ts';
import { annotatedCommit, trackedCommit } from './tracked-commit.ts';

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

  function referencesOf(target: KubernetesObject): ConfigReference[] {
    return tracksConfig && !isKnative(target) ? configReferences(templateOf({ target })) : [];
  }

  async function build(canary: Canary, live: KubernetesObject, view: NamespaceView): Promise<Head> {
    const target = wantedTarget(live);
    const configs = await readConfigs(cluster, view.namespace, referencesOf(target));
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
    ...liveConfig,
    async read(canary, target, view) {
      const wanted = wantedTarget(target);
      const references = referencesOf(wanted);
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
      return isNamed || liveConfig.namesLive(canaryKey, config);
    },
    forget(canaryKey) {
      memory.delete(canaryKey);
      liveConfig.forgetLive(canaryKey);
    },
  };
}

const noCommit: CommitInfo = { commit: '', subject: '', author: '', time: '' };

async function readConfigs(
  cluster: Pick<Cluster, 'get'>,
  namespace: string,
  references: readonly ConfigReference[],
): Promise<KubernetesObject[]> {
  const read = references.map(({ kind, name }) => cluster.get({ apiVersion: 'v1', kind, namespace, name }));
  const found = await Promise.all(read);
  return found.filter((object) => object !== undefined).map(wantedConfig);
}

function broken(reason: string, message: string): Head {
  return { view: { kind: 'unknown', reason, message } };
}
