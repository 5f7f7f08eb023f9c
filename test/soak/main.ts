/** `npm run soak`: many Canaries, commits and faults for hours of virtual time, and what grows meanwhile. See docs/testing.md. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { imageOf } from '../objects.ts';
import { arm, type PlannedFault } from '../plans/faults.ts';
import { startGitFront } from '../plans/git-front.ts';
import { metricTemplates } from '../plans/scenarios/parts.ts';
import { createWorld, sourceOf, type World } from '../plans/world.ts';
import { canary, deployment, statusOf } from '../sandbox/holdfast-bed.ts';

const words = process.argv.slice(2);
const value = (name: string, otherwise: number) =>
  Number(words.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3) ?? otherwise);
const canaries = value('canaries', 200);
const rounds = value('rounds', 24);
/** So many workloads change with each commit. */
const perCommit = value('per-commit', 20);

const names = Array.from({ length: canaries }, (_, index) => `app-${String(index).padStart(3, '0')}`);
const metrics = [
  { name: 'alive', templateRef: { name: 'alive' }, thresholdRange: { min: 99 }, interval: '10s' },
];
/** Of each of the commits: the workloads that it changes, and to which image. */
const changes = Array.from({ length: rounds }, (_, round) =>
  Array.from({ length: perCommit }, (_, index) => names[(round * perCommit + index) % canaries] as string),
);

/** One kind of trouble in each round, each for seconds in which a release is under way. */
const troubles: ReadonlyArray<(atSeconds: number) => PlannedFault | undefined> = [
  () => undefined,
  (n) => ({ at: { on: 'second', n }, kind: 'restart', seconds: 10 }),
  (n) => ({ at: { on: 'second', n }, kind: 'git', how: 500, seconds: 40 }),
  (n) => ({ at: { on: 'second', n }, kind: 'storm', how: 429, seconds: 15 }),
  (n) => ({ at: { on: 'second', n }, kind: 'metrics', how: 503, seconds: 30 }),
  (n) => ({ at: { on: 'second', n }, kind: 'storm', how: 'cut', seconds: 5 }),
  (n) => ({ at: { on: 'second', n }, kind: 'stop', seconds: 20 }),
  (n) => ({ at: { on: 'second', n }, kind: 'slow', byMs: 1_000, seconds: 20 }),
];
/** After the commit of a round: when its releases are under way. */
const troubleAfterMs = 25_000;
const longestRoundMs = 60 * 60_000;
const quietMs = 60_000;

/** What a round left behind. */
interface Sample {
  readonly round: number;
  readonly virtualHours: number;
  readonly heapMiB: number;
  readonly handles: number;
  readonly watches: number;
  readonly timers: number;
}

function manifestOf(name: string): string {
  return canary({
    name,
    spec: { progressDeadlineSeconds: 600, postPromotion: { interval: '10s', successThreshold: 2 } },
    analysis: { interval: '10s', threshold: 12, iterations: 2, metrics },
  });
}

const folder = await mkdtemp(join(tmpdir(), 'holdfast-soak-'));
const front = await startGitFront(folder);
const first = Object.fromEntries(
  names.flatMap((name) => [
    [`${name}/web.json`, deployment('shop/web:0', { name })],
    [`${name}/canary.json`, manifestOf(name)],
  ]),
);
const later = changes.map((changed, round) =>
  Object.fromEntries(
    changed.map((name) => [`${name}/web.json`, deployment(`shop/web:${round + 1}`, { name })]),
  ),
);
const history = await front.history('soak', [first, ...later]);
const world = await createWorld(front, history);
for (const template of metricTemplates(world.sandbox.prometheusUrl))
  await world.send('POST', '/apis/flagger.app/v1beta1/namespaces/shop/metrictemplates', template);

/** The server's own log forgets. */
let written = 0;
world.sandbox.fault(({ method, path, userAgent }) => {
  if (method !== 'GET' && userAgent.startsWith('holdfast/') && !/leases|accessreviews/.test(path))
    written += 1;
  return undefined;
});
const began = Date.now();
await world.start();
await world.send('POST', '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources', sourceOf(world));
const expected = new Map(names.map((name) => [name, 'shop/web:0']));
await atRest(world);
const samples: Sample[] = [await sample(0)];
for (const [round, changed] of changes.entries()) {
  world.git.setHead(round + 1);
  for (const name of changed) expected.set(name, `shop/web:${round + 1}`);
  const fault = troubles[round % troubles.length]?.(troubleAfterMs / 1000);
  if (fault) arm(world, [fault]);
  await atRest(world);
  samples.push(await sample(round + 1));
}
console.log(
  `\n${canaries} Canaries, ${rounds} commits of ${perCommit} releases, ${troubles.length - 1} kinds of faults`,
);
console.log(
  `${Math.round((Date.now() - began) / 1000)} s, ${Math.round(process.cpuUsage().user / 1e6)} s of processor time`,
);
for (const what of ['heapMiB', 'handles', 'watches', 'timers'] as const)
  console.log(
    `slope of ${what}: ${slopeOf(samples.slice(Math.ceil(samples.length / 3)), what).toFixed(3)} a round`,
  );
await world.close();
await front.close();
await rm(folder, { recursive: true, force: true });
process.exit(0);

/** Until every Canary runs what Git says, and nothing was written for a minute. Throws where that does not come. */
async function atRest({ ageMs, pass }: World): Promise<void> {
  const startMs = ageMs();
  let [seen, sinceMs] = [written, ageMs()];
  while (ageMs() - startMs < longestRoundMs) {
    const untilMs = ageMs() + 5_000;
    while (ageMs() < untilMs) await pass();
    if (written !== seen || unfinished().length > 0) [seen, sinceMs] = [written, ageMs()];
    else if (ageMs() - sinceMs >= quietMs) return;
  }
  throw new Error(`not at rest after an hour: ${unfinished().slice(0, 5).join('; ')}`);
}

function unfinished(): string[] {
  const { store } = world.sandbox;
  return names.flatMap((name) => {
    const { phase, run } = statusOf(store.get('flagger.app/canaries', 'shop', name));
    const image = imageOf(store.get('apps/deployments', 'shop', `${name}-primary`));
    const isDone = (phase === 'Initialized' || phase === 'Succeeded') && run === undefined;
    return isDone && image === expected.get(name) ? [] : [`${name} is ${String(phase)} with ${image}`];
  });
}

async function sample(round: number): Promise<Sample> {
  for (let count = 0; count < 3; count += 1) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const one = {
    round,
    virtualHours: Math.round(world.ageMs() / 36_000) / 100,
    heapMiB: Math.round(process.memoryUsage().heapUsed / 104_857.6) / 10,
    handles: process.getActiveResourcesInfo().length,
    watches: world.sandbox.watches(),
    timers: world.clock.timers(),
  };
  if (round === 0) console.log(Object.keys(one).join('\t'));
  console.log(Object.values(one).join('\t'));
  return one;
}

/** Least squares over the rounds. */
function slopeOf(of: readonly Sample[], what: 'heapMiB' | 'handles' | 'watches' | 'timers'): number {
  const mean = (values: readonly number[]) => values.reduce((sum, each) => sum + each, 0) / values.length;
  const [x, y] = [mean(of.map(({ round }) => round)), mean(of.map((each) => each[what]))];
  const above = of.reduce((sum, each) => sum + (each.round - x) * (each[what] - y), 0);
  return above / of.reduce((sum, each) => sum + (each.round - x) ** 2, 0);
}
