import { stringify } from 'yaml';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { limits } from '../../api/limits.ts';
import { objectsOf } from '../render.ts';
import type { RenderedObject, RenderLimits } from '../rendered-object.ts';
import { scanFile } from '../yaml/scan.ts';
import { type ExpansionBudget, ExpansionFault, expand, spend, type Variables } from './expand.ts';

/** Keys, as label or annotation with the value `disabled`, by which an object stays as it is: Flux's and ours. */
const substituteKeys = ['kustomize.toolkit.fluxcd.io/substitute', 'holdfast.dev/substitute'] as const;

/** The object with its variables filled in, or what is wrong with it. */
type Substituted =
  | { readonly object: KubernetesObject; readonly problems?: never }
  | { readonly object?: never; readonly problems: ReadonlyArray<{ path: string; message: string }> };

/** Fills variables into the objects of one Source, one after the other. */
export type Substitution = (entry: Pick<RenderedObject, 'object'>) => Substituted;

/**
 * Makes what fills the variables into every text of an object, names of fields included. A text that YAML writes without quotes is read again
 * afterwards, so that `replicas: ${count}` becomes a number, as in Flux; one value can never become several fields. All objects
 * together have one budget: what is beyond it is refused.
 */
export function createSubstitution(variables: Variables, renderLimits: RenderLimits): Substitution {
  const left: ExpansionBudget = {
    steps: limits.substitutionSourceSteps,
    characters: renderLimits.sourceBytes,
  };
  return ({ object }) => {
    if (isOptedOut(object)) return { object };
    const steps = Math.min(limits.substitutionObjectSteps, left.steps);
    const characters = Math.min(renderLimits.objectBytes, left.characters);
    const walk: Walk = { variables, limits: renderLimits, budget: { steps, characters }, path: '' };
    try {
      return substituted(object, walk);
    } finally {
      left.steps -= steps - Math.max(0, walk.budget.steps);
      left.characters -= characters - Math.max(0, walk.budget.characters);
    }
  };
}

function substituted(object: KubernetesObject, walk: Walk): Substituted {
  try {
    const { objects, problems } = objectsOf(filledValue(object, walk));
    const [only] = objects;
    if (only && problems.length === 0 && objects.length === 1) return { object: only.object };
    return {
      problems:
        problems.length > 0 ? problems : [{ path: '', message: 'is not an object after substitution' }],
    };
  } catch (error) {
    if (!(error instanceof ExpansionFault)) throw error;
    return { problems: [{ path: walk.path, message: error.message }] };
  }
}

function isOptedOut({ metadata }: KubernetesObject): boolean {
  return substituteKeys.some(
    (key) => metadata.labels?.[key] === 'disabled' || metadata.annotations?.[key] === 'disabled',
  );
}

interface Walk {
  readonly variables: Variables;
  readonly limits: RenderLimits;
  /** Of this object. */
  readonly budget: ExpansionBudget;
  /** Field that is being filled. */
  path: string;
}

function filledValue(value: unknown, walk: Walk): unknown {
  if (typeof value === 'string') return value.includes('$') ? filledText(value, walk) : value;
  if (typeof value !== 'object' || value === null) return value;
  const at = walk.path;
  const step = (path: string, item: unknown): unknown => {
    walk.path = path;
    return filledValue(item, walk);
  };
  if (Array.isArray(value)) return value.map((item, index) => step(`${at}[${index}]`, item));
  const entries = Object.entries(value).map(([key, item]) => {
    const path = /^[\w-]+$/.test(key) ? `${at}${at && '.'}${key}` : `${at}[${JSON.stringify(key)}]`;
    walk.path = path;
    const name = key.includes('$') ? expandedText(key, walk) : key;
    return [name, step(path, item)] as const;
  });
  return Object.fromEntries(entries);
}

/** Steps that reading or writing one character of YAML takes, against those of expanding it. */
const yamlSteps = 50;
/** Characters of a number, boolean or null at most; a longer text stays one. */
const longestScalar = 1_000;
/** Characters of text that one of a list or mapping in flow style takes as much memory as. */
const flowCharacters = 10;

function expandedText(text: string, { variables, budget }: Walk): string {
  const result = expand(text, variables, budget);
  spend(budget, 'characters', result.length);
  return result;
}

function filledText(text: string, walk: Walk): unknown {
  const { budget } = walk;
  const filled = expandedText(text, walk);
  const isWhole = /^\s*['"{[]/.test(filled);
  if (!isWhole && filled.length > longestScalar) return filled;
  spend(budget, 'steps', (text.length + filled.length) * yamlSteps);
  if (!isPlain(text)) return filled;
  const scanned = scanFile({ path: '', bytes: new TextEncoder().encode(filled) }, walk.limits);
  if (!scanned.ok) return filled;
  const [document] = scanned.documents;
  const value = document?.value ?? null;
  // A plain text stays as it is: reading it as YAML would cut it at " #" and split it at ": ".
  if (typeof value === 'string' || typeof value === 'object') {
    if (!isWhole && filled.trim() !== '') return filled;
    if (typeof value === 'object') spend(budget, 'characters', filled.length * flowCharacters);
  }
  return value;
}

/** Whether YAML would write a text without quotes, on one line. */
function isPlain(text: string): boolean {
  return !text.includes('\n') && stringify(text, { lineWidth: 0 }) === `${text}\n`;
}
