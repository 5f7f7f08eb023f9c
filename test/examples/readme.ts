/** READMEs as tests: blocks marked `sh` are run in order, and a block marked `text` right after one is what it must print. */

/** Commands of one block and what they print; undefined where the README does not say. */
export interface Step {
  readonly commands: string;
  readonly output: string | undefined;
  /** Line of the README, for messages. */
  readonly line: number;
}

/** The steps of a README in order. Throws when a `text` block follows no commands. */
export function stepsOf(markdown: string): Step[] {
  const steps: Step[] = [];
  const fence = /^```(\w*)\n([\s\S]*?)^```$/gm;
  for (const { 1: language, 2: content = '', index } of markdown.matchAll(fence)) {
    const line = markdown.slice(0, index).split('\n').length;
    if (language === 'sh') steps.push({ commands: content, output: undefined, line });
    if (language !== 'text') continue;
    const last = steps.pop();
    if (!last || last.output !== undefined) throw new Error(`line ${line}: this output follows no commands`);
    steps.push({ ...last, output: content });
  }
  return steps;
}

/**
 * The output as a README may abbreviate it: `...` alone on a line stands for any lines, inside a line for any characters of it; runs of
 * blanks are alike, since columns are as wide as their widest cell.
 */
export function outputPattern(expected: string): RegExp {
  const lines = expected.trim().split('\n');
  const patterns = lines.map((line) =>
    line.trim() === '...' ? '(?:.*\\n)*?.*' : line.trim().split(/\s+/).map(wordPattern).join('\\s+'),
  );
  return new RegExp(`^\\s*${patterns.join('\\s*\\n\\s*')}\\s*$`);
}

function wordPattern(word: string): string {
  return word
    .split('...')
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('.*');
}
