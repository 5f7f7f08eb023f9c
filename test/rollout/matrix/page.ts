import { type EventName, events } from './events.ts';
import { EXPECTED } from './expected.ts';
import { type State, states } from './states.ts';

/** What each column is, for people. */
const MEANINGS: Readonly<Record<State, string>> = {
  Initializing: 'the very first release; its primary is starting',
  Initialized: '`good` is the first release, and there is no other yet',
  Waiting: 'the gate `confirm-rollout` is closed; nothing is written yet',
  'Progressing, no traffic yet': 'the canary is starting',
  'Progressing by weights': 'the canary has half the traffic',
  'Progressing by A/B': 'matched requests go to the canary',
  'Progressing by blue/green': 'the canary is analysed without user traffic',
  'Progressing, provider kubernetes': 'the same without a router',
  WaitingPromotion: 'the gate `confirm-promotion` is closed',
  'Failed, traffic on its way back': 'the analysis failed, the canary is not scaled to zero yet',
  'Promoting, before the first write': 'traffic is moving off the primary, which still runs `good`',
  'Promoting, the primary comes up': 'the primary was written with `new` and is not ready',
  'Promoting with skipAnalysis': 'the same, without an analysis before',
  'Promoting, traffic goes back by steps': 'the primary runs `new`; `stepWeightPromotion`',
  'Finalising: Verifying': 'all traffic is on the primary with `new`, checks after promotion run',
  'Finalising: a check failed': 'the first of two; the second one will fail, too',
  'Finalising: good, the canary still there': '`new` is the last-known-good',
  Held: 'the primary does not become ready with `new`; `onFailure: auto`',
  'Held, onFailure hold': 'the same with `onFailure: hold`',
  'Held, checks failed': 'checks failed after promotion; `onFailure: hold`',
  'Held, checks unavailable': 'checks had no answer for the whole deadline; now they have',
  'Reverting, the canary serves': '`good` is being written over a primary that never served `new`',
  'Reverting after failed checks': '`good` was written over a primary that served `new`',
  Succeeded: '`new` is the last-known-good, the canary is scaled to zero',
  'Failed, reverted': '`new` is at head and rejected, `good` serves',
  'Failed and Held, LKGNotReady': 'after the revert the primary does not become ready with `good`',
  'Failed and Held, LKGFailsToo': 'after the revert `good` fails the same check',
  Terminating: 'deleted with `revertOnDeletion`, half the traffic on the canary with `new`',
};

const INTRODUCTION = `# State by event

How a Canary ends when something happens in the middle of a rollout: ${states.length} states, ${events.length} events, every pair.

\`good\` is the last-known-good, \`older\` a good release before it, \`new\` the release under way (or the last one), \`newer\` one that comes
after it. A row lists the states in which an event makes a difference: how it ends, who serves then, what the primary was written with after the
event, in order, and which releases are rejected at the end. In every other state it ends as if nothing had happened.

The tests run every pair through the decision code of production, for RollingUpdate, Recreate and DaemonSet; this page is generated from their
table (\`test/rollout/matrix/expected\`). In each of them no request fails that another side could have answered, no release is reverted
twice for one request, no write breaks a rule of [invariants.md](../invariants.md), and the rollout ends.

*suspended* and *pause* show the state while they last; *resumed* what follows. How a release is tried, held and reverted:
[when a promotion fails](failed-promotion.md), [rollback](rollback.md).
`;

/** docs/guides/state-by-event.md. */
export function page(): string {
  const meanings = states.map((state) => `| ${state} | ${MEANINGS[state]} |`);
  const sections = events.map((event) => section(event));
  return [
    INTRODUCTION,
    '## The states',
    '',
    '| state | |',
    '|---|---|',
    ...meanings,
    '',
    '## The events',
    '',
    ...sections,
  ].join('\n');
}

function section(event: EventName): string {
  const { says, changes } = EXPECTED[event];
  const rows = Object.entries(changes).map(([outcome, columns]) => `| ${columns.join('; ')} | ${outcome} |`);
  const table =
    rows.length === 0
      ? ['It ends as if nothing had happened, in every state.']
      : ['| in | ends | who serves | primary written with | rejected |', '|---|---|---|---|---|', ...rows];
  return [`### ${event[0]?.toUpperCase()}${event.slice(1)}`, '', says, '', ...table, ''].join('\n');
}
