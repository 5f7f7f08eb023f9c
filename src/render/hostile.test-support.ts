import { limits } from '../api/limits.ts';

/** The head of an ordinary object. */
export const head = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n';
const full = limits.fileBytes - 1000;

/** As many repetitions as fit into one file. */
export function fill(piece: string, bytes = full): string {
  return piece.repeat(Math.floor(bytes / Buffer.byteLength(piece)));
}

/** Numbered lines. */
export function lines(count: number, line: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => line(index)).join('\n');
}

/** Files that take seconds to minutes, gigabytes or the whole stack on a slow path that some reader of YAML has; by what they are full of. Made when they are read: all of them take much memory. */
export const hostileFiles: Readonly<Record<string, () => string | Uint8Array>> = {
  'one line a million times': () => fill('a: b\n'),
  'different keys': () => lines(90_000, (index) => `k${index}: v`),
  '90,000 keys in one map': () => `${head}data:\n${lines(90_000, (index) => `  k${index}: v`)}`,
  'open brackets': () => fill('['),
  'open braces': () => fill('{a: '),
  'closing brackets': () => fill(']'),
  'flow items': () => `[${fill('a,')}]`,
  'empty flow items': () => `[${fill('[],')}]`,
  'flow pairs': () => `[${fill('a: b,')}]`,
  dashes: () => fill('- '),
  'question marks': () => fill('? '),
  colons: () => fill(': '),
  'empty lines': () => fill('\n'),
  'windows lines': () => fill('a: b\r\n'),
  comments: () => fill('#\n'),
  'indented comments': () => fill('  # c\n'),
  anchors: () => fill('&a '),
  tags: () => fill('!!str '),
  aliases: () => `[&a x,${fill('*a,')}]`,
  'block scalars': () => fill('- |\n  x\n'),
  'keys of block scalars': () => fill('a: |\n'),
  'an open quote': () => `"${fill('a\n')}`,
  'an open single quote': () => `'${fill('a\n\n')}`,
  'quoted words': () => fill('""\n'),
  directives: () => fill('%a\n'),
  'ends of documents': () => fill('a\n...\n'),
  '200,000 empty documents': () => fill('---\n'),
  'small documents': () => fill(`${head}---\n`),
  'deep indentation': () => lines(1_400, (index) => `${' '.repeat(index)}a:`),
  'deep flow': () => `a: ${'['.repeat(20_000)}`,
  'alias bomb': () =>
    `${head}a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c]\n`,
  'merge bomb': () =>
    `${head}m0: &m0 {${lines(4_000, (index) => ` k${index}: 1,`)}}\n${lines(49, (index) => `m${index + 1}: &m${index + 1} {<<: *m${index}}`)}`,
  'many merges': () => `${head}m: {${fill('<<: {a: 1}, ', 500_000)}}`,
  'an anchor that merges itself': () => `${head}a: &a {<<: *a}`,
  'a large text behind many aliases': () => `${head}a: &a "${fill('x', 900_000)}"\nb: [${'*a, '.repeat(49)}]`,
  'many wrong labels': () => `${head}  labels: {${lines(9_000, (index) => ` k${index}: 1,`)}}\n`,
  'a list of nothing': () => `apiVersion: v1\nkind: List\nitems:\n${fill('- {}\n', 50_000)}`,
  '20 MB': () => new Uint8Array(20_000_000).fill(120),
  'zero bytes': () => new Uint8Array(full),
  'bytes that are no text': () => new Uint8Array(full).fill(255),
};
