/** The marks by which other tools know the objects that they apply. Labels and annotations are those the tools themselves document. */
import type { KubernetesObject } from '../api/kubernetes.ts';
import { managedFieldsOf } from '../workload/compare/managed-fields.ts';

/** One tool's mark on an object. */
export interface Track {
  readonly tool: string;
  /** What applies it, in words for people. */
  readonly detail: string;
  readonly kind: 'Kustomization' | 'HelmRelease' | 'Release' | 'Application';
  /** As the mark says it: `namespace/name`; Argo CD's is `name` or `namespace_name`. */
  readonly owner: string;
  /** Keys of the labels and annotations that are the mark. */
  readonly labels: readonly string[];
  readonly annotations: readonly string[];
}

/** Argo CD's field managers. */
export const argoManagers: readonly string[] = ['argocd-controller', 'argocd-application-controller'];

/** Label that Argo CD tracks by if it is told to track by labels and not by which; charts and people set it, too. */
export const commonInstanceLabel = 'app.kubernetes.io/instance';

/** Every mark on the object, the strongest first. Pure. */
export function tracksOn(object: Pick<KubernetesObject, 'metadata'>): Track[] {
  const { labels = {}, annotations = {} } = object.metadata;
  return [
    ...toolkitTrack(labels, { group: 'kustomize.toolkit.fluxcd.io', kind: 'Kustomization' }),
    ...toolkitTrack(labels, { group: 'helm.toolkit.fluxcd.io', kind: 'HelmRelease' }),
    ...helmTrack(annotations),
    ...argoTracks(object),
  ];
}

type Marks = Readonly<Record<string, string>>;

function toolkitTrack(
  labels: Marks,
  { group, kind }: { group: string; kind: 'Kustomization' | 'HelmRelease' },
): Track[] {
  const keys = [`${group}/name`, `${group}/namespace`] as const;
  const name = labels[keys[0]];
  if (!name) return [];
  const owner = `${labels[keys[1]] ?? ''}/${name}`;
  return [{ tool: 'Flux', detail: `${kind} ${owner}`, kind, owner, labels: keys, annotations: [] }];
}

function helmTrack(annotations: Marks): Track[] {
  const keys = ['meta.helm.sh/release-name', 'meta.helm.sh/release-namespace'] as const;
  const name = annotations[keys[0]];
  if (!name) return [];
  const owner = `${annotations[keys[1]] ?? ''}/${name}`;
  return [{ tool: 'Helm', detail: `release ${name}`, kind: 'Release', owner, labels: [], annotations: keys }];
}

function argoTracks(object: Pick<KubernetesObject, 'metadata'>): Track[] {
  const { labels = {}, annotations = {} } = object.metadata;
  const [id, label] = ['argocd.argoproj.io/tracking-id', 'argocd.argoproj.io/instance'];
  const tracked = annotations[id]?.split(':')[0];
  const of = (owner: string) =>
    ({ tool: 'Argo CD', detail: `application ${owner}`, kind: 'Application', owner }) as const;
  const byLabel = [label, ...(!tracked && isWrittenByArgo(object) ? [commonInstanceLabel] : [])];
  return [
    ...(tracked ? [{ ...of(tracked), labels: [], annotations: [id] }] : []),
    ...byLabel.flatMap((key) => {
      const instance = labels[key];
      return instance ? [{ ...of(instance), labels: [key], annotations: [] }] : [];
    }),
  ];
}

/** Whether an entry of the resources that an Application lists is this object. */
export function isListedAs(
  { kind, metadata }: KubernetesObject,
  entry: Readonly<Record<string, unknown>>,
): boolean {
  return entry.kind === kind && entry.name === metadata.name && entry.namespace === metadata.namespace;
}

function isWrittenByArgo(object: Pick<KubernetesObject, 'metadata'>): boolean {
  return managedFieldsOf(object).some(({ manager = '', fieldsV1 }) => {
    const fields = fieldsV1 as { 'f:metadata'?: { 'f:labels'?: Record<string, unknown> } } | undefined;
    const written = fields?.['f:metadata']?.['f:labels']?.[`f:${commonInstanceLabel}`];
    return written !== undefined && argoManagers.includes(manager);
  });
}
