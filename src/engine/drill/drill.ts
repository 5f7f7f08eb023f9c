/** The drill: would the cluster take the last-known-good today? Everything is asked by dry-run; nothing is stored. */
import type { Canary } from '../../api/canary.ts';
import type { CanaryStatus } from '../../api/canary-status.ts';
import { describe, type KubernetesObject } from '../../api/kubernetes.ts';
import type { DecodedRecord } from '../../release/record.ts';
import { templateOf } from '../../release/release.ts';
import { settingsKey } from '../../release/settings.ts';
import { untrackedIn } from '../../workload/expected-copies.ts';
import { workloadKind } from '../../workload/kinds.ts';
import { serviceNames } from '../../workload/names.ts';
import { primaryObjects, primaryReplicas } from '../../workload/objects.ts';
import { selectorLabel } from '../../workload/selector.ts';
import { services } from '../../workload/services.ts';
import { sideNames } from '../../workload/sides.ts';
import type { EngineOptions } from '../canary/canary-parts.ts';
import { copiesOfOthers, readLiveConfigs } from '../observe/live-configs.ts';
import type { Cluster, DryRun } from '../ports/ports.ts';
import type { Records } from '../records/records.ts';
import { type DrillFinding, findingOf, type Unseen } from './drill-findings.ts';
import { drillPod, missingReferences } from './drill-pods.ts';

/** What a drill is made with. */
export interface DrillParts {
  readonly cluster: Pick<Cluster, 'get'>;
  readonly dryRun: DryRun;
  readonly records: Pick<Records, 'load'>;
  readonly options: Pick<EngineOptions, 'selectorLabels' | 'includeLabelPrefixes'>;
}

/** What a drill found. */
export interface DrillReport {
  /** `namespace/name`. */
  readonly canary: string;
  /** What would be gone back to; undefined while no release has proven itself. */
  readonly release:
    | { readonly digest: string; readonly commit: string; readonly subject: string }
    | undefined;
  readonly passed: boolean;
  readonly findings: readonly DrillFinding[];
  /** What could not be asked, and why; no failure. */
  readonly unseen: readonly Unseen[];
  /** Objects that were tried. */
  readonly objects: number;
}

/**
 * Tries the whole closure of the last-known-good: config copies, primary, Services, and one pod of the primary's template. Images are not
 * pulled. Throws when the API server does not answer: then nothing is known.
 */
export async function drill(parts: DrillParts, canary: Canary): Promise<DrillReport> {
  const key = `${canary.metadata.namespace ?? ''}/${canary.metadata.name}`;
  const { lastKnownGood } = (canary.status ?? {}) as CanaryStatus;
  if (!lastKnownGood?.digest)
    return { canary: key, release: undefined, passed: true, findings: [], unseen: [], objects: 0 };
  const report = {
    canary: key,
    release: { digest: lastKnownGood.digest, commit: lastKnownGood.commit, subject: '' },
  };
  try {
    const name = { namespace: canary.metadata.namespace ?? '', name: canary.metadata.name };
    const record = await parts.records.load(name, lastKnownGood.digest);
    const tried = await tryRecord(parts, canary, record);
    const { commit, subject } = record.commit;
    return { ...report, release: { ...report.release, commit, subject }, ...tried };
  } catch (error) {
    const { finding } = findingOf(`Secret ${key.split('/')[0]}/${lastKnownGood.record}`, error);
    return { ...report, passed: false, findings: finding ? [finding] : [], unseen: [], objects: 0 };
  }
}

type Tried = Pick<DrillReport, 'passed' | 'findings' | 'unseen' | 'objects'>;

async function tryRecord(parts: DrillParts, canary: Canary, record: DecodedRecord): Promise<Tried> {
  const { configs, workload } = await primaryOf(parts, canary, record);
  const hasPods = workloadKind(canary).sides === 'workloads';
  const generated = !hasPods ? [] : await servicesOf(parts, canary, record);
  const pods = !hasPods ? [] : [drillPod(workload, templateOf({ target: workload }))];
  const findings: DrillFinding[] = [];
  const unseen: Unseen[] = [];
  const attempt = async (object: KubernetesObject, send: () => Promise<unknown>): Promise<void> => {
    try {
      await send();
    } catch (error) {
      const found = findingOf(describe(object), error);
      if (found.finding) findings.push(found.finding);
      else unseen.push(found.unseen);
    }
  };
  const applied = [...configs, workload, ...generated];
  for (const object of applied) await attempt(object, () => parts.dryRun.apply(object));
  for (const pod of pods) await attempt(pod, () => parts.dryRun.create(pod));
  findings.push(...(await missingReferences(parts.cluster, workload, configs)));
  return { passed: findings.length === 0, findings, unseen, objects: applied.length + pods.length };
}

async function primaryOf(
  { cluster, options }: DrillParts,
  canary: Canary,
  { release, settings }: DecodedRecord,
): Promise<{ configs: KubernetesObject[]; workload: KubernetesObject }> {
  const namespace = canary.metadata.namespace ?? '';
  const { apiVersion, kind } = workloadKind(canary);
  const live = await cluster.get({ apiVersion, kind, namespace, name: sideNames(canary).primary });
  return primaryObjects({
    canary,
    release,
    settings,
    settingsKey: settingsKey(settings),
    ...options,
    replicas: primaryReplicas({ canary, settings }),
    live,
    liveConfigs: await readLiveConfigs(cluster, namespace, release),
    sharedConfigs: await copiesOfOthers(cluster, canary, release),
    untracked: live ? untrackedIn(live, { canary, release }) : new Set(),
  });
}

/** The canary Service belongs to whatever the canary runs, and is left out. */
async function servicesOf(
  { cluster, options }: DrillParts,
  canary: Canary,
  { release }: DecodedRecord,
): Promise<KubernetesObject[]> {
  const names = serviceNames(canary);
  const namespace = canary.metadata.namespace ?? '';
  const get = (name: string) => cluster.get({ apiVersion: 'v1', kind: 'Service', namespace, name });
  const [apex, primary] = await Promise.all([get(names.apex), get(names.primary)]);
  const generated = services({
    canary,
    label: selectorLabel(release.target, options.selectorLabels),
    ports: release.ports,
    canaryPorts: undefined,
    apexSelects: 'primary',
    live: { apex, primary },
  });
  return [generated.primary, generated.apex];
}
