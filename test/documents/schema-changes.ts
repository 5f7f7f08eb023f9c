/** What of a JSON Schema of output breaks those who read it. */

type Node = Readonly<Record<string, unknown>>;

/** Why a program that reads documents of the old schema may fail on one of the new; empty: it does not. */
export function breakingChanges(before: Node, after: Node, path = ''): string[] {
  if (before.$ref !== after.$ref) return [`${path}: refers to something else`];
  if (before.const !== after.const) return [`${path}: ${before.const} became ${after.const}`];
  const [old, now] = [before.$defs ?? {}, after.$defs ?? {}];
  return [
    ...fieldChanges({ properties: old }, { properties: now }, path),
    ...typeChanges(before, after, path),
    ...wordChanges(before, after, path),
    ...fieldChanges(before, after, path),
    ...partChanges(before, after, path),
    ...choiceChanges(before, after, path),
  ];
}

function typeChanges(before: Node, after: Node, path: string): string[] {
  const old = [before.type ?? []].flat();
  // A whole number is a number.
  const isSame = [after.type ?? []]
    .flat()
    .every((type) => old.includes(type) || (type === 'integer' && old.includes('number')));
  const formatIsSame = before.format === undefined || before.format === after.format;
  return isSame && formatIsSame ? [] : [`${path}: is another type of value`];
}

/** Words may be added: who reads a list of words must expect one that it does not know. */
function wordChanges(before: Node, after: Node, path: string): string[] {
  const now = (after.enum ?? []) as readonly unknown[];
  if (before.enum !== undefined && after.enum === undefined) return [`${path}: may be any text now`];
  return ((before.enum ?? []) as readonly unknown[])
    .filter((word) => !now.includes(word))
    .map((word) => `${path}: ${word} was taken away`);
}

function fieldChanges(before: Node, after: Node, path: string): string[] {
  const old = (before.properties ?? {}) as Readonly<Record<string, Node>>;
  const now = (after.properties ?? {}) as Readonly<Record<string, Node>>;
  const required = (after.required ?? []) as readonly string[];
  return Object.entries(old).flatMap(([field, schema]) => {
    const inner = now[field];
    const place = `${path}.${field}`;
    if (!inner) return [`${place}: was taken away`];
    const wasRequired = ((before.required ?? []) as readonly string[]).includes(field);
    const isOptional = wasRequired && !required.includes(field);
    return [...(isOptional ? [`${place}: may be absent now`] : []), ...breakingChanges(schema, inner, place)];
  });
}

/** Elements of lists, and the parts that are all true of a value. */
function partChanges(before: Node, after: Node, path: string): string[] {
  const old = [before.items, ...((before.allOf ?? []) as unknown[])];
  const now = [after.items, ...((after.allOf ?? []) as unknown[])];
  return old.flatMap((schema, index) => {
    const inner = now[index];
    if (schema === undefined) return [];
    if (inner === undefined) return [`${path}: a part was taken away`];
    return breakingChanges(schema as Node, inner as Node, `${path}[]`);
  });
}

/** Alternatives may be added, as words may, but none taken away or changed. */
function choiceChanges(before: Node, after: Node, path: string): string[] {
  const old = choicesOf(before);
  const now = choicesOf(after);
  return old.flatMap((schema, index) => {
    if (now.some((other) => breakingChanges(schema, other, path).length === 0)) return [];
    return [`${path}: alternative ${index + 1} was taken away or changed`];
  });
}

function choicesOf(schema: Node): readonly Node[] {
  return [...((schema.anyOf ?? []) as Node[]), ...((schema.oneOf ?? []) as Node[])];
}
