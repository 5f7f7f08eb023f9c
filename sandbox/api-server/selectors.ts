import { type KubernetesObject, listOf, recordsOf } from '../../src/api/kubernetes.ts';
import { badRequest } from './errors.ts';
import { asString, asStrings, at } from './json.ts';

/** True for objects a list or watch asks for. */
export type ObjectFilter = (object: KubernetesObject) => boolean;

const REQUIREMENT = /^\s*(!?)\s*([\w./-]+)\s*(?:(==|=|!=|\s+in\s+|\s+notin\s+)\s*(\([^)]*\)|[^,]*))?\s*$/;

/** Reads a labelSelector parameter; throws 400 for what it cannot read. */
export function labelFilter(selector: string | null): ObjectFilter {
  if (!selector) return () => true;
  const tests = selector.split(/,(?![^(]*\))/).map(labelRequirement);
  return (object) => tests.every((test) => test(object.metadata.labels ?? {}));
}

function labelRequirement(text: string): (labels: Record<string, string>) => boolean {
  const match = REQUIREMENT.exec(text);
  if (!match) throw badRequest(`unable to parse requirement: ${text}`);
  const [, negated, key = '', operator = '', operand = ''] = match;
  const values = operand
    .replace(/[()]/g, '')
    .split(',')
    .map((value) => value.trim());
  switch (operator.trim()) {
    case '':
      return (labels) => (labels[key] === undefined) === (negated === '!');
    case '!=':
    case 'notin':
      return (labels) => !values.includes(labels[key] ?? '\0');
    default:
      return (labels) => values.includes(labels[key] ?? '\0');
  }
}

const SELECTABLE = new Set([
  'metadata.name',
  'metadata.namespace',
  'type',
  'spec.nodeName',
  'status.phase',
  'involvedObject.name',
  'involvedObject.namespace',
  'involvedObject.kind',
  'involvedObject.uid',
  'reason',
]);

/** Reads a fieldSelector parameter; throws 400 for fields that cannot be selected on. */
export function fieldFilter(selector: string | null): ObjectFilter {
  if (!selector) return () => true;
  const tests = selector.split(',').map((text) => {
    const match = /^([\w.]+)(==|=|!=)(.*)$/.exec(text);
    const [, field = '', operator, value] = match ?? [];
    if (!SELECTABLE.has(field)) throw badRequest(`field label not supported: ${field || text}`);
    return (object: KubernetesObject) =>
      (asString(at(object, ...field.split('.'))) === value) === (operator !== '!=');
  });
  return (object) => tests.every((test) => test(object));
}

/** Does a workload's selector ({matchLabels, matchExpressions}) or a Service's plain map match these labels? */
export function matchesSelector(selector: unknown, labels: Record<string, string>): boolean {
  const matchLabels = at(selector, 'matchLabels');
  const expressions = recordsOf(at(selector, 'matchExpressions'));
  const plain = matchLabels === undefined && expressions.length === 0 ? selector : matchLabels;
  const wanted = Object.entries(asStrings(plain));
  if (wanted.length === 0 && expressions.length === 0) return false;
  return (
    wanted.every(([key, value]) => labels[key] === value) &&
    expressions.every((each) => matchesExpression(each, labels))
  );
}

function matchesExpression(expression: Record<string, unknown>, labels: Record<string, string>): boolean {
  const value = labels[asString(expression.key)];
  const values = listOf(expression.values);
  switch (expression.operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    default:
      return value === undefined;
  }
}
