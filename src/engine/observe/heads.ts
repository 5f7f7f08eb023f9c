import { gitPart, livePart } from '../../api/digest.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { SourceWindow } from '../../api/source.ts';
import { type Release, withLivePart } from '../../release/release.ts';
import type { HeadView } from '../../rollout/world.ts';

/** What one Source says about one Canary. */
export interface Head {
  readonly view: HeadView;
  /** Bytes of the release; present when `view.kind` is `release`. */
  readonly release?: Release;
  /** Bytes of `view.ledger`. */
  readonly ledger?: Release;
  /** The scaler that the Canary names, where the Source holds it. */
  readonly scaler?: KubernetesObject;
  /** What the Source holds under the names of the Canary's Services and routes. */
  readonly shared?: readonly KubernetesObject[] | undefined;
  /** User that what the Source holds is written as; undefined: Holdfast itself. */
  readonly actAs?: string;
}

/** What Git says about every Canary. Filled by the Source loops, read by the Canary loop. Lost on restart on purpose: Git says it again. */
export interface Heads {
  /** What is wanted of a Canary: what Git says, or its live target where no Source speaks for it. */
  of(canaryKey: string): Head;
  /** What Git alone says: `unknown` while a Source that could hold the Canary has not been read since the start (S24). */
  inGit(canaryKey: string): Head;
  /** Puts what the live target says in the place of Git's word; undefined takes it back. */
  setLive(canaryKey: string, head: Head | undefined): void;
  /** The Source that holds this Canary, `namespace/name`. */
  sourceOf(canaryKey: string): string | undefined;
  /** The windows of the Source that holds this Canary. */
  windowsOf(canaryKey: string): readonly SourceWindow[] | undefined;
  /** Replaces the windows of a Source, whether Git can be read or not; returns the keys it speaks for. */
  setWindows(sourceKey: string, windows: readonly SourceWindow[] | undefined): string[];
  /** Bytes of a release that was head before, while Holdfast runs; a few per Canary. */
  earlier(canaryKey: string, digest: string): Release | undefined;
  /** Keeps a release among those that were head before. */
  keep(canaryKey: string, release: Release): void;
  /** The releases at head of all Canaries in a namespace, by Canary key. */
  releasesIn(namespace: string): ReadonlyMap<string, Release>;
  /** A Source exists whose content is not known yet. */
  expect(sourceKey: string): void;
  /** The Sources were listed: there is none but those that are expected. Until then any could hold any Canary. */
  listed(): void;
  /** Called each time that everything there is to read has been read. */
  onAllRead(listener: () => void): void;
  /** Replaces everything this Source says; returns the keys of Canaries whose head changed. */
  publish(sourceKey: string, heads: ReadonlyMap<string, Head>): string[];
  /** The Source is gone; returns the keys it spoke for. */
  forget(sourceKey: string): string[];
}

/** A release that waits for its promotion while head moved on is among the newest few; older ones have a record. */
const rememberedReleases = 3;

/** An empty registry. A Canary that two Sources hold belongs to the one that was read first. */
export function createHeads(): Heads {
  const bySource = new Map<string, ReadonlyMap<string, Head>>();
  const live = new Map<string, Head>();
  const windows = new Map<string, readonly SourceWindow[]>();
  const unread = new Set<string>([theList]);
  const listeners: Array<() => void> = [];
  const earlier = new Map<string, Release[]>();

  function sourceOf(canaryKey: string): string | undefined {
    for (const [sourceKey, heads] of bySource) if (heads.has(canaryKey)) return sourceKey;
    return undefined;
  }

  function inGit(canaryKey: string): Head {
    const source = sourceOf(canaryKey);
    const head = source === undefined ? undefined : bySource.get(source)?.get(canaryKey);
    if (head) return head;
    const [waitingFor] = unread;
    return waitingFor === undefined ? noSource : notRead(waitingFor);
  }

  function noLongerUnread(sourceKey: string): boolean {
    const was = unread.delete(sourceKey);
    if (was && unread.size === 0) for (const listener of listeners) listener();
    return was;
  }

  function remember(canaryKey: string, release: Release | undefined): void {
    if (!release) return;
    const others = (earlier.get(canaryKey) ?? []).filter(({ digest }) => digest !== release.digest);
    earlier.set(canaryKey, [release, ...others].slice(0, rememberedReleases));
  }

  return {
    of: (canaryKey) => live.get(canaryKey) ?? inGit(canaryKey),
    inGit,
    setLive(canaryKey, head) {
      remember(canaryKey, live.get(canaryKey)?.release);
      if (head) live.set(canaryKey, head);
      else live.delete(canaryKey);
    },
    sourceOf,
    windowsOf: (canaryKey) => windows.get(sourceOf(canaryKey) ?? ''),
    setWindows(sourceKey, now) {
      if (now) windows.set(sourceKey, now);
      else windows.delete(sourceKey);
      return [...(bySource.get(sourceKey)?.keys() ?? [])];
    },
    earlier(canaryKey, digest) {
      const found = earlier.get(canaryKey)?.find((one) => gitPart(one.digest) === gitPart(digest));
      return found && withLivePart(found, livePart(digest));
    },
    keep: remember,
    releasesIn(namespace) {
      const entries = [...[...bySource.values()].flatMap((heads) => [...heads]), ...live];
      const inside = entries.filter(([key]) => key.startsWith(`${namespace}/`));
      return new Map(inside.flatMap(([key, { release }]) => (release ? [[key, release] as const] : [])));
    },
    expect(sourceKey) {
      if (!bySource.has(sourceKey)) unread.add(sourceKey);
    },
    listed: () => void noLongerUnread(theList),
    onAllRead: (listener) => void listeners.push(listener),
    publish(sourceKey, heads) {
      const before = bySource.get(sourceKey);
      const firstRead = unread.has(sourceKey);
      const keys = new Set([...(before?.keys() ?? []), ...heads.keys()]);
      const changed = [...keys].filter((key) => firstRead || differs(before?.get(key), heads.get(key)));
      for (const [key, head] of before ?? []) remember(key, head.release);
      for (const [key, head] of heads) remember(key, head.ledger);
      bySource.set(sourceKey, heads);
      noLongerUnread(sourceKey);
      return changed;
    },
    forget(sourceKey) {
      const keys = [...(bySource.get(sourceKey)?.keys() ?? [])];
      bySource.delete(sourceKey);
      windows.delete(sourceKey);
      for (const key of keys) earlier.delete(key);
      noLongerUnread(sourceKey);
      return keys;
    },
  };
}

/** Stands for all Sources until they were listed. */
const theList = '';

const noSource: Head = {
  view: {
    kind: 'unknown',
    reason: 'NoSource',
    message: "no Source holds this Canary's target; add the workload's manifest to a Source",
  },
};

function notRead(sourceKey: string): Head {
  return {
    view: {
      kind: 'unknown',
      reason: 'SourceNotRead',
      message: `${sourceKey === theList ? 'the list of Sources' : `Source ${sourceKey}`} has not been read since the start of Holdfast`,
    },
  };
}

function differs(before: Head | undefined, after: Head | undefined): boolean {
  const said = (head: Head | undefined) => JSON.stringify([head?.view, head?.scaler]);
  return said(before) !== said(after);
}
