import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { allCrds } from '../../src/api/kinds/crd.ts';
import { type KubernetesObject, referenceOf } from '../../src/api/kubernetes.ts';
import { InputError } from '../../src/api/problems.ts';
import type { ClusterClient } from '../../src/cluster/client/client.ts';
import { isApiError } from '../../src/cluster/errors.ts';
import { demoManager, type Stage, type Traffic } from './context.ts';
import type { DemoOptions } from './options.ts';

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
      `provider ${provider} needs --gateway NAMESPACE/NAME: the Gateway to attach the route to`,
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
      await assertSuitable(client, options);
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
    'no requests are sampled; set --traffic-url (and --traffic-host) to see that none fails',
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

/** Leases of controllers that would act on the demo's Canary too. */
const otherControllers: Readonly<Record<string, string>> = {
  holdfast: 'Holdfast',
  'flagger-leader-election': 'Flagger',
};

/** Throws InputError when the demo could harm this cluster or would not be alone on its stage. */
async function assertSuitable(
  client: ClusterClient,
  { namespace, besideOthers }: { namespace: string; besideOthers: boolean },
): Promise<void> {
  if (await client.get({ apiVersion: 'v1', kind: 'Namespace', name: namespace })) {
    throw new InputError(
      `namespace ${namespace} exists already; choose another with --namespace, or remove what an earlier demo left: kubectl delete namespace ${namespace}`,
    );
  }
  const crd = await client.get({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    name: 'canaries.flagger.app',
  });
  if (crd && !knowsOurFields(crd)) {
    throw new InputError(
      "this cluster has Flagger's own Canary CRD, which drops Holdfast's fields; run the demo on another cluster",
    );
  }
  if (besideOthers) return;
  const { items } = await client.list('coordination.k8s.io/v1', 'Lease');
  const controller = items.find(
    (lease) => otherControllers[lease.metadata.name] !== undefined && isRenewed(lease),
  );
  if (controller) {
    throw new InputError(
      `${otherControllers[controller.metadata.name]} runs in namespace ${controller.metadata.namespace} of this cluster and may act on the demo's Canary too; if it watches other namespaces only, add --beside-others`,
    );
  }
}

interface VersionSchema {
  readonly schema?: {
    readonly openAPIV3Schema?: {
      readonly properties?: { readonly spec?: { readonly properties?: Record<string, unknown> } };
    };
  };
}

function knowsOurFields(crd: KubernetesObject): boolean {
  const { versions = [] } = crd.spec as { versions?: VersionSchema[] };
  return versions.some(
    ({ schema }) => schema?.openAPIV3Schema?.properties?.spec?.properties?.postPromotion !== undefined,
  );
}

function isRenewed({ spec }: KubernetesObject): boolean {
  const {
    renewTime,
    leaseDurationSeconds = 15,
    holderIdentity,
  } = (spec ?? {}) as {
    renewTime?: string;
    leaseDurationSeconds?: number;
    holderIdentity?: string;
  };
  if (!renewTime || !holderIdentity) return false;
  return Date.now() - Date.parse(renewTime) < leaseDurationSeconds * 1000;
}

const requestsPerSecond = 20;
const timeoutMs = 10_000;
/** Requests that may be open at once; beyond, the target is too slow to be asked more often. */
const maximumOpen = 200;

/**
 * Sends GET requests at a constant rate until stopped. A failed one: no answer in 10 s, or a status outside 200-299. Counting begins with
 * the first answer that passes: a gateway needs a moment for a new route.
 */
function startHttpTraffic({ url, host }: { url: string; host: string | undefined }): Traffic {
  const secure = url.startsWith('https:');
  const agent = secure ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true });
  const open = new Set<Promise<void>>();
  let requests = 0;
  let failed = 0;

  function ask(): Promise<boolean> {
    return new Promise((resolve) => {
      const options = { agent, timeout: timeoutMs, headers: host ? { host } : {} };
      const request = (secure ? httpsRequest : httpRequest)(url, options, (response) => {
        const { statusCode = 0 } = response;
        response.resume();
        response.on('end', () => resolve(statusCode >= 200 && statusCode < 300));
        response.on('error', () => resolve(false));
      });
      request.on('timeout', () => request.destroy());
      request.on('error', () => resolve(false));
      request.end();
    });
  }

  async function sendOne(): Promise<void> {
    const passed = await ask();
    if (!passed && requests === 0) return;
    requests += 1;
    if (!passed) failed += 1;
  }

  const timer = setInterval(() => {
    if (open.size >= maximumOpen) return;
    const one: Promise<void> = sendOne().finally(() => open.delete(one));
    open.add(one);
  }, 1000 / requestsPerSecond);

  return {
    totals: () => ({ requests, failed }),
    async stop() {
      clearInterval(timer);
      await Promise.all(open);
      agent.destroy();
    },
  };
}
