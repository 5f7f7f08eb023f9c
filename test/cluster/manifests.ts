/** Manifests as people write them, made from a seed: the same number makes the same text on every machine. */

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** What a manifest is written with. */
interface Writer {
  pick<T>(items: readonly T[]): T;
  chance(share: number): boolean;
  readonly step: number;
}

type Node =
  | { readonly kind: 'scalar'; readonly text: string }
  | { readonly kind: 'map'; readonly entries: ReadonlyArray<readonly [key: string, value: Node]> }
  | { readonly kind: 'list'; readonly items: readonly Node[] };

/** Plain scalars that readers of YAML do not agree on, and ordinary ones among them. */
const PLAIN =
  'web 80 8080 1.5 -1 0 0644 0755 0o17 0x1F 1e3 1E3 1.0 .5 5. +1 1_000 0b101 007 08 true false True FALSE yes no on off Yes NO y n null Null ~ 1:30 12:30:45 2026-01-02 2026-01-02T03:04:05Z 100m 256Mi 50% v1.2.3 1.2.3 1e-7 12345678901 9007199254740993 0.1 3.14e10 -0 -0.0 +.5 1e999 0x 0o 1e e1 a:b a#b :a -a a- http://x.example.com/y?z=1 a/b/c @a `a %a ,a [a {a &a *a !a |a >a "a \'a .nan -.inf ..5 1.2e+3 1e+ a,b a]b a}b {} [] <<'.split(
    ' ',
  );
const QUOTED = [
  "'yes'",
  '"yes"',
  "'0644'",
  '"1"',
  "''",
  '""',
  "'it''s'",
  '"a\\tb"',
  '"\\u00e5"',
  '"\\x41"',
  '"a\\\n    b"',
  '"a b"',
  "'a: b # c'",
  '"\\/"',
  '"\\U0001F600"',
  '"\\e"',
  "'å'",
  '"{{ .Values }}"',
];
const TAGGED = [
  '!!str 1',
  '!!str yes',
  '!!int "3"',
  '!!float 1',
  '!!bool yes',
  '!!null ""',
  '!!binary aGVsbG8=',
  '! a',
  '!local a',
];
const KEYS = [
  'app',
  'name',
  'tier',
  'a.b/c',
  '"quoted"',
  "'single'",
  '"80"',
  'on',
  'y',
  '80',
  '"on"',
  'key with space',
  'x-y_z',
  '? q',
  '~',
  'true',
  '"a: b"',
];
const BLOCKS = ['|', '|-', '|+', '>', '>-', '>+', '|2', '>1-'];
const LINES = [
  'first line',
  '  indented',
  '',
  '# no comment',
  'key: value',
  '- item',
  'tab\there',
  'trailing ',
  '{{ template }}',
  '%dir',
  '---x',
  'å 😀',
  '"quote',
  "it's",
];

function scalar(writer: Writer): Node {
  const from = writer.chance(0.7) ? PLAIN : writer.chance(0.75) ? QUOTED : TAGGED;
  return { kind: 'scalar', text: writer.pick(from) };
}

function ordinary(writer: Writer): Node {
  return {
    kind: 'scalar',
    text: writer.pick(['web', '80', 'true', '"1"', "'a b'", 'example.com/web:1.2', '100m', '3']),
  };
}

/** Most of a manifest is ordinary, else hardly one would be read; odd things come one or two at a time. */
function node(writer: Writer, depth: number): Node {
  const value = () => (depth > 2 || writer.chance(0.55) ? leaf(writer) : node(writer, depth + 1));
  const count = writer.pick([1, 2, 2, 3]);
  if (writer.chance(0.3)) return { kind: 'list', items: Array.from({ length: count }, value) };
  const keys = [...new Set(Array.from({ length: count }, () => key(writer)))];
  return { kind: 'map', entries: keys.map((name) => [name, value()] as const) };
}

function leaf(writer: Writer): Node {
  return writer.chance(0.12) ? scalar(writer) : ordinary(writer);
}

function key(writer: Writer): string {
  return writer.chance(0.05)
    ? writer.pick(KEYS)
    : writer.pick(['app', 'image', 'ports', 'env', 'value', 'spec', 'replicas', 'args', 'host', 'path']);
}

/** In one line. */
function flow(node: Node): string {
  if (node.kind === 'scalar') return node.text.replace(/\n\s*/g, ' ');
  if (node.kind === 'list') return `[${node.items.map(flow).join(', ')}]`;
  return `{${node.entries.map(([name, value]) => `${name}: ${flow(value)}`).join(', ')}}`;
}

/** In lines, each indented by `indent`. */
function block(writer: Writer, node: Node, indent: number): string[] {
  const pad = ' '.repeat(indent);
  if (node.kind === 'scalar') return [`${pad}${node.text}`];
  const heads =
    node.kind === 'map'
      ? node.entries.map(([name, value]) => [`${name}:`, value] as const)
      : node.items.map((item) => ['-', item] as const);
  return heads.flatMap(([head, value]) =>
    entry(writer, `${pad}${head}`, value, { indent, isItem: node.kind === 'list' }),
  );
}

function entry(
  writer: Writer,
  head: string,
  value: Node,
  { indent, isItem }: { indent: number; isItem: boolean },
): string[] {
  const remark = writer.chance(0.05) ? writer.pick([' # remark', '  ', ' #', '\t# tab']) : '';
  if (writer.chance(0.03))
    return [`${head} ${writer.pick(BLOCKS)}${remark}`, ...text(writer, indent + writer.step)];
  if (value.kind === 'scalar') return [`${head} ${value.text}${remark}`];
  if (writer.chance(0.15)) return [`${head} ${flow(value)}${remark}`];
  if (isItem && value.kind === 'map' && writer.chance(0.8)) {
    const [first = '', ...rest] = block(writer, value, indent + 2);
    return [`${head} ${first.trimStart()}`, ...rest];
  }
  const deeper = value.kind === 'list' && !isItem && writer.chance(0.5) ? indent : indent + writer.step;
  return [`${head}${remark}`, ...block(writer, value, deeper)];
}

function text(writer: Writer, indent: number): string[] {
  return Array.from({ length: writer.pick([1, 2, 3]) }, () => {
    const line = writer.pick(LINES);
    return line === '' ? '' : `${' '.repeat(indent)}${line}`;
  });
}

/** What stands around and between: anchors, merges, ends of documents, line ends. */
const WHOLE: ReadonlyArray<readonly [share: number, change: (text: string) => string]> = [
  [0.03, (text) => `${text}base: &base {a: 1, b: [x]}\nused: {<<: *base, b: 2}\n`],
  [0.03, (text) => `${text}one: &one\n  a: 1\ntwo: *one\nthree: [*one, *one]\n`],
  [0.02, (text) => text.replaceAll('\n', '\r\n')],
  [0.02, (text) => `--- # first\n${text}`],
  [0.02, (text) => `${text}...\n`],
  [0.01, (text) => `%YAML 1.1\n---\n${text}`],
  [0.02, (text) => `\ufeff${text}`],
  [0.03, (text) => `# before\n\n${text}\n# after\n`],
  [0.02, (text) => `${text.trimEnd()}\n`],
  [0.02, (text) => `${text}again: 1\nagain: 2\n`],
  [0.02, (text) => `${text}folded: one\n  two\n\n  three\n`],
  [0.02, (text) => `${text}"json": {"a":1,"b":[true,null],"c":"\\u0041"}\n`],
];

const HEADS: ReadonlyArray<(name: string) => string> = [
  (name) => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n`,
  (name) => `apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: ${name}, labels: {app: "web"}}\n`,
  (name) =>
    `kind: Service\napiVersion: v1\nmetadata:\n    name: "${name}"\n    annotations:\n        a/b: 'c'\n`,
  (name) =>
    `apiVersion: "flagger.app/v1beta1"\nkind: Canary\nmetadata:\n  namespace: shop\n  name: ${name}\n`,
];

/** The manifest of this number; it holds one object, whose name is unique. Some are not valid on purpose. */
export function manifestOf(number: number): string {
  const random = randomFrom(number);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const writer: Writer = { pick, chance: (share) => random() < share, step: pick([2, 2, 2, 4]) };
  const body = block(
    writer,
    {
      kind: 'map',
      entries: [
        ['spec', node(writer, 0)],
        ['data', node(writer, 1)],
      ],
    },
    0,
  );
  const whole = `${pick(HEADS)(`m-${number}`)}${body.join('\n')}\n`;
  return WHOLE.reduce((text, [share, change]) => (writer.chance(share) ? change(text) : text), whole);
}
