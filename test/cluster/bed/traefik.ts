import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BedClient } from './client.ts';
import { definitionsIn } from './ingress.ts';
import { untilBuilt } from './late-program.ts';
import { createPrograms, waitForAnswer } from './program.ts';
import { toolsFromEnvironment } from './tools.ts';

/** A Traefik for IngressRoutes and for Ingresses of the class `nginx`. */
export interface Traefik {
  /** Where it takes requests. */
  readonly url: string;
  stop(): Promise<void>;
}

const START_MS = 300_000;
/** Beyond the ports of own gateways. */
const PORTS = { web: 18_500, metrics: 18_501 };

/**
 * Starts Traefik from the folder that `scripts/bed-build.mjs` fills, for the whole cluster; waits while that is still at work. It has its own settings but for
 * those that Holdfast's guide asks for: it takes changes at most every two seconds. Prometheus scrapes it.
 */
export async function startTraefik(bed: BedClient): Promise<Traefik> {
  const path = await untilBuilt(bed.traefikFolder, 'traefik');
  const definitions = definitionsIn(toolsFromEnvironment().routeCrds);
  await bed.define(definitions.filter(({ metadata }) => metadata.name.endsWith('.traefik.io')));
  await bed.apply([
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: { name: 'nginx' },
      spec: { controller: 'k8s.io/ingress-nginx' },
    },
  ]);
  const authority = join(bed.logsDir, 'traefik-ca.crt');
  writeFileSync(authority, bed.ca);
  const access = { endpoint: bed.apiServer, token: bed.adminToken, certAuthFilePath: authority };
  const flags = {
    'entryPoints.web.address': `127.0.0.1:${PORTS.web}`,
    'entryPoints.metrics.address': `127.0.0.1:${PORTS.metrics}`,
    'metrics.prometheus.entryPoint': 'metrics',
    'metrics.prometheus.addServicesLabels': 'true',
    'ping.entryPoint': 'metrics',
    'global.checkNewVersion': 'false',
    ...prefixed('providers.kubernetesCRD', access),
    ...prefixed('providers.kubernetesIngressNGINX', { ...access, httpEntryPoint: 'web' }),
  };
  const programs = createPrograms(bed.logsDir);
  const words = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  const program = programs.start('traefik', path, words);
  const metrics = `127.0.0.1:${PORTS.metrics}`;
  await waitForAnswer(program, `http://${metrics}/ping`, START_MS);
  const targets = join(bed.scrapeTargetsDir, 'traefik.json');
  writeFileSync(targets, JSON.stringify([{ targets: [metrics] }]));
  return {
    url: `http://127.0.0.1:${PORTS.web}`,
    stop: async () => {
      rmSync(targets);
      await programs.stopAll();
    },
  };
}

function prefixed(prefix: string, settings: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(settings).map(([name, value]) => [`${prefix}.${name}`, value]));
}
