import { GOOD, type Model } from '../model.ts';

/** One row of the matrix: something that happens once, while a release is in any state. */
interface Event {
  happens: (model: Model) => void;
  /** It takes a copy or its traffic away by itself: requests may fail until it was seen. */
  breaks?: true;
}

/** The rows of the matrix. */
export const EVENTS = {
  'nothing happens': { happens: () => undefined },
  'a newer commit, good': { happens: (model) => model.commit('newer') },
  'a newer commit that fails its analysis': {
    happens: (model) => model.commit('newer', { ...GOOD, canaryMetric: 50 }),
  },
  'a newer commit whose primary does not come up': {
    happens: (model) => model.commit('newer', { ...GOOD, primaryReady: false }),
  },
  'Git goes back to the last-known-good': {
    happens: (model) => model.commit('good', model.behaviours.get('good'), 's1', 'sha-revert'),
  },
  'Git goes to an older release that proved itself': {
    happens: (model) => model.commit('older', GOOD, 's1', 'sha-older-again'),
  },
  'a commit that changes nothing of the release': {
    happens(model) {
      if (model.head.kind !== 'release') return;
      const { digest } = model.head.release;
      model.commit(digest, model.behaviours.get(digest), 's1', 'sha-unrelated');
    },
  },
  'Git is silent': {
    happens(model) {
      model.head = { kind: 'unknown', reason: 'SourceNotRead', message: 'not read' };
    },
  },
  'the Canary is suspended': {
    happens(model) {
      model.canary.spec.suspend = true;
    },
  },
  'suspended, and resumed after ten minutes': {
    happens(model) {
      model.canary.spec.suspend = true;
      for (let count = 0; count < 10; count += 1) model.tick(60_000);
      delete model.canary.spec.suspend;
    },
  },
  pause: { happens: (model) => model.ask('pause', 'true') },
  'pause, and resume after ten minutes': {
    happens(model) {
      model.ask('pause', 'true');
      for (let count = 0; count < 10; count += 1) model.tick(60_000);
      model.ask('pause', 'false');
    },
  },
  'deleted with revertOnDeletion': {
    happens(model) {
      model.canary.spec.revertOnDeletion = true;
      if (model.canary.metadata.deletionTimestamp === undefined) model.delete();
    },
  },
  'deleted without revertOnDeletion': {
    happens(model) {
      model.canary.spec.revertOnDeletion = false;
      if (model.canary.metadata.deletionTimestamp === undefined) model.delete();
    },
  },
  promote: { happens: (model) => model.ask('promote', 'new') },
  abort: { happens: (model) => model.ask('abort', 'new') },
  retry: { happens: (model) => model.ask('retry', 'new') },
  'rollback to the last-known-good': { happens: (model) => model.ask('rollback-to', 'good') },
  'rollback to an older release': { happens: (model) => model.ask('rollback-to', 'older') },
  approve: { happens: (model) => model.ask('approve', 'new') },
  'skip-step': { happens: (model) => model.ask('skip-step', 'new') },
  'ignore-window': { happens: (model) => model.ask('ignore-window', 'new') },
  'the primary is deleted': { happens: (model) => lose(model, 'primary'), breaks: true },
  'the target is deleted': { happens: (model) => lose(model, 'target'), breaks: true },
  'the copy of its config is deleted': {
    happens(model) {
      model.copy = undefined;
    },
  },
  'somebody routes everything to the canary': { happens: (model) => edited(model, 100), breaks: true },
  'somebody routes everything to the primary': { happens: (model) => edited(model, 0), breaks: true },
  'somebody deletes the route': { happens: (model) => lose(model, 'route'), breaks: true },
  'somebody deletes the generated Services': {
    happens(model) {
      model.services = { apex: false, primary: false, canary: false };
    },
  },
  'checks cannot be had': {
    happens(model) {
      model.providerDown = true;
    },
  },
  'the record of the last-known-good is lost': { happens: (model) => void model.damaged.add('good') },
  'the program is killed at every write': {
    happens(model) {
      for (let count = 0; count < 60; count += 1) model.tick(2000, count % 4);
    },
  },
} as const satisfies Readonly<Record<string, Event>>;

/** Name of a row. */
export type EventName = keyof typeof EVENTS;

/** Every row. */
export const events = Object.keys(EVENTS) as EventName[];

/** The event of a row. */
export function eventOf(name: EventName): Event {
  return EVENTS[name];
}

function lose(model: Model, what: 'primary' | 'target' | 'route'): void {
  model[what] = undefined;
}

function edited(model: Model, canaryWeight: number): void {
  if (!model.route) return;
  model.route = {
    ...{ primaryWeight: 100 - canaryWeight, canaryWeight },
    ...{ mirrored: false, matched: false, accepted: true },
  };
}
