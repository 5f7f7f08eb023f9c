import {
  type Alias,
  Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Pair,
  type ParsedNode,
  type Scalar,
  visit,
  type YAMLMap,
} from 'yaml';
import { isRecord } from '../../api/kubernetes.ts';
import { type YamlDocument, YamlFault, type YamlLimits } from './documents.ts';
import { isIntegerText, readPlain, readTagged } from './scalar.ts';

/** What is known while one document is turned into JSON. */
interface Walk {
  text: string;
  limits: YamlLimits;
  nodes: number;
  characters: number;
  aliases: number;
  /** The newest node of each anchor, in the order of the text. */
  anchors: Map<string, ParsedNode>;
  /** What each alias stands for, fixed when it is first met: an anchor may be set again later. */
  bound: Map<Alias, ParsedNode>;
  /** Aliased nodes whose value is being computed. */
  open: Set<ParsedNode>;
  lastKeyWins: boolean;
}

/** How a document is read. */
export interface ReadingOptions {
  /** A key that is written twice is no fault, and the last one counts, as helm reads values. */
  readonly lastKeyWins?: boolean;
}

const corePrefix = 'tag:yaml.org,2002:';

/** The document of a text as JSON, read as Kubernetes reads it. Undefined for an empty document. Throws YamlFault. */
export function documentValue(
  document: YamlDocument,
  text: string,
  limits: YamlLimits,
  { lastKeyWins = false }: ReadingOptions = {},
): unknown {
  if (document.contents === null) return undefined;
  const walk: Walk = {
    text,
    limits,
    nodes: 0,
    characters: 0,
    aliases: 0,
    anchors: new Map(),
    bound: new Map(),
    open: new Set(),
    lastKeyWins,
  };
  return nodeValue(document.contents, walk, 1) ?? undefined;
}

/** The text a key stands for, or undefined when it can be no key of a JSON object. */
export function keyText(key: unknown): string | undefined {
  if (!isScalar(key)) return undefined;
  if (isMergeKey(key)) return '<<';
  const { value } = readScalar(key);
  if (typeof value === 'string' || typeof value === 'boolean') return String(value);
  // Kubernetes turns a float into its shortest text: 1.10 would become "1.1", and 1e6 "1e+06".
  const isInteger =
    typeof value === 'number' && key.tag !== `${corePrefix}float` && isIntegerText(String(key.value));
  return isInteger ? String(value) : undefined;
}

function nodeValue(node: ParsedNode | null, walk: Walk, depth: number): unknown {
  if (node === null) return null;
  walk.nodes += 1;
  if (walk.nodes > walk.limits.yamlNodes) {
    throw new YamlFault(`more than ${walk.limits.yamlNodes} values in one document: split it`, node.range[0]);
  }
  if (depth > walk.limits.yamlDepth) {
    throw new YamlFault(`nested deeper than ${walk.limits.yamlDepth} levels`, node.range[0]);
  }
  if (isAlias(node)) return aliasValue(node, walk, depth);
  setAnchor(node, walk);
  if (isScalar(node)) return scalarValue(node, walk);
  const tag = isMap(node) ? 'map' : 'seq';
  if (node.tag && node.tag !== '!' && node.tag !== `${corePrefix}${tag}`) throw unknownTag(node);
  if (isMap(node)) return mapValue(node, walk, depth);
  return node.items.map((item) => nodeValue(item as ParsedNode | null, walk, depth + 1));
}

/**
 * A later merge overrides earlier keys, as in Kubernetes' reader. A key that is written twice is refused: one of the two would be lost.
 */
function mapValue(node: YAMLMap.Parsed, walk: Walk, depth: number): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  const written = new Set<string>();
  for (const { key, value } of node.items) {
    if (isMergeKey(key)) {
      for (const source of mergeSources(value, walk, depth)) {
        for (const [name, field] of Object.entries(source)) setField(fields, name, field);
      }
      continue;
    }
    const name = mappingKey(key, walk);
    if (written.has(name) && !walk.lastKeyWins)
      throw new YamlFault('the same key is written twice in one mapping', key.range[0]);
    written.add(name);
    setField(fields, name, nodeValue(value, walk, depth + 1));
  }
  return fields;
}

/** `<<`, plain or with its tag, as SOPS writes it. */
function isMergeKey(key: unknown): boolean {
  if (!isScalar(key) || key.value !== '<<') return false;
  return key.tag === `${corePrefix}merge` || (key.type === 'PLAIN' && !key.tag);
}

/** Sets an own field, also for the names that mean something to JavaScript. */
function setField(fields: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') {
    Object.defineProperty(fields, name, { value, writable: true, enumerable: true, configurable: true });
  } else {
    fields[name] = value;
  }
}

/** Keys do not count as values: a large CRD would be refused for them. */
function mappingKey(key: ParsedNode, walk: Walk): string {
  const [offset] = key.range;
  if (!isAlias(key)) setAnchor(key, walk);
  const scalar = isAlias(key) ? targetOf(key, walk) : key;
  const name = keyText(scalar);
  if (name === undefined) {
    throw new YamlFault(
      isScalar(scalar) ? 'a key must be a string: quote it' : 'a key must be a string',
      offset,
    );
  }
  checkText(name, offset, walk);
  return name;
}

/** In the order in which they are set: of a list, the first wins. */
function mergeSources(value: ParsedNode | null, walk: Walk, depth: number): Array<Record<string, unknown>> {
  const source = nodeValue(value, walk, depth + 1);
  const list = Array.isArray(source) ? source.toReversed() : [source];
  if (!list.every(isRecord)) {
    throw new YamlFault('a merge key (<<) needs a mapping or a list of mappings', value?.range[0] ?? 0);
  }
  return list;
}

function aliasValue(alias: Alias.Parsed, walk: Walk, depth: number): unknown {
  const target = targetOf(alias, walk);
  if (walk.open.has(target)) throw new YamlFault('an anchor contains itself', alias.range[0]);
  walk.open.add(target);
  const value = nodeValue(target, walk, depth);
  walk.open.delete(target);
  return value;
}

function targetOf(alias: Alias.Parsed, walk: Walk): ParsedNode {
  const target = walk.bound.get(alias) ?? walk.anchors.get(alias.source);
  const [offset] = alias.range;
  if (!target) {
    throw new YamlFault('an alias names an anchor that is not set before it in this document', offset);
  }
  walk.bound.set(alias, target);
  walk.aliases += 1;
  if (walk.aliases > walk.limits.yamlAliases) {
    throw new YamlFault(`more than ${walk.limits.yamlAliases} uses of aliases in one document`, offset);
  }
  return target;
}

/** While an alias is expanded, its anchors are set already. */
function setAnchor(node: Exclude<ParsedNode, Alias>, walk: Walk): void {
  if (node.anchor && walk.open.size === 0) walk.anchors.set(node.anchor, node);
}

function scalarValue(node: Scalar.Parsed, walk: Walk): unknown {
  const result = readScalar(node);
  const [offset] = node.range;
  if (node.type?.startsWith('BLOCK_') && isAmbiguousBlock(node, walk.text)) {
    throw new YamlFault('a block with an indentation number ends in lines of spaces: remove them', offset);
  }
  if (result.problem) throw new YamlFault(`a value ${result.problem}`, offset);
  if (result.value === undefined) throw unknownTag(node);
  if (typeof result.value === 'string') checkText(result.value, offset, walk);
  return result.value;
}

/** `|2` and the like: whether spaces on blank last lines belong to the value is read differently by the library and Kubernetes. */
function isAmbiguousBlock(node: Scalar.Parsed, text: string): boolean {
  const [start, , end] = node.range;
  if (!/^[|>][-+]?[1-9]/.test(text.slice(start, start + 3))) return false;
  const blank = /(?:[ \t]*\r?\n)*/y;
  blank.lastIndex = end;
  const lines = [text.slice(start, end), blank.exec(text)?.[0] ?? ''].join('').split('\n').slice(1);
  const last = lines.findLastIndex((line) => line.trim() !== '');
  return lines.slice(last + 1).some((line) => /[ \t]/.test(line));
}

function checkText(text: string, offset: number, walk: Walk): void {
  if (/\p{Surrogate}/u.test(text)) throw new YamlFault('an escape is half of a character', offset);
  walk.characters += text.length;
  if (walk.characters > walk.limits.objectBytes) {
    throw new YamlFault('one document holds more text than an object may have', offset);
  }
}

function readScalar(node: Scalar): { value?: string | number | boolean | null; problem?: string } {
  const text = String(node.value);
  if (node.tag?.startsWith(corePrefix)) {
    const tag = node.tag.slice(corePrefix.length);
    return ['str', 'int', 'float', 'bool', 'null', 'binary'].includes(tag) ? readTagged(tag, text) : {};
  }
  if (node.tag && node.tag !== '!') return {};
  return node.type === 'PLAIN' && !node.tag ? readPlain(text) : { value: text };
}

function unknownTag(node: ParsedNode): YamlFault {
  return new YamlFault('this tag (!...) is not supported', node.range[0]);
}

/** One step into an object: a field's name or a position in a list. */
type PathStep = string | number;

/** The steps of a path as messages name fields: `spec.template.containers[0]["a b"]`. What cannot be read ends the path. */
export function pathSteps(path: string): PathStep[] {
  const steps: PathStep[] = [];
  const step = /\.?([^.[\]"]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/y;
  for (let match = step.exec(path); match; match = step.exec(path)) {
    const [, name, index, quoted] = match;
    if (name !== undefined) steps.push(name);
    else if (index !== undefined) steps.push(Number(index));
    else if (quoted !== undefined) steps.push(String(JSON.parse(quoted)));
  }
  return steps;
}

/** Offset of the field that the steps lead to (of its key), or of the deepest one on the way that is in the text. */
export function offsetOf(root: unknown, steps: readonly PathStep[]): number {
  let node = root;
  let offset = rangeStart(root) ?? 0;
  for (const step of steps) {
    const next = child(node, step);
    if (!next) return offset;
    node = next.value;
    offset = next.offset ?? offset;
  }
  return offset;
}

function child(node: unknown, step: PathStep): { value: unknown; offset: number | undefined } | undefined {
  if (isSeq(node)) {
    const value = typeof step === 'number' ? node.items[step] : undefined;
    return value === undefined ? undefined : { value, offset: rangeStart(value) };
  }
  if (!isMap(node)) return undefined;
  const pair = pairsOf(node).get(String(step));
  return pair && { value: pair.value, offset: rangeStart(pair.key) };
}

/** The pairs of mappings by their keys: places are looked up for each item of a list, and each time in the mapping around it. */
const knownPairs = new WeakMap<YAMLMap, ReadonlyMap<string, Pair>>();

function pairsOf(node: YAMLMap): ReadonlyMap<string, Pair> {
  const known = knownPairs.get(node);
  if (known) return known;
  const pairs = new Map<string, Pair>();
  for (const pair of node.items) {
    const name = keyText(pair.key);
    if (name !== undefined && !pairs.has(name)) pairs.set(name, pair);
  }
  knownPairs.set(node, pairs);
  return pairs;
}

function rangeStart(node: unknown): number | undefined {
  return (node as { range?: [number, ...number[]] } | null)?.range?.[0];
}

/** YAML that Kubernetes reads as the same value: what it would take for a number, a truth or nothing (`on`, `0o17`) is quoted. Ends with a line feed. */
export function writeYaml(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar: (_, scalar: Scalar) => {
      const { value: text } = scalar;
      if (typeof text === 'string' && readPlain(text).value !== text) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  return document.toString({ lineWidth: 0 });
}
