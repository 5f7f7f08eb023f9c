/** What a Source means where no cluster is asked. */
import type { Source } from '../api/source.ts';
import type { Variables } from '../render/substitute/expand.ts';

/** Those that the Source itself holds; where the cluster holds more of them, nothing can be filled in here. */
export function variablesIn({ spec }: Source): Variables | undefined {
  const { variables = {}, from = [], strict = false } = spec.substitute ?? {};
  const values = new Map(Object.entries(variables));
  return (values.size > 0 || strict) && from.length === 0 ? { values, strict } : undefined;
}

/** Stands for the Source that will follow a folder. */
export function sourceForPath(path: string): Source {
  return {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'source', namespace: 'default' },
    spec: { url: 'https://git.example.com/source.git', ref: { branch: 'main' }, path },
  };
}
