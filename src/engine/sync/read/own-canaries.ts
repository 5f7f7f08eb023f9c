/** Which Canaries a Source may speak for: those whose target it may write (S21), by its spec and by what the API server says of its account. */

import {
  describe,
  type KubernetesObject,
  keyOf,
  type NamespacedName,
  nameOfKey,
  objectKey,
} from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import type { CanaryPlan } from '../../../release/plan.ts';
import { formatOrigin } from '../../../render/rendered-object.ts';
import type { ApplyFailure, ApplyResult, Snapshot, SourceContext, SourceParts } from '../context/context.ts';
import { hasNameOfCanary, objectsOfCanary, targetOf } from '../scope/canary-objects.ts';
import { mayWrite, whyNotAllowed, writerOf } from '../scope/permissions.ts';

/** A snapshot without the Canaries that the Source may not speak for, and why, where it holds their target. */
interface OwnSnapshot {
  readonly snapshot: Snapshot;
  readonly refused: readonly ApplyFailure[];
}

/** Leaves out the Canaries whose target this Source may not write (S21). Throws what the API server says. */
export async function withOwnCanaries(
  { parts, source, state }: SourceContext,
  snapshot: Snapshot,
): Promise<OwnSnapshot> {
  const plans: CanaryPlan[] = [];
  const refused: ApplyFailure[] = [];
  for (const plan of snapshot.plans) {
    const why = await whyNotHeld(parts, source, plan);
    if (!why) plans.push(plan);
    else state.previous.delete(keyOf(plan.canary));
    if (!why || plan.state !== 'release') continue;
    const { object, origin } = plan.target;
    const message = `${formatOrigin(origin)}: ${describe(object)}: ${why.message}`;
    refused.push({ reason: why.reason, message, object, transient: false, lacksRight: true });
  }
  return { snapshot: { ...snapshot, plans }, refused };
}

/** `objectKey` of the objects that the Source keeps from being pruned by others: those that it may write, as far as is known. */
export function claimedKeys(
  { rights }: Pick<SourceParts, 'rights'>,
  source: Source,
  { all }: Pick<Snapshot, 'all'>,
  result: Pick<ApplyResult, 'failures'> | undefined,
): ReadonlySet<string> {
  const forbidden = (result?.failures ?? []).filter(({ lacksRight }) => lacksRight);
  const refused = new Set(forbidden.map(({ object }) => objectKey(object)));
  const allowed = all.filter((object) => whyNotAllowed(source, object, rights) === undefined).map(objectKey);
  return new Set(allowed.filter((key) => !refused.has(key)));
}

type RightsParts = Pick<SourceParts, 'accountRights' | 'canary' | 'rights' | 'wakeCanary'>;

/** Why a Source may not have an object written. */
interface NotWritable {
  readonly reason: 'NotAllowed' | 'Forbidden';
  readonly message: string;
}

/** Why the Source may not write the target of a plan; undefined: it may, and speaks for the Canary. Throws what the API server says. */
async function whyNotHeld(
  parts: RightsParts,
  source: Source,
  plan: CanaryPlan,
): Promise<NotWritable | undefined> {
  const target = plan.state === 'release' ? plan.target.object : targetOfPlan(parts, plan);
  const message = whyNotAllowed(source, target, parts.rights);
  if (message !== undefined) return { reason: 'NotAllowed', message };
  if (await mayWrite(parts, source, target)) return undefined;
  return { reason: 'Forbidden', message: `${writerOf(source, parts.rights).user} may not patch it` };
}

/**
 * Which Canaries may have their target in a Source that was not read yet; those alone wait for it. Until the API server has answered it may be
 * any that its spec allows. One that cannot be parsed has no say outside its namespace.
 */
function mayHoldOf(
  parts: RightsParts,
  source: Source | undefined,
  namespace: string,
): (canaryKey: string) => boolean {
  if (!source) return (canaryKey) => canaryKey.startsWith(`${namespace}/`);
  const answers = new Map<string, boolean>();
  const { kind, user } = writerOf(source, parts.rights);
  return (canaryKey) => {
    const target = targetOfPlan(parts, { canary: nameOfKey(canaryKey) });
    if (whyNotAllowed(source, target, parts.rights) !== undefined) return false;
    if (kind !== 'account' || answers.has(canaryKey)) return answers.get(canaryKey) ?? true;
    answers.set(canaryKey, true);
    parts.accountRights.mayWrite(user, target).then(
      (isAllowed) => {
        answers.set(canaryKey, isAllowed);
        if (!isAllowed) parts.wakeCanary(canaryKey);
      },
      () => answers.delete(canaryKey),
    );
    return true;
  };
}

/**
 * Says what is known of a Source before its repository was read: which Canaries it may hold, its windows and its account. These are in force at
 * once, also while Git cannot be read. Windows of a Source with a problem may not be understood: the ones before stay as they were.
 */
export function announceSource(
  parts: RightsParts & Pick<SourceParts, 'heads'>,
  key: string,
  { source, problem }: { readonly source: Source | undefined; readonly problem: unknown },
): void {
  parts.heads.expect(key, mayHoldOf(parts, source, nameOfKey(key).namespace));
  if (!source) return;
  const account = writerOf(source, parts.rights).user;
  const windows = problem === undefined ? { windows: source.spec.windows } : {};
  for (const canary of parts.heads.setSpec(key, { account, ...windows })) parts.wakeCanary(canary);
}

/**
 * Whether a Canary that no Source speaks for may be about what this one holds. Whoever may write a Canary in one namespace must not keep the Sources of
 * all others at work.
 */
export function mayConcern(
  { parts, state: { snapshot } }: Pick<SourceContext, 'parts' | 'state'>,
  source: Source | undefined,
  canary: KubernetesObject,
): boolean {
  if (!source || whyNotAllowed(source, targetOf(canary), parts.rights) !== undefined) return false;
  if (!snapshot || snapshot.problems.length > 0) return true;
  const { target = '', scaler = '' } = objectsOfCanary(canary);
  return (
    [objectKey(canary), target, scaler].some((one) => snapshot.keys.has(one)) ||
    snapshot.all.some((object) => hasNameOfCanary(canary, object))
  );
}

/** What a plan's Canary names as its target; the Canary itself while that is unknown. */
function targetOfPlan(
  parts: Pick<SourceParts, 'canary'>,
  { canary, object }: { readonly canary: NamespacedName; readonly object?: KubernetesObject | undefined },
): KubernetesObject {
  const unknown = { apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata: { ...canary } };
  return targetOf(object ?? parts.canary(canary) ?? unknown);
}
