/** A Source as objects of Flux or of Argo CD. Pure. */
import { type KubernetesObject, present } from '../api/kubernetes.ts';
import type { Source, SourceRef, SourceSpec } from '../api/source/source.ts';
import { releaseNamespace } from '../render/units.ts';
import { pruneAfterAnnotation } from './facts.ts';
import { type FieldRule, folderIn, type Stop, stopsOf } from './field-rules.ts';

/** The other tool's objects, or why there are none. */
interface ToolObjects {
  readonly objects: readonly KubernetesObject[];
  readonly stops: readonly Stop[];
  readonly notes: readonly string[];
}

const noneThere = { stop: 'has no counterpart; remove it first' };
const both: Readonly<Record<string, FieldRule>> = {
  url: 'carried',
  ref: 'carried',
  path: 'carried',
  prune: 'carried',
  suspend: 'carried',
  secretRef: 'carried',
  defaultNamespace: 'carried',
  interval: 'carried',
  timeout: 'without effect',
  retryInterval: 'without effect',
  renderer: 'carried',
  wait: 'without effect',
  alerts: noneThere,
  windows: noneThere,
  write: noneThere,
  allow: noneThere,
  schedule: noneThere,
  timeZone: noneThere,
  apply: 'without effect',
};
const fluxRules: Readonly<Record<string, FieldRule>> = {
  ...both,
  proxySecretRef: 'carried',
  timeout: 'carried',
  retryInterval: 'carried',
  wait: 'carried',
  verify: 'carried',
  ignore: 'carried',
  decryption: 'carried',
  substitute: 'carried',
  serviceAccountName: 'carried',
  dependsOn: 'carried',
  force: 'carried',
  helm: { stop: 'a Kustomization does not render charts; create a HelmRelease by hand' },
};
const argoRules: Readonly<Record<string, FieldRule>> = {
  ...both,
  helm: 'carried',
  verify: noneThere,
  ignore: {
    stop: 'has no counterpart: move what it leaves out to folders outside of spec.path, and then remove it',
  },
  decryption: noneThere,
  substitute: noneThere,
  proxySecretRef: noneThere,
  serviceAccountName: noneThere,
  dependsOn: noneThere,
  force: noneThere,
};

/** A GitRepository and a Kustomization of the Source's name, which prunes nothing yet. */
export function fluxOfSource(source: Source): ToolObjects {
  const { spec } = source;
  const { namespace, name } = source.metadata;
  const metadata = { name, ...(namespace ? { namespace } : {}) };
  const { rewrite: _, ...ref } = spec.ref as SourceRef & { rewrite?: string };
  const strict = spec.substitute?.strict === true;
  const repository = present({
    interval: spec.interval ?? '30s',
    // Flux reads no address without a scheme.
    url: spec.url.replace(/^([^/@:]+@[^/@:]+):\/*(?!\/)/, 'ssh://$1/'),
    ref,
    secretRef: spec.secretRef,
    proxySecretRef: spec.proxySecretRef,
    ignore:
      spec.ignore && [...spec.ignore.map((rule) => fromRoot(rule, spec.path)), '.sops.yaml', ''].join('\n'),
    verify: spec.verify && { mode: spec.verify.mode ?? 'HEAD', secretRef: spec.verify.secretRef },
  });
  const kustomization = present({
    interval: '10m',
    path: spec.path,
    prune: false,
    sourceRef: { kind: 'GitRepository', name },
    timeout: spec.timeout,
    retryInterval: spec.retryInterval,
    targetNamespace: spec.defaultNamespace,
    serviceAccountName: spec.serviceAccountName,
    wait: spec.wait,
    force: spec.force,
    dependsOn: spec.dependsOn,
    decryption: spec.decryption && { provider: 'sops', ...spec.decryption },
    postBuild:
      spec.substitute &&
      present({ substitute: spec.substitute.variables, substituteFrom: spec.substitute.from }),
  });
  return {
    stops: [
      ...stopsOf(spec, fluxRules),
      ...rendererStops(spec, {
        helm: 'a Kustomization does not render charts; create a HelmRelease by hand',
        plain: 'Flux builds a kustomization.yaml where there is one; remove the field first',
      }),
      ...(strict
        ? [{ field: 'spec.substitute.strict', message: 'is a flag of Flux, not a field; remove it first' }]
        : []),
    ],
    notes: spec.defaultNamespace
      ? [
          'spec.defaultNamespace becomes targetNamespace, which also applies to objects that name another namespace',
        ]
      : [],
    objects: [
      { apiVersion: 'source.toolkit.fluxcd.io/v1', kind: 'GitRepository', metadata, spec: repository },
      {
        apiVersion: 'kustomize.toolkit.fluxcd.io/v1',
        kind: 'Kustomization',
        metadata: { ...metadata, ...prunesAfter(source) },
        spec: kustomization,
      },
    ],
  };
}

/** Flux's patterns begin at the root of the repository, a Source's at its path. Where there are any, Flux leaves out nothing by itself. */
function fromRoot(rule: string, path: string | undefined): string {
  const folder = folderIn(path)?.slice('./'.length);
  const [, not = '', pattern = ''] = /^(!?)(.*)$/.exec(rule) ?? [];
  const isTied = pattern.replace(/\/$/, '').includes('/') && !rule.startsWith('#');
  return folder && isTied ? `${not}/${folder}/${pattern.replace(/^\//, '')}` : rule;
}

/** An Application of the Source's name, which is synced by itself and prunes nothing yet. */
export function argoOfSource(source: Source): ToolObjects {
  const { spec } = source;
  const { namespace, name } = source.metadata;
  const { releaseName, namespace: ofRelease, valuesFiles, values, skipHooks } = spec.helm ?? {};
  const isChart = spec.helm !== undefined || spec.renderer === 'helm';
  const helm = present({
    releaseName,
    namespace: ofRelease,
    // There a slash in front is the root of the repository.
    valueFiles: valuesFiles?.map((file) => file.replace(/^\/+/, '')),
    valuesObject: values,
  });
  return {
    stops: [
      ...stopsOf(spec, argoRules),
      ...rendererStops(spec, {
        plain: 'Argo CD builds a kustomization.yaml or a chart where there is one; remove the field first',
      }),
      ...(skipHooks
        ? [
            {
              field: 'spec.helm.skipHooks',
              message: 'Argo CD would run the hooks; remove them from the chart',
            },
          ]
        : []),
    ],
    notes: [
      ...(spec.secretRef ? ['Argo CD takes credentials from a Secret of its own for this repository'] : []),
      'Argo CD corrects drift only with spec.syncPolicy.automated.selfHeal',
      'files in folders below the path are read only with spec.source.directory.recurse',
    ],
    objects: [
      {
        apiVersion: 'argoproj.io/v1alpha1',
        kind: 'Application',
        metadata: { name, ...(namespace ? { namespace } : {}), ...prunesAfter(source) },
        spec: {
          project: 'default',
          source: present({
            repoURL: spec.url,
            path: spec.path ?? '.',
            targetRevision: revisionOf(spec),
            helm: Object.keys(helm).length > 0 ? helm : undefined,
          }),
          destination: present({
            server: 'https://kubernetes.default.svc',
            namespace: isChart ? releaseNamespace(source) : spec.defaultNamespace,
          }),
          syncPolicy: { automated: {}, syncOptions: ['Prune=false'] },
        },
      },
    ],
  };
}

/** The other tools choose by the files alone. */
function rendererStops(
  { renderer = 'auto' }: SourceSpec,
  why: Partial<Record<NonNullable<SourceSpec['renderer']>, string>>,
): Stop[] {
  const message = why[renderer];
  return message === undefined ? [] : [{ field: 'spec.renderer', message }];
}

function revisionOf({ ref }: SourceSpec): string {
  const { branch, tag, semver, commit } = ref as {
    branch?: string;
    tag?: string;
    semver?: string;
    commit?: string;
  };
  return branch ?? tag ?? semver ?? commit ?? 'HEAD';
}

/** During the move `prune` is off; the annotation says whether it was on. */
function prunesAfter({ spec, metadata }: Source): { annotations?: Record<string, string> } {
  const prunes = spec.prune === true || metadata.annotations?.[pruneAfterAnnotation] === 'true';
  return prunes ? { annotations: { [pruneAfterAnnotation]: 'true' } } : {};
}
