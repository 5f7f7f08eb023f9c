import type { Release } from '../release/release.ts';
import type { HeadView } from '../rollout/world.ts';

/** What one Source says about one Canary. */
export interface Head {
  readonly view: HeadView;
  /** Bytes of the release; present when `view.kind` is `release`. */
  readonly release?: Release;
}

/** What Git says about every Canary. Filled by the Source loops, read by the Canary loop. Lost on restart on purpose: Git says it again. */
export interface Heads {
  /** `unknown` while a Source that could hold the Canary has not been read since the start (S24). */
  of(canaryKey: string): Head;
  /** The Source that holds this Canary, `namespace/name`. */
  sourceOf(canaryKey: string): string | undefined;
  /** A Source exists whose content is not known yet. */
  expect(sourceKey: string): void;
  /** Replaces everything this Source says; returns the keys of Canaries whose head changed. */
  publish(sourceKey: string, heads: ReadonlyMap<string, Head>): string[];
  /** The Source is gone; returns the keys it spoke for. */
  forget(sourceKey: string): string[];
}

/** An empty registry. A Canary that two Sources hold belongs to the one that was read first. */
export function createHeads(): Heads {
  const bySource = new Map<string, ReadonlyMap<string, Head>>();
  const unread = new Set<string>();

  function sourceOf(canaryKey: string): string | undefined {
    for (const [sourceKey, heads] of bySource) if (heads.has(canaryKey)) return sourceKey;
    return undefined;
  }

  function headOf(canaryKey: string): Head {
    const source = sourceOf(canaryKey);
    const head = source === undefined ? undefined : bySource.get(source)?.get(canaryKey);
    if (head) return head;
    const [waitingFor] = unread;
    return waitingFor === undefined ? noSource : notRead(waitingFor);
  }

  return {
    of: headOf,
    sourceOf,
    expect(sourceKey) {
      if (!bySource.has(sourceKey)) unread.add(sourceKey);
    },
    publish(sourceKey, heads) {
      const before = bySource.get(sourceKey);
      const firstRead = unread.delete(sourceKey);
      const keys = new Set([...(before?.keys() ?? []), ...heads.keys()]);
      const changed = [...keys].filter((key) => firstRead || differs(before?.get(key), heads.get(key)));
      bySource.set(sourceKey, heads);
      return changed;
    },
    forget(sourceKey) {
      unread.delete(sourceKey);
      const keys = [...(bySource.get(sourceKey)?.keys() ?? [])];
      bySource.delete(sourceKey);
      return keys;
    },
  };
}

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
      message: `Source ${sourceKey} has not been read since the start of Holdfast`,
    },
  };
}

function differs(before: Head | undefined, after: Head | undefined): boolean {
  return JSON.stringify(before?.view) !== JSON.stringify(after?.view);
}
