import type { KubernetesObject } from '../../api/kubernetes.ts';
import { parseSource } from '../../api/parse.ts';
import type { Source } from '../../api/source.ts';

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
