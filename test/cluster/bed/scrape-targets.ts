import { renameSync, writeFileSync } from 'node:fs';
import type { Container, KubernetesObject } from '../../../src/api/kubernetes.ts';
import type { ApiClient } from './api-client.ts';
import { behaviourOf } from './kubelet/image.ts';

/** One entry of Prometheus' file_sd. */
export interface ScrapeTarget {
  readonly targets: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

const SETTLE_MS = 100;

/**
 * Keeps the file of scrape targets true to the running pods until `signal` aborts. Debian's Prometheus is built without its own
 * discovery of Kubernetes.
 */
export function followScrapeTargets(client: ApiClient, path: string, signal: AbortSignal): Promise<void> {
  const pods = new Map<string, KubernetesObject>();
  let scheduled = false;
  let written = '';
  const write = () => {
    scheduled = false;
    const text = JSON.stringify([...pods.values()].flatMap(targetsOf));
    if (text === written) return;
    written = text;
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  };
  write();
  return client.follow(
    '/api/v1/pods',
    ({ type, object }) => {
      const uid = object.metadata.uid ?? '';
      if (type === 'DELETED') pods.delete(uid);
      else pods.set(uid, object);
      if (!scheduled) setTimeout(write, SETTLE_MS);
      scheduled = true;
    },
    signal,
  );
}

/**
 * What to scrape of a pod: the first port of its first container, while it has a process and unless it is annotated
 * `prometheus.io/scrape: "false"`. The labels are those that Flagger's built-in queries expect.
 */
export function targetsOf(pod: KubernetesObject): readonly ScrapeTarget[] {
  const { name, namespace = '', annotations } = pod.metadata;
  const { phase, podIP } = (pod.status ?? {}) as { phase?: string; podIP?: string };
  const [container] = (pod.spec as { containers: Container[] }).containers;
  const runs = ['app', 'slow'].includes(behaviourOf(container?.image ?? ''));
  if (!runs || phase !== 'Running' || !podIP || annotations?.['prometheus.io/scrape'] === 'false') return [];
  const port = container?.ports?.[0]?.containerPort ?? 8080;
  return [
    { targets: [`${podIP}:${port}`], labels: { kubernetes_namespace: namespace, kubernetes_pod_name: name } },
  ];
}
