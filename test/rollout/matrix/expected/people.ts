import { ANALYSED, HELD, PROMOTED, PROVEN, type Row, TAKEN_BACK } from './columns.ts';

/** What people may ask for. */
export const PEOPLE = {
  'the Canary is suspended': {
    says: 'Nothing is written but the status message; traffic stays where it is.',
    changes: {
      'Initializing | nobody | - | -': ['Initializing'],
      'Progressing | primary good | - | -': [
        'Progressing, no traffic yet',
        'Progressing by blue/green',
        'Progressing, provider kubernetes',
      ],
      'Progressing | primary good, canary new | - | -': ['Progressing by weights', 'Progressing by A/B'],
      'Progressing | primary good | - | new': ['Failed, traffic on its way back'],
      'Promoting/Converging | canary new | - | -': [
        'Promoting, before the first write',
        'Promoting, the primary comes up (Recreate, DaemonSet)',
        'Promoting with skipAnalysis (Recreate, DaemonSet)',
      ],
      'Promoting/Converging | primary new, canary new | - | -': [
        'Promoting, the primary comes up (RollingUpdate)',
        'Promoting, traffic goes back by steps',
      ],
      'Promoting/Converging | primary new | - | -': ['Promoting with skipAnalysis (RollingUpdate)'],
      'Finalising/Verifying | primary new | - | -': [
        'Finalising: Verifying',
        'Finalising: a check failed',
        'Finalising: good, the canary still there',
      ],
      'Promoting/Held | canary new | - | -': ['Held'],
      'Promoting/Held | primary new | - | -': ['Held, checks unavailable'],
      'Promoting/Reverting | canary new | - | new': ['Reverting, the canary serves'],
      'Finalising/Reverting | primary good | - | new': ['Reverting after failed checks (RollingUpdate)'],
      'Finalising/Reverting | canary new | - | new': ['Reverting after failed checks (Recreate, DaemonSet)'],
    },
  },
  'suspended, and resumed after ten minutes': {
    says: 'It continues where it was.',
    changes: {},
  },
  pause: {
    says: 'No step and no promotion; a promotion that has written the primary is finished, and so is a revert.',
    changes: {
      'Progressing | primary good | - | -': [
        'Progressing, no traffic yet',
        'Progressing by blue/green',
        'Progressing, provider kubernetes',
      ],
      'Progressing | primary good, canary new | - | -': ['Progressing by weights', 'Progressing by A/B'],
      'Promoting/Converging | canary new | - | -': ['Promoting, before the first write'],
    },
  },
  'pause, and resume after ten minutes': {
    says: 'It continues where it was.',
    changes: {},
  },
  'deleted with revertOnDeletion': {
    says: 'The target takes all traffic back before the Canary is deleted: with the last-known-good, or with the canary’s release if that is the only healthy one. The very first release stays on the primary that was just created.',
    changes: {
      'gone | primary new | - | -': ['Initializing'],
      'gone | canary good | - | -': [
        'Initialized',
        'Waiting',
        ...ANALYSED,
        'WaitingPromotion',
        'Promoting, before the first write',
        'Promoting with skipAnalysis (RollingUpdate)',
        'Finalising: Verifying',
        'Finalising: a check failed',
        'Held, checks unavailable',
      ],
      'gone | canary good | - | new': [
        ...TAKEN_BACK,
        'Failed and Held, LKGNotReady (RollingUpdate)',
        'Failed and Held, LKGFailsToo',
      ],
      'gone | canary new | - | -': [
        'Promoting, the primary comes up',
        'Promoting with skipAnalysis (Recreate, DaemonSet)',
        'Promoting, traffic goes back by steps',
        ...PROVEN,
        'Held',
        'Held, onFailure hold',
        'Held, checks failed',
      ],
      'gone | canary new | - | new': ['Failed and Held, LKGNotReady (Recreate, DaemonSet)'],
    },
  },
  'deleted without revertOnDeletion': {
    says: 'As with Flagger: everything created for the Canary is deleted with it, including the primary and the Services.',
    changes: {
      'gone | nobody | - | -': [
        'Initializing',
        'Initialized',
        'Waiting',
        ...ANALYSED,
        'WaitingPromotion',
        'Promoting, before the first write',
        ...PROMOTED,
        'Finalising: a check failed',
        ...PROVEN,
        ...HELD,
        'Terminating',
      ],
      'gone | nobody | - | new': [
        ...TAKEN_BACK,
        'Failed and Held, LKGNotReady',
        'Failed and Held, LKGFailsToo',
      ],
    },
  },
  promote: {
    says: 'The remaining gates and checks are skipped. A release that is held because its checks have no answer counts as good; any other held one is no longer reverted automatically.',
    changes: {
      'Succeeded | primary new | new | -': ['Waiting', 'WaitingPromotion'],
      'Succeeded | primary new | - | -': ['Finalising: a check failed'],
      'Promoting/Held | canary new | - | -': ['Held'],
    },
  },
  abort: {
    says: 'The release ends and is rejected; after the first write to the primary it is reverted to the last-known-good.',
    changes: {
      'Failed | primary good | - | new': [
        'Waiting',
        ...ANALYSED,
        'WaitingPromotion',
        'Promoting, before the first write',
      ],
      'Failed | primary good | good | new': [
        ...PROMOTED,
        'Held, onFailure hold',
        'Held, checks failed',
        'Held, checks unavailable',
      ],
    },
  },
  retry: {
    says: 'The rejected release is tried once more; here it fails again and is reverted again. If the last-known-good does not become ready, it is tried on the primary at once.',
    changes: {
      'Failed | primary good | new, good | new': [
        'Reverting, the canary serves',
        'Reverting after failed checks',
        'Failed, reverted',
      ],
      'Failed/Held | canary new | new, good | new': ['Failed and Held, LKGNotReady'],
      'Failed/Held | primary good | new, good | new': ['Failed and Held, LKGFailsToo'],
    },
  },
  'rollback to the last-known-good': {
    says: 'As abort. If the release was verified meanwhile, it is a rollback to the previous one.',
    changes: {
      'Failed | primary good | - | new': [
        'Waiting',
        ...ANALYSED,
        'WaitingPromotion',
        'Promoting, before the first write',
      ],
      'Failed | primary good | good | new': [
        ...PROMOTED,
        ...PROVEN,
        'Held, onFailure hold',
        'Held, checks failed',
        'Held, checks unavailable',
      ],
    },
  },
  'rollback to an older release': {
    says: 'The release under way ends first; then the older one is rolled out without analysis, and head is rejected. If it has no record, the request is refused.',
    changes: {
      'Failed | primary older | older | new': [
        'Waiting',
        ...ANALYSED,
        'WaitingPromotion',
        'Promoting, before the first write',
        ...PROVEN,
        ...TAKEN_BACK,
        'Failed and Held, LKGNotReady',
        'Failed and Held, LKGFailsToo',
      ],
      'Failed | primary older | good, older | new': [...PROMOTED, 'Finalising: a check failed', ...HELD],
    },
  },
  approve: {
    says: 'Opens the gate that a release waits at.',
    changes: { 'Succeeded | primary new | new | -': ['Waiting', 'WaitingPromotion'] },
  },
  'skip-step': { says: 'Skips the check at this step, once.', changes: {} },
  'ignore-window': { says: 'Refused unless a window holds a release back.', changes: {} },
} as const satisfies Readonly<Record<string, Row>>;
