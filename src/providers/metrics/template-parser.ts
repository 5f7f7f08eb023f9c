/** The syntax tree of the subset of Go templates that queries use: output, assignment, if/else, pipelines, parentheses. */

/** A value before it is known. `fields` are looked up in it, as in `variables.x`. */
export type Operand =
  | { kind: 'call' | 'variable'; name: string; fields: string[]; offset: number }
  | { kind: 'literal'; value: string | number | boolean; offset: number }
  | { kind: 'pipe'; pipe: Pipe; offset: number };

/** Commands, each a function with arguments or one value; the result of each is the last argument of the next. */
export type Pipe = Operand[][];

/** A part of a template. */
export type Node =
  | { kind: 'text'; text: string }
  | { kind: 'output'; pipe: Pipe; offset: number }
  | { kind: 'assign'; name: string; declares: boolean; pipe: Pipe; offset: number }
  | { kind: 'if'; branches: Array<{ condition: Pipe | undefined; body: Node[] }> };

/** Actions that Go knows, with what to write instead. */
const unsupported: ReadonlyMap<string, string> = new Map([
  [
    'range',
    'write out each value, or give several as one variable, as in {{ variables.codes }} with codes: "500|503"',
  ],
  ['with', 'use {{ if VALUE }}, and name the value again inside'],
  ...['define', 'template', 'block'].map((word) => [word, 'write the text where it is used'] as const),
  ...['break', 'continue'].map((word) => [word, 'there are no loops'] as const),
]);
const deepest = 20;

/** Parses a template. Throws TemplateError with the position of what it does not understand. */
export function parseTemplate(template: string): Node[] {
  const reader = new Reader(template, pieces(template));
  const nodes = reader.body(0);
  reader.expectEnd();
  return nodes;
}

class Reader {
  readonly #template: string;
  readonly #pieces: readonly Piece[];
  #next = 0;

  constructor(template: string, all: readonly Piece[]) {
    this.#template = template;
    this.#pieces = all;
  }

  /** Nodes up to an `else` or `end` of the enclosing block, which is left unread. */
  body(depth: number): Node[] {
    const nodes: Node[] = [];
    for (let piece = this.#peek(); piece && !isBlockEnd(piece); piece = this.#peek()) {
      this.#next += 1;
      nodes.push(piece.kind === 'text' ? piece : this.#action(piece, depth));
    }
    return nodes;
  }

  expectEnd(): void {
    const piece = this.#peek();
    if (piece?.kind === 'action') throw this.#error(piece.offset, `${piece.tokens[0]?.text} has no if`);
  }

  #action(piece: Piece & { kind: 'action' }, depth: number): Node {
    const { tokens, offset } = piece;
    const [first, second] = tokens;
    if (!first) throw this.#error(offset, 'this action is empty');
    if (first.text === 'if' && first.kind === 'name') return this.#if(piece, depth);
    const instead = first.kind === 'name' ? unsupported.get(first.text) : undefined;
    if (instead) throw this.#error(first.offset, `${first.text} is not supported in queries: ${instead}`);
    if (first.kind === 'variable' && (second?.text === ':=' || second?.text === '=')) {
      const pipe = this.#pipe(new Tokens(tokens.slice(2), offset), 0);
      return { kind: 'assign', name: first.text, declares: second.text === ':=', pipe, offset };
    }
    return { kind: 'output', pipe: this.#pipe(new Tokens(tokens, offset), 0), offset };
  }

  #if({ tokens, offset }: Piece & { kind: 'action' }, depth: number): Node {
    if (depth >= deepest) throw this.#error(offset, `blocks are nested deeper than ${deepest}`);
    const branches: Array<{ condition: Pipe | undefined; body: Node[] }> = [];
    let condition: Pipe | undefined = this.#pipe(new Tokens(tokens.slice(1), offset), 0);
    for (;;) {
      branches.push({ condition, body: this.body(depth + 1) });
      const closing = this.#peek();
      if (closing?.kind !== 'action') throw this.#error(offset, 'this if has no matching end');
      this.#next += 1;
      const [word, following, ...rest] = closing.tokens;
      if (word?.text === 'end') return { kind: 'if', branches };
      if (condition === undefined) throw this.#error(closing.offset, 'this if has more than one else');
      if (following && following.text !== 'if')
        throw this.#error(following.offset, `"${following.text}" cannot follow else`);
      condition = following ? this.#pipe(new Tokens(rest, closing.offset), 0) : undefined;
    }
  }

  #pipe(tokens: Tokens, depth: number): Pipe {
    const pipe: Pipe = [[]];
    for (let token = tokens.take(); token && token.text !== ')'; token = tokens.take()) {
      if (token.kind === 'sign' && token.text === '|') pipe.push([]);
      else pipe.at(-1)?.push(this.#operand(token, tokens, depth));
    }
    if (depth > 0 && tokens.last !== ')')
      throw this.#error(tokens.offset, 'a closing parenthesis is missing');
    if (depth === 0 && tokens.last === ')')
      throw this.#error(tokens.offset, 'a closing parenthesis has no opening one');
    if (pipe.some((command) => command.length === 0)) throw this.#error(tokens.offset, 'a value is missing');
    return pipe;
  }

  #operand(token: Token, tokens: Tokens, depth: number): Operand {
    const { kind, text, offset } = token;
    if (kind === 'string') return { kind: 'literal', value: text, offset };
    if (kind === 'number') return { kind: 'literal', value: Number(text), offset };
    if (kind === 'name' && (text === 'true' || text === 'false'))
      return { kind: 'literal', value: text === 'true', offset };
    if (kind === 'sign' && text === '(') {
      if (depth >= deepest) throw this.#error(offset, `parentheses are nested deeper than ${deepest}`);
      return { kind: 'pipe', pipe: this.#pipe(tokens, depth + 1), offset };
    }
    if (kind === 'name' || (kind === 'variable' && text !== '$'))
      return {
        kind: kind === 'name' ? 'call' : 'variable',
        name: text,
        fields: tokens.fields(token),
        offset,
      };
    throw this.#error(offset, `"${text}" is not supported here${dotHint(token)}`);
  }

  #peek(): Piece | undefined {
    return this.#pieces[this.#next];
  }

  #error(offset: number, message: string): TemplateError {
    return errorAt(this.#template, offset, message);
  }
}

function dotHint({ kind, text }: Token): string {
  if (text !== '.' && kind !== 'field') return '';
  return ': a value is named without a dot before it, as {{ target }} or {{ variables.x }}';
}

/** The tokens of one action, read one after the other. */
class Tokens {
  readonly #tokens: readonly Token[];
  #next = 0;
  /** Text of a parenthesis that was read last, empty for any other token. */
  last = '';
  offset: number;

  constructor(tokens: readonly Token[], offset: number) {
    this.#tokens = tokens;
    this.offset = offset;
  }

  take(): Token | undefined {
    const token = this.#tokens[this.#next];
    this.#next += 1;
    this.last = token?.kind === 'sign' ? token.text : '';
    if (token) this.offset = token.offset;
    return token;
  }

  /** Fields that follow their holder without a space between. */
  fields(holder: Token): string[] {
    const found: string[] = [];
    let end = holder.offset + holder.text.length;
    for (
      let token = this.#tokens[this.#next];
      token?.kind === 'field' && token.offset === end;
      token = this.#tokens[this.#next]
    ) {
      found.push(token.text.slice(1));
      end += token.text.length;
      this.#next += 1;
    }
    return found;
  }
}

function isBlockEnd(piece: Piece): boolean {
  const first = piece.kind === 'action' ? piece.tokens[0] : undefined;
  return first?.kind === 'name' && (first.text === 'else' || first.text === 'end');
}

// Cuts a Go template into text and actions, and actions into tokens. Trim markers are applied here.

/** One token of an action. */
interface Token {
  kind: 'name' | 'variable' | 'field' | 'string' | 'number' | 'sign';
  /** Its text; of a string, the value. */
  text: string;
  /** Offset in the template. */
  offset: number;
}

/** A stretch of a template. */
type Piece = { kind: 'text'; text: string } | { kind: 'action'; tokens: Token[]; offset: number };

const tokenPattern =
  /(?<space>\s+)|(?<string>"(?:[^"\\\n]|\\.)*"|`[^`]*`)|(?<variable>\$\w*)|(?<field>\.[A-Za-z_]\w*)|(?<name>[A-Za-z_]\w*)|(?<number>-?\d+(?:\.\d+)?)|(?<sign>:=|[=|(),.])/y;
const kinds = ['string', 'variable', 'field', 'name', 'number', 'sign'] as const;
/** An action whose text may hold `}}` only inside a string or a comment; a comment that does not end is searched for its end once. */
const actionPattern =
  /\{\{(?<left>-(?=\s))?(?<body>\s*\/\*[\s\S]*?\*\/\s*|(?!\s*\/\*)(?:"(?:[^"\\\n]|\\.)*"|`[^`]*`|(?!\}\}|"|`)[\s\S])*?)(?<right>(?<=\s)-)?\}\}/y;

/** The pieces in order. Throws TemplateError for an action that does not end or holds what this subset does not know. */
function pieces(template: string): Piece[] {
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
    tokenPattern.lastIndex = position;
    const match = tokenPattern.exec(body);
    if (!match?.groups)
      throw errorAt(template, offset + position, `"${body[position]}" is not expected here`);
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

/** A query template that cannot be rendered; its author must act. The message names the position. */
export class TemplateError extends Error {
  /** Where in the template, from 1; undefined for errors that have no place in it. */
  readonly position: { line: number; column: number } | undefined;

  constructor(message: string, position?: { line: number; column: number }) {
    super(position ? `line ${position.line}, column ${position.column}: ${message}` : message);
    this.name = 'TemplateError';
    this.position = position;
  }
}
