/** The Service of the new pods of a workload that is rolled out in place, for load tests (ADR 21). Requests of users do not use it. */
import type { Canary } from '../api/canary/canary.ts';
import { isGenerated, type KubernetesObject, type PodTemplate } from '../api/kubernetes.ts';
import { servicePorts } from '../release/ports.ts';
import { revisionHashLabel, templateHashLabel } from './pods/pods.ts';
import { generatedService } from './service/generated-services.ts';
import { promotedDigestOf, serviceNames, stepShareOf } from './shared/metadata.ts';
import type { RevisionPods } from './shared/workload-kind.ts';

/** Instead of the hash of new pods while there are none; no hash is like it. */
const noHash = 'none';

/** What the Service is made from. */
interface NativeServiceSource {
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

/** It is a Service of this kind: one that another provider left behind may carry traffic, and is not changed. */
export function isNativeService(live: KubernetesObject, canary: Canary): boolean {
  const selector = selectorOf(live);
  return isGenerated(live, canary) && (templateHashLabel in selector || revisionHashLabel in selector);
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
  const isTried = promotedDigestOf(target) !== undefined && (stepShareOf(target) ?? 0) > 0;
  const key = target.kind === 'Deployment' ? templateHashLabel : revisionHashLabel;
  return { key, value: (isTried ? revision?.label?.value : undefined) ?? noHash };
}

function selectorOf({ spec }: KubernetesObject): Readonly<Record<string, string>> {
  return (spec as { selector?: Record<string, string> } | undefined)?.selector ?? {};
}
