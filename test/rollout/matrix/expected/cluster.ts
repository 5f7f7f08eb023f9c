import { ANALYSED, PROMOTED, PROVEN, type Row, TAKEN_BACK } from './columns.ts';

/** What may befall the cluster, and us. */
export const CLUSTER = {
  'the primary is deleted': {
    says: 'It is recreated at once: with the last-known-good before the first write of a release and while reverting, else with that release. The canary serves meanwhile, if it has pods.',
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
    says: 'It is recreated with what it ran; its traffic goes to the primary if that can serve. A rejected release is not restored: the last-known-good replaces it.',
    changes: {
      'Failed/Held | primary good | - | new': ['Failed and Held, LKGNotReady (RollingUpdate)'],
      'Failed/Held | canary good | - | new': ['Failed and Held, LKGNotReady (Recreate, DaemonSet)'],
    },
  },
  'the copy of its config is deleted': {
    says: 'It is restored at once; the release does not fail because of it.',
    changes: {},
  },
  'somebody routes everything to the canary': {
    says: 'Traffic is moved back; the steps of an analysis start over.',
    changes: {},
  },
  'somebody routes everything to the primary': {
    says: 'The same. A last-known-good that is not fully ready keeps the traffic that its old pods can answer.',
    changes: {
      'Failed/Held | primary good | - | new': ['Failed and Held, LKGNotReady (RollingUpdate)'],
      'Failed/Held | canary new | - | new': ['Failed and Held, LKGNotReady (Recreate, DaemonSet)'],
    },
  },
  'somebody deletes the route': {
    says: 'It is recreated and points to the side that is ready: to the canary if that had all traffic after promotion, else to the primary first.',
    changes: {
      'Failed/Held | canary new | - | new': ['Failed and Held, LKGNotReady'],
    },
  },
  'somebody deletes the generated Services': {
    says: 'They are recreated at once, before any traffic is moved; the release does not fail because of it.',
    changes: {},
  },
  'checks cannot be had': {
    says: 'During an analysis a check without an answer counts as failed, as with Flagger. After promotion missing answers never cause a revert: the release is held where it serves.',
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
    says: 'What cannot be restored is not overwritten, and no other release replaces it: whichever side serves keeps serving, and this is reported.',
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
    says: 'It continues from the observed state and ends as it would have.',
    changes: {},
  },
} as const satisfies Readonly<Record<string, Row>>;
