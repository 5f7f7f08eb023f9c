import type { Source } from '../../api/source.ts';

/**
 * The user that everything a Source holds is written as: its service account, or the one of that name in its namespace that a flag sets for all
 * Sources. Undefined: Holdfast itself. docs/security.md, "cluster rights": who may push must not get Holdfast's rights.
 */
export function accountOf({ metadata, spec }: Source, byDefault: string | undefined): string | undefined {
  const name = spec.serviceAccountName || byDefault;
  return name ? `system:serviceaccount:${metadata.namespace ?? ''}:${name}` : undefined;
}
