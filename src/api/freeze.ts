/**
 * A freeze holds the rollouts of many Canaries (issue 15, 6; ADR 44): a ConfigMap with this label. In Holdfast's own namespace it covers all
 * Canaries, elsewhere those of its namespace; `data.selector` chooses among them by labels, `data.windows` the times (ADR 48).
 */
import * as z from 'zod';
import { type KubernetesObject, type LabelMatcher, parseLabelSelector } from './kubernetes.ts';
import { beginningOf, limits } from './limits.ts';
import { problemOf } from './problems.ts';
import { lengthProblem, type SourceWindow, windowSchema } from './source/source.ts';
import { parseTimeMs } from './time.ts';
import { readYaml } from './yaml.ts';

export const freezeLabel = 'holdfast.dev/freeze';

/** What a freeze says. */
export interface Freeze {
  /** Whether it is meant for a Canary with these labels. */
  readonly fits: LabelMatcher;
  /** Milliseconds since the epoch; undefined: until it is deleted. */
  readonly untilMs: number | undefined;
  /** It freezes whenever these are closed; undefined: at any time. */
  readonly windows: readonly SourceWindow[] | undefined;
  /** It holds starts only, as the windows of a Source do: what began is finished. */
  readonly startsOnly: boolean;
  readonly reason: string;
}

const reasonCharacters = 200;

/** Reads a freeze. One that cannot be read freezes all that its namespace covers, without an end: a typing error must not let a release through. */
export function readFreeze(object: KubernetesObject): Freeze {
  const read = parseFreeze(object);
  return typeof read === 'string' ? brokenFreeze(object, read) : read;
}

/** Reads a freeze, or says why it cannot be read. */
export function parseFreeze(object: KubernetesObject): Freeze | string {
  const { selector = '', until, reason, windows, holds } = dataOf(object);
  if (selector.length > limits.freezeFieldCharacters) return 'selector is too long';
  try {
    const untilMs = until ? parseTimeMs(until) : undefined;
    if (until && untilMs === undefined)
      return `until ${quoted(until)} is not a time such as 2026-12-27T08:00:00Z`;
    if (holds !== undefined && holds !== 'starts' && holds !== 'all')
      return `holds ${quoted(holds)} is neither all nor starts`;
    return {
      fits: parseLabelSelector(selector),
      untilMs,
      startsOnly: holds === 'starts',
      windows: windows === undefined ? undefined : readWindows(windows),
      reason: shown(reason),
    };
  } catch (error) {
    return error instanceof Error ? error.message : 'it cannot be read';
  }
}

/** An invalid freeze holds everything that its namespace covers until it is corrected; `why` says what is wrong. */
export function brokenFreeze(object: KubernetesObject, why: string): Freeze {
  const reason = `${shown(dataOf(object).reason)} (${why})`;
  return { fits: () => true, untilMs: undefined, windows: undefined, startsOnly: false, reason };
}

function dataOf({ data }: KubernetesObject): Readonly<Partial<Record<string, string>>> {
  return (data ?? {}) as Readonly<Partial<Record<string, string>>>;
}

/** In one line, as it stands in messages and is read back from them. */
function shown(reason: string | undefined): string {
  const line = reason?.replace(/\s+/g, ' ').trim();
  return (line && beginningOf(line, reasonCharacters)) || 'no reason is given';
}

function quoted(text: string | undefined): string {
  return JSON.stringify(text?.slice(0, 40));
}

/** Nobody else tells of a field that is written wrong: without it `timezone` would be a time of UTC. */
const windowsSchema = z.array(windowSchema.strict()).min(1).max(limits.freezeWindows);

/** YAML as under `windows` of a Source. Cron expressions and time zones are read where they are used. Throws Error. */
function readWindows(text: string): readonly SourceWindow[] {
  if (text.length > limits.freezeFieldCharacters) throw new Error('windows is too long');
  const value = parsed(text);
  const { data: windows, error } = windowsSchema.safeParse(value);
  if (!windows) {
    const [problem] = error.issues.map((issue) => problemOf(issue, value, ['windows']));
    throw new Error(problem ? `${problem.path}: ${problem.message}` : 'windows cannot be read');
  }
  const wrong = windows.find(({ duration }) => lengthProblem(duration) !== undefined);
  if (wrong) throw new Error(`windows: the duration ${wrong.duration} ${lengthProblem(wrong.duration)}`);
  return windows;
}

function parsed(text: string): unknown {
  try {
    return readYaml(text);
  } catch {
    throw new Error('windows cannot be read as YAML');
  }
}
