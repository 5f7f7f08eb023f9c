import type { Clock } from '../api/clock.ts';
import { watchFlagger } from '../engine/beside/flagger-watch.ts';
import { createLiveHeads } from '../engine/beside/live-heads.ts';
import type { CanaryParts } from '../engine/canary-parts.ts';
import type { Cluster, OpenWatch } from '../engine/ports.ts';
import { type AppOptions, namespacesOf } from './options.ts';

/** What the parts for working beside other tools are made from. */
export interface BesideWiring {
  readonly options: AppOptions;
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly openWatch: OpenWatch;
  readonly secretKey: Uint8Array;
}

/** What it takes to work beside other tools (design section 2.5). */
export function besideParts({
  options,
  cluster,
  clock,
  openWatch,
  secretKey,
}: BesideWiring): Pick<CanaryParts, 'flagger' | 'liveHeads'> & { readonly isShadow: boolean } {
  return {
    liveHeads: createLiveHeads({ cluster, secretKey, tracksConfig: options.tracksConfig !== false }),
    flagger: watchFlagger(openWatch, clock, namespacesOf(options)),
    isShadow: options.shadow === true,
  };
}
