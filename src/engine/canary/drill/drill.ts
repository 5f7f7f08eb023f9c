/** The drill: would the cluster take the last-known-good today? Everything is asked by dry-run; nothing is stored. */
import type { Canary } from '../../../api/canary/canary.ts';
import type { CanaryStatus } from '../../../api/canary/status.ts';
import {
  describe,
  hasOwnLabels,
  type KubernetesObject,
  nameOf,
  namespacedName,
  referenceOf,
} from '../../../api/kubernetes.ts';
import type { Cluster } from '../../../contracts/cluster.ts';
import type { DecodedRecord } from '../../../release/record.ts';
import { templateOf } from '../../../release/release.ts';
import { workloadKind } from '../../../workload/kinds.ts';
import { holdsKey, type NeededKey, neededKeys } from '../../../workload/shared/config-keys.ts';
import { configKey } from '../../../workload/shared/configs.ts';
import { failureOf, isImmutableChange, isMissingRight } from '../../failure.ts';
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
 * pulled. Throws when the API server does not answer, or does not let the record be read: then nothing is known.
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
    const record = await parts.records.load(nameOf(canary), lastKnownGood.digest);
    const tried = await tryRecord(parts, canary, record);
    const { commit, subject } = record.commit;
    return { ...report, release: { ...report.release, commit, subject }, ...tried };
  } catch (error) {
    const { finding } = findingOf(`Secret ${nameOf(canary).namespace}/${lastKnownGood.record}`, error);
    if (!finding) throw error;
    return { ...report, passed: false, findings: [finding], unseen: [], objects: 0 };
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
  for (const copy of configs) await attempt(copy, () => applyCopy(parts, canary, copy));
  const applied = [workload, ...generated];
  for (const object of applied) await attempt(object, () => parts.dryRun.apply(object));
  for (const pod of pods) await attempt(pod, () => parts.dryRun.create(pod));
  await attempt(workload, async () => {
    findings.push(...(await missingReferences(parts.cluster, workload, configs)));
  });
  return {
    passed: findings.length === 0,
    findings,
    unseen,
    objects: configs.length + applied.length + pods.length,
  };
}

/** As the rollout writes it: one of ours that cannot be changed in place is made anew. */
async function applyCopy(
  { cluster, dryRun }: DrillParts,
  canary: Canary,
  copy: KubernetesObject,
): Promise<void> {
  try {
    await dryRun.apply(copy);
  } catch (error) {
    const live = isImmutableChange(error) ? await cluster.get(referenceOf(copy)) : undefined;
    if (!live || !hasOwnLabels(live, canary)) throw error;
  }
}

/** ConfigMaps, Secrets and keys that the primary's pods need and that are neither among the copies nor in the cluster. */
async function missingReferences(
  cluster: Pick<Cluster, 'get'>,
  workload: KubernetesObject,
  copies: readonly KubernetesObject[],
): Promise<DrillFinding[]> {
  const known = new Map(copies.map((copy) => [configKey(copy.kind, copy.metadata.name), copy]));
  const { namespace = '' } = workload.metadata;
  const findings: DrillFinding[] = [];
  const missing = new Set<string>();
  for (const need of neededKeys(templateOf({ target: workload }))) {
    const id = configKey(need.kind, need.name);
    if (missing.has(id)) continue;
    const { kind, name } = need;
    const object = known.get(id) ?? (await cluster.get({ apiVersion: 'v1', kind, namespace, name }));
    if (object) known.set(id, object);
    else missing.add(id);
    const finding = findingFor(need, object, workload);
    if (finding) findings.push(finding);
  }
  return findings;
}

function findingFor(
  { kind, name, key }: NeededKey,
  object: KubernetesObject | undefined,
  workload: KubernetesObject,
): DrillFinding | undefined {
  const named = describe(workload);
  if (!object)
    return {
      object: named,
      reason: 'ReferenceMissing',
      message: `its pods need ${kind} ${name}, which does not exist`,
    };
  if (key === undefined || holdsKey(object, key)) return undefined;
  return {
    object: named,
    reason: 'KeyMissing',
    message: `its pods need key ${key} of ${kind} ${name}, which it lacks`,
  };
}

/** Something that would prevent a revert. */
interface DrillFinding {
  /** `Kind namespace/name`. */
  readonly object: string;
  /** CamelCase. */
  readonly reason: string;
  readonly message: string;
}

/** Something that the drill could not ask. */
interface Unseen {
  readonly object: string;
  readonly why: string;
}

/** Outcomes that say nothing about the release. */
const noAnswer: ReadonlySet<unknown> = new Set([
  'unauthorized',
  'conflict',
  'tooManyRequests',
  'transient',
  'timeout',
  'badAnswer',
  'aborted',
  'configuration',
]);

/**
 * What a refused dry-run means. Missing rights of the caller, and webhooks that cannot be asked by dry-run, are no refusal of the
 * release. Throws the error again when the server did not answer at all.
 */
export function findingOf(
  object: string,
  error: unknown,
): { finding: DrillFinding; unseen?: never } | { finding?: never; unseen: Unseen } {
  const refusal = (error as { refusal?: { reason?: unknown } } | null)?.refusal;
  const kind = (error as { kind?: unknown } | null)?.kind;
  if (!(error instanceof Error) || noAnswer.has(kind)) throw error;
  const { message } = error;
  if (isMissingRight(error)) return { unseen: { object, why: `not allowed to dry-run it: ${message}` } };
  if (/does not support dry run/i.test(message))
    return { unseen: { object, why: `an admission webhook does not support dry-run: ${message}` } };
  const reason = typeof refusal?.reason === 'string' ? refusal.reason : failureOf(error).reason;
  return { finding: { object, reason, message } };
}
