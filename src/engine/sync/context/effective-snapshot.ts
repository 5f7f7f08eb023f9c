/**
 * What a Source keeps applied while something else than its head is in force for a Canary: head, but the config of that release (design
 * section 5, S16). Apply and drift work on it, so that the source loop and the rollout never write against each other; prune leaves `keep`
 * alone.
 */
import type { CanaryStatus } from '../../../api/canary/status.ts';
import { gitPart } from '../../../api/commit.ts';
import { keyOf, type NamespacedName, objectKey } from '../../../api/kubernetes.ts';
import { isService, type Release } from '../../../release/release.ts';
import type { RenderedObject } from '../../../render/rendered-object.ts';
import { plainConfig } from '../../../workload/shared/configs.ts';
import { configKeysOf } from '../scope/canary-objects.ts';

/** What a Source is to apply of one snapshot. */
export interface EffectiveRest {
  readonly rest: readonly RenderedObject[];
  /** `objectKey` of the config that a release other than head's needs, whatever head says. */
  readonly keep: ReadonlySet<string>;
}

/** A release that one of a Source's Canaries lives by although head is another one. */
export interface InForce {
  readonly canary: NamespacedName;
  readonly digest: string;
  /** Its config counts in the place of head's; otherwise it only has to stay there. */
  readonly isApplied: boolean;
  /** Its target, a Service, counts in the place of head's: who calls it past the route gets what has proved itself. */
  readonly holdsTarget?: boolean;
}

/** The same with its bytes. */
export interface ReleaseInForce extends InForce {
  readonly release: Pick<Release, 'target' | 'configs'>;
}

/**
 * What a Canary depends on besides head. A release under way that head has left is in force while the newer one waits for its end. Without a
 * release under way it is the last-known-good where head is rejected, broken (S24) or gone. A last-known-good that head replaces in order
 * is kept until the new one has proved itself.
 */
export function inForceOf(canary: NamespacedName, status: CanaryStatus, head: string | undefined): InForce[] {
  const { run, postPromotion, lastKnownGood, rejected = [] } = status;
  const isHead = (digest: string): boolean => head !== undefined && gitPart(digest) === gitPart(head);
  const keepsNewerWaiting = postPromotion !== undefined || run?.rollback !== undefined;
  const found: InForce[] = [];
  if (run?.digest !== undefined && !isHead(run.digest) && keepsNewerWaiting)
    found.push({ canary, digest: run.digest, isApplied: true });
  const good = lastKnownGood?.digest;
  if (good === undefined || isHead(good) || found.some(({ digest }) => digest === good)) return found;
  const isHeadOut = head === undefined || rejected.some(({ digest }) => isHead(digest));
  return [...found, { canary, digest: good, isApplied: run === undefined && isHeadOut }];
}

/** The same, with the last-known-good in force for a target of kind Service until another release has taken its place. */
export function withTargetHeld(inForce: readonly InForce[], { lastKnownGood }: CanaryStatus): InForce[] {
  return inForce.map((one) => ({ ...one, holdsTarget: one.digest === lastKnownGood?.digest }));
}

/** Names what is applied in the place of head's; when it changes, a snapshot means something else. */
export function inForceKey(inForce: readonly InForce[]): string {
  return inForce
    .filter(({ isApplied, holdsTarget }) => isApplied || holdsTarget)
    .map(({ canary, digest }) => `${keyOf(canary)} ${digest}`)
    .join(',');
}

/** Head's objects; config that a release in force tracks, and a Service that it holds, are as that release says. */
export function effectiveRest(
  rest: readonly RenderedObject[],
  inForce: readonly ReleaseInForce[],
): EffectiveRest {
  const applied = inForce.filter(({ isApplied }) => isApplied).flatMap(({ release }) => release.configs);
  const configs = new Map(applied.map((config) => [objectKey(config), plainConfig(config)]));
  const services = new Map(
    inForce
      .flatMap(({ holdsTarget, release }) =>
        holdsTarget && isService(release.target) ? [release.target] : [],
      )
      .map((target) => [objectKey(target), target.spec]),
  );
  return {
    rest: rest.map((entry) => {
      const key = objectKey(entry.object);
      const object = services.has(key) ? { ...entry.object, spec: services.get(key) } : configs.get(key);
      return object ? { ...entry, object } : entry;
    }),
    keep: new Set(inForce.flatMap(({ release }) => configKeysOf(release.target))),
  };
}
