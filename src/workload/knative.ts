/**
 * Knative Services as targets (flagger-behaviour.md 2.10, 3.12): no copies. Both sides are revisions of the one Service: the canary is the
 * newest, the primary the one that an annotation names, and the Service itself divides the requests between them.
 */
import type { KubernetesObject, PodTemplate } from '../api/kubernetes.ts';
import { releaseAnnotations } from './configs.ts';
import type { WorkloadKind, WorkloadSource } from './kind.ts';
import { viewKnative } from './knative-view.ts';
import { copied, withoutBookkeeping } from './metadata.ts';
import { settingsAnnotation } from './names.ts';
import { atRestAnnotation, restPatch } from './service-view.ts';

/** The kind of revisions, which Knative makes. */
export const revisionKind = { apiVersion: 'serving.knative.dev/v1', kind: 'Revision' };

/** The Knative entry of the table of kinds. */
export const knative: WorkloadKind = {
  apiVersion: 'serving.knative.dev/v1',
  kind: 'Service',
  watches: [revisionKind],
  sides: 'revisions',
  canary: (source) => withTemplate(source, { [atRestAnnotation]: String(source.replicas === 0) }),
  primary: (source) => withTemplate(source, {}),
  settingsPatch: ({ settingsKey }) => ({ metadata: { annotations: { [settingsAnnotation]: settingsKey } } }),
  scalePatch: restPatch,
  view: viewKnative,
};

/** The Service with the template of a release. Its traffic is not among the fields: that is the route's. */
function withTemplate(
  { canary, release, settingsKey }: WorkloadSource,
  annotations: Readonly<Record<string, string>>,
): KubernetesObject {
  const { apiVersion, kind, metadata, spec } = release.target;
  const { traffic: _, ...rest } = spec as Record<string, unknown>;
  return {
    apiVersion,
    kind,
    metadata: {
      name: metadata.name,
      namespace: metadata.namespace ?? canary.metadata.namespace ?? 'default',
      ...(metadata.labels ? { labels: metadata.labels } : {}),
      annotations: {
        ...withoutBookkeeping(metadata.annotations),
        ...releaseAnnotations(release),
        [settingsAnnotation]: settingsKey,
        ...annotations,
      },
    },
    spec: rest,
  };
}

/** The target as it was when a revision was made of it, as far as the revision tells. */
export function adoptedRevision(revision: KubernetesObject, target: KubernetesObject): KubernetesObject {
  const { labels, annotations } = revision.metadata;
  const metadata = { labels: own(labels), annotations: own(annotations) };
  const template = { metadata, spec: revision.spec } as unknown as PodTemplate;
  return { ...target, spec: { template } };
}

function own(entries: Readonly<Record<string, string>> | undefined): Record<string, string> {
  const kept = Object.entries(copied(entries)).filter(([key]) => !/(^|\.)knative\.dev\//.test(key));
  return Object.fromEntries(kept);
}
