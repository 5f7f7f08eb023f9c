import { connect, createServer, type Server } from 'node:net';
import type { Condition, KubernetesObject } from '../../../src/api/kubernetes.ts';
import { addresses } from './addresses.ts';
import { type BedClient, waitFor } from './client.ts';
import { manifestsIn } from './ingress.ts';
import { untilBuilt } from './late-program.ts';
import { startOwnGateway } from './own-gateway.ts';

/** Knative Serving with a Gateway of its own. */
export interface Knative {
  /** Where it takes requests: for a Service of the namespace `shop` those to `shop.example.com`. */
  readonly url: string;
  stop(): Promise<void>;
}

const START_MS = 300_000;
const namespace = 'knative-serving';
/** Of its gateway: beyond the ports of other own gateways, of Traefik and of Istio. */
const FIRST_PORT = 18_520;

/** What an operator sets: where requests come in, the host names, and that images of the bed are in no registry. */
const entry = `- class: contour\n  gateway: ${namespace}/own\n  service: ${namespace}/gateway\n`;
const settings: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'config-deployment': { 'registries-skipping-tag-resolving': 'index.docker.io' },
  'config-domain': { 'example.com': '' },
  'config-gateway': { 'external-gateways': entry, 'local-gateways': entry },
  'config-network': {
    'ingress-class': 'gateway-api.ingress.networking.knative.dev',
    'domain-template': '{{.Namespace}}.{{.Domain}}',
  },
};
/** Kinds that the bed's pods do not need, and the webhook of the Gateway API's controller, which looks at one ConfigMap and is not built. */
const leftOut =
  /^(Certificate|HorizontalPodAutoscaler|Image|PodDisruptionBudget)\/|gateway-api.*webhook|webhook.gateway-api/;

/**
 * Starts Knative from the folder that `scripts/bed-build.mjs` fills, for the whole cluster, as its manifests say: controller, autoscaler, activator and webhook
 * are pods with the rights of their accounts. Waits while that is still at work.
 */
export async function startKnative(bed: BedClient): Promise<Knative> {
  const folder = await untilBuilt(bed.knativeFolder, 'knative');
  const objects = manifestsIn(folder).filter(
    ({ kind, metadata }) => !leftOut.test(`${kind}/${metadata.name}`),
  );
  const ofKind = (wanted: string) => objects.filter(({ kind }) => kind === wanted);
  const others = objects.filter(
    ({ kind }) => !['CustomResourceDefinition', 'Deployment', 'Namespace'].includes(kind),
  );
  const apiServer = await forwardToApiServer();
  await bed.define(ofKind('CustomResourceDefinition'));
  await bed.apply([...ofKind('Namespace'), ...others.map(configured), ...entrance()]);
  const gateway = await startOwnGateway(bed, namespace, {
    servesAll: true,
    address: addresses.advertise,
    firstPort: FIRST_PORT,
  });
  const [activator, ...deployments] = ofKind('Deployment').sort(byName);
  await bed.apply(deployments);
  await bed.apply([withHost(activator as KubernetesObject, await autoscalerAddress(bed))]);
  for (const { metadata } of [...deployments, activator as KubernetesObject])
    await available(bed, metadata.name);
  const webhooks = objects.filter(({ kind }) => kind.endsWith('WebhookConfiguration'));
  for (const { kind, metadata } of webhooks) await trusted(bed, kind, metadata.name);
  return {
    url: gateway.envoyUrl,
    stop: async () => {
      for (const { kind, metadata } of webhooks) await bed.kubectl(['delete', kind, metadata.name]);
      await bed.clearNamespace(namespace);
      await gateway.close();
      apiServer.close();
    },
  };
}

/** The API server listens on the loopback address, which Knative's pods do not reach. */
async function forwardToApiServer(): Promise<Server> {
  const from = new URL(addresses.apiServerOfPods);
  const to = new URL(addresses.apiServer);
  const server = createServer((client) => {
    const upstream = connect(Number(to.port), to.hostname);
    client.pipe(upstream).pipe(client);
    client.on('error', () => upstream.destroy());
    upstream.on('error', () => client.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.on('error', reject).listen(Number(from.port), from.hostname, resolve);
  });
  return server;
}

/** In the order of the alphabet the activator comes first. */
function byName(left: KubernetesObject, right: KubernetesObject): number {
  return left.metadata.name.localeCompare(right.metadata.name);
}

function configured(object: KubernetesObject): KubernetesObject {
  const more = object.kind === 'ConfigMap' ? settings[object.metadata.name] : undefined;
  return more ? { ...object, data: { ...(object.data as object | undefined), ...more } } : object;
}

/** Where Knative looks whether its routes are in the gateway; no pod of the cluster is behind it. */
function entrance(): KubernetesObject[] {
  const metadata = { name: 'gateway', namespace };
  const ports = [{ name: 'http', port: FIRST_PORT }];
  return [
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports } },
    {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata,
      subsets: [{ addresses: [{ ip: addresses.advertise }], ports }],
    },
  ];
}

async function autoscalerAddress(bed: BedClient): Promise<string> {
  const look = async () => {
    const [pod] = await bed.listObjects('Pod', namespace, 'app=autoscaler');
    return (pod?.status as { podIP?: string } | undefined)?.podIP;
  };
  return waitFor(look, { timeoutMs: START_MS, what: "the autoscaler's pod has an address" });
}

/** The activator asks the autoscaler by the name of its Service, which nothing on the bed resolves. */
function withHost(deployment: KubernetesObject, ip: string): KubernetesObject {
  const { template, ...spec } = deployment.spec as { template: { spec: object } };
  const hostAliases = [{ ip, hostnames: [`autoscaler.${namespace}.svc.cluster.local`] }];
  return {
    ...deployment,
    spec: { ...spec, template: { ...template, spec: { ...template.spec, hostAliases } } },
  };
}

async function available(bed: BedClient, name: string): Promise<void> {
  const look = async () => {
    const deployment = await bed.readObject('Deployment', namespace, name);
    const { conditions = [] } = (deployment?.status ?? {}) as { conditions?: readonly Condition[] };
    return conditions.some(({ type, status }) => type === 'Available' && status === 'True');
  };
  const pods = () => bed.listObjects('Pod', namespace);
  await waitFor(look, { timeoutMs: START_MS, what: `Knative's ${name} is available`, describe: pods });
}

/** The webhook's program has written its certificate there: until then the API server refuses every object of Knative. */
async function trusted(bed: BedClient, kind: string, name: string): Promise<void> {
  const look = async () => {
    const found = (await bed.readObject(kind, '', name)) as
      | { webhooks?: ReadonlyArray<{ clientConfig: { caBundle?: string } }> }
      | undefined;
    return found?.webhooks?.every(({ clientConfig }) => clientConfig.caBundle !== undefined);
  };
  await waitFor(look, { timeoutMs: START_MS, what: `${kind} ${name} has a certificate` });
}
