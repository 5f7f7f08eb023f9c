import { condition, eventually, statusOf } from './holdfast-bed.ts';
import type { QuickBed } from './quick-bed.ts';

/** Where the Sources of the sandbox are. */
export const sources = '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources';

/** The manifest of a ConfigMap. */
export function configMap(name: string, annotations: Record<string, string> = {}): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'shop', annotations },
    data: { name },
  });
}

/** What Source `shop` of a test's bed has applied and pruned. */
export function watchPruning(bedOf: () => QuickBed) {
  const isThere = async (name: string) => (await bedOf().get('v1', 'ConfigMap', name)) !== undefined;
  const source = () => bedOf().source();
  const pruned = async () => condition(await source(), 'Pruned');
  return {
    isThere,
    untilGone: (name: string) =>
      eventually(`${name} is gone`, async () => !(await isThere(name)), { seen: pruned }),
    untilApplied: (commit: string) =>
      eventually('it is applied', async () => statusOf(await source()).appliedCommit === commit, {
        seen: source,
      }),
    /** With a text that an earlier pass over Git did not say, where its reason was the same. */
    untilPruned(reason: string, text = '') {
      const look = async () => {
        const found = await pruned();
        return found?.reason === reason && found.message.includes(text) && found.message;
      };
      return eventually(`Pruned says ${reason}`, look, { seen: source });
    },
  };
}
