import type { CheckResult } from '../api/canary-status.ts';
import { type HookAnswer, type HookType, hooksOf } from '../api/hooks.ts';
import type { CheckRequest } from './action.ts';
import { type Draft, wakeIn } from './draft.ts';
import type { Run } from './run.ts';
import { shorten, sinceMs, stamp } from './units.ts';
import type { CheckOutcome } from './world.ts';

const MAX_NAME_CHARACTERS = 253;
const MAX_DETAIL_CHARACTERS = 512;

/** The beginning of every key of one run's requests. */
export function keyPrefix(run: Run): string {
  return `${run.digest}/${run.startTime}`;
}

/** Whether the Canary has webhooks of this type. */
export function hasHooks(draft: Draft, type: HookType): boolean {
  return hooksOf(draft.world.canary, type).length > 0;
}

/** Puts a request into the draft, with what webhooks are told of this release. */
export function request(
  draft: Draft,
  about: { digest: string; commit: string },
  asked: Pick<CheckRequest, 'key' | 'role' | 'purpose'> & Partial<CheckRequest>,
): void {
  const { digest, commit } = about;
  draft.check = {
    metrics: [],
    hooks: [],
    facts: {
      phase: draft.status.phase ?? '',
      digest,
      commit,
      canaryWeight: draft.world.route?.canaryWeight ?? 0,
    },
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

/**
 * Asks the same webhooks every so often. Answers are used while they are young; nothing of it is kept in the status, so that waiting writes
 * nothing. Undefined while there are none: then the request is in the draft.
 */
export function poll(
  draft: Draft,
  about: { digest: string; commit: string },
  { stem, types, everyMs }: Poll,
): CheckOutcome | undefined {
  const { checks: last, nowMs } = draft.world;
  const answered = last?.key.startsWith(`${stem}/`) ? last : undefined;
  const ageMs = answered && sinceMs(nowMs, stamp(answered.atMs));
  if (answered && ageMs !== undefined && ageMs < everyMs) {
    wakeIn(draft, everyMs - ageMs);
    return answered;
  }
  const key = `${stem}/${answered?.atMs ?? 0}`;
  request(draft, about, { key, role: 'canary', purpose: 'analysis', hooks: types });
  return undefined;
}

/** What the webhooks of a type said as a whole. Every one in the spec must have approved; no webhooks approve. */
export function verdictOfHooks(
  draft: Draft,
  outcome: Pick<CheckOutcome, 'hooks'>,
  type: HookType,
): HookAnswer['verdict'] {
  const answers = outcome.hooks.filter((answer) => answer.type === type);
  const open = answers.filter((answer) => answer.verdict === 'approved').length;
  if (open >= hooksOf(draft.world.canary, type).length) return 'approved';
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
  draft: Draft,
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
    ? hooksOf(draft.world.canary, type)[answers.length]
    : undefined;
  if (!missing) return results;
  const verdict = purpose === 'analysis' ? 'fail' : 'inconclusive';
  return [
    ...results,
    { name: shorten(missing.name, MAX_NAME_CHARACTERS), verdict, detail: 'it was not asked', time },
  ];
}
