import type { KubernetesObject } from '../../api/kubernetes.ts';
import { splitDocuments } from '../build/split.ts';

/** One template's text as helm printed it. */
export interface PrintedTemplate {
  readonly text: string;
  /** Path of the template below the folder above the chart, as `shop/templates/web.yaml`. */
  readonly source: string | undefined;
}

/** Splits what `helm template` printed; each part begins with the comment that names its template. */
export function templatesIn(output: string): PrintedTemplate[] {
  let source: string | undefined;
  return splitDocuments(output).map((text) => {
    // A file of several CustomResourceDefinitions is printed as it is, named once.
    source = /^# Source: (?<source>.+)\n/.exec(text)?.groups?.source ?? source;
    return { text, source };
  });
}

/** What a hook waits for, as `pre-install`; none for an ordinary object. */
export function hooksOf({ metadata }: KubernetesObject): string[] {
  const named = metadata.annotations?.['helm.sh/hook'];
  return named === undefined ? [] : named.split(',').map((hook) => hook.trim());
}

/** Tests are run by `helm test` alone, never by an installation. */
export function isTest(hooks: readonly string[]): boolean {
  return hooks.length > 0 && hooks.every((hook) => /^test(-success|-failure)?$/.test(hook));
}

/** Fields in which two objects differ, as paths without values; at most `most`. */
export function differingFields(left: unknown, right: unknown, most = 5, path = ''): string[] {
  if (left === right) return [];
  const isWhole = typeof left !== 'object' || typeof right !== 'object' || left === null || right === null;
  if (isWhole || Array.isArray(left) !== Array.isArray(right)) return [path];
  const a = left as Record<string, unknown>;
  const b = right as Record<string, unknown>;
  const found: string[] = [];
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    if (found.length >= most) break;
    const step = Array.isArray(left) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
    found.push(...differingFields(a[key], b[key], most - found.length, step));
  }
  return found;
}
