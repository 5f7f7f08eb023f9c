/** The Service of the new pods of a workload that is rolled out in place, for load tests (ADR 21). No request of users comes that way. */
import type { Canary } from '../../api/canary.ts';
import { isGenerated } from '../../api/generated-metadata.ts';
import type { KubernetesObject, PodTemplate } from '../../api/kubernetes.ts';
import { servicePorts } from '../../release/ports.ts';
import { serviceNames } from '../names.ts';
import { revisionHashLabel } from '../pods.ts';
import { generatedService } from '../services.ts';
import { promotedOf, shareOf } from './marks.ts';
import { hashLabel, type RevisionPods } from './revision-pods.ts';

/** Stands where the hash of new pods does while there are none; no hash is like it. */
const nobody = 'none';

/** What the Service is made from. */
export interface NativeServiceSource {
  readonly canary: Canary;
  readonly target: KubernetesObject;
  readonly revision: RevisionPods | undefined;
  readonly live: KubernetesObject | undefined;
}

/** Selects the pods of the release that is tried, and none without one. Undefined where a Service of another owner has its name. */
export function nativeService(source: NativeServiceSource): KubernetesObject | undefined {
  const { canary, target, revision, live } = source;
  if (live && !isNativeService(live, canary)) return undefined;
  const spec = target.spec as { selector?: { matchLabels?: Record<string, string> }; template: PodTemplate };
  const { key, value } = selected(target, revision);
  return generatedService(canary, {
    name: serviceNames(canary).canary,
    ports: servicePorts(canary.spec.service, spec.template),
    selector: { ...spec.selector?.matchLabels, [key]: value },
    labels: {},
    custom: canary.spec.service?.canary,
    live,
  });
}

/** It was made here: one that a copying provider left behind may carry traffic, and is not touched. */
export function isNativeService(live: KubernetesObject, canary: Canary): boolean {
  const selector = selectorOf(live);
  return isGenerated(live, canary) && (hashLabel in selector || revisionHashLabel in selector);
}

/** Why a check would not reach the new pods by their Service; undefined when it would, or when none is asked for. */
export function servicePending(source: NativeServiceSource): string | undefined {
  const { canary, target, revision, live } = source;
  if (!canary.spec.service || (live && !isNativeService(live, canary))) return undefined;
  const { key, value } = selected(target, revision);
  return live && selectorOf(live)[key] === value
    ? undefined
    : `Service ${serviceNames(canary).canary} does not select the new pods yet`;
}

function selected(
  target: KubernetesObject,
  revision: RevisionPods | undefined,
): { readonly key: string; readonly value: string } {
  const isTried = promotedOf(target) !== undefined && (shareOf(target) ?? 0) > 0;
  const key = target.kind === 'Deployment' ? hashLabel : revisionHashLabel;
  return { key, value: (isTried ? revision?.label?.value : undefined) ?? nobody };
}

function selectorOf({ spec }: KubernetesObject): Readonly<Record<string, string>> {
  return (spec as { selector?: Record<string, string> } | undefined)?.selector ?? {};
}
