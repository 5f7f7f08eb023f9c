import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BedClient } from './client.ts';
import { createGateway, startGateway } from './ingress.ts';
import { createPrograms } from './program.ts';

/** A Gateway with a Contour and an Envoy of its own, which may be stopped. */
export interface OwnGateway {
  readonly name: string;
  readonly namespace: string;
  readonly envoyUrl: string;
  /** Contour stands still: what is written is not taken, while Envoy goes on by what it heard last. */
  pause(): void;
  resume(): void;
  close(): Promise<void>;
}

/** Below the ports that the kernel gives out, and away from those of the bed. */
const FIRST_PORT = 18_100;
const PORTS_EACH = 5;
/** Envoy listens on the port of the listener and this: so Contour keeps it away from privileged ones. */
const PORT_OFFSET = 8_000;
let started = 0;

/** Of a gateway that differs. */
interface OwnGatewayOptions {
  /** Whether routes of other namespaces are served, too. Default: they and their endpoints are none of its business. */
  readonly servesAll?: boolean;
  /** Where Envoy takes requests. Default: the loopback address. */
  readonly address?: string;
  /** Of five, and that of Envoy. Default: the next of this worker. */
  readonly firstPort?: number;
}

/** Starts it in a namespace that is there. */
export async function startOwnGateway(
  bed: BedClient,
  namespace: string,
  { servesAll = false, address = '127.0.0.1', firstPort }: OwnGatewayOptions = {},
): Promise<OwnGateway> {
  const first = firstPort ?? FIRST_PORT + PORTS_EACH * started++;
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-gateway-'));
  const programs = createPrograms(bed.logsDir);
  const gateway = { name: 'own', namespace };
  await createGateway(bed.api, gateway, first - PORT_OFFSET);
  const { contour } = await startGateway(bed.gatewayPrograms, programs, {
    name: `-${namespace}`,
    gateway,
    kubeconfig: bed.kubeconfigPath,
    folder,
    address,
    debugPort: first + 1,
    healthPort: first + 2,
    statsPort: first + 3,
    xdsPort: first + 4,
    workers: 2,
    flags: servesAll ? [] : [`--watch-namespaces=${namespace}`],
  });
  return {
    ...gateway,
    envoyUrl: `http://${address}:${first}`,
    pause: () => void process.kill(contour.pid, 'SIGSTOP'),
    resume: () => void process.kill(contour.pid, 'SIGCONT'),
    close: async () => {
      await programs.stopAll();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
