import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { drawPlan, hidingPlans } from './draw.ts';
import { type GitFront, startGitFront } from './git-front.ts';
import { type Plan, playPlan, playReference, type Reference } from './run.ts';
import { scenarios } from './scenarios.ts';

/** Of as many as `npm run plans` plays; their seeds are its first ones. */
const SAMPLE = 6;
/** Of the runs of each that together hide every event of a watch once, one is played here. */
const hidden = ['healthy release', 'primary that does not come up', 'config change'];

const keptFolder = join(import.meta.dirname, 'kept');
const kept = readdirSync(keptFolder).map(
  (name) => [name, JSON.parse(readFileSync(join(keptFolder, name), 'utf8')) as Plan] as const,
);

let folder: string;
let front: GitFront;
const references = new Map<string, Promise<Reference>>();
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-plans-'));
  front = await startGitFront(folder);
});
afterAll(async () => {
  await front.close();
  await rm(folder, { recursive: true, force: true });
});

/** Plays it when it is first asked for: all of them are not needed here. */
function referenceOf(name: string): Promise<Reference> {
  const scenario = scenarios.find((one) => one.name === name);
  if (!scenario) throw new Error(`there is no scenario ${name}`);
  const reference = references.get(name) ?? playReference(front, scenario);
  references.set(name, reference);
  return reference;
}

async function findingsOf(plan: Plan): Promise<string[]> {
  const { findings } = await playPlan(front, await referenceOf(plan.scenario), plan);
  return findings.map((finding) => `${JSON.stringify(plan)}: ${finding}`);
}

test.each(kept)('a plan that once ended otherwise ends as the undisturbed run: %s', async (_, plan) => {
  expect(await findingsOf(plan)).toEqual([]);
});

test(`plans of faults end as the undisturbed run (${SAMPLE} of those of npm run plans)`, async () => {
  for (let seed = 1; seed <= SAMPLE; seed += 1) {
    const plan = await drawPlan(({ name }) => referenceOf(name), seed);
    expect(await findingsOf(plan)).toEqual([]);
  }
});

test.each(hidden.map((name, index) => [name, index] as const))(
  'a run that misses each eighth event of its watches ends as the undisturbed one: %s',
  async (name, index) => {
    const plan = hidingPlans(await referenceOf(name))[index];
    expect(plan && (await findingsOf(plan))).toEqual([]);
  },
);
