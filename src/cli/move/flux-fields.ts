/** Fields of a Kustomization and of its GitRepository as fields of a Source. Pure. */
import type { SourceRef, SourceSpec } from '../../api/source.ts';
import { type Stop, stopsOf } from './carried.ts';

/** A spec as it was read: nobody has checked it. */
export type Fields = Readonly<Record<string, unknown>>;

/** What a field becomes, and what of it cannot be carried. */
export interface CarriedField<T> {
  readonly value?: T;
  readonly stops: readonly Stop[];
}

/** What is followed; without a word of it, the branch that Flux takes. */
export function refOf(ref: Fields | undefined): SourceRef {
  const { commit, semver, tag, branch } = ref ?? {};
  // In this order, as Flux looks at them.
  if (typeof commit === 'string') return { commit };
  if (typeof semver === 'string') return { semver };
  if (typeof tag === 'string') return { tag };
  return { branch: typeof branch === 'string' ? branch : 'master' };
}

/** Whose signatures are asked for. */
export function verifyIn({ verify }: Fields): SourceSpec['verify'] | undefined {
  if (!verify) return undefined;
  const { mode = 'HEAD', secretRef } = verify as { mode?: string; secretRef?: { name?: string } };
  const modes = { HEAD: 'HEAD', head: 'HEAD', Tag: 'Tag', TagAndHEAD: 'TagAndHEAD' } as const;
  return { mode: modes[mode as keyof typeof modes] ?? 'HEAD', secretRef: { name: secretRef?.name ?? '' } };
}

/** Patterns of files that are left out, without comments. */
export function ignoreIn({ ignore }: Fields): string[] | undefined {
  const lines = (text(ignore) ?? '').split('\n').map((line) => line.trim());
  const rules = lines.filter((line) => line !== '' && !line.startsWith('#'));
  return rules.length > 0 ? rules : undefined;
}

/** The keys that SOPS needs. */
export function decryptionIn({ decryption }: Fields): CarriedField<SourceSpec['decryption']> {
  if (!decryption) return { stops: [] };
  const { provider, secretRef } = decryption as { provider?: string; secretRef?: { name?: string } };
  const name = secretRef?.name;
  if (provider === 'sops' && name) return { value: { secretRef: { name } }, stops: [] };
  return {
    stops: [
      { field: 'spec.decryption', message: 'only SOPS with age keys in a Secret (secretRef) is opened here' },
    ],
  };
}

/** The variables of `postBuild`. */
export function substituteIn({ postBuild }: Fields): CarriedField<SourceSpec['substitute']> {
  const {
    substitute = {},
    substituteFrom = [],
    ...rest
  } = (postBuild ?? {}) as {
    substitute?: Record<string, string>;
    substituteFrom?: Array<{ kind: 'ConfigMap' | 'Secret'; name: string; optional?: boolean }>;
  };
  const stops = stopsOf(rest, {}, 'spec.postBuild');
  if (Object.keys(substitute).length === 0 && substituteFrom.length === 0) return { stops };
  const from = substituteFrom.map(({ kind, name, optional }) => ({
    kind,
    name,
    ...(optional ? { optional } : {}),
  }));
  return {
    stops,
    value: {
      ...(Object.keys(substitute).length > 0 ? { variables: substitute } : {}),
      ...(from.length > 0 ? { from } : {}),
    },
  };
}

/** What must be Ready before. */
export function dependsOnIn({ dependsOn }: Fields): SourceSpec['dependsOn'] | undefined {
  const names = (Array.isArray(dependsOn) ? dependsOn : []) as Array<{ name: string; namespace?: string }>;
  const found = names.map(({ name, namespace }) => ({ name, ...(namespace ? { namespace } : {}) }));
  return found.length > 0 ? found : undefined;
}

/** A reference by name; undefined where there is none. */
export function nameIn(reference: unknown): { name: string } | undefined {
  const { name } = (reference ?? {}) as { name?: string };
  return name ? { name } : undefined;
}

/** A text that is not empty. */
export function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
