/** Which fields of another tool's object a Source can express. Pure. */
import { isSshAddress, parseSshAddress } from '../api/source/git-address.ts';
import type { SourceSpec } from '../api/source/source.ts';

/** A field that stops a move, and why. */
export interface Stop {
  /** `spec.patches`; behind the kind where it is not a field of the object itself. */
  readonly field: string;
  readonly message: string;
}

/** A Source's spec, or why there is none. */
export interface ConvertedSource {
  readonly spec: SourceSpec;
  readonly stops: readonly Stop[];
  readonly notes: readonly string[];
}

/** What becomes of a field: undefined and false values never stop. */
export type FieldRule = 'carried' | 'without effect' | { readonly stop: string };

/** The fields that are set and cannot be carried over, unknown ones included. */
export function stopsOf(
  spec: Readonly<Record<string, unknown>>,
  rules: Readonly<Record<string, FieldRule>>,
  prefix = 'spec',
): Stop[] {
  return Object.entries(spec).flatMap(([name, value]): Stop[] => {
    const rule = rules[name] ?? { stop: 'is not supported; remove it, or migrate this object by hand' };
    const isUnset = [undefined, null, false, ''].includes(value as never);
    const isEmpty = typeof value === 'object' && Object.keys(value ?? {}).length === 0;
    if (rule === 'carried' || rule === 'without effect' || isUnset || isEmpty) return [];
    return [{ field: `${prefix}.${name}`, message: rule.stop }];
  });
}

/** HTTP(S) and SSH are spoken, and credentials are in Secrets. */
export function urlStops(url: unknown, field: string): Stop[] {
  if (typeof url === 'string' && /^https?:\/\//.test(url)) return [];
  if (typeof url !== 'string' || !isSshAddress(url))
    return [{ field, message: 'a Source reads only http://, https:// and ssh:// (or user@host:path)' }];
  const address = parseSshAddress(url);
  return typeof address === 'string' ? [{ field, message: address }] : [];
}

/** A folder without `./` and slashes at its ends; undefined: the root. */
export function folderIn(path: unknown): string | undefined {
  const parts = (typeof path === 'string' ? path : '')
    .split('/')
    .filter((part) => part !== '' && part !== '.');
  return parts.length > 0 ? `./${parts.join('/')}` : undefined;
}

/** Stops on a list that is none. In a file it may be there without a value. */
export function listStops(value: unknown, field: string): Stop[] {
  return value == null || Array.isArray(value) ? [] : [{ field, message: 'must be a list' }];
}
