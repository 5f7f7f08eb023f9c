import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { allCrds } from '../../src/api/crd.ts';
import { useBed, waitFor } from '../cluster/bed/client.ts';
import { deployment } from '../cluster/bed/manifests.ts';
import { createProgram } from '../cluster/scenarios/program.ts';
import { cpuMs, growth, report, requestCounters, rssMib } from './measure.ts';

const COUNT = 100;
const MINUTE_MS = 60_000;
const bed = useBed();

test(`${COUNT} Canaries at rest, one minute`, async () => {
  const namespace = 'idle';
  await bed.apply(allCrds());
  await bed.kubectl(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);
  await bed.createNamespace(namespace);
  const repo = await bed.createGitRepo(namespace);
  const names = Array.from({ length: COUNT }, (_, index) => `app-${index}`);
  await repo.commit(
    Object.fromEntries(names.map((name) => [`${name}.yaml`, manifest(name)])),
    'A hundred applications',
  );
  const program = createProgram(bed, namespace, repo.url, { interval: '30s' });
  const began = Date.now();
  program.start();
  await waitFor(
    async () => {
      const canaries = await bed.listObjects('Canary', namespace).catch(() => []);
      const ready = canaries.filter(
        (canary) => (canary.status as { phase?: string } | undefined)?.phase === 'Initialized',
      );
      return ready.length === COUNT;
    },
    { timeoutMs: 300_000, intervalMs: 1000, what: `${COUNT} Canaries initialized` },
  );
  const initializedMs = Date.now() - began;
  await sleep(20_000);
  await repo.counts({ reset: true });
  const pid = program.pid();
  const counters = await requestCounters(bed);
  const audited = bed.auditedRequests({ userAgent: 'holdfast' }).length;
  const cpu = cpuMs(pid);
  await sleep(MINUTE_MS);
  const used = cpuMs(pid) - cpu;
  const rss = rssMib(pid);
  const own = bed.auditedRequests({ userAgent: 'holdfast' }).slice(audited);
  const after = growth(counters, await requestCounters(bed));
  const { refs, listings, fetches, packBytes } = await repo.counts();
  await program.stop();
  const without = await requestCounters(bed);
  await sleep(MINUTE_MS);
  const rest = growth(without, await requestCounters(bed));
  report(`${COUNT} Canaries at rest, one minute`, [
    `initialized in ${(initializedMs / 1000).toFixed(1)} s`,
    `requests of Holdfast by the audit log: ${own.map(({ verb, requestURI }) => `${verb} ${requestURI}`).join('; ') || 'none'}`,
    `API server's counters with Holdfast: ${show(after)}`,
    `API server's counters without it: ${show(rest)}`,
    `CPU ${(used / 1000).toFixed(2)} s, resident memory ${rss} MiB`,
    `Git: ${refs} ref listings with ${refs + listings} requests, ${fetches} fetches, ${packBytes} bytes of packs`,
  ]);
  const kinds = new Set(
    own.map(({ verb, objectRef }) => (objectRef?.resource === 'leases' ? 'lease' : verb)),
  );
  expect([...kinds].filter((kind) => kind !== 'lease' && kind !== 'watch')).toEqual([]);
});

function show(counters: ReadonlyArray<[string, number]>): string {
  return counters.map(([key, value]) => `${key} ${value}`).join(', ');
}

function manifest(name: string): string {
  const canary = {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { name },
    spec: {
      provider: 'kubernetes',
      targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
      service: { port: 80, targetPort: 8080 },
      analysis: { interval: '10s', threshold: 2, iterations: 5 },
    },
  };
  const config = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `${name}-config` },
    data: { LEVEL: 'info' },
  };
  const container = { envFrom: [{ configMapRef: { name: `${name}-config` } }] };
  const workload = deployment({ name, image: 'fake/app:v1', replicas: 1, container });
  return [canary, config, workload].map((object) => JSON.stringify(object)).join('\n---\n');
}
