import type { CanaryStatus } from '../../src/api/canary/status.ts';

/** One commit of the story and what must come of it. */
export interface Chapter {
  /** Short name of the release, as in VERSION. */
  readonly name: 'v1' | 'v2' | 'v3' | 'revert';
  readonly subject: string;
  /** What the chapter is about, for the headline. */
  readonly intent: string;
  /** Environment of the release's pods; absent: the commit before is reverted. */
  readonly env: Readonly<Record<string, string>> | undefined;
  /** What the story waits for, in words. */
  readonly awaited: string;
  readonly isOver: (status: CanaryStatus, commit: string) => boolean;
  /** The release must fail; its commit then stays at head for a while, and nothing may be written. */
  readonly isBad: boolean;
}

/** Environment that makes a release healthy as a canary and never ready as a primary; the pods' start script looks at it. */
const neverReadyAsPrimary = { PRIMARY_READY: 'false' };

/** The story that the demo plays. The delays only make the checks differ. */
export const story: readonly Chapter[] = [
  {
    name: 'v1',
    subject: 'Open the shop',
    intent: 'the first release',
    env: { VERSION: 'v1', DELAY_MS: '20' },
    awaited: 'phase Initialized',
    isOver: (status, commit) => status.phase === 'Initialized' && status.lastPromotedCommit === commit,
    isBad: false,
  },
  {
    name: 'v2',
    subject: 'Add gift cards',
    intent: 'a good release',
    env: { VERSION: 'v2', DELAY_MS: '35' },
    awaited: 'phase Succeeded with v2 as the last-known-good',
    // First it says that v2 is promoted, and a moment later, with nothing left to do, that it is live.
    isOver: (status, commit) =>
      status.phase === 'Succeeded' &&
      status.lastPromotedCommit === commit &&
      (status.message?.endsWith(' is live') ?? false),
    isBad: false,
  },
  {
    name: 'v3',
    subject: 'Keep carts in the new cache',
    intent: 'healthy as a canary, never ready as the primary',
    env: { VERSION: 'v3', DELAY_MS: '15', ...neverReadyAsPrimary },
    awaited: 'phase Failed with the condition Reverted=True',
    isOver: (status, commit) =>
      status.phase === 'Failed' &&
      status.lastAppliedCommit === commit &&
      status.canaryWeight === 0 &&
      holds(status, 'Reverted'),
    isBad: true,
  },
  {
    name: 'revert',
    subject: 'Revert "Keep carts in the new cache"',
    intent: 'git revert: the fast lane',
    env: undefined,
    awaited: 'phase Succeeded without a new analysis',
    isOver: (status, commit) =>
      status.phase === 'Succeeded' && status.lastAppliedCommit === commit && holds(status, 'Ready'),
    isBad: false,
  },
];

function holds(status: CanaryStatus, type: string): boolean {
  return status.conditions?.some((entry) => entry.type === type && entry.status === 'True') ?? false;
}
