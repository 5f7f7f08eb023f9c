import { setTimeout as sleep } from 'node:timers/promises';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import { canaryStatus } from '../../src/api/canary/summary.ts';
import type { KubernetesObject, PodTemplate } from '../../src/api/kubernetes.ts';
import type { SourceStatus } from '../../src/api/source/source.ts';
import type { ClusterClient } from '../../src/cluster/client/client.ts';
import type { DemoRun } from './context.ts';
import type { Difference, Ended } from './events.ts';
import { application } from './repository.ts';
import { story } from './story.ts';

/** Longest time until what is still ending has ended: old pods, the last status. */
const settleMs = 15_000;
const lookMs = 250;

/** Compares the cluster with what the story must have led to, and adds what was seen on the way. */
export async function checkOutcome(show: DemoRun): Promise<Ended> {
  const final = await finalDifferences(show);
  const totals = show.traffic?.totals();
  await show.traffic?.stop();
  const differences = [...final, ...trafficDifferences(totals), ...show.journal.differences()];
  const ok = differences.length === 0;
  return {
    type: 'ended',
    ok,
    differences,
    ...show.journal.facts(),
    requests: totals?.requests ?? null,
    failedRequests: totals?.failed ?? null,
    log: ok ? '' : show.setting.logPath,
  };
}

async function finalDifferences(show: DemoRun): Promise<Difference[]> {
  const { connection, stage, setting, audience } = show;
  const expected = expectationOf(show);
  const deadlineMs = Date.now() + settleMs;
  for (;;) {
    const world = await readWorld(connection.client, setting.options.namespace, stage.provider);
    const differences = differencesOf(world, expected);
    if (differences.length === 0 || Date.now() > deadlineMs) return differences;
    await sleep(lookMs, undefined, { signal: audience.signal });
  }
}

function trafficDifferences(totals: { requests: number; failed: number } | undefined): Difference[] {
  if (!totals || (totals.failed === 0 && totals.requests > 0)) return [];
  const found =
    totals.requests === 0 ? 'no request was answered' : `${totals.failed} of ${totals.requests} failed`;
  return [{ what: 'sampled requests', expected: '0 failed', found }];
}

function expectationOf({ commits, setting, goodDigest }: DemoRun): Expectation {
  return {
    image: setting.options.image,
    goodEnv: story.find(({ name }) => name === 'v2')?.env ?? {},
    goodDigest,
    badVersion: 'v3',
    badCommit: commits.commitOf('v3'),
    headCommit: commits.commitOf('revert'),
  };
}

/**
 * What the story must have led to. Commits are full SHAs. The commit that reverts v3 has v2's digest, so it is the last promoted one
 * (design section 2.3).
 */
export interface Expectation {
  readonly image: string;
  readonly goodEnv: Readonly<Record<string, string>>;
  /** Digest of the good release, as it was recorded when it was promoted. */
  readonly goodDigest: string;
  readonly badVersion: string;
  readonly badCommit: string;
  readonly headCommit: string;
}

/** Everything in which the cluster differs from what the story must have led to; empty: all is well. Pure. */
export function differencesOf(world: FinalWorld, expected: Expectation): Difference[] {
  return [
    ...primaryDifferences(world.primary, expected),
    ...restDifferences(world),
    ...statusDifferences(world, expected),
    ...differ(
      `pods of the rejected ${expected.badVersion}`,
      '0',
      String(world.podVersions.filter((version) => version === expected.badVersion).length),
    ),
  ];
}

function primaryDifferences(primary: WorkloadState | undefined, expected: Expectation): Difference[] {
  const what = `Deployment ${application}-primary`;
  if (!primary) return differ(what, 'there', 'missing');
  return [
    ...differ(`${what}: image`, expected.image, primary.image),
    ...differ(`${what}: environment`, ordered(expected.goodEnv), ordered(primary.env)),
    ...differ(`${what}: ready pods`, String(primary.wanted), String(primary.ready)),
    ...differ(`${what}: pods`, String(primary.wanted), String(primary.replicas)),
  ];
}

function restDifferences({ target, weights }: FinalWorld): Difference[] {
  const primary = weights[`${application}-primary`] ?? 0;
  const canary = Object.entries(weights)
    .filter(([name]) => name !== `${application}-primary`)
    .reduce((sum, [, weight]) => sum + weight, 0);
  return [
    ...differ(`Deployment ${application}: replicas`, '0', String(target?.wanted ?? 'missing')),
    ...differ('route: primary/canary', '100/0', `${primary}/${canary}`),
  ];
}

function statusDifferences({ canary, source }: FinalWorld, expected: Expectation): Difference[] {
  const what = `Canary ${application}`;
  const rejected = (canary.rejected ?? []).map(({ commit }) => commit).join(', ');
  return [
    ...differ(`${what}: phase`, 'Succeeded', canary.phase || 'none'),
    ...differ(`${what}: last-known-good`, expected.goodDigest, canary.lastKnownGood?.digest ?? 'none'),
    ...differ(`${what}: last promoted commit`, expected.headCommit, canary.lastPromotedCommit ?? 'none'),
    ...differ(`${what}: rejected`, expected.badCommit, rejected || 'none'),
    ...differ(`${what}: last applied commit`, expected.headCommit, canary.lastAppliedCommit ?? 'none'),
    ...differ(`${what}: condition Promoted`, 'True', conditionOf(canary, 'Promoted')),
    ...differ(`${what}: condition Ready`, 'True', conditionOf(canary, 'Ready')),
    ...differ(`${what}: condition Reverted`, 'False', conditionOf(canary, 'Reverted')),
    ...differ(`Source ${application}: applied commit`, expected.headCommit, source.appliedCommit ?? 'none'),
    ...differ(`Source ${application}: condition Ready`, 'True', conditionOf(source, 'Ready')),
  ];
}

function conditionOf({ conditions }: Pick<CanaryStatus, 'conditions'>, type: string): string {
  return conditions?.find((entry) => entry.type === type)?.status ?? 'none';
}

function differ(what: string, expected: string, found: string): Difference[] {
  return expected === found ? [] : [{ what, expected, found }];
}

function ordered(env: Readonly<Record<string, string>>): string {
  const entries = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return entries.sort().join(' ');
}

/** The cluster as it is, as far as the verdict looks. */
export interface FinalWorld {
  readonly canary: CanaryStatus;
  readonly source: SourceStatus;
  readonly primary: WorkloadState | undefined;
  readonly target: WorkloadState | undefined;
  /** Weights by Service name, as the route or the apex Service's selector has them. */
  readonly weights: Readonly<Record<string, number>>;
  /** VERSION of every pod that is there and not being deleted. */
  readonly podVersions: readonly string[];
}

/** A Deployment in short. */
interface WorkloadState {
  readonly image: string;
  readonly env: Readonly<Record<string, string>>;
  readonly wanted: number;
  readonly replicas: number;
  readonly ready: number;
}

/** Reads everything from the API server, not from what the demo saw on the way. */
async function readWorld(client: ClusterClient, namespace: string, provider: string): Promise<FinalWorld> {
  const read = (apiVersion: string, kind: string, name: string) =>
    client.get({ apiVersion, kind, namespace, name });
  const [canary, source, primary, target, weights, pods] = await Promise.all([
    read('flagger.app/v1beta1', 'Canary', application),
    read('holdfast.dev/v1alpha1', 'Source', application),
    read('apps/v1', 'Deployment', `${application}-primary`),
    read('apps/v1', 'Deployment', application),
    readWeights(read, provider),
    client.list('v1', 'Pod', { namespace }),
  ]);
  return {
    canary: canary ? canaryStatus(canary) : {},
    source: (source?.status ?? {}) as SourceStatus,
    primary: primary && workloadState(primary),
    target: target && workloadState(target),
    weights,
    podVersions: pods.items
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map((pod) => envOf(pod as unknown as PodTemplate).VERSION ?? ''),
  };
}

function workloadState(deployment: KubernetesObject): WorkloadState {
  const { template, replicas = 1 } = deployment.spec as { template: PodTemplate; replicas?: number };
  const status = (deployment.status ?? {}) as { replicas?: number; readyReplicas?: number };
  return {
    image: template.spec.containers[0]?.image ?? '',
    env: envOf(template),
    wanted: replicas,
    replicas: status.replicas ?? 0,
    ready: status.readyReplicas ?? 0,
  };
}

function envOf({ spec }: PodTemplate): Record<string, string> {
  const entries = (spec.containers[0]?.env ?? []) as Array<{ name: string; value?: string }>;
  return Object.fromEntries(entries.map(({ name, value }) => [name, value ?? '']));
}

type Read = (apiVersion: string, kind: string, name: string) => Promise<KubernetesObject | undefined>;

interface Backend {
  readonly name: string;
  readonly weight?: number;
}

async function readWeights(read: Read, provider: string): Promise<Record<string, number>> {
  if (provider === 'kubernetes') {
    const apex = await read('v1', 'Service', application);
    const { selector } = (apex?.spec ?? {}) as { selector?: { app?: string } };
    return selector?.app ? { [selector.app]: 100 } : {};
  }
  const route =
    provider === 'contour'
      ? await read('projectcontour.io/v1', 'HTTPProxy', application)
      : await read('gateway.networking.k8s.io/v1', 'HTTPRoute', application);
  const { rules = [], routes = [] } = (route?.spec ?? {}) as {
    rules?: Array<{ backendRefs?: Backend[] }>;
    routes?: Array<{ services?: Backend[] }>;
  };
  const backends = [
    ...rules.flatMap((rule) => rule.backendRefs ?? []),
    ...routes.flatMap((each) => each.services ?? []),
  ];
  return Object.fromEntries(backends.map(({ name, weight }) => [name, weight ?? 1]));
}
