/** Which objects of a Source differ between two commits. Pure. */
import { keyOf, namespacedName, objectKey } from '../../api/kubernetes.ts';
import { isCanary } from '../../engine/sync/scope/canary-objects.ts';
import type { CanaryPlan } from '../../release/plan.ts';
import { formatOrigin, type RenderedObject } from '../../render/rendered-object.ts';
import { objectDiff } from '../object-diff.ts';
import type { Removal } from './removals.ts';
import type { ObjectChange, ObjectRole } from './report.ts';

/** What one side of a Source holds. */
interface Holding {
  readonly entries: readonly RenderedObject[];
  readonly plans: readonly CanaryPlan[];
}

/** Every difference, in the order of head's files, removed objects last. */
export function objectChanges(
  before: Holding,
  after: Holding,
  removals: ReadonlyMap<string, Removal>,
): ObjectChange[] {
  const older = new Map(before.entries.map((entry) => [objectKey(entry.object), entry]));
  const newer = new Set(after.entries.map(({ object }) => objectKey(object)));
  const [rolesBefore, rolesAfter] = [rolesIn(before), rolesIn(after)];
  const kept = after.entries.flatMap((entry) => {
    const old = older.get(objectKey(entry.object))?.object;
    const diff = objectDiff({ before: old, after: entry.object });
    if (old && diff.length === 0) return [];
    return [{ ...changedObject(entry, rolesAfter, old ? 'changed' : 'added'), diff }];
  });
  const gone = before.entries
    .filter(({ object }) => !newer.has(objectKey(object)))
    .map((entry): ObjectChange => {
      const removal = removals.get(objectKey(entry.object));
      return {
        ...changedObject(entry, rolesBefore, 'removed'),
        diff: objectDiff({ before: entry.object, after: undefined }),
        ...(removal ? { fate: removal.fate } : {}),
        ...(removal?.reason ? { fateReason: removal.reason } : {}),
      };
    });
  return [...kept, ...gone];
}

function changedObject(
  { object, origin }: RenderedObject,
  roles: Roles,
  change: ObjectChange['change'],
): Omit<ObjectChange, 'diff'> {
  const { apiVersion, kind, metadata } = object;
  const known = roles.get(objectKey(object));
  const own = isCanary(object)
    ? { role: 'canary' as const, canaries: [namespacedName(object)] }
    : { role: known?.role ?? ('other' as const), canaries: known?.canaries ?? [] };
  return {
    change,
    apiVersion,
    kind,
    ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
    name: metadata.name,
    ...own,
    origin: formatOrigin(origin),
  };
}

type Roles = ReadonlyMap<string, { role: ObjectRole; canaries: string[] }>;

/** A config may belong to several Canaries. */
function rolesIn({ plans }: Holding): Roles {
  const roles = new Map<string, { role: ObjectRole; canaries: string[] }>();
  const note = (entry: RenderedObject | undefined, role: ObjectRole, canary: string) => {
    if (!entry) return;
    const key = objectKey(entry.object);
    const known = roles.get(key);
    if (known) known.canaries.push(canary);
    else roles.set(key, { role, canaries: [canary] });
  };
  for (const plan of plans) {
    if (plan.state !== 'release') continue;
    const key = keyOf(plan.canary);
    note(plan.target, 'target', key);
    note(plan.scaler, 'scaler', key);
    for (const config of plan.configs) note(config, 'config', key);
  }
  return roles;
}
