import { ANALYSED, HELD, PROMOTED, PROVEN, type Row, TAKEN_BACK } from './columns.ts';

/** What Git may say. */
export const GIT = {
  'nothing happens': {
    says: 'How each state ends without any event.',
    changes: {
      'Initialized | primary new | - | -': ['Initializing'],
      'Initialized | primary good | - | -': ['Initialized'],
      'Waiting | primary good | - | -': ['Waiting'],
      'Succeeded | primary new | new | -': [...ANALYSED, 'Promoting, before the first write'],
      'WaitingPromotion | primary good, canary new | - | -': ['WaitingPromotion'],
      'Succeeded | primary new | - | -': [...PROMOTED, ...PROVEN, 'Held, checks unavailable'],
      'Failed | primary good | - | new': TAKEN_BACK,
      'Failed | primary good | good | new': ['Finalising: a check failed', 'Held'],
      'Promoting/Held | canary new | - | -': ['Held, onFailure hold', 'Held, checks failed'],
      'Failed/Held | canary new | - | new': ['Failed and Held, LKGNotReady'],
      'Failed/Held | primary good | - | new': ['Failed and Held, LKGFailsToo'],
      'gone | canary good | - | -': ['Terminating'],
    },
  },
  'a newer commit, good': {
    says: 'It is rolled out. Before the first write to the primary it replaces the release under way; after it that one ends first, and a held one is reverted first.',
    changes: {
      'Initialized | primary newer | newer | -': ['Initializing'],
      'Succeeded | primary newer | newer | -': [
        'Initialized',
        ...ANALYSED,
        'Promoting, before the first write',
        ...PROMOTED,
        ...PROVEN,
      ],
      'WaitingPromotion | primary good, canary newer | - | -': ['WaitingPromotion'],
      'Succeeded | primary newer | newer | new': [
        ...TAKEN_BACK,
        'Failed and Held, LKGNotReady',
        'Failed and Held, LKGFailsToo',
      ],
      'Succeeded | primary newer | good, newer | new': ['Finalising: a check failed'],
      'Succeeded | primary newer | good, newer | -': HELD,
    },
  },
  'a newer commit that fails its analysis': {
    says: 'It is rejected, and the last-known-good serves. A release that was superseded before it was verified is reverted, too. If the last-known-good does not become ready, the newer one is tried on the primary, whose checks it passes here; the same holds with skipAnalysis.',
    changes: {
      'Initialized | primary newer | newer | -': ['Initializing'],
      'Failed | primary good | - | newer': [
        'Initialized',
        ...ANALYSED,
        'WaitingPromotion',
        'Promoting, before the first write',
      ],
      'Failed | primary good | - | new, newer': [...TAKEN_BACK, 'Failed and Held, LKGFailsToo'],
      'Failed | primary good | good | newer': [
        'Promoting, the primary comes up',
        'Promoting, traffic goes back by steps',
        'Finalising: Verifying',
        ...HELD,
      ],
      'Succeeded | primary newer | newer | -': ['Promoting with skipAnalysis'],
      'Failed | primary good | good | new, newer': ['Finalising: a check failed'],
      'Failed | primary new | - | newer': PROVEN,
      'Succeeded | primary newer | newer | new': ['Failed and Held, LKGNotReady'],
    },
  },
  'a newer commit whose primary does not come up': {
    says: 'It is held on its canary and then reverted, once; with onFailure hold it stays on the canary. The very first release is not rejected, since there is nothing to revert to.',
    changes: {
      'Initializing | nobody | newer | -': ['Initializing'],
      'Failed | primary good | newer, good | newer': [
        'Initialized',
        ...ANALYSED,
        'Promoting, before the first write',
        ...PROMOTED,
      ],
      'WaitingPromotion | primary good, canary newer | - | -': ['WaitingPromotion'],
      'Failed | primary good | newer, good | new, newer': [...TAKEN_BACK, 'Failed and Held, LKGFailsToo'],
      'Failed | primary good | good, newer, good | new, newer': ['Finalising: a check failed'],
      'Failed | primary new | newer, new | newer': PROVEN,
      'Failed | primary good | good, newer, good | newer': ['Held', 'Held, checks unavailable'],
      'Promoting/Held | canary newer | good, newer | -': ['Held, onFailure hold', 'Held, checks failed'],
      'Failed/Held | canary new | newer, good | new, newer': ['Failed and Held, LKGNotReady'],
    },
  },
  'Git goes back to the last-known-good': {
    says: 'The release under way is reverted at once, without analysis, and is not rejected for it. Nothing changes if the revert had already begun.',
    changes: {
      'Initialized | primary good | good | -': ['Initializing'],
      'Succeeded | primary good | - | -': [
        'Waiting',
        ...ANALYSED,
        'WaitingPromotion',
        'Promoting, before the first write',
      ],
      'Succeeded | primary good | - | new': [...TAKEN_BACK, 'Failed and Held, LKGFailsToo'],
      'Succeeded | primary good | good | -': [...PROMOTED, 'Finalising: a check failed', ...PROVEN, ...HELD],
    },
  },
  'Git goes to an older release that proved itself': {
    says: 'It is started as a canary; steps and analysis are skipped.',
    changes: {
      'Initialized | primary older | older | -': ['Initializing'],
      'Succeeded | primary older | older | -': [
        'Initialized',
        ...ANALYSED,
        'WaitingPromotion',
        'Promoting, before the first write',
        ...PROMOTED,
        ...PROVEN,
      ],
      'Succeeded | primary older | older | new': [
        ...TAKEN_BACK,
        'Failed and Held, LKGNotReady',
        'Failed and Held, LKGFailsToo',
      ],
      'Succeeded | primary older | good, older | new': ['Finalising: a check failed'],
      'Succeeded | primary older | good, older | -': HELD,
    },
  },
  'a commit that changes nothing of the release': {
    says: 'The same digest is the same release: nothing restarts, and what was rejected stays rejected.',
    changes: {},
  },
  'Git is silent': {
    says: 'A rollout under way does not need Git: it finishes from the records in the cluster.',
    changes: {},
  },
} as const satisfies Readonly<Record<string, Row>>;
