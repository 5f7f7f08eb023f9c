import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { allCrds } from '../../src/api/kinds/crd.ts';
import type { ClusterClient } from '../../src/cluster/client/client.ts';
import { startSandbox } from '../sandbox.ts';
import { demoManager, type Stage } from './context.ts';
import type { DemoOptions } from './options.ts';
import { application } from './repository.ts';

const gatewayName = 'demo';

/** Slow enough to be watched. */
const podReadyMs = 1_800;
const terminationMs = 500;

/** A cluster inside this process: real HTTP, the same API, modelled pods and traffic. */
export async function openSandboxStage(options: DemoOptions, folder: string): Promise<Stage> {
  const sandbox = await startSandbox({ podReadyMs, terminationMs });
  const { namespace } = options;
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, sandbox.kubeconfig, { mode: 0o600 });
  const provider = options.provider ?? 'gatewayapi:v1';
  return {
    description: 'sandbox, a Kubernetes API inside this process',
    kubeconfig,
    provider,
    gateway: provider.startsWith('gatewayapi') ? { namespace, name: gatewayName } : undefined,
    prometheus: sandbox.prometheusUrl,
    pace: { promotionDeadlineSeconds: 6, chapterMs: 180_000 },
    notes: [],
    async prepare(client) {
      for (const crd of allCrds()) await client.create(crd, { manager: demoManager });
      await client.apply(
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
        { manager: demoManager, force: true },
      );
      if (provider.startsWith('gatewayapi')) await createGateway(client, namespace);
    },
    startTraffic() {
      const sampler = sandbox.sampleTraffic({ namespace, service: application });
      return {
        totals() {
          const { requests, failed } = sampler.totals();
          return { requests: Math.round(requests), failed: Math.max(0, Math.ceil(failed - 1e-6)) };
        },
        async stop() {
          sampler.stop();
        },
      };
    },
    strike: async () => undefined,
    close: () => sandbox.close(),
  };
}

async function createGateway(client: ClusterClient, namespace: string): Promise<void> {
  const spec = { gatewayClassName: 'sandbox', listeners: [{ name: 'http', protocol: 'HTTP', port: 80 }] };
  await client.apply(
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'Gateway',
      metadata: { name: gatewayName, namespace },
      spec,
    },
    { manager: demoManager, force: true },
  );
}
