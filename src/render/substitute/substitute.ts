import { stringify } from 'yaml';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { objectsOf } from '../file.ts';
import type { RenderedObject, RenderLimits } from '../rendered-object.ts';
import { scanFile } from '../yaml/scan.ts';
import { ExpansionFault, expand, type Variables } from './expand.ts';

/** Keys, as label or annotation with the value `disabled`, by which an object stays as it is: Flux's and ours. */
const substituteKeys = ['kustomize.toolkit.fluxcd.io/substitute', 'holdfast.dev/substitute'] as const;

/** The object with its variables filled in, or what is wrong with it. */
type Substituted =
  | { readonly object: KubernetesObject; readonly problems?: never }
  | { readonly object?: never; readonly problems: ReadonlyArray<{ path: string; message: string }> };

/**
 * Fills the variables into every text of an object, names of fields included. A text that YAML writes without quotes is read again
 * afterwards, so that `replicas: ${count}` becomes a number, as in Flux; one value can never become several fields beside it.
 */
export function substitute(
  { object }: Pick<RenderedObject, 'object'>,
  variables: Variables,
  limits: RenderLimits,
): Substituted {
  if (isOptedOut(object)) return { object };
  const walk: Walk = { variables, limits, path: '' };
  try {
    const filled = filledValue(object, walk);
    const { objects, problems } = objectsOf(filled);
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
    const name = key.includes('$') ? expand(key, walk.variables) : key;
    return [name, step(path, item)] as const;
  });
  return Object.fromEntries(entries);
}

function filledText(text: string, { variables, limits }: Walk): unknown {
  const filled = expand(text, variables);
  if (!isPlain(text)) return filled;
  const scanned = scanFile({ path: '', bytes: new TextEncoder().encode(filled) }, limits);
  if (!scanned.ok) return filled;
  const [document] = scanned.documents;
  const value = document?.value ?? null;
  const isWhole = /^\s*['"{[]/.test(filled);
  // A plain text stays as it is: reading it as YAML would cut it at " #" and split it at ": ".
  if (typeof value === 'string' || typeof value === 'object')
    return isWhole || filled.trim() === '' ? value : filled;
  return value;
}

/** Whether YAML would write a text without quotes, on one line. */
function isPlain(text: string): boolean {
  return !text.includes('\n') && stringify(text, { lineWidth: 0 }) === `${text}\n`;
}
