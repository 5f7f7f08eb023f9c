import { sleep } from '../../api/clock.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { EngineError } from '../failure.ts';
import type { SourceParts } from './source-parts.ts';

/** A kind may become known a moment after its CRD was applied; so long one sync waits for all of them together. */
const newKindWaitMs = 10_000;
const newKindRetryMs = 500;

/** Makes sure that a kind is served before an object of it is written. */
export interface KindWait {
  /** A CRD was written just now: kinds that are missing are waited for. */
  expectNew(): void;
  /** Throws EngineError UnknownKind. */
  require(object: Pick<KubernetesObject, 'apiVersion' | 'kind'>): Promise<void>;
}

/** For one sync; nothing is expected yet. */
export function createKindWait({ cluster, clock }: Pick<SourceParts, 'cluster' | 'clock'>): KindWait {
  let waitUntilMs = 0;
  return {
    expectNew() {
      waitUntilMs = clock.nowMs() + newKindWaitMs;
    },
    async require({ apiVersion, kind }) {
      while (!(await cluster.kindOf(apiVersion, kind))) {
        if (clock.nowMs() >= waitUntilMs)
          throw new EngineError(
            'UnknownKind',
            `the cluster serves no ${kind} of ${apiVersion}; install its CustomResourceDefinition first`,
            true,
          );
        await sleep(clock, newKindRetryMs);
      }
    },
  };
}
