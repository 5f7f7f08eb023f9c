import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { BedClient } from './client.ts';
import { definitionsIn } from './ingress.ts';
import { untilBuilt } from './late-program.ts';
import { createPrograms, waitForAnswer } from './program.ts';
import { toolsFromEnvironment } from './tools.ts';

/** Istio's control plane with one gateway of it. */
export interface Istio {
  /** Where the gateway takes requests. */
  readonly url: string;
  /** The Gateway that VirtualServices name. */
  readonly gateway: string;
  stop(): Promise<void>;
}

const START_MS = 300_000;
/** Beyond the ports of own gateways and of Traefik. */
const PORTS = { web: 18_510, admin: 18_511, discovery: 18_512, status: 18_513, monitoring: 18_514 };
const NAMESPACE = 'istio-system';
/**
 * The gateway is Envoy as its makers publish it, without the extensions of Istio's own build: they count requests and tell proxies of each other. How requests are
 * divided is Envoy's.
 */
const ENVIRONMENT = {
  POD_NAMESPACE: NAMESPACE,
  POD_NAME: 'istiod',
  PILOT_ENABLE_ALPN_FILTER: 'false',
  PILOT_ENABLE_METADATA_EXCHANGE: 'false',
  PILOT_ENABLE_GATEWAY_API: 'false',
  ENABLE_CA_SERVER: 'false',
  ENABLE_LEADER_ELECTION: 'false',
};

/** Starts pilot-discovery from the folder that `scripts/bed-build.mjs` fills, for the whole cluster, and a gateway; waits while that is still at work. */
export async function startIstio(bed: BedClient): Promise<Istio> {
  const path = await untilBuilt(bed.istioFolder, 'istio');
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-istio-'));
  const tools = toolsFromEnvironment();
  await bed.define(
    definitionsIn(tools.routeCrds).filter(({ metadata }) => metadata.name.endsWith('.istio.io')),
  );
  await bed.createNamespace(NAMESPACE);
  const server = { port: { number: PORTS.web, name: 'http', protocol: 'HTTP' }, hosts: ['*'] };
  await bed.apply([
    {
      apiVersion: 'networking.istio.io/v1',
      kind: 'Gateway',
      metadata: { name: 'public', namespace: NAMESPACE },
      spec: { selector: { istio: 'ingressgateway' }, servers: [server] },
    },
  ]);
  const mesh = join(folder, 'mesh.yaml');
  writeFileSync(mesh, stringify({ enableAutoMtls: false, defaultProviders: { metrics: [] } }));
  const programs = createPrograms(bed.logsDir);
  const flags = {
    kubeconfig: bed.kubeconfigPath,
    meshConfig: mesh,
    grpcAddr: `127.0.0.1:${PORTS.discovery}`,
    httpAddr: `127.0.0.1:${PORTS.status}`,
    monitoringAddr: `127.0.0.1:${PORTS.monitoring}`,
    secureGRPCAddr: '',
    httpsAddr: '',
    ctrlz_port: '0',
  };
  const words = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  const pilot = programs.start('pilot-discovery', path, ['discovery', ...words], ENVIRONMENT);
  await waitForAnswer(pilot, `http://127.0.0.1:${PORTS.status}/ready`, START_MS);
  const bootstrap = join(folder, 'envoy.yaml');
  writeFileSync(bootstrap, stringify(bootstrapOf()));
  const envoyFlags = ['--disable-hot-restart', '--log-level', 'warn', '--concurrency', '2'];
  const envoy = programs.start('istio-gateway', bed.gatewayPrograms.envoy, ['-c', bootstrap, ...envoyFlags]);
  await waitForAnswer(envoy, `http://127.0.0.1:${PORTS.admin}/ready`, START_MS);
  return {
    url: `http://127.0.0.1:${PORTS.web}`,
    gateway: `${NAMESPACE}/public`,
    stop: async () => {
      await programs.stopAll();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** As Istio's agent would write it for a gateway: who it is, and where its configuration comes from. */
function bootstrapOf(): object {
  const at = (port: number) => ({ socket_address: { address: '127.0.0.1', port_value: port } });
  const fromPilot = { resource_api_version: 'V3', ads: {} };
  const endpoints = [{ lb_endpoints: [{ endpoint: { address: at(PORTS.discovery) } }] }];
  const http2 = { explicit_http_config: { http2_protocol_options: {} } };
  const protocol = { '@type': 'type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions' };
  return {
    node: {
      id: `router~10.244.0.1~gateway.${NAMESPACE}~${NAMESPACE}.svc.cluster.local`,
      cluster: 'gateway',
      metadata: {
        CLUSTER_ID: 'Kubernetes',
        ISTIO_VERSION: '1.31.0',
        LABELS: { istio: 'ingressgateway' },
        NAMESPACE,
      },
    },
    admin: { address: at(PORTS.admin) },
    dynamic_resources: {
      lds_config: fromPilot,
      cds_config: fromPilot,
      ads_config: {
        api_type: 'GRPC',
        transport_api_version: 'V3',
        set_node_on_first_message_only: true,
        grpc_services: [{ envoy_grpc: { cluster_name: 'xds-grpc' } }],
      },
    },
    static_resources: {
      clusters: [
        {
          name: 'xds-grpc',
          type: 'STATIC',
          connect_timeout: '5s',
          load_assignment: { cluster_name: 'xds-grpc', endpoints },
          typed_extension_protocol_options: {
            'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': { ...protocol, ...http2 },
          },
        },
      ],
    },
  };
}
