/** `npm run explore`: deeper than the tests, and with chance. */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { explore, type Violation } from './explore.ts';
import type { Variant } from './place.ts';
import { anchored, type Kept, replay, shortened } from './replay.ts';
import { VARIANTS } from './variants.ts';

interface Arguments {
  readonly depth: number;
  readonly states: number;
  readonly variants: readonly string[];
  readonly isDeep: boolean;
  /** Only each so many-th of what happens last. */
  readonly every: number;
  /** Folder for the paths of violations. */
  readonly keep: string | undefined;
}

const args = argumentsOf(process.argv.slice(2));
const began = Date.now();
let [states, transitions, violations] = [0, 0, 0];
for (const variant of VARIANTS) {
  if (args.variants.length > 0 && !args.variants.includes(variant.name)) continue;
  const since = Date.now();
  const bounds = {
    depth: args.depth,
    mostStates: args.states,
    isDeep: args.isDeep,
    healEvery: 3,
    sample: { every: args.every, from: 0 },
  };
  const found = explore(variant, bounds, [[], ['commit b']], (path) => replay(variant, path).place);
  const seconds = (Date.now() - since) / 1000;
  states += found.states;
  transitions += found.transitions;
  violations += found.violations.length;
  console.log(
    `${variant.name}: ${found.states} states, ${found.transitions} transitions, ${found.fairRuns} fair runs, ${found.violations.length} violations, ` +
      `${seconds.toFixed(1)} s (${Math.round(found.states / seconds)} states/s)${found.isComplete ? '' : ', not all of that depth'}`,
  );
  for (const violation of found.violations) {
    console.log(`  ${violation.rule}: ${violation.detail}`);
    console.log(`    ${JSON.stringify(shortened(violation.path))}`);
    if (args.keep !== undefined) keep(variant, violation, args.keep);
  }
}
const seconds = (Date.now() - began) / 1000;
console.log(
  `${states} states, ${transitions} transitions, ${violations} violations in ${seconds.toFixed(1)} s (${Math.round(transitions / seconds)} transitions/s)`,
);
process.exitCode = violations === 0 ? 0 : 1;

function argumentsOf(words: readonly string[]): Arguments {
  const value = (name: string) => words.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
  return {
    depth: Number(value('depth') ?? 2),
    states: Number(value('states') ?? 200_000),
    variants: value('variants')?.split(',') ?? [],
    isDeep: !words.includes('--common'),
    every: Number(value('every') ?? 1),
    keep: value('keep'),
  };
}

function keep(variant: Variant, { rule, detail, path }: Violation, folder: string): void {
  const kept: Kept = {
    ...{ variant: variant.name, rule, detail },
    ...{ path: shortened(path), anchored: anchored(variant, path) },
  };
  const hash = createHash('sha256').update(`${detail}${path}`).digest('hex').slice(0, 6);
  mkdirSync(folder, { recursive: true });
  const text = JSON.stringify(kept, undefined, 2);
  writeFileSync(
    join(folder, `${rule.toLowerCase()}-${variant.name.toLowerCase()}-${hash}.json`),
    `${text}\n`,
  );
}
