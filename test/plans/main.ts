/** `npm run plans`: many plans of faults, and each line of every watch hidden once. See docs/testing.md. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { drawPlan, hidingPlans } from './draw.ts';
import { startGitFront } from './git-front.ts';
import { type Plan, playPlan, playReference, type Reference } from './run.ts';
import { scenarios } from './scenarios.ts';

const words = process.argv.slice(2);
const value = (name: string) => words.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
const first = Number(value('seed') ?? 1);
const count = Number(value('count') ?? 2400);
/** The part of the plans that this process plays: `2/3` is the second of three. */
const [part = 1, parts = 1] = (value('part') ?? '1/1').split('/').map(Number);
const keep = value('keep');
/** Plans of those scenarios alone whose names this expression finds. */
const about = value('about') ?? '';
/** One plan to play again, as it was told. */
const again = value('plan');

const folder = await mkdtemp(join(tmpdir(), 'holdfast-plans-'));
const front = await startGitFront(folder);
const references: Reference[] = [];
const { scenario: only } = again === undefined ? {} : (JSON.parse(again) as Plan);
const among = scenarios.filter(({ name }) =>
  only === undefined ? new RegExp(about).test(name) : name === only,
);
for (const scenario of among) references.push(await playReference(front, scenario));
const plans: readonly Plan[] = again === undefined ? await all() : [JSON.parse(again) as Plan];

const began = Date.now();
let differing = 0;
let longestSeconds = 0;
for (const [index, plan] of plans.entries()) {
  const findings = await play(plan);
  if (findings.length > 0) report(plan, findings);
  if ((index + 1) % 100 === 0)
    console.log(`${index + 1} of ${plans.length} plans, ${differing} differing ends`);
}
const { user, system } = process.cpuUsage();
console.log(
  `${plans.length} plans (${references.length} scenarios), ${differing} differing ends, the longest to its end ${Math.round(longestSeconds)} s of its own time; ` +
    `${Math.round((Date.now() - began) / 1000)} s, ${Math.round((user + system) / 1e6)} s of processor time`,
);
await front.close();
await rm(folder, { recursive: true, force: true });
process.exit(differing === 0 ? 0 : 1);

async function all(): Promise<readonly Plan[]> {
  const hiding = words.includes('--no-hiding') ? [] : references.flatMap(hidingPlans);
  const seeds = Array.from({ length: count }, (_, index) => first + index);
  const drawn = await Promise.all(
    seeds.map((seed) => drawPlan(async ({ name }) => referenceOf(name), seed, among)),
  );
  return [...hiding, ...drawn].filter((_, index) => index % parts === part - 1);
}

async function play(plan: Plan): Promise<readonly string[]> {
  const { findings, virtualSeconds } = await playPlan(front, referenceOf(plan.scenario), plan);
  longestSeconds = Math.max(longestSeconds, virtualSeconds);
  return findings;
}

function referenceOf(name: string): Reference {
  const reference = references.find(({ scenario }) => scenario.name === name);
  if (!reference) throw new Error(`there is no scenario ${name}`);
  return reference;
}

function report(plan: Plan, findings: readonly string[]): void {
  differing += 1;
  console.log(`differs: ${JSON.stringify(plan)}`);
  for (const finding of findings.slice(0, 20)) console.log(`  ${finding.slice(0, 500)}`);
  if (keep === undefined) return;
  mkdirSync(keep, { recursive: true });
  writeFileSync(join(keep, `seed-${plan.seed}.json`), `${JSON.stringify(plan, undefined, 2)}\n`);
}
