import { describe, expect, it } from 'vitest';
import { outputPattern, stepsOf } from './readme.ts';

const fence = '```';

describe('steps of a README', () => {
  it('are its sh blocks, each with the text block behind it', () => {
    const markdown = `# Title\n${fence}sh\nls\n${fence}\n${fence}text\na\n${fence}\n\n${fence}yaml\na: 1\n${fence}\n${fence}sh\npwd\n${fence}\n`;
    expect(stepsOf(markdown)).toEqual([
      { commands: 'ls\n', output: 'a\n', line: 2 },
      { commands: 'pwd\n', output: undefined, line: 12 },
    ]);
  });

  it('refuses an output that follows no commands', () => {
    expect(() => stepsOf(`${fence}text\na\n${fence}\n`)).toThrow('line 1');
  });
});

describe('a documented output', () => {
  it.each([
    ['one   two', 'one two\n', true],
    ['one ... three', 'one or two and three\n', true],
    ['first\n...\nlast', 'first\na\nb\nlast\n', true],
    ['first\n...', 'first\na\n', true],
    ['first\n...\nlast', 'first\na\nb\n', false],
    ['1.2', '1x2', false],
    ['one', 'one\ntwo', false],
  ])('%j fits %j: %s', (expected, actual, fits) => {
    expect(outputPattern(expected).test(actual)).toBe(fits);
  });
});
