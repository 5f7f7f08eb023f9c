import { ANALYSED, PROMOTED, PROVEN, type Row, TAKEN_BACK } from './columns.ts';

/** What may befall the cluster, and us. */
export const CLUSTER = {
  'the primary is deleted': {
    says: 'It comes back at once, with what it is to run: the last-known-good before the first write of a release and on the way back, else that release. The canary serves meanwhile, if it has pods.',
    changes: {
      'Initialized | primary new | new | -': ['Initializing'],
      'Initialized | primary good | good | -': ['Initialized'],
      'Waiting | primary good | good | -': ['Waiting'],
      'Succeeded | primary new | good, new | -': ANALYSED,
      'WaitingPromotion | primary good, canary new | good | -': ['WaitingPromotion'],
      'Failed | primary good | good | new': TAKEN_BACK,
      'Succeeded | primary new | new | -': [...PROMOTED, ...PROVEN, 'Held, checks unavailable'],
      'Failed | primary good | new, good | new': ['Finalising: a check failed', 'Held'],
      'Promoting/Held | canary new | new | -': ['Held, onFailure hold', 'Held, checks failed'],
      'Failed/Held | canary new | good | new': ['Failed and Held, LKGNotReady'],
      'Failed/Held | primary good | good | new': ['Failed and Held, LKGFailsToo'],
      'gone | canary new | - | -': ['Terminating'],
    },
  },
  'the target is deleted': {
    says: 'It comes back with what it ran; traffic that it had goes to the primary if that can serve. What was rejected does not come back: the last-known-good takes its place.',
    changes: {
      'Failed/Held | primary good | - | new': ['Failed and Held, LKGNotReady (RollingUpdate)'],
      'Failed/Held | canary good | - | new': ['Failed and Held, LKGNotReady (Recreate, DaemonSet)'],
    },
  },
  'the copy of its config is deleted': {
    says: 'The primary gets it back at once; that it was gone is not held against the release.',
    changes: {},
  },
  'somebody routes everything to the canary': {
    says: 'Traffic goes back to where it belongs; steps of an analysis begin again.',
    changes: {},
  },
  'somebody routes everything to the primary': {
    says: 'The same. A last-known-good that is not whole keeps what its old pods can answer.',
    changes: {
      'Failed/Held | primary good | - | new': ['Failed and Held, LKGNotReady (RollingUpdate)'],
      'Failed/Held | canary new | - | new': ['Failed and Held, LKGNotReady (Recreate, DaemonSet)'],
    },
  },
  'somebody deletes the route': {
    says: 'It is written anew, to whoever is ready: to the canary where that had all traffic after promotion, else to the primary first.',
    changes: {
      'Failed/Held | canary new | - | new': ['Failed and Held, LKGNotReady'],
    },
  },
  'somebody deletes the generated Services': {
    says: 'They come back at once, and before any traffic is moved; that they were gone is not held against the release.',
    changes: {},
  },
  'checks cannot be had': {
    says: 'During an analysis a check without an answer is a failed one, as with Flagger. After promotion not knowing is never a cause: the release is held where it serves.',
    changes: {
      'Failed | primary good | - | new': [...ANALYSED, 'WaitingPromotion'],
      'Promoting/Held | primary new | new | -': ['Promoting, before the first write'],
      'Promoting/Held | primary new | - | -': [
        ...PROMOTED,
        'Finalising: a check failed',
        'Held, checks unavailable',
      ],
    },
  },
  'the record of the last-known-good is lost': {
    says: 'Nothing is written over what cannot be written again, and no other release takes its place: whoever serves goes on serving, and a person is told.',
    changes: {
      'Promoting/Converging | primary good, canary new | - | -': [
        'Progressing, no traffic yet',
        'Progressing by weights',
        'Progressing by A/B',
      ],
      'Promoting/Converging | canary new | - | -': [
        'Progressing by blue/green',
        'Promoting, before the first write',
      ],
      'Promoting/Converging | primary good | - | -': ['Progressing, provider kubernetes'],
      'Promoting/Held | canary new | - | -': ['Finalising: a check failed', 'Held'],
      'gone | primary good | - | -': ['Terminating'],
    },
  },
  'the program is killed at every write': {
    says: 'It carries on from what it reads back, and ends where it would have.',
    changes: {},
  },
} as const satisfies Readonly<Record<string, Row>>;
