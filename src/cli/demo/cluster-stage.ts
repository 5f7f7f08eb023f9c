import { setTimeout as sleep } from 'node:timers/promises';
import { allCrds } from '../../api/crd.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { referenceOf } from '../../api/kubernetes.ts';
import { InputError } from '../../app/options.ts';
import type { ClusterClient } from '../../cluster/client.ts';
import { isApiError } from '../../cluster/errors.ts';
import { assertFit } from './cluster-fitness.ts';
import type { DemoOptions } from './options.ts';
import { demoManager, type Stage } from './stage.ts';
import { startHttpTraffic } from './traffic.ts';

const demoLabel = 'holdfast.dev/demo';
const serveMs = 30_000;
/** The client itself looks for unknown kinds at most once a second. */
const serveLookMs = 1_100;
const strikeMs = 120_000;

/** What the demo made on a real cluster, to be taken away again. */
interface Made {
  namespace: boolean;
  readonly crds: KubernetesObject[];
}

/** A real cluster. Nothing is touched outside the demo's namespace but CRDs that were missing. */
export function openClusterStage(options: DemoOptions, kubeconfig: string): Stage {
  const provider = options.provider ?? (options.gateway ? 'gatewayapi:v1' : 'kubernetes');
  if (provider.startsWith('gatewayapi') && !options.gateway)
    throw new InputError(
      `provider ${provider} needs --gateway NAMESPACE/NAME: the Gateway that takes the route`,
    );
  const made: Made = { namespace: false, crds: [] };
  const { trafficUrl, trafficHost, namespace } = options;
  return {
    description: `cluster of ${kubeconfig}`,
    kubeconfig,
    provider,
    gateway: options.gateway,
    prometheus: undefined,
    pace: { promotionDeadlineSeconds: 20, chapterMs: 300_000 },
    notes: notesFor(trafficUrl),
    async prepare(client) {
      await assertFit(client, options);
      await installCrds(client, made);
      await client.create(
        {
          apiVersion: 'v1',
          kind: 'Namespace',
          metadata: { name: namespace, labels: { [demoLabel]: 'true' } },
        },
        { manager: demoManager },
      );
      made.namespace = true;
    },
    startTraffic: () => (trafficUrl ? startHttpTraffic({ url: trafficUrl, host: trafficHost }) : undefined),
    strike: (client) => (options.keep ? Promise.resolve() : strike(client, namespace, made)),
    close: async () => undefined,
  };
}

function notesFor(trafficUrl: string | undefined): string[] {
  const readiness = 'no metrics here: readiness alone decides about each step';
  if (trafficUrl) return [readiness];
  return [
    readiness,
    'no requests are sampled: give --traffic-url (and --traffic-host) to see that none fails',
  ];
}

async function installCrds(client: ClusterClient, made: Made): Promise<void> {
  for (const crd of allCrds()) {
    if (await client.get(referenceOf(crd))) continue;
    await client.create(crd, { manager: demoManager });
    made.crds.push(crd);
  }
  const deadlineMs = Date.now() + serveMs;
  for (const crd of allCrds()) await served(client, crd, deadlineMs);
}

/** A server serves a new kind a moment after its CRD is established. */
async function served(client: ClusterClient, crd: KubernetesObject, deadlineMs: number): Promise<void> {
  const { apiVersion, kind } = kindOf(crd);
  for (;;) {
    try {
      await client.resolve(apiVersion, kind);
      return;
    } catch (error) {
      if (!isApiError(error, 'unknownKind') || Date.now() > deadlineMs) throw error;
    }
    await sleep(serveLookMs);
  }
}

function kindOf(crd: KubernetesObject): { apiVersion: string; kind: string } {
  const { group, names, versions } = crd.spec as {
    group: string;
    names: { kind: string };
    versions: Array<{ name: string }>;
  };
  return { apiVersion: `${group}/${versions[0]?.name}`, kind: names.kind };
}

/** CRDs go only while nobody else has begun to use them. */
async function strike(client: ClusterClient, name: string, made: Made): Promise<void> {
  if (made.namespace) {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', name };
    await client.delete(namespace);
    const deadlineMs = Date.now() + strikeMs;
    while (await client.get(namespace)) {
      if (Date.now() > deadlineMs)
        throw new Error(`namespace ${name} is still being deleted; look at its finalizers`);
      await sleep(500);
    }
  }
  for (const crd of made.crds) {
    if (!(await isUsed(client, crd))) await client.delete(referenceOf(crd));
  }
}

async function isUsed(client: ClusterClient, crd: KubernetesObject): Promise<boolean> {
  const { apiVersion, kind } = kindOf(crd);
  const { items } = await client.list(apiVersion, kind);
  return items.length > 0;
}
