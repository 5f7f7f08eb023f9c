/** Functions of Go templates that queries may use. */

/** A value inside a template. */
export type Value = string | number | boolean | Readonly<Record<string, string>>;

/** A function; throws Error with a message without position. */
type TemplateFunction = (...values: Value[]) => Value;

/** The functions by name. `and` and `or` return the deciding value, as in Go. */
export const templateFunctions: Readonly<Record<string, TemplateFunction>> = {
  printf: (format, ...values) => printf(textOf(format ?? ''), values),
  print: (...values) => values.map(textOf).join(''),
  eq: (left, ...others) => others.some((other) => other === left),
  ne: (left, right) => left !== right,
  not: (value) => !isTrue(value ?? false),
  and: (...values) => values.find((value) => !isTrue(value)) ?? values.at(-1) ?? false,
  or: (...values) => values.find(isTrue) ?? values.at(-1) ?? false,
  index: (map, key) => entryOf(map ?? '', textOf(key ?? '')),
};

/** Go's truth: everything but false, 0 and what is empty. */
export function isTrue(value: Value): boolean {
  return typeof value === 'object' ? Object.keys(value).length > 0 : Boolean(value);
}

/** A value as it is printed. Throws for a map. */
export function textOf(value: Value): string {
  if (typeof value === 'object') throw new Error('a map cannot be printed; name one of its entries');
  return String(value);
}

/** One entry of a map; a missing one is an error (Go's missingkey=error). */
export function entryOf(map: Value, key: string): string {
  if (typeof map !== 'object') throw new Error(`a ${typeof map} has no entry ${key}`);
  const value = Object.hasOwn(map, key) ? map[key] : undefined;
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
