import { type OnFailure, onFailureSchema } from '../../api/post-promotion.ts';
import { InputError } from '../../app/options.ts';
import { type Cause, causes } from '../../health/causes.ts';

/** What is assumed in place of what is. */
export interface Hypothesis {
  readonly onFailure?: OnFailure | undefined;
  readonly cause?: Cause | undefined;
  /** How the canary stands beside the failing primary. */
  readonly canary?: AssumedCanary | undefined;
  /** The checks after promotion fail. */
  readonly checks?: 'fail' | undefined;
  /** So many other Canaries fail their checks at the same time. */
  readonly others?: number | undefined;
}

const assumedCanaries = ['healthy', 'sameFault', 'notReady'] as const;
/** How a canary can stand. */
export type AssumedCanary = (typeof assumedCanaries)[number];

/** Reads `onFailure=revert`, `cause=CrashLoop`, `canary=sameFault`; the last of a key wins. Throws InputError. */
export function parseHypothesis(texts: readonly string[]): Hypothesis {
  return Object.assign({}, ...texts.map(parseOne)) as Hypothesis;
}

function parseOne(text: string): Hypothesis {
  const [key, value = ''] = text.split('=', 2);
  switch (key) {
    case 'onFailure':
      return { onFailure: oneOf(onFailureSchema.options, value, text) };
    case 'cause':
      return { cause: oneOf(Object.keys(causes) as Cause[], value, text) };
    case 'canary':
      return { canary: oneOf(assumedCanaries, value, text) };
    case 'checks':
      return { checks: oneOf(['fail'] as const, value, text) };
    case 'others':
      return { others: countOf(value, text) };
    default:
      throw new InputError(
        `--what-if ${text}: say onFailure=..., cause=..., canary=..., checks=fail or others=..., as --what-if cause=CrashLoop`,
      );
  }
}

function oneOf<T extends string>(values: readonly T[], value: string, text: string): T {
  const found = values.find((candidate) => candidate.toLowerCase() === value.toLowerCase());
  if (found) return found;
  throw new InputError(`--what-if ${text}: must be one of ${values.join(', ')}`);
}

function countOf(value: string, text: string): number {
  if (/^[0-9]{1,4}$/.test(value)) return Number(value);
  throw new InputError(`--what-if ${text}: must be a number of Canaries`);
}
