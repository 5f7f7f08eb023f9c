import { Composer, type Document, Lexer, type ParsedNode, Parser } from 'yaml';
import { isDeeper } from '../../api/yaml.ts';

/** Why a text is no YAML that Kubernetes would read, and where. The message never quotes the text. */
export class YamlFault extends Error {
  readonly offset: number;
  constructor(message: string, offset: number) {
    super(message);
    this.name = 'YamlFault';
    this.offset = offset;
  }
}

/** Bounds of one file, and of each document in it. */
export interface YamlLimits {
  documentsPerFile: number;
  /** Nesting of one document. */
  yamlDepth: number;
  /** Nodes of one document after aliases are expanded. */
  yamlNodes: number;
  /** Uses of aliases in one document. */
  yamlAliases: number;
  /** Bytes of one object as JSON. */
  objectBytes: number;
}

export type YamlDocument = Document.Parsed<ParsedNode>;

/** Pieces of text per node that ordinary manifests stay far below; more of them means a bomb of comments or punctuation. */
const lexemesPerNode = 6;
/** Documents of the largest size that one file may hold. */
const largeDocumentsPerFile = 2;

/** Scalars stay text (scalar.ts gives them meaning); the library's own key check is quadratic, ours is in values.ts. */
const composerOptions = {
  schema: 'failsafe',
  uniqueKeys: false,
  prettyErrors: false,
  resolveKnownTags: false,
} as const;

/**
 * The documents of a text, empty ones included, as syntax trees. Reads on only as far as the caller asks, and stops at the first thing
 * that is wrong or too much, before the library's slow paths are reached. Throws YamlFault.
 */
export function* readDocuments(text: string, limits: YamlLimits): Generator<YamlDocument> {
  let count = 0;
  for (const document of composeDocuments(text, limits)) {
    const start = document.contents?.range[0] ?? document.range[0];
    const error = document.errors[0];
    if (error) {
      const what = errorMessages[error.code] ?? 'it cannot be read';
      throw new YamlFault(`is not valid YAML: ${what}`, error.pos[0]);
    }
    count += 1;
    if (count > limits.documentsPerFile) {
      throw new YamlFault(`more than ${limits.documentsPerFile} documents in one file: split it`, start);
    }
    if (count > 1 && document.directives?.docStart !== true) {
      throw new YamlFault('a document after "..." must begin with "---", or it would not be applied', start);
    }
    yield document;
  }
}

function* composeDocuments(text: string, limits: YamlLimits): Generator<YamlDocument> {
  const composer = new Composer<ParsedNode>(composerOptions);
  for (const token of syntaxTokens(text, limits)) {
    if (token.type === 'error') throw new YamlFault('is not valid YAML: unexpected text', token.offset);
    if (token.type === 'directive') throw new YamlFault('directives (%...) are not supported', token.offset);
    yield* composer.next(token) as Generator<YamlDocument>;
  }
  yield* composer.end() as Generator<YamlDocument>;
}

function* syntaxTokens(text: string, limits: YamlLimits): ReturnType<Parser['parse']> {
  const parser = new Parser();
  const most = limits.yamlNodes * lexemesPerNode;
  let inFile = 0;
  let inDocument = 0;
  let last = '';
  for (const lexeme of createLexer().lex(text)) {
    // The library folds a text of many lines in fifty times its size.
    if (lexeme.length > limits.objectBytes)
      throw new YamlFault(`a value of more than ${limits.objectBytes} characters`, parser.offset);
    yield* parser.next(lexeme);
    inFile += 1;
    inDocument = lexeme === documentStart && last !== scalarStart ? 0 : inDocument + 1;
    last = lexeme;
    if (inDocument > most || inFile > most * largeDocumentsPerFile) {
      throw new YamlFault('too many values in one document or file: split it', parser.offset);
    }
    // The library recurses as deep as that.
    if (isDeeper(parser, limits.yamlDepth)) {
      throw new YamlFault(`nested deeper than ${limits.yamlDepth} levels`, parser.offset);
    }
  }
  yield* parser.end();
}

/** The library refuses a quoted text whose next lines are not indented. Kubernetes' reader takes them, up to the mark of a document. */
function createLexer(): Lexer {
  const lexer = new Lexer();
  const inner = lexer as unknown as { indentNext: number; parseQuotedScalar: () => Generator<string> };
  const parse = inner.parseQuotedScalar.bind(lexer);
  inner.parseQuotedScalar = function* () {
    const { indentNext } = inner;
    inner.indentNext = 0;
    const next = yield* parse();
    inner.indentNext = indentNext;
    return next;
  };
  return lexer;
}

/** The mark of a document, and what the lexer says before a text that looks like it. */
const documentStart = '---';
const scalarStart = '\u001f';

/** The library's own words may quote the file; these do not. */
const errorMessages: Readonly<Record<string, string>> = {
  ALIAS_PROPS: 'an alias cannot have an anchor or a tag',
  BAD_ALIAS: 'an alias or anchor has no valid name',
  BAD_DQ_ESCAPE: 'unknown escape in double quotes',
  BAD_INDENT: 'wrong indentation, or an open bracket or quote above',
  BAD_SCALAR_START: 'a plain value cannot begin with this character: quote it',
  BLOCK_AS_IMPLICIT_KEY: 'a nested mapping must begin on its own line',
  BLOCK_IN_FLOW: 'a block value cannot be used inside [ ] or { }',
  KEY_OVER_1024_CHARS: 'a key is longer than 1024 characters',
  MISSING_CHAR: 'a character is missing: a colon, comma, quote, bracket or space',
  MULTILINE_IMPLICIT_KEY: 'a key must be on one line; is a colon missing?',
  MULTIPLE_ANCHORS: 'a value can have one anchor',
  MULTIPLE_DOCS: 'a document must begin with "---"',
  MULTIPLE_TAGS: 'a value can have one tag',
  TAB_AS_INDENT: 'tabs cannot indent',
  UNEXPECTED_TOKEN: 'unexpected text',
};

/** A file's characters, or the first thing that is wrong with them. */
type TextResult = { text: string; problem?: never } | { text?: never; problem: string; line: number };

/** Characters that YAML forbids, and line breaks that Kubernetes' reader and others see differently. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029\ufffe\uffff]|\r(?!\n)/;

/** Bytes as text: UTF-8 only, without a byte order mark, with Windows line ends as they are, and a line end at the end. */
export function decodeText(bytes: Uint8Array): TextResult {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return { problem: 'is not UTF-8 text', line: lineOfBadByte(bytes) };
  }
  const bad = forbidden.exec(text);
  if (bad) {
    const code = (bad[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    return {
      problem: `holds the character U+${code}; write it as an escape in double quotes`,
      line: lineFinder(text)(bad.index),
    };
  }
  // Files that were joined keep their byte order marks.
  text = text.replace(/^(---[^\n]*\n)\ufeff/gm, '$1');
  return { text: text === '' || text.endsWith('\n') ? text : `${text}\n` };
}

/** Finds the line of an offset, from 1. Made once for a text, then a search by halving. */
export function lineFinder(text: string): (offset: number) => number {
  let lines = 0;
  for (let index = text.indexOf('\n'); index >= 0; index = text.indexOf('\n', index + 1)) lines += 1;
  const ends = new Uint32Array(lines);
  for (let index = text.indexOf('\n'), at = 0; index >= 0; index = text.indexOf('\n', index + 1), at += 1)
    ends[at] = index;
  return (offset) => 1 + firstNotBelow(ends, offset);
}

function firstNotBelow(sorted: Uint32Array, bound: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? bound) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Line of the first byte that is no UTF-8, by halving: a prefix of valid text is valid, or cut inside a character. */
function lineOfBadByte(bytes: Uint8Array): number {
  let good = 0;
  let bad = bytes.length;
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (isPrefix(bytes.subarray(0, middle))) good = middle;
    else bad = middle;
  }
  return bytes.subarray(0, good).reduce((line, byte) => (byte === 10 ? line + 1 : line), 1);
}

function isPrefix(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** Texts of the documents that a program printed one after the other. */
export function splitDocuments(output: string): string[] {
  return output.split(/^---\n/m).filter((text) => text.trim() !== '');
}
