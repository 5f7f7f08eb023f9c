import { type KubernetesObject, nameOfKey, namespacedName, partOfLabel } from '../../api/kubernetes.ts';
import type { Log, WatchedSet } from '../../contracts/cluster.ts';
import type { Repositories } from '../../contracts/git.ts';
import { createClaims } from '../apply-set.ts';
import type { Reproduced } from '../canary/context/reproduction.ts';
import { createAppointments } from '../work-queue.ts';
import { createMemberWatches } from './apply/members.ts';
import { createPresence } from './context/presence.ts';
import { createRoom } from './context/room.ts';
import type { SourceGit } from './read/source-git.ts';
import { createAccountRights } from './scope/permissions.ts';
import { createSourceBindings } from './scope/source-bindings.ts';
import { type SourceRunner, type SourceRunnerParts, startSourceRunner } from './source-runner.ts';

type OwnParts =
  | 'accountRights'
  | 'source'
  | 'sources'
  | 'canaries'
  | 'canary'
  | 'claims'
  | 'room'
  | 'presence'
  | 'bindings'
  | 'openMembers'
  | 'refreshSoon'
  | 'rereadFor';

/** What the controller of all Sources is made of. */
export interface SourceControllerOptions extends Omit<SourceRunnerParts, OwnParts> {
  readonly sources: WatchedSet;
  readonly canarySet: WatchedSet;
  /** Of memory for the objects of all Sources. */
  readonly roomBytes: number;
  /** RoleBindings of `sourceAccount`; undefined: Holdfast does not keep them. */
  readonly bindingSet: WatchedSet | undefined;
  /** Which Sources are followed: all of the cluster, or those given as files. */
  readonly isFollowed: (source: KubernetesObject) => boolean;
}

/** Follows every Source, each on its own. */
export interface SourceController {
  start(): void;
  /** Polls a Source soon; false when it is not followed. */
  wake(key: string): boolean;
  /** The writing half of the Source that speaks for a Canary. */
  gitOf(canaryKey: string, signal: AbortSignal): SourceGit | undefined;
  /** What a Canary's release is at an older commit. */
  reproduce(canaryKey: string, commit: string): Promise<Reproduced>;
  stop(): Promise<void>;
}

/** Bursts of Canary changes become one look at the Source's status. */
const gatherMs = 300;

interface Following {
  readonly runner: SourceRunner;
  /** What the runner was started with; another one starts a new runner. */
  readonly generation: string;
  requests: string;
}

/** Does nothing before `start`. */
export function createSourceController(options: SourceControllerOptions): SourceController {
  const { sources, canarySet } = options;
  const following = new Map<string, Following>();
  const ending = new Set<Promise<void>>();
  const isNewVersion = createVersions(canarySet);
  let stopped = false;
  const stores = createStoreSweep(options);
  const refresh = createAppointments(options.clock, (key) => void following.get(key)?.runner.refreshStatus());
  const parts = partsOf(options, following, (key) => refresh.make(key, gatherMs));

  function sourceChanged(source: KubernetesObject): void {
    // The watches outlive the controller for a moment; what they still bring must not start anything anew.
    if (stopped) return;
    const key = namespacedName(source);
    const live = sources.get(source.metadata.namespace, source.metadata.name);
    const known = following.get(key);
    if (!live || live.metadata.deletionTimestamp || !options.isFollowed(live)) return drop(key);
    const generation = `${live.metadata.uid} ${live.metadata.generation}`;
    if (known?.generation === generation) return noteRequests(known, live);
    const after = known ? end(key, known) : Promise.resolve();
    const runner = startSourceRunner(parts, key, live, after);
    following.set(key, { runner, generation, requests: requestsOf(live) });
  }

  function sourcesChanged(changed: readonly KubernetesObject[]): void {
    for (const source of changed) {
      sourceChanged(source);
      const key = namespacedName(source);
      for (const { runner } of following.values()) runner.otherChanged(key);
    }
    if (!sources.synced()) return;
    for (const { listed } of [options.heads, stores]) listed();
    void parts.bindings.sweep();
  }

  function end(key: string, { runner }: Following): Promise<void> {
    following.delete(key);
    const stopping = runner.stop();
    ending.add(stopping);
    void stopping.finally(() => ending.delete(stopping)).then(stores.ended);
    return stopping;
  }

  function drop(key: string): void {
    const known = following.get(key);
    if (!known) return;
    options.repositories.forget(key);
    void end(key, known);
    parts.claims.forget(key);
    for (const canaryKey of options.heads.forget(key)) {
      options.wakeCanary(canaryKey);
      const canary = parts.canary(nameOfKey(canaryKey));
      if (canary) rereadFor(following, canary);
    }
  }

  /** A Canary that only the cluster holds may have its target in a Source: its spec shapes the release. */
  function canaryChanged(canary: KubernetesObject): void {
    const key = namespacedName(canary);
    const holders = sourcesHolding(following, key);
    for (const [sourceKey] of holders) refresh.make(sourceKey, gatherMs);
    if (holders.length === 0) void parts.bindings.sweep();
    if (isNewVersion(canary)) rereadFor(following, canary);
  }

  return {
    start() {
      canarySet.onChange((canary) => {
        if (canary) canaryChanged(canary);
      });
      // RoleBindings that were left while Holdfast did not run are deleted, too.
      options.bindingSet?.onChange((binding) => {
        if (!binding) void parts.bindings.sweep();
      });
      sources.onChange((source) => sourcesChanged(source ? [source] : sources.list()));
    },
    wake(key) {
      const known = following.get(key);
      known?.runner.wake();
      return known !== undefined;
    },
    gitOf(canaryKey, signal) {
      return sourcesHolding(following, canaryKey)[0]?.[1].runner.git(signal);
    },
    async reproduce(canaryKey, commit) {
      const [holder] = sourcesHolding(following, canaryKey);
      return holder?.[1].runner.reproduce(canaryKey, commit) ?? { problem: 'no Source holds it any more' };
    },
    async stop() {
      stopped = true;
      refresh.cancelAll();
      for (const [key, known] of [...following]) void end(key, known);
      await Promise.all(ending);
    },
  };
}

/** What all runners share. */
function partsOf(
  options: SourceControllerOptions,
  following: ReadonlyMap<string, Following>,
  refreshSoon: (key: string) => void,
): SourceRunnerParts {
  const { sources, canarySet } = options;
  return {
    ...options,
    refreshSoon,
    rereadFor: (canary) => rereadFor(following, canary),
    claims: createClaims(),
    room: createRoom(options.roomBytes),
    presence: createPresence(options),
    accountRights: createAccountRights(options),
    bindings: createSourceBindings({ ...options, bindings: options.bindingSet, canaries: canarySet }),
    openMembers: createMemberWatches(options.openWatch, options.watchesEverywhere),
    sources: () => sources.list(),
    source(key) {
      const { namespace, name } = nameOfKey(key);
      return sources.get(namespace, name);
    },
    canaries: () => canarySet.list(),
    canary: ({ namespace, name }) => canarySet.get(namespace, name),
  };
}

/** Wakes the Source when its annotations ask for something new. */
function noteRequests(known: Following, live: KubernetesObject): void {
  const requests = requestsOf(live);
  if (known.requests === requests) return;
  known.requests = requests;
  known.runner.wake();
}

/** The Sources that hold a Canary, or may where none does, are read again. */
function rereadFor(following: ReadonlyMap<string, Following>, canary: KubernetesObject): void {
  const holders = sourcesHolding(following, namespacedName(canary));
  const isHeld = holders.length > 0;
  for (const [, { runner }] of isHeld ? holders : following)
    if (isHeld || runner.mayConcern(canary)) runner.reread();
}

/** The Sources, by their keys, that hold a Canary's target. */
function sourcesHolding(
  following: ReadonlyMap<string, Following>,
  canaryKey: string,
): Array<[string, Following]> {
  return [...following].filter(([, { runner }]) => runner.speaksFor(canaryKey));
}

/** Whether a Canary is another one than when it was asked about last: it says something else, is a new one, or went. */
function createVersions(canarySet: WatchedSet): (canary: KubernetesObject) => boolean {
  const seen = new Map<string, string>();
  return (canary) => {
    const { uid, generation, namespace, name, labels } = canary.metadata;
    const key = namespacedName(canary);
    const before = seen.get(key);
    seen.delete(key);
    if (canarySet.get(namespace, name) === undefined) return true;
    // Whose it is counts, too: the Source that it left speaks for it no more.
    seen.set(key, `${uid} ${generation} ${labels?.[partOfLabel]}`);
    return before !== seen.get(key);
  };
}

/** Annotations that ask for something; their change wakes the Source. */
function requestsOf({ metadata }: KubernetesObject): string {
  const annotations = Object.entries(metadata.annotations ?? {});
  return JSON.stringify(annotations.filter(([key]) => key.startsWith('holdfast.dev/')).sort());
}

/**
 * Frees the disk of what no Source uses: what an earlier run left, and what a Source leaves. What is left after a failure is tried again when the
 * next Source ends.
 */
function createStoreSweep(options: {
  readonly repositories: Pick<Repositories, 'sweep'>;
  readonly log: Log;
}) {
  let hasListed = false;
  const sweep = () => {
    options.repositories.sweep().catch((err: unknown) => {
      options.log.warn({ err }, 'could not remove Git stores that no Source uses');
    });
  };
  return {
    /** All Sources are known, so that it is known what is in use. */
    listed() {
      if (hasListed) return;
      hasListed = true;
      sweep();
    },
    /** A Source ended, or uses another repository now. */
    ended() {
      if (hasListed) sweep();
    },
  };
}
