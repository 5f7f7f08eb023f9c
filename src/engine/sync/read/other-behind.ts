import { canonicalJson, type KubernetesObject, namespacedName } from '../../../api/kubernetes.ts';
import { polledRef, type Source } from '../../../api/source/source.ts';
import type { SourceContext } from '../context/context.ts';

/** A Source of the namespace that polls the same ref and has yet to read this commit: what left here may have moved there. */
export function otherBehind(
  {
    parts,
    source,
    state,
  }: Pick<SourceContext, 'source'> & {
    readonly parts: Pick<SourceContext['parts'], 'claims' | 'sources'>;
    readonly state: Pick<SourceContext['state'], 'key'>;
  },
  commit: string | undefined,
): string | undefined {
  const refOf = ({ metadata, spec }: KubernetesObject) => {
    const { secretRef, ...polled } = (spec ?? {}) as Partial<Source['spec']>;
    return canonicalJson({ namespace: metadata.namespace, polled: polledRef(polled), secretRef });
  };
  const keys = parts.sources().flatMap((one) => (refOf(one) === refOf(source) ? namespacedName(one) : []));
  return keys.find((key) => key !== state.key && parts.claims.isBehind(key, commit));
}
