import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { allCrds } from '../../src/api/kinds/crd.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { type BedClient, useBed, waitFor } from '../cluster/bed/client.ts';
import type { GitRepo } from '../cluster/bed/git-repo.ts';
import { createProgram, type Program } from '../cluster/scenarios/program.ts';
import { folderOfApplication, manifestOf, OBJECTS_PER_APPLICATION } from './applications.ts';
import {
  cpuMs,
  growth,
  load,
  metricOf,
  peakRssMib,
  processNamed,
  report,
  requestCounters,
  rssMib,
} from './measure.ts';
import { notifyOfPush, PUSH_SECRET } from './push-hook.ts';

const COUNT = 1_000;
/** As long as the interval of the Sources. */
const REST_MS = 30_000;
const bed: BedClient = useBed();

test(`${COUNT} applications of one repository`, async () => {
  await bed.apply(allCrds());
  await bed.kubectl(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);
  const one = await play('apps-one', [{ name: 'apps', path: './apps' }]);
  const each = Array.from({ length: COUNT }, (_, index) => {
    return { name: `app-${index}`, path: `./${folderOfApplication(index)}` };
  });
  const many = await play('apps-many', each);
  expect([one, many]).toEqual([COUNT, COUNT]);
});

interface Followed {
  readonly name: string;
  readonly path: string;
}

/** From nothing to everything applied, a time without news, and one changed file; gives the applications that are there. */
async function play(namespace: string, sources: readonly Followed[]): Promise<number> {
  await bed.createNamespace(namespace);
  await bed.apply([secret], namespace);
  const repo = await bed.createGitRepo(namespace);
  const files = Array.from({ length: COUNT }, (_, index) => [fileOf(index), manifestOf(index, 'v1')]);
  await repo.commit(Object.fromEntries(files), 'All applications');
  const objects = sources.map((source) => sourceOf(namespace, repo.url, source));
  await bed.apply(objects, namespace);
  const program = createProgram(bed, namespace, undefined);
  const title = `${COUNT} applications, ${sources.length} Source${sources.length > 1 ? 's' : ''}`;
  try {
    report(
      `${title}: from the first poll to all applied (load before: ${load()})`,
      await start(namespace, program, repo),
    );
    await sleep(10_000);
    report(`${title}: without news, ${REST_MS / 1000} s`, await rest(program, repo));
    report(`${title}: one changed file`, await change(namespace, program, repo, sources));
    return (await bed.listObjects('Ingress', namespace)).length;
  } finally {
    await program.stop();
    await bed.clearNamespace(namespace);
  }
}

async function start(namespace: string, program: Program, repo: GitRepo): Promise<string[]> {
  const before = await usage();
  await repo.counts({ reset: true });
  program.start();
  await waitFor(async () => (await repo.counts()).refs > 0, wait(60_000, 20, 'the first poll'));
  const began = performance.now();
  await waitFor(async () => (await allApplied(namespace)) === 'yes', {
    ...wait(300_000, 500, 'everything applied'),
    describe: () => allApplied(namespace),
  });
  const seconds = (performance.now() - began) / 1000;
  const { refs, listings, fetches, packBytes } = await repo.counts();
  return [
    `${seconds.toFixed(1)} s from the first poll until ${COUNT * OBJECTS_PER_APPLICATION} objects were applied and every Source was Ready`,
    ...(await spent(before, program)),
    `Git: ${refs + listings} requests to list refs, ${fetches} fetches, ${packBytes} bytes of packs`,
  ];
}

async function rest(program: Program, repo: GitRepo): Promise<string[]> {
  await repo.counts({ reset: true });
  const audited = bed.auditedRequests({ userAgent: 'holdfast' }).length;
  const before = await usage(program);
  await sleep(REST_MS);
  const after = await usage(program);
  const own = bed.auditedRequests({ userAgent: 'holdfast' }).slice(audited);
  const writes = own.filter(({ verb, objectRef }) => !reads.has(verb) && objectRef?.resource !== 'leases');
  const { refs, listings, fetches } = await repo.counts();
  return [
    `${((after.own - before.own) / 1000).toFixed(2)} s CPU of Holdfast in one pass (interval 30 s), ${writes.length} writes to the API server beside the lease, ${own.length} requests in all`,
    `resident memory ${rssMib(program.pid())} MiB (highest until now ${peakRssMib(program.pid())})`,
    `API server ${seconds(after.apiServer - before.apiServer)} CPU; Git: ${refs + listings} requests to list refs, ${fetches} fetches`,
  ];
}

const reads: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

/** Three times another application; the wire, the writes and the files read are of the last. */
async function change(
  namespace: string,
  program: Program,
  repo: GitRepo,
  sources: readonly Followed[],
): Promise<string[]> {
  const lines: string[] = [];
  const url = await program.url();
  for (const index of [500, 123, 876]) {
    const version = `v2-${index}`;
    await repo.commit({ [fileOf(index)]: manifestOf(index, version) }, version);
    await repo.counts({ reset: true });
    const rendered = await metricOf(url, 'holdfast_source_rendered_total');
    const audited = bed.auditedRequests({ userAgent: 'holdfast' }).length;
    const cpu = cpuMs(program.pid());
    const began = performance.now();
    await notifyOfPush(url, namespace, sources[index % sources.length]?.name ?? '');
    await waitFor(() => runs(namespace, index, version), wait(60_000, 20, `${version} applied`));
    const ms = performance.now() - began;
    await sleep(8_000);
    const own = bed.auditedRequests({ userAgent: 'holdfast' }).slice(audited);
    const writes = own.filter(({ verb, objectRef }) => !reads.has(verb) && objectRef?.resource !== 'leases');
    const to = (kind: string) => writes.filter(({ objectRef }) => objectRef?.resource === kind).length;
    const { fetches, packBytes } = await repo.counts();
    lines.push(
      `${(ms / 1000).toFixed(2)} s from the webhook until the object was there; ${(await metricOf(url, 'holdfast_source_rendered_total')) - rendered} files rendered, ${to('deployments')} Deployment and ${writes.length - to('deployments') - to('sources') - to('events')} other objects written, ${to('sources')} statuses, ${to('events')} events, ${seconds(cpuMs(program.pid()) - cpu)} CPU in all, ${fetches} fetches of ${packBytes} bytes`,
    );
    await sleep(2_000);
  }
  return [
    ...lines,
    `resident memory ${rssMib(program.pid())} MiB (highest until now ${peakRssMib(program.pid())})`,
  ];
}

interface Usage {
  readonly own: number;
  readonly apiServer: number;
  readonly etcd: number;
  readonly controllers: number;
  readonly requests: Map<string, number>;
}

/** CPU in milliseconds until now. */
async function usage(program?: Program): Promise<Usage> {
  const of = (name: string) => cpuMs(processNamed(name));
  return {
    own: program ? cpuMs(program.pid()) : 0,
    apiServer: of('kube-apiserver'),
    etcd: of('etcd'),
    controllers: of('kube-controller-manager'),
    requests: await requestCounters(bed),
  };
}

async function spent(before: Usage, program: Program): Promise<string[]> {
  const after = await usage(program);
  const requests = growth(before.requests, after.requests).slice(0, 12);
  return [
    `CPU: Holdfast ${seconds(after.own - before.own)}, API server ${seconds(after.apiServer - before.apiServer)}, etcd ${seconds(after.etcd - before.etcd)}, controller manager ${seconds(after.controllers - before.controllers)}`,
    `Holdfast: highest resident memory ${peakRssMib(program.pid())} MiB, now ${rssMib(program.pid())} MiB`,
    `API server's counters: ${requests.map(([key, value]) => `${key} ${value}`).join(', ')}`,
  ];
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

/** `yes`, or what is missing. */
async function allApplied(namespace: string): Promise<string> {
  const sources = await bed.listObjects('Source', namespace).catch(() => []);
  const waiting = sources.filter((source) => !isReady(source));
  const [first] = waiting;
  if (!first) return sources.length > 0 ? 'yes' : 'no Source';
  return `${waiting.length} of ${sources.length} wait, ${first.metadata.name}: ${JSON.stringify(first.status)?.slice(0, 500)}`;
}

function isReady({ status }: KubernetesObject): boolean {
  const { conditions = [] } = (status ?? {}) as { conditions?: Array<{ type: string; status: string }> };
  return conditions.some((condition) => condition.type === 'Ready' && condition.status === 'True');
}

async function runs(namespace: string, index: number, version: string): Promise<boolean> {
  const name = folderOfApplication(index).slice('apps/'.length);
  const found = await bed.readObject('Deployment', namespace, name).catch(() => undefined);
  return JSON.stringify(found?.spec ?? {}).includes(`"${version}"`);
}

function fileOf(index: number): string {
  return `${folderOfApplication(index)}/app.yaml`;
}

function wait(timeoutMs: number, intervalMs: number, what: string) {
  return { timeoutMs, intervalMs, what };
}

const secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'push' },
  stringData: { webhookSecret: PUSH_SECRET },
};

function sourceOf(namespace: string, url: string, { name, path }: Followed) {
  const spec = {
    ...{ url, path, ref: { branch: 'main' }, interval: '30s', timeout: '5m' },
    ...{ secretRef: { name: 'push' }, defaultNamespace: namespace, renderer: 'plain' },
  };
  return { apiVersion: 'holdfast.dev/v1alpha1', kind: 'Source', metadata: { name, namespace }, spec };
}
