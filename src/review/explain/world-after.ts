import type { Action, Decision } from '../../rollout/outcome.ts';
import { nextSequence, type World } from '../../rollout/world.ts';

/**
 * The world once a decision was carried out, as far as it can be predicted. A change is reconciled again at once, as the controller
 * does; else time passes. Pure.
 */
export function worldAfter({ status, actions, wakeAfterMs }: Decision, now: World): World {
  const atOnce = actions.length > 0 || hasChanged(status, now);
  const nowMs = now.nowMs + (atOnce ? 0 : (wakeAfterMs ?? 0));
  return actions.reduce(assume, { ...now, status, nowMs });
}

/** Whether the decision changes the status. */
export function hasChanged(status: Decision['status'], now: World): boolean {
  return JSON.stringify(status) !== JSON.stringify(now.status);
}

/** Writes whose effect on the world is known beforehand. */
export const foreseeable: ReadonlySet<Action['type']> = new Set([
  'SetTraffic',
  'Reject',
  'Unreject',
  'SaveRecord',
  'MarkProven',
  'RemoveRecords',
  'AdoptPrimary',
]);

function assume(world: World, action: Action): World {
  if (action.type === 'SetTraffic') return { ...world, route: { ...action.route, accepted: true } };
  if (action.type === 'Unreject')
    return { ...world, rejected: world.rejected.filter(({ digest }) => digest !== action.digest) };
  if (action.type === 'Reject') {
    const { digest, commit, reason, cause } = action;
    const time = new Date(world.nowMs).toISOString();
    const rejection = { digest, commit, reason, time, ...(cause ? { cause } : {}) };
    return { ...world, rejected: [...world.rejected, rejection] };
  }
  if (action.type === 'AdoptPrimary') {
    const primary = world.primary && { ...world.primary, digest: action.digest };
    return { ...world, primary, adoptable: undefined };
  }
  return { ...world, records: recordsAfter(action, world) };
}

function recordsAfter(action: Action, { records, nowMs }: World): World['records'] {
  if (action.type === 'SaveRecord') {
    const commit = { commit: '', subject: '', author: '', time: '' };
    return [{ digest: action.digest, commit, name: 'assumed', promotedTime: undefined }, ...records];
  }
  if (action.type === 'RemoveRecords') return records.filter(({ name }) => !action.names.includes(name));
  if (action.type !== 'MarkProven') return records;
  const promotedTime = new Date(nowMs).toISOString();
  const { digest, after } = action;
  const sequence = nextSequence(records, digest, after);
  return records.map((record) => (record.digest === digest ? { ...record, promotedTime, sequence } : record));
}
