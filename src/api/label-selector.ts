/** Tells whether an object's labels fit a selector. */
export type LabelMatcher = (labels: Readonly<Record<string, string>> | undefined) => boolean;

const setBased = /^([^\s!=,()]+)\s+(in|notin)\s+\(([^()]*)\)$/;
const equality = /^([^\s!=,()]+)\s*(==|=|!=)\s*([^\s!=,()]*)$/;
const existence = /^(!?)\s*([^\s!=,()]+)$/;

/** Reads a label selector as kubectl writes it (`a=b,c!=d,e in (f,g),!h`). Throws for anything else. */
export function parseLabelSelector(selector: string | undefined): LabelMatcher {
  // Splits at commas outside of parentheses.
  const requirements = (selector ?? '')
    .split(/,(?![^(]*\))/)
    .map((part) => part.trim())
    .filter(Boolean)
    .map(parseRequirement);
  return (labels) => requirements.every((fits) => fits(labels ?? {}));
}

function parseRequirement(text: string): (labels: Readonly<Record<string, string>>) => boolean {
  const set = setBased.exec(text);
  if (set) {
    const [, key = '', operator, list = ''] = set;
    const values = new Set(list.split(',').map((value) => value.trim()));
    return operator === 'in'
      ? (labels) => Object.hasOwn(labels, key) && values.has(labels[key] ?? '')
      : (labels) => !values.has(labels[key] ?? '') || !Object.hasOwn(labels, key);
  }
  const equal = equality.exec(text);
  if (equal) {
    const [, key = '', operator, value] = equal;
    return operator === '!=' ? (labels) => labels[key] !== value : (labels) => labels[key] === value;
  }
  const exists = existence.exec(text);
  if (!exists) throw new Error(`label selector "${text}" cannot be parsed`);
  const [, negated, key = ''] = exists;
  return negated ? (labels) => !Object.hasOwn(labels, key) : (labels) => Object.hasOwn(labels, key);
}
