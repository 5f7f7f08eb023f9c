/** One document and its verdict. */
export interface DocumentRow {
  name: string;
  object: Record<string, unknown>;
  /** Absent: accepted. */
  refusedAt?: string;
}

/** Any JSON object. */
export type Json = Record<string, unknown>;

/** The workload that the documents are about. */
export const target = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'shop' };
/** An analysis by growing weight. */
export const weighted = { interval: '1m', threshold: 5, maxWeight: 50, stepWeight: 10 };
/** A built-in metric. */
export const successRate = { name: 'request-success-rate', thresholdRange: { min: 99 }, interval: '1m' };

/** A Canary of the ordinary kind; `spec` replaces its top-level fields. */
export function canaryDocument(spec: Json = {}, metadata: Json = {}): Json {
  return {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { name: 'shop', namespace: 'default', ...metadata },
    spec: { targetRef: target, service: { port: 80 }, analysis: weighted, ...spec },
  };
}

/** A Source of the ordinary kind; `spec` replaces its top-level fields. */
export function sourceDocument(spec: Json = {}): Json {
  return {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'shop', namespace: 'default' },
    spec: { url: 'https://git.example.com/acme/shop.git', ref: { branch: 'main' }, ...spec },
  };
}

/** A Canary with further fields in its analysis. */
export function analysis(fields: Json): Json {
  return canaryDocument({ analysis: { ...weighted, ...fields } });
}

/** A Canary with further fields in its service. */
export function service(fields: Json): Json {
  return canaryDocument({ service: { port: 80, ...fields } });
}
