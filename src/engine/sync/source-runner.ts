import { type KubernetesObject, objectKey } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source/source.ts';
import type { OpenForge, OpenPoller, Poller, Repositories } from '../../contracts/git.ts';
import { applySetId } from '../apply-set.ts';
import type { Reproduced } from '../canary/context/reproduction.ts';
import { failureOf } from '../failure.ts';
import { isOtherInForce } from './apply/in-force.ts';
import type { OpenMembers } from './apply/members.ts';
import { appliedEntryOf, createSourceWatch, isAsApplied } from './apply/source-watch.ts';
import { newSourceState, type SourceParts, type SourceWatch } from './context/context.ts';
import { waitsFor } from './poll/dependencies.ts';
import { currentSource, invalidSpec, openSource, secretsOf } from './poll/source-object.ts';
import { reproduce } from './read/older-commit.ts';
import { announceSource, mayConcern } from './read/own-canaries.ts';
import { watchInputs, withInputs } from './read/render-inputs.ts';
import { createSourceGit, type SourceGit } from './read/source-git.ts';
import { createTeller } from './status/teller.ts';
import { syncSource } from './sync.ts';

/** What runners are made with. */
export interface SourceRunnerParts extends SourceParts {
  readonly repositories: Repositories;
  readonly openForge: OpenForge;
  readonly openMembers: OpenMembers;
  readonly openPoller: OpenPoller;
  /** Writes the status of a Source soon. */
  readonly refreshSoon: (key: string) => void;
  /** Called after every sync, for metrics. */
  readonly onSync?: (key: string, succeeded: boolean) => void;
}

/** One Source being followed. */
export interface SourceRunner {
  /** Polls soon: a webhook came, or a request annotation changed. */
  wake(): void;
  /** Reads the same commit again, since something outside Git changed what it means. */
  reread(): void;
  /** A Canary changed: writes the status again if it says something else now, and applies again if something else is in force. */
  refreshStatus(): Promise<void>;
  /** A Source changed, which this one may wait for. */
  otherChanged(key: string): void;
  /** What a Canary's release is at an older commit; changes nothing. */
  reproduce(canaryKey: string, commit: string): Promise<Reproduced>;
  /** Its writing half, whose work ends when the signal aborts; undefined while it cannot be followed. */
  git(signal: AbortSignal): SourceGit | undefined;
  /** Keys of the Canaries it speaks for. */
  speaksFor(canaryKey: string): boolean;
  /** Whether a Canary that no Source speaks for may be about what it holds: only then it is read again for it. */
  mayConcern(canary: KubernetesObject): boolean;
  stop(): Promise<void>;
}

/**
 * Starts to follow a Source once `after` has resolved: the runner before it uses the same store. One that cannot be followed says so in
 * its status and waits for a change.
 */
export function startSourceRunner(
  parts: SourceRunnerParts,
  key: string,
  object: KubernetesObject,
  after: Promise<unknown>,
): SourceRunner {
  const opened = openSource(parts, object);
  const state = newSourceState(key, opened.repository, opened.problem);
  announceSource(parts, key, opened);
  let watch: SourceWatch | undefined;
  let poller: Poller | undefined;
  const teller = createTeller({ parts, state }, () => watch);
  const unsubscribe = opened.repository.onNews(() => poller?.wake());

  async function sync(signal: AbortSignal): Promise<void> {
    const source = currentSource(parts, key);
    if (!source || !watch) return;
    let succeeded = false;
    try {
      await teller.during(syncSource({ parts, source, state, watch, signal }));
      // Whose status is refused for good would look as it did for ever.
      succeeded = state.untold?.transient !== false;
    } finally {
      // One that is given up says nothing of the Source.
      if (!signal.aborted) parts.onSync?.(key, succeeded);
    }
  }

  function askGit(): void {
    opened.repository.expectNews();
    poller?.wake();
  }

  function reread(): void {
    delete state.readUnder;
    poller?.wake();
  }

  /** An object of the Source changed, or more was listed. */
  function seen(source: Source, changed: KubernetesObject | undefined): void {
    if (state.pruned?.isPending) poller?.wake();
    if (source.spec.wait) parts.refreshSoon(key);
    const entry = changed && appliedEntryOf(state, changed);
    if (!entry || !watch || isAsApplied({ parts, source, state }, watch, entry)) return;
    state.dirty = true;
    if (!state.drift.isContended(objectKey(entry.object), parts.clock.nowMs())) poller?.wake();
  }

  function start(source: Source): void {
    const own = createSourceWatch(applySetId(source), parts, (changed) => seen(source, changed));
    watch = withInputs(own, watchInputs(source, parts.openWatch, { state, onChange: reread }));
    try {
      poller = parts.openPoller(source, sync);
      parts.claims.hasRead(key, undefined);
      const { start: begin } = poller;
      void after.then(() => {
        if (!teller.isStopped()) begin();
      });
    } catch (error) {
      state.problem = invalidSpec(`spec.schedule: ${failureOf(error).message}`);
      void teller.tell(source);
    }
  }

  if (opened.source && !opened.problem && !opened.source.spec.suspend) start(opened.source);
  else void teller.tell(object as Source);
  return {
    wake: askGit,
    reread,
    async refreshStatus() {
      const source = currentSource(parts, key);
      if (!source || !state.snapshot) return;
      if (isOtherInForce({ parts, state }) || state.pruned?.isPending) poller?.wake();
      // The sync that applies it says what came of it.
      if (state.result?.commit !== state.snapshot.commit.commit) return;
      await teller.tell(source);
    },
    otherChanged(other) {
      if (waitsFor(object as Source, state, other)) poller?.wake();
    },
    async reproduce(canaryKey, commit) {
      const source = currentSource(parts, key);
      if (!source) return { problem: 'its Source is gone' };
      return reproduce({ parts, source, state }, canaryKey, commit);
    },
    git(signal) {
      const source = currentSource(parts, key);
      if (!source || !poller) return undefined;
      const forge = () => parts.openForge(source, secretsOf(parts, source), signal);
      return createSourceGit({ parts, source, state }, { forge, wake: askGit, signal });
    },
    speaksFor: (canaryKey) => parts.heads.sourceOf(canaryKey) === key,
    mayConcern: (canary) => mayConcern({ parts, state }, currentSource(parts, key), canary),
    async stop() {
      teller.stop();
      parts.claims.ended(key);
      parts.room.forget(key);
      unsubscribe();
      await poller?.stop();
      watch?.close();
    },
  };
}
