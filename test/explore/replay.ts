/** Paths as people and files hold them, and how they are played again. */
import type { Decision } from '../../src/rollout/outcome.ts';
import { beginning, GO, lookOn } from './explore.ts';
import { keyOf } from './key.ts';
import { fair, happen, stillRefused, wellAgain } from './moves.ts';
import type { Place, Variant } from './place.ts';
import { type Finding, judgeRest } from './rules.ts';
import { decide } from './world.ts';

const MOST_STEPS = 400;

/** Several `go` in a row become one with their number. */
export function shortened(path: readonly string[]): string[] {
  const words: string[] = [];
  let count = 0;
  for (const move of [...path, '']) {
    if (move === GO) {
      count += 1;
      continue;
    }
    if (count > 0) words.push(`${GO} ${count}`);
    count = 0;
    if (move !== '') words.push(move);
  }
  return words;
}

/** Where a release stands, in a few words. */
export function standing({ status, route }: Place): string {
  const state = status.postPromotion?.state;
  return `${status.phase}${state ? `/${state}` : ''} ${route?.weight ?? 0} %`;
}

/** A path that broke a rule once, as it is kept in `paths`. */
export interface Kept {
  readonly variant: string;
  readonly rule: string;
  readonly detail: string;
  /** As it was found. */
  readonly path: readonly string[];
  /** The same with `until` a standing in place of numbers of steps, which another core may need more or fewer of. */
  readonly anchored: readonly string[];
}

/** A path with what a release had come to before each happening. */
export function anchored(variant: Variant, path: readonly string[]): string[] {
  const words = shortened(path);
  return words.map((word, index) => {
    if (!word.startsWith(`${GO} `) || index === words.length - 1) return word;
    return `until ${standing(replay(variant, words.slice(0, index + 1)).place)}`;
  });
}

export interface Replayed {
  readonly place: Place;
  readonly findings: readonly Finding[];
  /** One line per step. */
  readonly log: readonly string[];
}

/** Plays a path from the first release at rest on; `fair` and `well` play on until nothing happens any more. */
export function replay(variant: Variant, path: readonly string[]): Replayed {
  const player = new Player(variant);
  for (const word of path) player.play(word);
  const { place, findings, log } = player;
  return { place, findings, log };
}

/** Nothing more happens; what is refused stays so; everybody is well. */
const ENDS = new Map([
  ['fair', fair],
  ['refused', stillRefused],
  ['well', wellAgain],
]);

class Player {
  place: Place;
  readonly findings: Finding[] = [];
  readonly log: string[] = [];
  private readonly variant: Variant;

  constructor(variant: Variant) {
    this.variant = variant;
    this.place = beginning(variant);
  }

  play(word: string): void {
    const end = ENDS.get(word);
    if (end) return this.toRest(word, end);
    const until = /^until (.*)$/.exec(word)?.[1];
    if (until !== undefined) return this.until(until);
    const count = word === GO ? 1 : Number(/^go (\d+)$/.exec(word)?.[1] ?? 0);
    for (let done = 0; done < count; done += 1) if (!this.go()) return;
    if (count > 0) return;
    const next = happen(this.place, decide(this.place, this.variant), this.variant, word);
    this.log.push(`${this.time()} ${word}${next ? '' : ' (changes nothing)'}`);
    if (next) this.place = next;
  }

  private until(where: string): void {
    for (let steps = 0; steps < MOST_STEPS && standing(this.place) !== where; steps += 1)
      if (!this.go()) return;
  }

  private toRest(word: string, end: (place: Place, variant: Variant) => Place): void {
    this.place = end(this.place, this.variant);
    this.log.push(`${this.time()} from here on: ${word}`);
    for (let steps = 0; steps < MOST_STEPS && this.go(); steps += 1);
    this.findings.push(...judgeRest({ place: this.place, variant: this.variant }));
  }

  private go(): boolean {
    const decision = decide(this.place, this.variant);
    const { next, move, findings } = lookOn(this.place, keyOf(this.place), decision, this.variant);
    this.log.push(
      `${this.time()} ${move} ${wordsOf(decision)} -> ${standing(next)} ${next.status.message ?? ''}`,
    );
    for (const { rule, detail } of findings) this.log.push(`  !! ${rule}: ${detail}`);
    this.findings.push(...findings);
    this.place = next;
    return move !== 'rests';
  }

  private time(): string {
    return `${Math.round((this.place.nowMs % 86_400_000) / 100) / 10} s`;
  }
}

function wordsOf({ actions, check }: Decision): string {
  const words = actions.map((action) => {
    if (action.type === 'SetTraffic') return `SetTraffic ${action.route.canaryWeight}`;
    return `${action.type}${'digest' in action ? ` ${action.digest}` : ''}${'replicas' in action ? ` ${action.replicas}` : ''}`;
  });
  return [...words, ...(check ? [`check ${check.role} ${check.purpose}`] : [])].join(', ') || '-';
}
