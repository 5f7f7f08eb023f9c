import { Lexer, Parser, parse } from 'yaml';

/** Of a short text. */
const mostLevels = 32;

/** Whether what the parser reads is nested deeper than this: block collections put up to two entries on its stack. */
export function isDeeper({ stack }: Parser, levels: number): boolean {
  return stack.length > 2 * levels + 4;
}

/**
 * Reads a short text of YAML without aliases. The library recurses as deep as a text is nested, and at the end of its stack the JavaScript engine
 * may end the process instead of throwing: deeper texts are refused before. Throws Error.
 */
export function readYaml(text: string): unknown {
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(text)) {
    // Whole documents come out of it, which are not needed.
    Array.from(parser.next(lexeme));
    if (isDeeper(parser, mostLevels)) throw new Error('it is nested too deeply');
  }
  return parse(text, { maxAliasCount: 0, logLevel: 'error' });
}
