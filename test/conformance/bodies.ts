import type { Json } from './target.ts';

/** A ConfigMap body. */
export function configMap(
  namespace: string,
  name: string,
  data: Record<string, string>,
  metadata: Json = {},
): Json {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, ...metadata }, data };
}

/** A Deployment body with one container. */
export function deployment(namespace: string, name: string, spec: Json, container: Json = {}): Json {
  const labels = { app: name };
  const app = { name: 'app', image: 'fake/app:v1', ports: [{ containerPort: 8080 }], ...container };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [app] } },
      ...spec,
    },
  };
}
