/** Order of resourceVersions: since Kubernetes 1.35 they are defined to be decimal numbers of any length. */

const decimal = /^(0|[1-9]\d*)$/;

/** Below 0: a is older than b; 0: equal; above 0: newer; `otherwise` when one is no decimal number, so that nothing can be said. */
export function compareResourceVersions(
  a: string | undefined,
  b: string | undefined,
  otherwise: number,
): number {
  if (a === undefined || b === undefined || !decimal.test(a) || !decimal.test(b)) return otherwise;
  // Without leading zeros the longer number is the larger one; cheaper than BigInt, exact beyond 2^53.
  if (a.length !== b.length) return a.length - b.length;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
