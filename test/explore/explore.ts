/** Breadth first through all that can happen: by how many things happened, and between them by what the core does about them. */
import type { Decision } from '../../src/rollout/outcome.ts';
import { keyOf } from './key.ts';
import { isBad } from './ledger.ts';
import { fair, happenings, stillRefused, wellAgain } from './moves.ts';
import { DEADLINE_MS, INTERVAL_MS, lastGood, type Place, PODS, type Variant } from './place.ts';
import { type Finding, judgeAction, judgeRest, judgeStatus } from './rules.ts';
import { decide, emptyPlace, goOn, type Move } from './world.ts';

/** No fair run takes longer. */
const LONGEST_MS = 20 * 60_000;
const MOST_STEPS = 400;

/** What a path is made of, beside names of happenings. */
export const GO = 'go';

export interface Violation extends Finding {
  readonly variant: string;
  /** From the first release at rest on: happenings, and `go` where the core goes on. */
  readonly path: readonly string[];
}

export interface Bounds {
  /** Things that happen on one path, after the beginning. */
  readonly depth: number;
  readonly mostStates: number;
  /** Also what rarely happens. */
  readonly isDeep?: boolean;
  /** From each so many-th place, all heal. */
  readonly healEvery?: number;
  readonly untilMs?: number;
  /** Of what can happen last, only each so many-th is looked at, from this one on: a sample. */
  readonly sample?: { readonly every: number; readonly from: number };
}

export interface Explored {
  readonly states: number;
  readonly transitions: number;
  readonly fairRuns: number;
  readonly violations: readonly Violation[];
  /** Every happening after every state up to the depth was looked at. */
  readonly isComplete: boolean;
}

interface Node {
  readonly id: number;
  readonly place: Place;
  readonly decision: Decision;
}

/** Where the first release is live, as the core itself brings it there. */
export function beginning(variant: Variant): Place {
  let place = emptyPlace();
  for (let steps = 0; steps < MOST_STEPS; steps += 1) {
    const decision = decide(place, variant);
    const { place: next, move } = goOn(place, decision, variant, () => undefined);
    if (move === 'rests') return place;
    place = next;
  }
  throw new Error(`${variant.name}: the first release never comes to rest: ${place.status.message}`);
}

/** What one step led to, with what was wrong with it. */
export interface Looked {
  readonly next: Place;
  readonly move: Move;
  readonly findings: readonly Finding[];
}

/** One step of the core here, judged. */
export function look(place: Place, decision: Decision, variant: Variant): Looked {
  const findings = judgeStatus(place, decision, variant);
  const { place: next, move } = goOn(place, decision, variant, (at, action) => {
    findings.push(...judgeAction({ place: at, from: place, action, decision, variant }));
  });
  return { next, move, findings };
}

/** Words may lag behind what they are about: so many statuses in a row may differ in words alone. */
const MOST_WORDS = 5;

/** As `look`, and on until more than words has changed. */
export function lookOn(
  place: Place,
  key: number,
  first: Decision,
  variant: Variant,
): Looked & { readonly key: number } {
  let looked = look(place, first, variant);
  for (let words = 0; words < MOST_WORDS; words += 1) {
    const nextKey = keyOf(looked.next);
    const isWords = looked.move === 'wrote' && nextKey === key && looked.findings.length === 0;
    if (!isWords) return { ...looked, key: nextKey };
    looked = look(looked.next, decide(looked.next, variant), variant);
  }
  const { phase, postPromotion, message } = looked.next.status;
  const detail = `it writes words for ever: ${phase}/${postPromotion?.state ?? '-'}: ${message}`;
  return { ...looked, key, findings: [...looked.findings, { rule: 'L2', detail }] };
}

/** Explores what follows from a place. */
export function explore(
  variant: Variant,
  bounds: Bounds,
  roots: readonly (readonly string[])[],
  play: (path: readonly string[]) => Place,
): Explored {
  return new Exploration(variant, bounds).run(roots, play);
}

const ofBookkeeping: ReadonlySet<string> = new Set(['SaveRecord', 'MarkProven', 'Reject', 'EnsureServices']);

/** Keys of the places of a fair run, in order. */
type Trail = Map<number, { readonly wrote: boolean; readonly place: Place }>;

class Exploration {
  private readonly ids = new Map<number, number>();
  private readonly parents: number[] = [];
  private readonly moves: string[] = [];
  private readonly rootPaths: (readonly string[])[] = [];
  /** Keys of places from which a fair run is known to end well. */
  private readonly settled = new Set<number>();
  /** What follows from the places of this depth. */
  private readonly known = new Map<number, Looked>();
  private readonly found = new Map<string, Violation>();
  private transitions = 0;
  private happened = 0;
  private fairRuns = 0;
  private isComplete = true;
  private readonly variant: Variant;
  private readonly bounds: Bounds;

  constructor(variant: Variant, bounds: Bounds) {
    this.variant = variant;
    this.bounds = bounds;
  }

  run(roots: readonly (readonly string[])[], play: (path: readonly string[]) => Place): Explored {
    let layer: Array<readonly [number, Place]> = [];
    for (const path of roots) {
      const place = play(path);
      const id = this.enter(place, -1 - this.rootPaths.length, '');
      this.rootPaths.push(path);
      if (id !== undefined) layer.push([id, place]);
    }
    for (let depth = 0; depth <= this.bounds.depth; depth += 1) {
      const nodes = this.goOnFrom(layer);
      this.settleAll(nodes);
      layer = depth < this.bounds.depth ? this.happenAfter(nodes, depth + 1 === this.bounds.depth) : [];
    }
    const { transitions, fairRuns, isComplete } = this;
    return { states: this.ids.size, transitions, fairRuns, isComplete, violations: [...this.found.values()] };
  }

  private get isOver(): boolean {
    const { mostStates, untilMs } = this.bounds;
    const isOver = this.ids.size >= mostStates || (untilMs !== undefined && Date.now() > untilMs);
    if (isOver) this.isComplete = false;
    return isOver;
  }

  private isInSample(): boolean {
    const { every, from } = this.bounds.sample ?? { every: 1, from: 0 };
    this.happened += 1;
    if (every > 1) this.isComplete = false;
    return (this.happened + from) % every === 0;
  }

  /** A number for a place that was not seen before. */
  private enter(place: Place, parent: number, move: string): number | undefined {
    const key = keyOf(place);
    if (this.ids.has(key)) return undefined;
    const id = this.parents.length;
    this.ids.set(key, id);
    this.parents.push(parent);
    this.moves.push(move);
    return id;
  }

  /** What the core does from these places on, until each rests or gets where somebody was. */
  private goOnFrom(layer: ReadonlyArray<readonly [number, Place]>): Node[] {
    const nodes: Node[] = [];
    this.known.clear();
    const open = [...layer];
    for (let index = 0; index < open.length; index += 1) {
      const [id, place] = open[index] as readonly [number, Place];
      if (this.isOver) break;
      const decision = decide(place, this.variant);
      const key = keyOf(place);
      const looked = lookOn(place, key, decision, this.variant);
      const { next, move, findings } = looked;
      this.transitions += 1;
      this.known.set(key, looked);
      if (findings.length > 0) {
        this.tell(findings, id, [GO]);
        continue;
      }
      nodes.push({ id, place, decision });
      if (move === 'rests') continue;
      const nextId = this.enter(next, id, GO);
      if (nextId !== undefined) open.push([nextId, next]);
    }
    return nodes;
  }

  private happenAfter(nodes: readonly Node[], isLast: boolean): Array<readonly [number, Place]> {
    const layer: Array<readonly [number, Place]> = [];
    for (const { id, place, decision } of nodes) {
      if (this.isOver) break;
      for (const [name, next] of happenings(place, decision, this.variant, this.bounds.isDeep === true)) {
        this.transitions += 1;
        if (isLast && !this.isInSample()) continue;
        const nextId = this.enter(next, id, name);
        if (nextId !== undefined) layer.push([nextId, next]);
      }
    }
    return layer;
  }

  private settleAll(nodes: readonly Node[]): void {
    const { healEvery = 7 } = this.bounds;
    for (const { id, place } of nodes) {
      if (this.bounds.untilMs !== undefined && Date.now() > this.bounds.untilMs) return;
      this.settle(fair(place, this.variant), id, 'fair');
      if (ofBookkeeping.has(place.refuses)) this.settle(stillRefused(place, this.variant), id, 'refused');
      if (id % healEvery === 0) this.settle(wellAgain(place, this.variant), id, 'well', place);
    }
  }

  /** A fair run: it ends, within its time, where it may; and a circle in it writes nothing. */
  private settle(from: Place, id: number, how: string, before?: Place): void {
    const promised = before && isPromising(before, this.variant) ? before : undefined;
    const trail: Trail = new Map();
    const findings = this.follow(from, trail, promised);
    this.fairRuns += 1;
    for (const key of trail.keys()) this.settled.add(key);
    // While something is refused a release need not end; requests are answered all the same.
    const told = how === 'refused' ? findings.filter(({ rule }) => rule === 'S1') : findings;
    if (told.length > 0) this.tell(told, id, [how]);
  }

  /** Plays until it rests, goes round, or gets where another one was; what is wrong with that. */
  private follow(from: Place, trail: Trail, promised: Place | undefined): readonly Finding[] {
    let place = from;
    for (let steps = 0; steps < MOST_STEPS; steps += 1) {
      const key = keyOf(place);
      if (this.settled.has(key) && !promised) return [];
      if (trail.has(key)) return this.circled(trail, key);
      const { next, move, findings } = this.known.get(key) ?? this.lookAt(place, key);
      trail.set(key, { wrote: move === 'wrote', place });
      if (findings.length > 0) return findings;
      if (move === 'rests') return [...this.wrongAtRest(place, from), ...inVain(place, promised)];
      place = next;
    }
    return [{ rule: 'L1', detail: 'a fair run does not end' }];
  }

  private lookAt(place: Place, key: number): Looked {
    this.transitions += 1;
    return lookOn(place, key, decide(place, this.variant), this.variant);
  }

  private wrongAtRest(place: Place, from: Place): Finding[] {
    const tookMs = place.nowMs - from.nowMs;
    const late = tookMs > LONGEST_MS ? [{ rule: 'L1', detail: `a fair run takes ${tookMs} ms` }] : [];
    return [...judgeRest({ place, variant: this.variant }), ...late];
  }

  /** Asking on and on is rest, too, as long as nothing is written. */
  private circled(trail: Trail, key: number): Finding[] {
    const keys = [...trail.keys()];
    const circle = keys.slice(keys.indexOf(key)).flatMap((one) => trail.get(one) ?? []);
    const { place } = circle[0] ?? {};
    if (!place) return [];
    const { phase, postPromotion: post, message } = place.status;
    const detail = `it writes for ever: ${phase}/${post?.state ?? '-'}: ${message}`;
    const writes = circle.some(({ wrote }) => wrote) ? [{ rule: 'L2', detail }] : [];
    return [...writes, ...judgeRest({ place, variant: this.variant })];
  }

  private tell(findings: readonly Finding[], id: number, last: readonly string[]): void {
    for (const { rule, detail } of findings) {
      const name = `${rule}: ${detail}`;
      const path = [...this.pathTo(id), ...last];
      const known = this.found.get(name);
      if (!known || known.path.length > path.length)
        this.found.set(name, { rule, detail, variant: this.variant.name, path });
    }
  }

  private pathTo(id: number): string[] {
    const path: string[] = [];
    let at = id;
    while (at >= 0) {
      const move = this.moves[at];
      if (move) path.push(move);
      at = this.parents[at] ?? -1;
    }
    return [...(this.rootPaths[-1 - at] ?? []), ...path.reverse()];
  }
}

/** Nothing speaks against the release but that the primary did not take it over yet. */
function isPromising(place: Place, variant: Variant): boolean {
  const { status, head, ledger, abort, isSuspended } = place;
  const { onFailure = variant.spec.postPromotion?.onFailure } = place;
  // The canary has to carry the traffic meanwhile, and onFailure to wait; halt does not put back what somebody changed.
  const isChanged = place.primary?.desired !== PODS || place.primary.drifted;
  const isLeft = onFailure === 'halt' && isChanged;
  if (isBad(place, 'canary', variant) || onFailure === 'revert' || isLeft) return false;
  const state = status.postPromotion?.state;
  const isOpen = (state === 'Converging' || state === 'Held') && status.phase === 'Promoting';
  if (!isOpen || head === 'unknown' || place.primary?.digest !== head || isSuspended) return false;
  const isBlamed = ledger.marks.some((mark) => mark.startsWith(`${head}/`)) || abort === head;
  const reason = status.postPromotion?.reason;
  const { primary: sinceMs } = ledger.badSinceMs;
  const leftMs = (state === 'Held' ? 2 : 1) * DEADLINE_MS - (place.nowMs - (sinceMs ?? place.nowMs));
  // Pods need some seconds to come up.
  if (leftMs < INTERVAL_MS) return false;
  return (
    !isBlamed &&
    !place.rejected.some(({ digest }) => digest === head) &&
    reason !== 'ChecksFailed' &&
    reason !== 'ChecksUnavailable'
  );
}

function inVain(rest: Place, before: Place | undefined): Finding[] {
  if (!before || lastGood(rest) === before.head) return [];
  return [
    {
      rule: 'L4',
      detail: `all heal in ${before.status.postPromotion?.state}, and ${before.head} is given up`,
    },
  ];
}
