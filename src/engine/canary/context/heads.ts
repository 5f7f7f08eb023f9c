import { type CommitInfo, gitPart, livePart } from '../../../api/commit.ts';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { SourceWindow } from '../../../api/source/source.ts';
import { type Release, withLivePart } from '../../../release/release.ts';
import { createHiding } from '../../../render/sops/hiding.ts';
import type { HeadView } from '../../../rollout/world.ts';
import { applySetIdOf } from '../../apply-set.ts';

/** What one Source says about one Canary. */
export interface Head {
  readonly view: HeadView;
  /** Bytes of the release; present when `view.kind` is `release`. */
  readonly release?: Release;
  /** Bytes of `view.ledger`. */
  readonly ledger?: Release;
  /** The scaler that the Canary names, where the Source holds it. */
  readonly scaler?: KubernetesObject;
  /** The commit that the Source stood at when it said this; the release's own is the one that introduced its digest. */
  readonly at?: string;
  /** What the Source holds under the names of the Canary's Services and routes. */
  readonly shared?: readonly KubernetesObject[] | undefined;
  /** What of the release's objects was encrypted in Git or came from a Secret. */
  readonly secrets?: readonly string[];
}

/** Takes out of texts what of the Canary's objects is secret (S31): others may quote them. */
export function hidingFor({ secrets = [] }: Head): (text: string) => string {
  if (secrets.length === 0) return (text) => text;
  const hiding = createHiding();
  hiding.add(secrets);
  return hiding.hide;
}

/** What Git says about every Canary. Filled by the Source loops, read by the Canary loop. Lost on restart on purpose: Git says it again. */
export interface Heads {
  /** What is wanted of a Canary: what Git says, or its live target where no Source speaks for it. */
  of(canaryKey: string): Head;
  /** What Git alone says: `unknown` while a Source that could hold the Canary has not been read since the start (S24). */
  inGit(canaryKey: string): Head;
  /** Puts what the live target says in the place of Git's word; undefined takes it back. */
  setLive(canaryKey: string, head: Head | undefined): void;
  /** The Source that holds this Canary, `namespace/name`; after a start also the one that held it before and has not been read yet. */
  sourceOf(canaryKey: string): string | undefined;
  /** The ApplySet that the Canary's live target is a member of: its Source goes before any other that holds the Canary, also after a restart. */
  setOwner(canaryKey: string, applySetId: string | undefined): void;
  /** What the Source that holds this Canary says of it; nothing where none does. */
  specOf(canaryKey: string): Partial<SourceInForce>;
  /** What the spec of a Source says now, whether Git can be read or not; what is left out stays. Returns the keys it speaks for. */
  setSpec(sourceKey: string, spec: Partial<SourceInForce>): string[];
  /**
   * After a start, and for what a Source began to hold: the Canary may remember which commit introduced the digest, which `commitOf` then gives.
   * Asks once per Canary and Source.
   */
  recall(canaryKey: string, commitOf: (digest: string) => CommitInfo | undefined): void;
  /** Bytes of a release that was head before, while Holdfast runs; a few per Canary. */
  earlier(canaryKey: string, digest: string): Release | undefined;
  /** Keeps a release among those that were head before. */
  rememberRelease(canaryKey: string, release: Release): void;
  /** The releases at head of all Canaries in a namespace, by Canary key. */
  releasesIn(namespace: string): ReadonlyMap<string, Release>;
  /** A Source exists whose content is not known yet. `mayHold`: false for Canaries whose target it may not write, which do not wait for it. */
  expect(sourceKey: string, mayHold?: (canaryKey: string) => boolean): void;
  /** The Sources were listed: there is none but those that are expected. Until then any could hold any Canary. */
  listed(): void;
  /** Called each time that everything there is to read has been read. */
  onAllRead(listener: () => void): void;
  /**
   * Replaces everything this Source says; returns the keys of Canaries whose head changed. While a digest stays, so does the commit that
   * introduced it: a commit that is about something else is no news.
   */
  publish(sourceKey: string, heads: ReadonlyMap<string, Head>): string[];
  /** What this Source said of a Canary does not count until it says it again. */
  withhold(sourceKey: string, canaryKey: string): void;
  /** The Canary is gone: what is known besides Git's word, among it the bytes of releases, would be kept for ever. */
  forgetCanary(canaryKey: string): void;
  /** The Source is gone; returns the keys it spoke for. */
  forget(sourceKey: string): string[];
}

/** What of a Source's spec is in force before its repository was read. */
interface SourceInForce {
  readonly windows: readonly SourceWindow[] | undefined;
  /** User that what it holds is written as; undefined: Holdfast itself. */
  readonly account: string | undefined;
}

/** A release that waits for its promotion while head moved on is among the newest few; older ones have a record. */
const rememberedReleases = 3;

/** Releases that were head before, by Canary. */
function createEarlier() {
  const byCanary = new Map<string, Release[]>();
  return {
    keep(canaryKey: string, release: Release | undefined): void {
      if (!release) return;
      const others = (byCanary.get(canaryKey) ?? []).filter(({ digest }) => digest !== release.digest);
      byCanary.set(canaryKey, [release, ...others].slice(0, rememberedReleases));
    },
    find(canaryKey: string, digest: string): Release | undefined {
      const found = byCanary.get(canaryKey)?.find((one) => gitPart(one.digest) === gitPart(digest));
      return found && withLivePart(found, livePart(digest));
    },
    forget: (canaryKey: string) => void byCanary.delete(canaryKey),
  };
}

/** Sources that were not read since the start, with the Canaries that each may hold. The list of them is unread, too. */
function createUnreadSources() {
  const unread = new Map<string, (canaryKey: string) => boolean>([[sourceList, () => true]]);
  const listeners: Array<() => void> = [];
  return {
    add: (sourceKey: string, mayHold: (canaryKey: string) => boolean) => void unread.set(sourceKey, mayHold),
    delete(sourceKey: string): void {
      if (unread.delete(sourceKey) && unread.size === 0) for (const listener of listeners) listener();
    },
    has: (sourceKey: string) => unread.has(sourceKey),
    whichMayHold: (canaryKey: string) => [...unread].find(([, mayHold]) => mayHold(canaryKey))?.[0],
    onNone: (listener: () => void) => void listeners.push(listener),
  };
}

/** An empty registry. A Canary that two Sources hold belongs to the one that its target is a member of, else to the one that was read first. */
export function createHeads(): Heads {
  const bySource = new Map<string, Map<string, Head>>();
  const live = new Map<string, Head>();
  const specs = new Map<string, Partial<SourceInForce>>();
  const owners = new Map<string, string | undefined>();
  const sourcesBySet = new Map<string, string>();
  const unread = createUnreadSources();
  const earlier = createEarlier();
  const releaseCommits = createReleaseCommits();

  function sourceOf(canaryKey: string): string | undefined {
    const owner = sourcesBySet.get(owners.get(canaryKey) ?? '');
    if (owner !== undefined && (unread.has(owner) || bySource.get(owner)?.has(canaryKey))) return owner;
    for (const [sourceKey, heads] of bySource) if (heads.has(canaryKey)) return sourceKey;
    return undefined;
  }

  function inGit(canaryKey: string): Head {
    const source = sourceOf(canaryKey);
    const head = source === undefined ? undefined : bySource.get(source)?.get(canaryKey);
    const waitingFor = source ?? unread.whichMayHold(canaryKey);
    return head ?? (waitingFor === undefined ? noSource : notRead(waitingFor));
  }

  return {
    of: (canaryKey) => live.get(canaryKey) ?? inGit(canaryKey),
    inGit,
    setLive(canaryKey, head) {
      earlier.keep(canaryKey, live.get(canaryKey)?.release);
      if (head) live.set(canaryKey, head);
      else live.delete(canaryKey);
    },
    sourceOf,
    setOwner: (canaryKey, applySetId) => void owners.set(canaryKey, applySetId),
    specOf: (canaryKey) => specs.get(sourceOf(canaryKey) ?? '') ?? {},
    setSpec(sourceKey, spec) {
      specs.set(sourceKey, { ...specs.get(sourceKey), ...spec });
      return [...(bySource.get(sourceKey)?.keys() ?? [])];
    },
    recall(canaryKey, commitOf) {
      const source = sourceOf(canaryKey) ?? '';
      const heads = bySource.get(source);
      const head = releaseCommits.recall(source, canaryKey, heads?.get(canaryKey), commitOf);
      if (head) heads?.set(canaryKey, head);
    },
    earlier: earlier.find,
    rememberRelease: earlier.keep,
    releasesIn: (namespace) => releasesIn(namespace, [...bySource.values(), live]),
    expect(sourceKey, mayHold = () => true) {
      sourcesBySet.set(applySetIdOf(sourceKey), sourceKey);
      if (!bySource.has(sourceKey)) unread.add(sourceKey, mayHold);
    },
    listed: () => unread.delete(sourceList),
    onAllRead: unread.onNone,
    publish(sourceKey, said) {
      const before = bySource.get(sourceKey);
      const heads = releaseCommits.settle(sourceKey, said, before);
      const firstRead = unread.has(sourceKey);
      const keys = new Set([...(before?.keys() ?? []), ...heads.keys()]);
      const changed = [...keys].filter((key) => firstRead || differs(before?.get(key), heads.get(key)));
      for (const [key, head] of before ?? []) earlier.keep(key, head.release);
      for (const [key, head] of heads) earlier.keep(key, head.ledger);
      bySource.set(sourceKey, heads);
      unread.delete(sourceKey);
      return changed;
    },
    withhold: (source, canary) => void bySource.get(source)?.set(canary, notRead(source)),
    forgetCanary(canaryKey) {
      for (const known of [live, owners]) known.delete(canaryKey);
      earlier.forget(canaryKey);
    },
    forget(sourceKey) {
      const keys = [...(bySource.get(sourceKey)?.keys() ?? [])];
      bySource.delete(sourceKey);
      releaseCommits.forget(sourceKey);
      specs.delete(sourceKey);
      sourcesBySet.delete(applySetIdOf(sourceKey));
      for (const key of keys) earlier.forget(key);
      unread.delete(sourceKey);
      return keys;
    },
  };
}

function releasesIn(namespace: string, said: ReadonlyArray<Map<string, Head>>): Map<string, Release> {
  return new Map(
    said
      .flatMap((heads) => [...heads])
      .flatMap(([key, { release }]) =>
        release && key.startsWith(`${namespace}/`) ? [[key, release] as const] : [],
      ),
  );
}

/** Stands for all Sources until they were listed. */
const sourceList = '';

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
      message: `${sourceKey === sourceList ? 'the list of Sources' : `Source ${sourceKey}`} has not been read since the start of Holdfast`,
    },
  };
}

/** The head under another commit, in its view and in its bytes. */
function withCommit(head: Head, commit: CommitInfo): Head {
  const { view, release } = head;
  if (view.kind !== 'release') return head;
  const bytes = release && { release: { ...release, commit } };
  return { ...head, ...bytes, view: { ...view, release: { ...view.release, commit } } };
}

/** Whether two heads say different things. */
function differs(before: Head | undefined, after: Head | undefined): boolean {
  const said = (head: Head | undefined) => JSON.stringify([head?.view, head?.scaler, head?.shared]);
  return said(before) !== said(after);
}

/** Which commit introduced the digest at head. */
interface DigestOrigin {
  /** Git's part; empty after the workload was missing: then whatever comes is new. */
  readonly digest: string;
  commit: CommitInfo | undefined;
  /** This process saw it come, or the Canary was asked. */
  isRecalled: boolean;
}

type OriginsByCanary = Map<string, DigestOrigin>;

/** Remembers, by Source and Canary, which commit introduced the digest at head: a release is known by that one, not by the newest that still has it. */
function createReleaseCommits() {
  const bySource = new Map<string, OriginsByCanary>();
  return {
    /** The heads as a Source says them now, under the commits that introduced their digests. */
    settle(
      sourceKey: string,
      said: ReadonlyMap<string, Head>,
      before: ReadonlyMap<string, Head> | undefined,
    ): Map<string, Head> {
      const now = originsOf(said, bySource.get(sourceKey));
      bySource.set(sourceKey, now);
      return new Map([...said].map(([key, head]) => [key, settled(head, now.get(key), before?.get(key))]));
    },
    /** The head under the commit that `commitOf` knows for its digest; undefined where that was asked before, or says nothing new. */
    recall(
      sourceKey: string,
      canaryKey: string,
      head: Head | undefined,
      commitOf: (digest: string) => CommitInfo | undefined,
    ): Head | undefined {
      const entry = bySource.get(sourceKey)?.get(canaryKey);
      if (!entry || !head || entry.isRecalled) return undefined;
      entry.isRecalled = true;
      const known = commitOf(entry.digest);
      if (!known || known.commit === entry.commit?.commit) return undefined;
      entry.commit = known;
      return withCommit(head, known);
    },
    forget: (sourceKey: string) => void bySource.delete(sourceKey),
  };
}

/** While the files of a Canary are broken, its former origin is remembered. */
function originsOf(heads: ReadonlyMap<string, Head>, before: OriginsByCanary | undefined): OriginsByCanary {
  const entries = [...heads].flatMap(([key, { view }]) => {
    const old = before?.get(key);
    if (view.kind === 'unknown') return old ? [[key, old] as const] : [];
    if (view.kind === 'missing') return [[key, { digest: '', commit: undefined, isRecalled: true }] as const];
    const { digest, commit } = view.release;
    const now = { digest: gitPart(digest), commit, isRecalled: old !== undefined };
    return [[key, old?.digest === now.digest ? old : now] as const];
  });
  return new Map(entries);
}

/** A head under the commits that introduced its releases. */
function settled(head: Head, origin: DigestOrigin | undefined, before: Head | undefined): Head {
  if (head.view.kind !== 'release') return head;
  const { commit } = head.view.release.commit;
  const named = { ...(origin?.commit ? withCommit(head, origin.commit) : head), at: commit };
  const { view, ledger } = named;
  const old = before?.view.kind === 'release' ? before.view.ledger : undefined;
  if (view.kind !== 'release' || !view.ledger || !ledger || old?.digest !== view.ledger.digest) return named;
  const since = { commit: old.commit };
  return {
    ...named,
    ledger: { ...ledger, ...since },
    view: { ...view, ledger: { ...view.ledger, ...since } },
  };
}
