import type { World } from '../../rollout/world.ts';
import { type CommandResult, type DataFormat, formatData, type Screen } from '../output.ts';
import { explanationLines } from './explain-text.ts';
import { explain } from './explanation.ts';
import type { Hypothesis } from './hypothesis.ts';
import { suppose } from './suppose.ts';

/** How an explanation is printed. */
export interface ExplainOptions {
  /** The hypothesis as it was typed. */
  readonly assumed: readonly string[];
  readonly format: 'text' | DataFormat;
  readonly screen: Screen;
}

/** Explains a world as it is, or as it would be. Throws InputError for what cannot be supposed of it. */
export function explainWorld(world: World, hypothesis: Hypothesis, options: ExplainOptions): CommandResult {
  const explanation = explain(suppose(world, hypothesis), options.assumed);
  const stdout =
    options.format === 'text'
      ? `${explanationLines(explanation, options.screen, world.nowMs).join('\n')}\n`
      : formatData(explanation, options.format);
  return { stdout, stderr: '', exitCode: 0 };
}
