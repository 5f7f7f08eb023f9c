/**
 * A freeze holds the rollouts of many Canaries (issue 15, 6; ADR 44): a ConfigMap with this label. In Holdfast's own namespace it covers all
 * Canaries, elsewhere those of its namespace; `data.selector` chooses among them by labels.
 */
import type { KubernetesObject } from './kubernetes.ts';
import { type LabelMatcher, parseLabelSelector } from './label-selector.ts';

export const freezeLabel = 'holdfast.dev/freeze';

/** What a freeze says. */
interface Freeze {
  /** Whether it is meant for a Canary with these labels. */
  readonly fits: LabelMatcher;
  /** Milliseconds since the epoch; undefined: until it is deleted. */
  readonly untilMs: number | undefined;
  readonly reason: string;
}

const reasonCharacters = 200;

/** Reads a freeze. One that cannot be read freezes all that its namespace covers, without an end: a typing error must not let a release through. */
export function readFreeze(object: KubernetesObject): Freeze {
  const { selector = '', until, reason = '' } = (object.data ?? {}) as Readonly<Record<string, string>>;
  const given = reason.slice(0, reasonCharacters) || 'no reason is given';
  try {
    const untilMs = until ? Date.parse(until) : undefined;
    if (Number.isNaN(untilMs)) throw new Error(`until ${JSON.stringify(until?.slice(0, 40))} is no time`);
    return { fits: parseLabelSelector(selector), untilMs, reason: given };
  } catch (error) {
    const why = error instanceof Error ? error.message : 'it cannot be read';
    return { fits: () => true, untilMs: undefined, reason: `${given} (${why})` };
  }
}
