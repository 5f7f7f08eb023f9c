import { differences, type End, endState } from './end-state.ts';
import { arm, type PlannedFault, type Tally } from './faults.ts';
import type { GitFront, History } from './git-front.ts';
import { seeded } from './random.ts';
import { look, type Scenario, type Seen } from './scenario.ts';
import { metricTemplates } from './scenarios/parts.ts';
import { createWorld, type World } from './world.ts';

/** A scenario and what goes wrong in it. */
export interface Plan {
  readonly scenario: string;
  readonly seed: number;
  /** A second process waits for the Lease. */
  readonly standby: boolean;
  readonly faults: readonly PlannedFault[];
}

/** How a scenario goes when nothing goes wrong. */
export interface Reference {
  readonly scenario: Scenario;
  readonly history: History;
  readonly end: End;
  readonly tally: Tally;
  readonly seconds: number;
}

/** What came of a plan. */
export interface Outcome {
  /** Why it is not the same end; empty: it is. */
  readonly findings: readonly string[];
  readonly virtualSeconds: number;
}

/** So long nothing is written any more before an end counts as one. */
const quietMs = 60_000;
/** Everything that passes has passed by then: caches read everything anew within 36 minutes. */
const latestMs = 100 * 60_000;
const lookEveryMs = 5_000;
/** One that tries again and again on a view that does not change has more. */
const mostConflicts = 400;

/** Plays a scenario undisturbed. Throws when it has no end. */
export async function playReference(front: GitFront, scenario: Scenario): Promise<Reference> {
  const history = await front.history(
    scenario.name.replaceAll(/[^a-z]+/g, '-'),
    scenario.commits,
    scenario.signed,
  );
  const { findings, end, tally, virtualSeconds } = await play(front, { scenario, history, seed: 1 });
  if (findings.length > 0) throw new Error(`${scenario.name}, undisturbed: ${findings.join('; ')}`);
  return { scenario, history, end, tally, seconds: Math.ceil(virtualSeconds) };
}

/** Plays a plan, and compares its end with that of the reference. */
export async function playPlan(front: GitFront, reference: Reference, plan: Plan): Promise<Outcome> {
  return play(front, { ...reference, ...plan, scenario: reference.scenario, expected: reference.end });
}

interface Play {
  readonly scenario: Scenario;
  readonly history: History;
  readonly seed: number;
  readonly standby?: boolean;
  readonly faults?: readonly PlannedFault[];
  /** Absent: the end is that of the scenario, whatever it looks like. */
  readonly expected?: End;
}

type Played = Outcome & { readonly end: End; readonly tally: Tally };

async function play(front: GitFront, options: Play): Promise<Played> {
  const { scenario, history, seed, standby = false, faults = [] } = options;
  const chance = Math.random;
  Math.random = seeded(seed);
  const world = await createWorld(front, history, scenario.writesGit !== undefined);
  try {
    for (const template of metricTemplates(world.sandbox.prometheusUrl))
      await world.send('POST', '/apis/flagger.app/v1beta1/namespaces/shop/metrictemplates', template);
    if (scenario.pods) world.sandbox.behaviour.rule(scenario.pods);
    const tally = arm(world, faults);
    await world.start();
    if (standby) await world.start();
    const users = await actOut(world, scenario);
    const virtualSeconds = world.ageMs() / 1000;
    const counted = { ...tally };
    const late = await settle(world, options);
    const end = endState(world, scenario);
    const othersWrite = faults.some(({ kind }) => kind === 'person' || kind === 'rival');
    const failed = scenario.usersMayFail || othersWrite ? 0 : (users?.() ?? 0);
    const conflicts = world.sandbox.requests
      .writes()
      .filter(({ code, ...request }) => code === 409 && isOurs(request));
    const findings = [
      ...late,
      ...(othersWrite ? [] : blamesOthers(world)),
      ...(failed > 0 ? [`${failed} requests of users failed`] : []),
      ...(conflicts.length > mostConflicts ? [`${conflicts.length} writes were conflicts`] : []),
    ];
    return { findings, end, tally: counted, virtualSeconds };
  } finally {
    await world.close();
    Math.random = chance;
  }
}

/** What Holdfast says that others have changed of its Canaries. */
function blamesOthers({ sandbox }: World): string[] {
  return sandbox.store
    .list('events.k8s.io/events', 'shop')
    .filter(
      ({ reason, regarding }) =>
        reason === 'DriftCorrected' && (regarding as { kind: string }).kind === 'Canary',
    )
    .map(({ note }) => `nobody else writes, but: ${note}`);
}

/** Does what people do; returns how many requests of users have failed since the first release was live. */
async function actOut(world: World, { acts, isOver }: Scenario): Promise<(() => number) | undefined> {
  const left = [...acts];
  let users: (() => number) | undefined;
  while (world.ageMs() < latestMs) {
    const seen = look(world);
    users ??= usersOf(world, seen);
    const [next] = left;
    if (next?.when(seen)) {
      await next.act(world, seen);
      left.shift();
    } else if (!next && isOver(seen)) return users;
    else await world.pass();
  }
  return users;
}

function usersOf(world: World, { status }: Seen): (() => number) | undefined {
  if (status.phase !== 'Initialized') return undefined;
  const sampler = world.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  return () => Math.round(sampler.totals().failed);
}

/** Lets time pass until the end is there and nothing is written any more; returns what is wrong then. */
async function settle(world: World, { scenario, expected }: Play): Promise<string[]> {
  const wrong = (): string[] => {
    if (expected) return differences(expected, endState(world, scenario));
    return scenario.isOver(look(world)) ? [] : [`it ends as ${JSON.stringify(look(world).status)}`];
  };
  const writes = () => world.sandbox.requests.writes().filter(isOurs).length;
  let [seenWrites, sinceMs] = [writes(), world.ageMs()];
  while (world.ageMs() < latestMs) {
    const lookMs = world.ageMs() + lookEveryMs;
    while (world.ageMs() < lookMs) await world.pass();
    const written = writes();
    if (written !== seenWrites || wrong().length > 0) [seenWrites, sinceMs] = [written, world.ageMs()];
    else if (world.ageMs() - sinceMs >= quietMs) return [];
  }
  const found = wrong();
  if (found.length > 0) return found;
  const last = world.sandbox.requests.writes().filter(isOurs).slice(-5);
  return [
    `it never comes to rest: ${last.map(({ method, path, code }) => `${method} ${path} ${code}`).join(', ')}`,
  ];
}

function isOurs({ userAgent, path }: { userAgent: string; path: string }): boolean {
  return userAgent.startsWith('holdfast/') && !path.includes('/leases') && !path.includes('accessreviews');
}
