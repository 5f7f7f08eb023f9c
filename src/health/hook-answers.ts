import type { Canary } from '../api/canary.ts';
import type { CheckResult } from '../api/canary-status.ts';
import { type HookAnswer, type HookType, hooksOf } from '../api/hooks.ts';
import { shorten, stamp } from '../api/units.ts';
import type { CheckOutcome } from './check-results.ts';

const MAX_NAME_CHARACTERS = 253;
const MAX_DETAIL_CHARACTERS = 512;

/** What the webhooks of a type said as a whole. Every one in the spec must have approved; no webhooks approve. */
export function verdictOfHooks(
  canary: Canary,
  outcome: Pick<CheckOutcome, 'hooks'>,
  type: HookType,
): HookAnswer['verdict'] {
  const answers = outcome.hooks.filter((answer) => answer.type === type);
  const open = answers.filter((answer) => answer.verdict === 'approved').length;
  if (open >= hooksOf(canary, type).length) return 'approved';
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
  canary: Canary,
  outcome: Pick<CheckOutcome, 'hooks' | 'atMs'>,
  type: HookType,
  purpose: 'analysis' | 'postPromotion' | 'control',
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
    ? hooksOf(canary, type)[answers.length]
    : undefined;
  if (!missing) return results;
  const verdict = purpose === 'analysis' ? 'fail' : 'inconclusive';
  return [
    ...results,
    { name: shorten(missing.name, MAX_NAME_CHARACTERS), verdict, detail: 'it was not asked', time },
  ];
}
