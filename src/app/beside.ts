import type { Clock } from '../api/clock.ts';
import { createAdoption } from '../engine/beside/adoption.ts';
import { watchFlagger } from '../engine/beside/flagger-watch.ts';
import { createLiveHeads } from '../engine/beside/live-heads.ts';
import type { CanaryParts } from '../engine/canary/canary-parts.ts';
import type { Cluster, DryRun, OpenWatch } from '../engine/ports/ports.ts';
import { type AppOptions, namespacesOf } from './options.ts';

/** What the parts for working beside other tools are made from. */
export interface BesideWiring {
  readonly options: AppOptions;
  readonly cluster: Cluster;
  readonly dryRun: DryRun;
  readonly clock: Clock;
  readonly openWatch: OpenWatch;
  readonly secretKey: Uint8Array;
}

/** What it takes to work beside other tools (design section 2.5). */
export function besideParts({
  options,
  cluster,
  dryRun,
  clock,
  openWatch,
  secretKey,
}: BesideWiring): Pick<CanaryParts, 'adoption' | 'flagger' | 'liveHeads'> & { readonly isShadow: boolean } {
  const tracksConfig = options.tracksConfig !== false;
  return {
    liveHeads: createLiveHeads({ cluster, secretKey, tracksConfig }),
    adoption: createAdoption({ cluster, dryRun, secretKey, tracksConfig }),
    flagger: watchFlagger(openWatch, clock, namespacesOf(options)),
    isShadow: options.shadow === true,
  };
}
