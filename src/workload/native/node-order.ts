/** Which node of a DaemonSet is taken before which. */
import type { NodeOrder } from '../../api/canary-analysis.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';

/** Ranks of nodes by name, lowest first: by the values that are named, then by the value of their label. A node without it has none. */
export type NodeRanks = ReadonlyMap<string, number>;

/** The ranks that an order gives to these nodes. */
export function rankNodes({ label, values = [] }: NodeOrder, nodes: readonly KubernetesObject[]): NodeRanks {
  const valueIn = ({ metadata }: KubernetesObject) => metadata.labels?.[label];
  const others = new Set(
    nodes.map(valueIn).filter((value) => value !== undefined && !values.includes(value)),
  );
  const order = [...values, ...[...others].sort()];
  return new Map(
    nodes.flatMap((node) => {
      const value = valueIn(node);
      return value === undefined ? [] : [[node.metadata.name, order.indexOf(value)] as const];
    }),
  );
}
