/** Renders a query: the subset of Go's text/template that MetricTemplates use (flagger-behaviour.md 1.6). */
import { nearest } from '../../api/problems.ts';
import {
  errorAt,
  type Node,
  type Operand,
  type Pipe,
  parseTemplate,
  TemplateError,
} from './template-parser.ts';

const longestTemplate = 65_536;
const longestQuery = 65_536;
/** Characters that all functions of one template are given: a variable that is printed twice into itself doubles each time. */
const mostGiven = 1_000_000;

/** What a template may name: text by function name, and the map `variables`. */
type TemplateValues = Readonly<Record<string, Value>>;

/**
 * The rendered text, in which `encode` writes the values. Throws TemplateError, with line and column, for syntax outside the subset, a missing variable, or a value that would
 * end the quotes it stands in.
 */
export function renderTemplate(
  template: string,
  values: TemplateValues,
  encode: (value: string) => string = (value) => value,
): string {
  if (template.length > longestTemplate)
    throw new TemplateError(`the query is longer than ${longestTemplate} characters`);
  const renderer = new Renderer(template, values, encode);
  renderer.write(parseTemplate(template));
  return renderer.text;
}

class Renderer {
  readonly #template: string;
  readonly #values: TemplateValues;
  readonly #encode: (value: string) => string;
  /** Variables of the enclosing blocks, innermost last. */
  #scopes: Array<Map<string, Value>> = [new Map()];
  text = '';
  /** The quote that is open at the end of `text`. */
  #quote: string | undefined;
  #given = 0;

  constructor(template: string, values: TemplateValues, encode: (value: string) => string) {
    this.#template = template;
    this.#values = values;
    this.#encode = encode;
  }

  write(nodes: readonly Node[]): void {
    for (const node of nodes) this.#node(node);
  }

  #node(node: Node): void {
    if (node.kind === 'text') this.#append(node.text);
    else if (node.kind === 'output') this.#output(node.pipe, node.offset);
    else if (node.kind === 'assign') this.#assign(node);
    else this.#branch(node.branches);
  }

  /** Appends a value. Inside quotes it must not end them: a variable could otherwise change what is asked (threat row 8). */
  #output(pipe: Pipe, offset: number): void {
    const value = this.#at(offset, () => this.#encode(textOf(this.#pipe(pipe))));
    const quote = this.#quote;
    const read = this.#escape() + value;
    const stays = quote === undefined || openQuote(read, quote) === quote;
    if (!stays || (quote !== undefined && openQuote(read + quote, quote) === quote))
      throw errorAt(
        this.#template,
        offset,
        `this value holds ${quote}, a line break or a last backslash, and would end the quotes around it`,
      );
    this.#append(value);
  }

  #append(text: string): void {
    this.#quote = openQuote(this.#escape() + text, this.#quote);
    this.text += text;
    if (this.text.length > longestQuery)
      throw new TemplateError(`the rendered query is longer than ${longestQuery} characters`);
  }

  /** The backslash at the end of `text` that escapes what comes next, if there is one. */
  #escape(): string {
    let from = this.text.length;
    while (this.text[from - 1] === '\\') from -= 1;
    return (this.text.length - from) % 2 === 1 ? '\\' : '';
  }

  #assign({ name, declares, pipe, offset }: Node & { kind: 'assign' }): void {
    const value = this.#pipe(pipe);
    const scope = declares ? this.#scopes.at(-1) : this.#scopes.findLast((one) => one.has(name));
    if (!scope) throw errorAt(this.#template, offset, `${name} is not declared; use :=`);
    scope.set(name, value);
  }

  #branch(branches: ReadonlyArray<{ condition: Pipe | undefined; body: Node[] }>): void {
    const chosen = branches.find(({ condition }) => condition === undefined || isTrue(this.#pipe(condition)));
    this.#scopes.push(new Map());
    this.write(chosen?.body ?? []);
    this.#scopes.pop();
  }

  #pipe(pipe: Pipe): Value {
    let result: Value | undefined;
    for (const command of pipe) result = this.#command(command, result === undefined ? [] : [result]);
    return result ?? '';
  }

  #command([head, ...rest]: readonly Operand[], piped: readonly Value[]): Value {
    if (!head) return '';
    const apply = head.kind === 'call' ? ownEntry(templateFunctions, head.name) : undefined;
    const values = [...rest.map((operand) => this.#operand(operand)), ...piped];
    for (const value of values) this.#given += typeof value === 'string' ? value.length : 0;
    if (this.#given > mostGiven)
      throw errorAt(
        this.#template,
        head.offset,
        `the functions of this query are given more than ${mostGiven} characters`,
      );
    if (apply) return this.#at(head.offset, () => apply(...values));
    if (values.length > 0) {
      const what = head.kind === 'call' ? head.name : 'this';
      const functions = Object.keys(templateFunctions).join(', ');
      throw errorAt(this.#template, head.offset, `${what} is not a function; there are ${functions}`);
    }
    return this.#operand(head);
  }

  #operand(operand: Operand): Value {
    if (operand.kind === 'literal') return operand.value;
    if (operand.kind === 'pipe') return this.#pipe(operand.pipe);
    const { name, fields, offset } = operand;
    const holder =
      operand.kind === 'variable'
        ? this.#scopes.findLast((scope) => scope.has(name))?.get(name)
        : ownEntry(this.#values, name);
    if (holder === undefined) {
      const names = Object.keys(this.#values);
      const near = nearest(name, [...names, ...Object.keys(templateFunctions)]);
      const hint = near ? `did you mean ${near}?` : `must be one of ${names.join(', ')}`;
      throw errorAt(this.#template, offset, `${name} is unknown; ${hint}`);
    }
    return this.#at(offset, () => fields.reduce<Value>((value, field) => entryOf(value, field), holder));
  }

  #at<T>(offset: number, work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (error instanceof TemplateError) throw error;
      throw errorAt(this.#template, offset, error instanceof Error ? error.message : 'failed');
    }
  }
}

function ownEntry<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** The quote that is open after a text that began inside `before`; strings of a query language end at the line's end. Between backticks a backslash is one. */
function openQuote(text: string, before: string | undefined): string | undefined {
  let open = before;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index] ?? '';
    if (open === undefined && ['"', "'", '`'].includes(character)) open = character;
    else if (open !== undefined && open !== '`' && character === '\\') index += 1;
    else if (character === open || character === '\n') open = undefined;
  }
  return open;
}

/** Functions of Go templates that queries may use. */

/** A value inside a template. */
type Value = string | number | boolean | Readonly<Record<string, string>>;

/** A function; throws Error with a message without position. */
type TemplateFunction = (...values: Value[]) => Value;

/** The functions by name. `and` and `or` return the deciding value, as in Go. */
const templateFunctions: Readonly<Record<string, TemplateFunction>> = {
  printf: (format, ...values) => printf(textOf(format ?? ''), values),
  print: (...values) => values.map(textOf).join(''),
  eq: (left, ...others) => others.some((other) => other === left),
  ne: (left, right) => left !== right,
  not: (value) => !isTrue(value ?? false),
  and: (...values) => values.find((value) => !isTrue(value)) ?? values.at(-1) ?? false,
  or: (...values) => values.find(isTrue) ?? values.at(-1) ?? false,
  index: (map, key) => entryOf(map ?? '', textOf(key ?? ''), ''),
};

/** Go's truth: everything but false, 0 and what is empty. */
function isTrue(value: Value): boolean {
  return typeof value === 'object' ? Object.keys(value).length > 0 : Boolean(value);
}

/** A value as it is printed. Throws for a map. */
function textOf(value: Value): string {
  if (typeof value === 'object') throw new Error('a map cannot be printed; name one of its entries');
  return String(value);
}

/** One entry of a map. Without `otherwise` a missing one is an error (Go's missingkey=error, which is not about `index`). */
function entryOf(map: Value, key: string, otherwise?: string): string {
  if (typeof map !== 'object') throw new Error(`a ${typeof map} has no entry ${key}`);
  const value = Object.hasOwn(map, key) ? map[key] : otherwise;
  if (value === undefined) throw new Error(`there is no variable ${key}; set it in templateVariables`);
  return value;
}

function printf(format: string, values: readonly Value[]): string {
  let next = 0;
  const text = format.replace(/%(.?)/gs, (_, verb: string) => {
    if (verb === '%') return '%';
    const value = values[next];
    next += 1;
    if (value === undefined) throw new Error(`printf: %${verb} has no value`);
    return formatted(verb, value);
  });
  if (next < values.length) throw new Error(`printf: ${values.length - next} values too many`);
  return text;
}

function formatted(verb: string, value: Value): string {
  if (verb === 's' || verb === 'v') return textOf(value);
  if (verb === 'q') return JSON.stringify(textOf(value));
  if (verb === 'd' && Number.isInteger(value)) return String(value);
  throw new Error(`printf: %${verb} is not supported for this value; use %s, %v, %q or %d`);
}
