import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Explored, explore } from './explore.ts';
import { type Kept, replay, shortened } from './replay.ts';
import { RULES } from './rules.ts';
import { VARIANTS } from './variants.ts';

const ROOTS = [[], ['commit b']];
/** One place of so many is gone on from, of each spec another one; `npm run explore` takes all. */
const SAMPLE = 30;

const kept = join(import.meta.dirname, 'paths');
const paths = readdirSync(kept)
  .filter((name) => name.endsWith('.json'))
  .map((name) => ({ name, ...(JSON.parse(readFileSync(join(kept, name), 'utf8')) as Kept) }));

const variantOf = (name: string) => VARIANTS.find((variant) => variant.name === name)!;

/** What was found, each with the shortest way there. */
function told({ violations }: Explored): string[] {
  return violations.map(({ rule, detail, path }) => `${rule}: ${detail} after ${shortened(path).join(', ')}`);
}

describe('exploring what one more thing does to a rollout', () => {
  it.each(VARIANTS.map((variant, index) => [variant.name, index] as const))(
    '%s: every reachable place keeps the rules, and from each a fair run ends',
    (name, index) => {
      const variant = variantOf(name);
      const sample = { every: index === 0 ? 3 : SAMPLE, from: index };
      const bounds = { depth: 1, mostStates: 20_000, sample };
      const found = explore(variant, bounds, ROOTS, (path) => replay(variant, path).place);
      expect(told(found)).toEqual([]);
      expect(found.states).toBeGreaterThan(20);
    },
  );
});

describe('paths that once broke a rule', () => {
  it.each(paths.map(({ name, rule, detail, ...path }) => [name, `${rule}: ${detail}`, path] as const))(
    '%s (%s)',
    (_name, _was, { variant, path, anchored }) => {
      for (const words of [path, anchored])
        expect(replay(variantOf(variant), [...words, 'fair']).findings, words.join(', ')).toEqual([]);
    },
  );
});

it('every rule is judged here, or says what shows it', () => {
  const numbers = [...Array(33).keys()].map((index) => `S${index + 1}`);
  const live = [...Array(10).keys()].map((index) => `L${index + 1}`);
  expect(RULES.map(({ id }) => id)).toEqual([...numbers, ...live]);
  const silent = RULES.filter(
    ({ onAction, onStatus, atRest, byExploring, elsewhere }) =>
      !(onAction || onStatus || atRest || byExploring || elsewhere),
  );
  expect(silent).toEqual([]);
});
