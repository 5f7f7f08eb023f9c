import { type EventName, events } from './events.ts';
import { EXPECTED } from './expected.ts';
import { type State, states } from './states.ts';

/** What each column is, for people. */
const MEANINGS: Readonly<Record<State, string>> = {
  Initializing: 'the first release of all; its primary comes up',
  Initialized: '`good` is the first release, and nothing came after it',
  Waiting: 'the gate `confirm-rollout` is closed; nothing is written yet',
  'Progressing, no traffic yet': 'the canary comes up',
  'Progressing by weights': 'the canary has half the traffic',
  'Progressing by A/B': 'matched requests go to the canary',
  'Progressing by blue/green': 'the canary is analysed without traffic of users',
  'Progressing, provider kubernetes': 'the same without a router',
  WaitingPromotion: 'the gate `confirm-promotion` is closed',
  'Failed, traffic on its way back': 'the analysis failed, the canary is not at rest yet',
  'Promoting, before the first write': 'traffic leaves the primary, which runs `good` still',
  'Promoting, the primary comes up': 'the primary was written with `new` and is not ready',
  'Promoting with skipAnalysis': 'the same, and nothing was analysed before',
  'Promoting, traffic goes back by steps': 'the primary runs `new`; `stepWeightPromotion`',
  'Finalising: Verifying': 'all traffic on the primary with `new`, checks go on',
  'Finalising: a check failed': 'one of two that are allowed; the next one will fail, too',
  'Finalising: good, the canary still there': '`new` is the last-known-good',
  Held: 'the primary does not come up with `new`; `onFailure: auto`',
  'Held, onFailure hold': 'the same with `onFailure: hold`',
  'Held, checks failed': 'checks failed after promotion; `onFailure: hold`',
  'Held, checks unavailable': 'checks could not be had for the whole deadline; now they can',
  'Reverting, the canary serves': '`good` is being written over a primary that never served `new`',
  'Reverting after failed checks': '`good` was written over a primary that served `new`',
  Succeeded: '`new` is the last-known-good, the canary rests',
  'Failed, reverted': '`new` is at head and rejected, `good` serves',
  'Failed and Held, LKGNotReady': 'after the revert the primary does not come up with `good`',
  'Failed and Held, LKGFailsToo': 'after the revert `good` fails the same check',
  Terminating: 'deleted with `revertOnDeletion`, half the traffic on the canary with `new`',
};

const INTRODUCTION = `# State by event

What becomes of a Canary when something happens in the middle of it: ${states.length} states, ${events.length} events, every pair.

\`good\` is the last-known-good, \`older\` one that proved itself before it, \`new\` the release under way (or the last one), \`newer\` one that comes
after it. A row says for which states an event makes a difference: how it ends, who serves then, what the primary was written with after the event, in
order, and which digests are rejected at the end. For every state that is not named it ends as if nothing had happened.

The tests play every pair on the decisions that run in production, for RollingUpdate, Recreate and DaemonSet; this page is written from their
table (\`test/rollout/matrix/expected\`). In every one of them: no request fails where another copy could have answered, no digest is
reverted twice for one request, no rule of [invariants.md](../invariants.md) is broken by any write, and it comes to rest.

*suspended* and *pause* are shown as long as they last; *resumed* follows them. How a release is tried, held and reverted:
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
