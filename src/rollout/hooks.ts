import type { CheckResult } from '../api/canary-status.ts';
import { type HookAnswer, type HookType, hooksOf } from '../api/hooks.ts';
import { shorten, stamp } from '../api/units.ts';
import type { CheckOutcome } from '../health/check-results.ts';
import type { CheckRequest } from './action.ts';
import { type Context, elapsedMs } from './context.ts';
import type { Run } from './run.ts';

const MAX_NAME_CHARACTERS = 253;
const MAX_DETAIL_CHARACTERS = 512;

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

/** What the webhooks of a type said as a whole. Every one in the spec must have approved; no webhooks approve. */
export function verdictOfHooks(
  { world }: Context,
  outcome: Pick<CheckOutcome, 'hooks'>,
  type: HookType,
): HookAnswer['verdict'] {
  const answers = outcome.hooks.filter((answer) => answer.type === type);
  const open = answers.filter((answer) => answer.verdict === 'approved').length;
  if (open >= hooksOf(world.canary, type).length) return 'approved';
  return answers.some((answer) => answer.verdict === 'refused') ? 'refused' : 'unreachable';
}

/** One line about the first webhook of a type that did not approve. */
export function whyClosed({ hooks }: Pick<CheckOutcome, 'hooks'>, type: HookType): string {
  const answer = hooks.find((candidate) => candidate.type === type && candidate.verdict !== 'approved');
  return answer ? `${shorten(answer.name, MAX_NAME_CHARACTERS)} ${answer.detail}` : 'it has not answered yet';
}

/**
 * The answers as check results. In an analysis everything but an approval fails, as in Flagger; after promotion only a clear no does, and a
 * webhook that was not reached leaves the verdict open (design section 2.3).
 */
export function judgeHooks(
  { world }: Context,
  outcome: Pick<CheckOutcome, 'hooks' | 'atMs'>,
  type: HookType,
  purpose: CheckRequest['purpose'],
): CheckResult[] {
  const time = stamp(outcome.atMs);
  const answers = outcome.hooks.filter((answer) => answer.type === type);
  const results = answers.map(({ name, verdict, detail }): CheckResult => {
    const lenient = purpose !== 'analysis' && verdict === 'unreachable';
    return {
      name: shorten(name, MAX_NAME_CHARACTERS),
      verdict: verdict === 'approved' ? 'pass' : lenient ? 'inconclusive' : 'fail',
      detail: shorten(detail, MAX_DETAIL_CHARACTERS),
      time,
    };
  });
  const missing = results.every((result) => result.verdict === 'pass')
    ? hooksOf(world.canary, type)[answers.length]
    : undefined;
  if (!missing) return results;
  const verdict = purpose === 'analysis' ? 'fail' : 'inconclusive';
  return [
    ...results,
    { name: shorten(missing.name, MAX_NAME_CHARACTERS), verdict, detail: 'it was not asked', time },
  ];
}
