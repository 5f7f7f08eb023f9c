import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import type { BedClient } from './client.ts';
import { untilBuilt } from './late-program.ts';
import { createPrograms, type Program } from './program.ts';

/** Flagger 1.44 itself, for one namespace; it can be ended and started again. */
export interface Flagger {
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Flagger from the folder that `scripts/bed-build.mjs` fills; waits while that is still at work. Routes by the Gateway API. */
export async function prepareFlagger(bed: BedClient, namespace: string): Promise<Flagger> {
  const path = await untilBuilt(bed.flaggerFolder, 'flagger');
  const programs = createPrograms(bed.logsDir);
  let program: Program | undefined;
  return {
    async start() {
      const args = {
        kubeconfig: bed.kubeconfigPath,
        namespace,
        'mesh-provider': 'gatewayapi:v1',
        'metrics-server': bed.prometheusUrl,
        'control-loop-interval': '1s',
        port: String(await freePort()),
      };
      const words = Object.entries(args).map(([name, value]) => `-${name}=${value}`);
      program = programs.start(`flagger-${namespace}`, path, words);
    },
    async stop() {
      await program?.stop();
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
