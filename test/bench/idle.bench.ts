import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { allCrds } from '../../src/api/kinds/crd.ts';
import { useBed, waitFor } from '../cluster/bed/client.ts';
import { deployment } from '../cluster/bed/manifests.ts';
import { createProgram, type Program } from '../cluster/scenarios/program.ts';
import { cpuMs, growth, report, requestCounters, rssMib } from './measure.ts';

const COUNT = 200;
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
    'All applications',
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
  const again = await startAgain(program);
  await program.stop();
  const without = await requestCounters(bed);
  await sleep(MINUTE_MS);
  const rest = growth(without, await requestCounters(bed));
  report(`${COUNT} Canaries at rest, one minute`, [
    `initialized in ${(initializedMs / 1000).toFixed(1)} s`,
    `started again: leading after ${again.leadingS} s, Git read and each Canary looked at after ${again.readyS} s, ${again.requests} requests`,
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

/** How long the program takes to know everything that is there. The first sync is over when its time is told. */
async function startAgain(program: Program): Promise<{ leadingS: string; readyS: string; requests: number }> {
  const audited = bed.auditedRequests({ userAgent: 'holdfast' }).length;
  const began = Date.now();
  const since = () => ((Date.now() - began) / 1000).toFixed(1);
  program.start();
  const metric = async (name: string) => {
    const text = await fetch(`${await program.url()}/metrics`).then((response) => response.text());
    return new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'm').exec(text)?.[1];
  };
  const until = (what: string, look: () => Promise<boolean>) =>
    waitFor(() => look().catch(() => false), { timeoutMs: 120_000, intervalMs: 50, what });
  await until('leading', async () => (await metric('holdfast_leading')) === '1');
  const leadingS = since();
  await until('the first sync', async () => {
    const synced = Number(await metric('holdfast_source_last_sync_timestamp_seconds')) > began / 1000;
    return synced && (await metric('holdfast_queue_depth')) === '0';
  });
  const readyS = since();
  return { leadingS, readyS, requests: bed.auditedRequests({ userAgent: 'holdfast' }).length - audited };
}

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
  const configs = [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `${name}-config` }, data: { LEVEL: 'info' } },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `${name}-flags` }, data: { FLAGS: 'none' } },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: `${name}-token` }, stringData: { TOKEN: name } },
  ];
  const container = {
    envFrom: configs.map(({ kind, metadata }) =>
      kind === 'Secret' ? { secretRef: metadata } : { configMapRef: metadata },
    ),
  };
  const workload = deployment({ name, image: 'fake/app:v1', replicas: 1, container });
  return [canary, ...configs, workload].map((object) => JSON.stringify(object)).join('\n---\n');
}
