import type { KubernetesObject } from '../src/api/kubernetes.ts';
import type { Sandbox } from './sandbox.ts';

/** Applies an object in namespace default; throws with the answer when it is refused. */
export async function applyTo(sandbox: Sandbox, object: KubernetesObject): Promise<void> {
  const [group = '', version = ''] = object.apiVersion.includes('/')
    ? object.apiVersion.split('/')
    : ['', object.apiVersion];
  const root = group ? `/apis/${group}/${version}` : `/api/${version}`;
  const plural = { HTTPProxy: 'httpproxies' }[object.kind] ?? `${object.kind.toLowerCase()}s`;
  const path = `${root}/namespaces/default/${plural}/${object.metadata.name}?fieldManager=test&force=true`;
  const headers = { 'content-type': 'application/apply-patch+yaml' };
  const answer = await fetch(sandbox.url + path, { method: 'PATCH', headers, body: JSON.stringify(object) });
  if (!answer.ok) throw new Error(`apply answered ${answer.status}: ${await answer.text()}`);
}

/** A Deployment with one container and these variables. */
export function deployment(
  name: string,
  env: Record<string, string> = {},
  spec: Record<string, unknown> = {},
  image = 'fake/app:v1',
): KubernetesObject {
  const labels = { app: name };
  const variables = Object.entries(env).map(([key, value]) => ({ name: key, value }));
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'app', image, env: variables }] } },
      ...spec,
    },
  };
}

/** A Service on port 80. */
export function service(name: string, selected: string): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { selector: { app: selected }, ports: [{ port: 80 }] },
  };
}

/** The HTTPRoute `web` between web-primary and web-canary. */
export function route(primaryWeight: number): KubernetesObject {
  const backendRefs = [
    { name: 'web-primary', port: 80, weight: primaryWeight },
    { name: 'web-canary', port: 80, weight: 100 - primaryWeight },
  ];
  const spec = { parentRefs: [{ name: 'gateway' }], rules: [{ backendRefs }] };
  return { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute', metadata: { name: 'web' }, spec };
}
