import type { Decision } from './action.ts';
import { keepConfigCopies } from './config-copies.ts';
import { type Draft, newDraft, note } from './draft.ts';
import { finish } from './finish.ts';
import { restoreRecord, tellDamage } from './kept.ts';
import { adopts } from './phases/adopt.ts';
import { bootstrap, initialized } from './phases/bootstrap.ts';
import { windDown } from './phases/ending.ts';
import { fallen } from './phases/fallen.ts';
import { held } from './phases/held.ts';
import { idle } from './phases/idle.ts';
import { awaitsServices, moves } from './phases/moving.ts';
import { progressing } from './phases/progressing.ts';
import { converging } from './phases/promoting.ts';
import { reverting } from './phases/reverting.ts';
import { askRollback, rolledBack } from './phases/rollback-hook.ts';
import { terminating } from './phases/terminating.ts';
import { verifying } from './phases/verifying.ts';
import { planOf } from './plan.ts';
import { lastKnownGood, type Run } from './run.ts';
import { wakePrimaryScaler } from './scalers.ts';
import { keepServices } from './services.ts';
import { noteStandings } from './standing.ts';
import { rescueTraffic } from './traffic.ts';
import { handleVerbs } from './verbs/handle.ts';
import type { World } from './world.ts';

/**
 * The heart: from what was observed of one Canary, what to do next and what to say about it. Pure: no clock, no I/O, no randomness; the
 * same world gives the same decision, and repeating a decision after a crash at any point carries on (S33).
 */
export function step(world: World): Decision {
  const draft = newDraft(world, planOf(world.canary, world.options));
  if (world.canary.metadata.deletionTimestamp === undefined) decide(draft);
  else leave(draft);
  return finish(draft);
}

function decide(draft: Draft): void {
  if (draft.world.canary.spec.suspend) {
    return note(draft, 'Suspended', 'suspended: nothing is written until spec.suspend is removed', {
      action: 'nothing automatic',
    });
  }
  if (!handleVerbs(draft)) {
    noteStandings(draft);
    wakePrimaryScaler(draft);
    if (moves(draft)) return keepServicesOfMoves(draft);
    goOn(draft);
    keepConfigCopies(draft);
  }
  // The first release of all has its Services when its primary is ready: until then the target serves as it did before.
  if (lastKnownGood(draft.world)) keepServices(draft);
}

/** On its way out: Services are made again only for traffic that is moved. */
function leave(draft: Draft): void {
  terminating(draft);
  keepServicesOfMoves(draft);
}

function keepServicesOfMoves(draft: Draft): void {
  const types = new Set(draft.actions.map(({ type }) => type));
  if (types.has('SetTraffic') && !types.has('EnsureServices')) keepServices(draft);
}

function goOn(draft: Draft): void {
  const { world, run } = draft;
  const good = lastKnownGood(world);
  if (adopts(draft)) return;
  if (!good) return bootstrap(draft);
  tellDamage(draft, good);
  restoreRecord(draft, good);
  if (draft.status.phase === 'Initializing' && run) return initialized(draft, run);
  if (awaitsServices(draft) || rescueTraffic(draft)) return;
  if (!run) return idle(draft, good);
  if (run.ending) return windDown(draft, run, run.ending);
  if (rolledBack(draft, run)) return;
  inState(draft, run);
  askRollback(draft);
}

/** The one switch on where a release stands. */
function inState(draft: Draft, run: Run): void {
  switch (draft.status.postPromotion?.state) {
    case 'Converging':
      return converging(draft, run);
    case 'Verifying':
      return verifying(draft, run);
    case 'Held':
      return draft.status.phase === 'Failed' ? fallen(draft, run) : held(draft, run);
    case 'Reverting':
      return reverting(draft, run);
    case undefined:
      return progressing(draft, run);
  }
}
