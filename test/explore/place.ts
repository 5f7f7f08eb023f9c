/** The abstract world of the exploration: small, immutable, and told apart by a key, so that each is looked at once. */

import type { OnFailure } from '../../src/api/canary/analysis.ts';
import type { Canary } from '../../src/api/canary/canary.ts';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import type { CheckOutcome } from '../../src/api/observed.ts';
import type { Ledger } from './ledger.ts';

/** Three releases: `a` is the one that proved itself first. */
export type Digest = 'a' | 'b' | 'c';
export type Side = 'primary' | 'canary';
export const DIGESTS: readonly Digest[] = ['a', 'b', 'c'];
export const SIDES: readonly Side[] = ['primary', 'canary'];

/** Pods of one side. Counts are pods. */
export interface Pods {
  readonly digest: Digest;
  readonly desired: number;
  /** Ready pods of the template. */
  readonly ready: number;
  /** Ready pods of the template before, and which that is. */
  readonly old: number;
  readonly oldDigest: Digest | undefined;
  /** Somebody changed the image of the template by hand. */
  readonly drifted: boolean;
}

/** Weights of the canary in percent: as the route says, and as the data plane splits the traffic. */
export interface Route {
  readonly weight: number;
  readonly mirrored: boolean;
  readonly accepted: boolean;
  /** What the data plane took last, and what it had before. */
  readonly data: number;
  readonly dataBefore: number;
  /** Since when the data plane has `data`. */
  readonly dataSinceMs: number;
}

export interface Rejection {
  readonly digest: string;
  readonly commit: string;
  readonly reason: string;
  readonly time: string;
}

export type Metric = 'pass' | 'fail' | 'unknown';

/** One moment. Times are milliseconds on a clock that tells the truth; what the core is shown is `skewMs` later. */
export interface Place {
  readonly nowMs: number;
  readonly skewMs: number;
  /** Since when this process leads. */
  readonly leadsSinceMs: number;
  readonly status: CanaryStatus;
  readonly head: Digest | 'unknown';
  readonly primary: Pods | undefined;
  readonly target: Pods | undefined;
  /** Most ready pods that a side can have now. */
  readonly room: { readonly primary: number; readonly canary: number };
  /** `b/primary`: pods of that release do not become ready on that side. */
  readonly sick: readonly string[];
  readonly route: Route | undefined;
  /** The gateway's controller takes routes over. */
  readonly gateway: boolean;
  /** Digests with a record, and those that proved themselves, oldest first. */
  readonly saved: readonly Digest[];
  readonly proven: readonly Digest[];
  readonly damaged: readonly Digest[];
  readonly rejected: readonly Rejection[];
  /** `failsNew`: for every release but those that are proven. */
  readonly metrics: { readonly canary: Metric; readonly primary: Metric | 'failsNew' };
  readonly answer: CheckOutcome | undefined;
  /** Counters in the status when the answer came: another one makes it an old one. */
  readonly answerAt: string;
  /** This type of action is refused. */
  readonly refuses: string;
  readonly isPaused: boolean;
  readonly isSuspended: boolean;
  /** What holdfast.dev/abort says. */
  readonly abort: string;
  readonly onFailure: OnFailure | undefined;
  readonly ledger: Ledger;
}

/** A spec to explore, and how workloads replace their pods. */
export interface Variant {
  readonly name: string;
  readonly spec: Partial<Canary['spec']>;
  /** Both sides lose all pods before new ones start. */
  readonly recreate?: boolean;
  /** Shares that the analysis visits, in percent; of blue/green none, and this many checks. */
  readonly steps: readonly number[];
  readonly iterations?: number;
  readonly readyPercent?: { readonly primary: number; readonly canary: number };
}

export const SETTLE_MS = 2000;
export const INTERVAL_MS = 10_000;
export const DEADLINE_MS = 60_000;
export const PODS = 2;

/** Pods that answer requests, whatever their template. */
export function serving(pods: Pods | undefined): number {
  return pods ? pods.ready + pods.old : 0;
}

export function podsOf(place: Place, side: Side): Pods | undefined {
  return side === 'primary' ? place.primary : place.target;
}

export function isHealthy(place: Place, digest: Digest | undefined, side: Side): boolean {
  return digest !== undefined && !place.sick.includes(`${digest}/${side}`);
}

/** The data plane splits the traffic as the route says, and had time to. */
export function hasArrived({ route, nowMs }: Place): boolean {
  return route?.accepted === true && nowMs - route.dataSinceMs >= SETTLE_MS;
}

/** Most of the traffic that the data plane may still send to a side. */
export function dataShare(place: Place, side: Side): number {
  const { route } = place;
  if (!route) return 0;
  const shares = [route.data, ...(hasArrived(place) ? [] : [route.dataBefore])];
  return Math.max(...shares.map((share) => (side === 'canary' ? share : 100 - share)));
}

/** The release that proved itself last and was not rejected. */
export function lastGood({ proven, rejected }: Place): Digest | undefined {
  return proven.findLast((digest) => !rejected.some((one) => one.digest === digest));
}

export function isRejected({ rejected }: Place, digest: string | undefined): boolean {
  return rejected.some((one) => one.digest === digest);
}
