import { parseSource } from '../../../api/kinds/parse.ts';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import type { ReadSecret, SourceSecrets } from '../../../contracts/git.ts';
import { EngineError } from '../../failure.ts';
import type { SourceParts } from '../context/context.ts';

const parsed = new WeakMap<KubernetesObject, Source | undefined>();

/** The Source as the cluster has it now; undefined while it is gone or cannot be read. */
export function currentSource(
  parts: { readonly source: (key: string) => KubernetesObject | undefined },
  key: string,
): Source | undefined {
  const live = parts.source(key);
  if (!live) return undefined;
  // Each poll asks, and a Source that changed is another object.
  if (!parsed.has(live)) {
    const result = parseSource(live);
    parsed.set(live, result.ok ? result.value : undefined);
  }
  return parsed.get(live);
}

/** The Secrets of a Source, read when they are needed and kept nowhere. Reading throws EngineError SecretNotFound. */
export function secretsOf(
  { cluster }: Pick<SourceParts, 'cluster'>,
  { spec, metadata }: Source,
): SourceSecrets {
  const namespace = metadata.namespace ?? '';
  const reader = (field: string, name: string | undefined): ReadSecret => {
    return async () => {
      if (name === undefined) return undefined;
      const secret = await cluster.get({ apiVersion: 'v1', kind: 'Secret', namespace, name });
      if (!secret)
        throw new EngineError('SecretNotFound', `${field}: there is no Secret ${namespace}/${name}`, true);
      const data = Object.entries((secret.data ?? {}) as Record<string, string>);
      return Object.fromEntries(data.map(([key, value]) => [key, Buffer.from(value, 'base64')]));
    };
  };
  return {
    credentials: reader('spec.secretRef', spec.secretRef?.name),
    signers: reader('spec.verify.secretRef', spec.verify?.secretRef.name),
    proxy: reader('spec.proxySecretRef', spec.proxySecretRef?.name),
  };
}
