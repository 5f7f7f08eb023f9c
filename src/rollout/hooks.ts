import { type HookType, hooksOf } from '../api/hooks.ts';
import { stamp } from '../api/units.ts';
import type { CheckOutcome } from '../health/check-results.ts';
import type { CheckRequest } from './action.ts';
import { type Context, elapsedMs } from './context.ts';
import type { Run } from './run.ts';

/** The beginning of every key of one run's requests. */
export function keyPrefix(run: Pick<Run, 'digest' | 'startTime'>): string {
  return `${run.digest}/${run.startTime}`;
}

/** Whether the Canary has webhooks of this type. */
export function hasHooks({ world }: Context, type: HookType): boolean {
  return hooksOf(world.canary, type).length > 0;
}

/** A request, with what webhooks are told of this release; the phase they hear is that of the status at the end of the step. */
export function request(
  { world }: Context,
  about: { digest: string; commit: string },
  asked: Pick<CheckRequest, 'key' | 'role' | 'purpose'> & Partial<CheckRequest>,
): CheckRequest {
  const { digest, commit } = about;
  const canaryWeight = world.route?.canaryWeight ?? 0;
  return {
    metrics: [],
    hooks: [],
    facts: { phase: world.status.phase ?? '', digest, commit, canaryWeight },
    ...asked,
  };
}

/** Webhooks that are asked again and again until they agree. */
export interface Poll {
  /** Beginning of the keys: equal for as long as it is the same question. */
  stem: string;
  types: readonly HookType[];
  everyMs: number;
}

/** The answers that count now, or the question that brings them. `againMs`: when to look again. */
export type Polled =
  | { readonly answers: CheckOutcome; readonly againMs: number }
  | { readonly answers?: never; readonly request: CheckRequest };

/**
 * Asks the same webhooks every so often. Answers are used while they are young; nothing of it is kept in the status, so that waiting writes
 * nothing.
 */
export function poll(
  context: Context,
  about: { digest: string; commit: string },
  { stem, types, everyMs }: Poll,
): Polled {
  const { checks: last } = context.world;
  const answered = last?.key.startsWith(`${stem}/`) ? last : undefined;
  const ageMs = answered ? elapsedMs(context, stamp(answered.atMs)) : Number.POSITIVE_INFINITY;
  if (answered && ageMs < everyMs) return { answers: answered, againMs: everyMs - ageMs };
  const key = `${stem}/${answered?.atMs ?? 0}`;
  return { request: request(context, about, { key, role: 'canary', purpose: 'analysis', hooks: types }) };
}
