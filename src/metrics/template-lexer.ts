/** Cuts a Go template into text and actions, and actions into tokens. Trim markers are applied here. */
import { TemplateError } from './template-error.ts';

/** One word of an action. */
export interface Token {
  kind: 'name' | 'variable' | 'field' | 'string' | 'number' | 'sign';
  /** The word; of a string, its value. */
  text: string;
  /** Offset in the template. */
  offset: number;
}

/** A stretch of a template. */
export type Piece = { kind: 'text'; text: string } | { kind: 'action'; tokens: Token[]; offset: number };

const wordPattern =
  /(?<space>\s+)|(?<string>"(?:[^"\\\n]|\\.)*"|`[^`]*`)|(?<variable>\$\w*)|(?<field>\.[A-Za-z_]\w*)|(?<name>[A-Za-z_]\w*)|(?<number>-?\d+(?:\.\d+)?)|(?<sign>:=|[=|(),])/y;
const kinds = ['string', 'variable', 'field', 'name', 'number', 'sign'] as const;
/** An action whose text may hold `}}` only inside a string or a comment. */
const actionPattern =
  /\{\{(?<left>-(?=\s))?(?<body>\s*\/\*[\s\S]*?\*\/\s*|(?:"(?:[^"\\\n]|\\.)*"|`[^`]*`|(?!\}\}|"|`)[\s\S])*?)(?<right>(?<=\s)-)?\}\}/y;

/** The pieces in order. Throws TemplateError for an action that does not end or holds what this subset does not know. */
export function pieces(template: string): Piece[] {
  const found: Piece[] = [];
  let position = 0;
  let trimNext = false;
  while (position < template.length) {
    const start = template.indexOf('{{', position);
    let text = template.slice(position, start < 0 ? undefined : start);
    if (trimNext) text = text.trimStart();
    if (start < 0) {
      found.push({ kind: 'text', text });
      break;
    }
    actionPattern.lastIndex = start;
    const match = actionPattern.exec(template);
    if (!match?.groups) throw errorAt(template, start, 'this action has no end: }} is missing');
    if (match.groups.left) text = text.trimEnd();
    found.push({ kind: 'text', text });
    const body = match.groups.body ?? '';
    const offset = start + 2 + (match.groups.left?.length ?? 0);
    if (!/^\s*\/\*/.test(body))
      found.push({ kind: 'action', tokens: tokens(template, body, offset), offset: start });
    trimNext = Boolean(match.groups.right);
    position = start + match[0].length;
  }
  return found;
}

function tokens(template: string, body: string, offset: number): Token[] {
  const found: Token[] = [];
  let position = 0;
  while (position < body.length) {
    wordPattern.lastIndex = position;
    const match = wordPattern.exec(body);
    if (!match?.groups)
      throw errorAt(template, offset + position, `"${body[position]}" is not understood here`);
    const kind = kinds.find((candidate) => match.groups?.[candidate] !== undefined);
    if (kind) {
      const text = kind === 'string' ? unquoted(template, match[0], offset + position) : match[0];
      found.push({ kind, text, offset: offset + position });
    }
    position += match[0].length;
  }
  return found;
}

const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  '\\': '\\',
  '"': '"',
  "'": "'",
};

function unquoted(template: string, literal: string, offset: number): string {
  const inner = literal.slice(1, -1);
  if (literal.startsWith('`')) return inner;
  return inner.replace(/\\(.)/g, (_, letter: string) => {
    const value = escapes[letter];
    if (value === undefined) throw errorAt(template, offset, `the escape \\${letter} is not supported`);
    return value;
  });
}

/** The error with its line and column. */
export function errorAt(template: string, offset: number, message: string): TemplateError {
  const before = template.slice(0, offset).split('\n');
  return new TemplateError(message, { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 });
}
