import { canaryStatus } from '../../api/canary/summary.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { limits } from '../../api/limits.ts';
import { stamp } from '../../api/time.ts';
import type { Timeline } from '../../dashboard/views.ts';

/** What the statuses of Canaries said over time, as far as this process saw it: the status itself knows only now. */
export interface Journal {
  /** Records a Canary whose object changed. */
  note(canary: KubernetesObject): void;
  forget(canary: KubernetesObject): void;
  timelineOf(canary: KubernetesObject): Timeline;
}

interface Point {
  readonly timeMs: number;
  readonly weightPercent: number | null;
  readonly failedChecks: number | null;
  /** Values by the checks' names, of checks with a new answer. */
  readonly values: ReadonlyMap<string, number>;
}

interface Track {
  /** Weight, failed checks and times of checks as last seen. */
  last: string;
  readonly points: Point[];
}

/** Costs one comparison for each change of a Canary; the oldest points are dropped beyond `limits.journalPoints` and `limits.journalPointsPerCanary`. */
export function createJournal(nowMs: () => number): Journal {
  const sinceMs = nowMs();
  /** By uid; the most recently changed one is last. */
  const tracks = new Map<string, Track>();
  let points = 0;

  function makeRoom(track: Track): void {
    if (track.points.length > limits.journalPointsPerCanary) {
      track.points.shift();
      points -= 1;
    }
    while (points > limits.journalPoints) {
      const [uid, oldest] = tracks.entries().next().value ?? [];
      if (!uid || !oldest) return;
      points -= oldest.points.length;
      tracks.delete(uid);
    }
  }

  return {
    note(canary) {
      const { uid = '' } = canary.metadata;
      const { canaryWeight, failedChecks, checks = [], phase } = canaryStatus(canary);
      if (!uid || !phase) return;
      const text = JSON.stringify([canaryWeight, failedChecks, checks.map(({ name, time }) => [name, time])]);
      const track = tracks.get(uid) ?? { last: '', points: [] };
      if (track.last === text) return;
      // An answer that the status had before is no new value.
      const before = track.last === '' ? [] : (JSON.parse(track.last)[2] as Array<[string, string]>);
      const known = new Set(before.map((one) => one.join(' ')));
      const asked = checks.filter(({ name, time }) => !known.has(`${name} ${time}`));
      track.last = text;
      tracks.delete(uid);
      tracks.set(uid, track);
      track.points.push({
        timeMs: nowMs(),
        weightPercent: canaryWeight ?? null,
        failedChecks: failedChecks ?? null,
        values: new Map(asked.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]]))),
      });
      points += 1;
      makeRoom(track);
    },
    forget({ metadata: { uid = '' } }) {
      points -= tracks.get(uid)?.points.length ?? 0;
      tracks.delete(uid);
    },
    timelineOf(canary) {
      const { uid = '' } = canary.metadata;
      return timeline(canary, tracks.get(uid)?.points ?? [], { sinceMs, nowMs: nowMs() });
    },
  };
}

function timeline(
  canary: KubernetesObject,
  points: readonly Point[],
  { sinceMs, nowMs }: { sinceMs: number; nowMs: number },
): Timeline {
  const { checks = [], canaryWeight, failedChecks } = canaryStatus(canary);
  // The last values hold until now.
  const now: Point = {
    timeMs: nowMs,
    weightPercent: canaryWeight ?? null,
    failedChecks: failedChecks ?? null,
    values: new Map(),
  };
  const all = [...points, now];
  const names = [...new Set([...points.flatMap(({ values }) => [...values.keys()])])].sort();
  return {
    since: stamp(sinceMs),
    timesSeconds: all.map(({ timeMs }) => timeMs / 1000),
    weightsPercent: all.map((point) => point.weightPercent),
    failedChecks: all.map((point) => point.failedChecks),
    checks: names.slice(0, limits.journalChecks).map((name) => {
      const { min, max } = checks.find((check) => check.name === name) ?? {};
      return { name, values: all.map(({ values }) => values.get(name) ?? null), min, max };
    }),
  };
}
