/** The drill: would the cluster take the last-known-good today? Everything is asked by dry-run; nothing is stored. */
import type { Canary } from '../../../api/canary/canary.ts';
import type { CanaryStatus } from '../../../api/canary/status.ts';
import { describe, type KubernetesObject, namespacedName } from '../../../api/kubernetes.ts';
import type { DecodedRecord } from '../../../release/record.ts';
import { templateOf } from '../../../release/release.ts';
import { workloadKind } from '../../../workload/kinds.ts';
import { type DrillFinding, findingOf, missingReferences, type Unseen } from './findings.ts';
import { type DrillParts, drillPod, primaryOf, servicesOf } from './objects.ts';

/** What a drill found. */
export interface DrillReport {
  /** `namespace/name`. */
  readonly canary: string;
  /** The release that a revert would apply; undefined while no release has proven itself. */
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
 * Tries everything that the last-known-good consists of: config copies, primary, Services, and one pod of the primary's template. Images are not
 * pulled. Throws when the API server does not answer: then nothing is known.
 */
export async function drill(parts: DrillParts, canary: Canary): Promise<DrillReport> {
  const key = namespacedName(canary);
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
