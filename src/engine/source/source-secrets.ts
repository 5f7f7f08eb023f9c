import type { Source } from '../../api/source.ts';
import { EngineError } from '../failure.ts';
import type { ReadSecret, SourceSecrets } from '../ports/git-port.ts';
import type { SourceParts } from './source-parts.ts';

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
