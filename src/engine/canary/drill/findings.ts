import { describe, type KubernetesObject } from '../../../api/kubernetes.ts';
import type { Cluster } from '../../../contracts/cluster.ts';
import { templateOf } from '../../../release/release.ts';
import { holdsKey, type NeededKey, neededKeys } from '../../../workload/shared/config-keys.ts';
import { configKey } from '../../../workload/shared/configs.ts';
import { failureOf } from '../../failure.ts';

/** ConfigMaps, Secrets and keys that the primary's pods need and that are neither among the copies nor in the cluster. */
export async function missingReferences(
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
export interface DrillFinding {
  /** `Kind namespace/name`. */
  readonly object: string;
  /** CamelCase. */
  readonly reason: string;
  readonly message: string;
}

/** Something that the drill could not ask. */
export interface Unseen {
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
  if (kind === 'forbidden' && /cannot (create|patch|get) resource/.test(message))
    return { unseen: { object, why: `not allowed to dry-run it: ${message}` } };
  if (/does not support dry run/i.test(message))
    return { unseen: { object, why: `an admission webhook does not support dry-run: ${message}` } };
  const reason = typeof refusal?.reason === 'string' ? refusal.reason : failureOf(error).reason;
  return { finding: { object, reason, message } };
}
