import { annotationPrefix, type CanaryVerb, pauseAnnotation } from '../../api/annotations.ts';
import {
  canaryStatus,
  isEnding,
  isGoodLost,
  lastKnownGoodServes,
  opensFor,
  rejectedHead,
} from '../../api/canary/summary.ts';
import { gitPart } from '../../api/commit.ts';
import { isSuspended, type KubernetesObject } from '../../api/kubernetes.ts';
import type { Request } from '../../dashboard/views.ts';
import { releaseName } from './canary-view.ts';

/** A command of the command line, as an annotation. */
interface Command {
  readonly name: string;
  readonly kind: 'Canary' | 'Source';
  /** The right on the object that it needs besides `patch`, and the annotation's key after `holdfast.dev/`. */
  readonly verb: CanaryVerb | 'pause' | 'sync';
  /** Takes the annotation away. */
  readonly isRemoval?: boolean;
  readonly isDrastic?: boolean;
  /** What it would do now, and to which revision; undefined: nothing. */
  readonly offer: (object: KubernetesObject) => Pick<Request, 'effect' | 'revision'> | undefined;
}

/** Everything that can be asked for on the dashboard; the order is the page's. */
const commands: readonly Command[] = [
  {
    name: 'pause',
    kind: 'Canary',
    verb: 'pause',
    offer: (canary) =>
      isPaused(canary)
        ? undefined
        : { effect: 'No step and no promotion until it is resumed; checks and reverts continue.' },
  },
  {
    name: 'resume',
    kind: 'Canary',
    verb: 'pause',
    isRemoval: true,
    offer: (canary) => (isPaused(canary) ? { effect: 'The rollout continues.' } : undefined),
  },
  {
    name: 'approve',
    kind: 'Canary',
    verb: 'approve',
    offer: underWay(
      (release) => `${release} continues although its gate is closed.`,
      (status) => opensFor(status).approve,
    ),
  },
  {
    name: 'ignore-window',
    kind: 'Canary',
    verb: 'ignore-window',
    offer: underWay(
      (release) => `${release} goes on although a window or a freeze holds it.`,
      (status) => opensFor(status).ignoreWindow,
    ),
  },
  {
    name: 'skip-step',
    kind: 'Canary',
    verb: 'skip-step',
    offer: underWay(
      (release) => `The checks of ${release} at this step are skipped once.`,
      // Until the gate before the start has answered, the phase is the one of before.
      (status) => status.phase === 'Progressing' && !status.run?.awaitsConfirmation && !isEnding(status),
    ),
  },
  {
    name: 'promote',
    kind: 'Canary',
    verb: 'promote',
    isDrastic: true,
    offer: underWay(
      (release) =>
        `${release} is promoted without its remaining checks; verified already after promotion, it counts as good.`,
      (status) =>
        status.phase !== 'Initializing' && status.postPromotion?.state !== 'Converging' && !isEnding(status),
    ),
  },
  {
    name: 'abort',
    kind: 'Canary',
    verb: 'abort',
    isDrastic: true,
    offer(canary) {
      const status = canaryStatus(canary);
      const { lastKnownGood: good } = status;
      if (!good || isEnding(status)) return undefined;
      const { state } = status.postPromotion ?? {};
      if (isGoodLost(status) && (state === 'Held' || state === 'Verifying')) return undefined;
      const to = releaseName(canary, good.digest, good.commit);
      return underWay((release) => `${release} is stopped and rejected; ${to} serves all requests.`)(canary);
    },
  },
  {
    name: 'retry',
    kind: 'Canary',
    verb: 'retry',
    offer(canary) {
      const status = canaryStatus(canary);
      const digest = rejectedHead(status);
      if (digest === undefined) return undefined;
      const release = releaseName(canary, digest, status.lastAppliedCommit);
      return {
        revision: digest,
        effect: `The rejection of ${release} is lifted, and it is rolled out again.`,
      };
    },
  },
  { name: 'rollback', kind: 'Canary', verb: 'rollback-to', isDrastic: true, offer: earlierRelease },
  {
    name: 'sync',
    kind: 'Source',
    verb: 'sync',
    offer: () => ({ revision: 'now', effect: 'Git is read now, and not only at the next interval.' }),
  },
];

type Status = ReturnType<typeof canaryStatus>;

function isPaused({ metadata }: KubernetesObject): boolean {
  return metadata.annotations?.[pauseAnnotation] === 'true';
}

/** About the release that is being rolled out. */
function underWay(
  effect: (release: string) => string,
  isFit: (status: Status) => boolean = () => true,
): Command['offer'] {
  return (canary) => {
    const status = canaryStatus(canary);
    const { run } = status;
    if (!run?.digest || !isFit(status)) return undefined;
    return { revision: run.digest, effect: effect(releaseName(canary, run.digest, run.commit)) };
  };
}

/**
 * As `holdfast rollback` without a revision: the last-known-good, unless it serves already; then the good one before it. Not after a failure that the
 * last-known-good serves after, or is to: nobody wants that one back by default.
 */
function earlierRelease(canary: KubernetesObject): Pick<Request, 'effect' | 'revision'> | undefined {
  const status = canaryStatus(canary);
  const { run, lastKnownGood: good, history = [], rejected = [], serving = [] } = status;
  if (!good || isEnding(status)) return undefined;
  if (status.phase === 'Failed' && lastKnownGoodServes(status)) return undefined;
  const isLost = isGoodLost(status);
  // Held for good it is replaced as it is; before that it would be taken back first.
  if (isLost && status.postPromotion?.state === 'Verifying') return undefined;
  const isKept = (digest: string) => !rejected.some((one) => one.digest === digest);
  const older = history.find(
    ({ digest, result, reason }) =>
      gitPart(digest) !== gitPart(good.digest) &&
      (result === 'Succeeded' || result === 'Initialized') &&
      reason !== 'RevertedInGit' &&
      isKept(digest),
  );
  const to = isLost || lastKnownGoodServes(status) ? older : good;
  if (!to || !isKept(to.digest)) return undefined;
  const left = serving.find(({ digest }) => digest !== good.digest);
  const { digest, commit } = run?.digest ? { digest: run.digest, commit: run.commit } : (left ?? good);
  const from = releaseName(canary, digest, commit);
  const effect = `${releaseName(canary, to.digest, to.commit)} serves again; ${from} is rejected until it changes or is retried.`;
  return { revision: to.digest, effect };
}

/** The commands that are possible now, for any user, with the right that each needs. */
export function offers(object: KubernetesObject): Array<Request & { readonly verb: string }> {
  const suspended = isSuspended(object);
  return commands
    .filter(({ kind, verb }) => kind === object.kind && (!suspended || verb === 'pause'))
    .flatMap(({ name, verb, isDrastic = false, offer }) => {
      const offered = offer(object);
      return offered ? [{ command: name, verb, isDrastic, ...offered }] : [];
    });
}

/** The annotation by which a command is asked for, and the right that it needs; undefined for no such command. `timeText` makes it a new request. */
export function annotationFor(
  kind: string,
  name: string,
  revision: string,
  timeText: string,
): { readonly verb: string; readonly key: string; readonly value: string | null } | undefined {
  const command = commands.find((one) => one.kind === kind && one.name === name);
  if (!command) return undefined;
  const { verb, isRemoval } = command;
  const value = isRemoval ? null : verb === 'pause' ? 'true' : `${revision}@${timeText}`;
  return { verb, key: annotationPrefix + verb, value };
}
