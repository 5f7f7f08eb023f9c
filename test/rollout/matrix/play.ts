import { Model } from '../model.ts';
import { type EventName, eventOf } from './events.ts';
import { STATES, type State, type Update } from './states.ts';

/** What one cell of the matrix gave. */
export interface Played {
  /** `end | who serves | what the primary was written with | what stays rejected`, as in expected.ts. */
  outcome: string;
  /** Rules of docs/invariants.md that an action broke. */
  broken: string[];
  /** Requests failed although another copy could have answered; for events that break nothing themselves, whenever any failed. */
  outages: string[];
  /** Digests whose way back was begun after the event. */
  reverts: string[];
}

const TICK_MS = 10_000;
/** Longer than a deadline of 60 s and the grace of a deletion. */
const QUIET_TICKS = 12;
const MOST_TICKS = 600;

const reached = new Map<string, Model>();

/** Plays one cell: the state, the event, then time until nothing changes any more. Throws when it never comes to rest. */
export function play(state: State, event: EventName, update: Update): Played {
  return playWith(state, eventOf(event), update);
}

/** The same with an event that is none of the matrix. */
export function playWith(
  state: State,
  { happens, ...kind }: { readonly happens: (model: Model) => unknown; readonly breaks?: boolean },
  update: Update,
): Played {
  const model = inState(state, update);
  const before = { written: model.written.length, reverts: model.reverts.length };
  for (const list of [model.outages, model.broken]) list.length = 0;
  happens(model);
  const outages = rest(model);
  return {
    outcome: outcomeOf(model, model.written.slice(before.written)),
    broken: model.broken.map(({ rule, detail }) => `${rule} ${detail}`),
    outages: kind.breaks ? outages : [...model.outages, ...outages],
    reverts: model.reverts.slice(before.reverts),
  };
}

/** A copy of the model in this state; getting there is played once. */
function inState(state: State, update: Update): Model {
  const key = `${state}, ${update}`;
  const first = reached.get(key) ?? STATES[state](update);
  reached.set(key, first);
  return Object.assign(Object.create(Model.prototype) as Model, structuredClone({ ...first }));
}

/** Time passes; gives the moments at which requests failed although another copy could have answered. */
function rest(model: Model): string[] {
  const outages: string[] = [];
  let before = '';
  let quiet = 0;
  for (let count = 0; count < MOST_TICKS; count += 1) {
    model.tick(TICK_MS);
    if (isAvoidable(model)) outages.push(`${model.status.phase}: ${model.status.message}`);
    const now = JSON.stringify([model.primary, model.target, model.route, model.status.phase, model.gone]);
    quiet = now === before ? quiet + 1 : 0;
    before = now;
    if (quiet >= QUIET_TICKS) return outages;
  }
  throw new Error(`it never comes to rest: ${model.status.phase}: ${model.status.message}`);
}

/** Traffic is left with a copy that cannot answer, and the other one could. */
function isAvoidable(model: Model): boolean {
  const shares = sharesOf(model);
  return shares.some(({ share, isReady }) => share && !isReady) && shares.some(({ isReady }) => isReady);
}

function sharesOf({ route, primary, target }: Model) {
  const isReady = (pods: typeof primary) => (pods ? pods.ready + pods.oldReady : 0) > 0;
  if (!route) return [];
  return [
    {
      name: 'primary',
      digest: primary?.digest,
      share: route.primaryWeight > 0 || route.matched,
      isReady: isReady(primary),
    },
    { name: 'canary', digest: target?.digest, share: route.canaryWeight > 0, isReady: isReady(target) },
  ];
}

function outcomeOf(model: Model, written: readonly string[]): string {
  const { phase, postPromotion } = model.status;
  const end = model.gone ? 'gone' : postPromotion ? `${phase}/${postPromotion.state}` : (phase ?? '');
  const rejected = model.rejected.map(({ digest }) => digest);
  return [end, servingOf(model), list(written), list(rejected)].join(' | ');
}

function servingOf(model: Model): string {
  const serving = sharesOf(model).filter(({ share }) => share);
  if (serving.length === 0) return 'nobody';
  if (serving.some(({ isReady }) => !isReady))
    return `nobody (${serving.map(({ name }) => name).join(', ')})`;
  return serving.map(({ name, digest }) => `${name} ${digest}`).join(', ');
}

function list(digests: readonly string[]): string {
  return digests.length === 0 ? '-' : digests.join(', ');
}
