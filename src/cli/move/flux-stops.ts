/** Which fields of a Kustomization and of its GitRepository stop a move. Pure. */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { type FieldRule, folderIn, type Stop, stopsOf, urlStops } from './carried.ts';
import { type Fields, ignoreIn } from './flux-fields.ts';

const inGit = 'put it into kustomization.yaml in the repository first, where Flux and Holdfast read it alike';

const kustomizationRules: Readonly<Record<string, FieldRule>> = {
  ...{
    interval: 'without effect',
    path: 'carried',
    prune: 'carried',
    sourceRef: 'carried',
    force: 'carried',
  },
  ...{ retryInterval: 'carried', timeout: 'carried', wait: 'carried', healthChecks: 'carried' },
  ...{ dependsOn: 'carried', serviceAccountName: 'carried', targetNamespace: 'carried' },
  ...{ postBuild: 'carried', decryption: 'carried', suspend: 'carried', deletionPolicy: 'carried' },
  patches: { stop: inGit },
  patchesStrategicMerge: { stop: inGit },
  patchesJson6902: { stop: inGit },
  images: { stop: inGit },
  components: { stop: inGit },
  namePrefix: { stop: inGit },
  nameSuffix: { stop: inGit },
  commonMetadata: { stop: inGit },
  buildMetadata: { stop: 'a Source adds no such annotations; take it out first' },
  kubeConfig: { stop: 'a Source applies to its own cluster; run Holdfast in the other one' },
  healthCheckExprs: { stop: 'say it on the objects: holdfast.dev/healthy-when' },
  ignoreMissingComponents: { stop: inGit },
  ignore: { stop: 'say it on the objects: holdfast.dev/ignore-fields' },
};

const repositoryRules: Readonly<Record<string, FieldRule>> = {
  ...{ url: 'carried', ref: 'carried', interval: 'carried', secretRef: 'carried', timeout: 'carried' },
  ...{ verify: 'carried', ignore: 'carried', sparseCheckout: 'without effect' },
  suspend: {
    stop: 'Flux does not follow it now, so that what is applied may not be its head; resume it first',
  },
  recurseSubmodules: { stop: 'submodules are not read; copy the manifests' },
  include: { stop: 'a Source reads one repository; make one of each' },
  proxySecretRef: 'carried',
  serviceAccountName: { stop: 'identities of clouds are not spoken; use a token in spec.secretRef' },
};

/** Of the Kustomization, but for what its fields say inside. */
export function kustomizationStops(spec: Fields, git: Fields): Stop[] {
  return [
    ...stopsOf(spec, kustomizationRules),
    ...referenceStops(spec),
    ...dependencyStops(spec),
    ...ignoreStops(spec, git),
  ];
}

function referenceStops(spec: Fields): Stop[] {
  const { kind } = (spec.sourceRef ?? {}) as { kind?: string };
  if (kind === 'GitRepository') return [];
  return [{ field: 'spec.sourceRef.kind', message: `a Source follows Git alone, not ${kind ?? 'nothing'}` }];
}

/** Of the GitRepository; its fields are named `GitRepository spec.x`. */
export function repositoryStops(kustomization: KubernetesObject, repository: KubernetesObject): Stop[] {
  const git = (repository.spec ?? {}) as Fields;
  const own = (stop: Stop): Stop => ({ ...stop, field: `GitRepository ${stop.field}` });
  const { provider = 'generic', ...rest } = git;
  const { name } = (git.ref ?? {}) as Fields;
  const isElsewhere = kustomization.metadata.namespace !== repository.metadata.namespace;
  const namesSecret = [git.secretRef, git.verify, git.proxySecretRef].some(Boolean);
  const { provider: signer = 'git' } = (git.verify ?? {}) as Fields;
  const found: Array<Stop | false> = [
    name !== undefined && { field: 'spec.ref.name', message: 'use branch, tag, semver or commit' },
    provider !== 'generic' &&
      provider !== 'github' && {
        field: 'spec.provider',
        message: 'identities of clouds are not spoken; use a token in spec.secretRef',
      },
    isElsewhere &&
      namesSecret && {
        field: 'spec.secretRef',
        message:
          "a Source reads Secrets of its own namespace, which is the Kustomization's; copy them there, and name a GitRepository of that namespace",
      },
    signer !== 'git' && { field: 'spec.verify.provider', message: 'is not known here' },
  ];
  return [
    ...stopsOf(rest, repositoryRules),
    ...urlStops(git.url, 'spec.url'),
    ...found.filter((stop) => stop !== false),
  ].map(own);
}

function dependencyStops({ dependsOn }: Fields): Stop[] {
  const names = (Array.isArray(dependsOn) ? dependsOn : []) as Array<{ readyExpr?: string }>;
  if (!names.some(({ readyExpr }) => readyExpr)) return [];
  return [{ field: 'spec.dependsOn', message: 'readyExpr has no counterpart; take it out first' }];
}

/** Flux's patterns begin at the root of the repository, a Source's at its path. */
function ignoreStops({ path }: Fields, git: Fields): Stop[] {
  const isTied = (ignoreIn(git) ?? []).some((rule) => rule.replace(/\/$/, '').includes('/'));
  if (!folderIn(path) || !isTied) return [];
  return [
    {
      field: 'GitRepository spec.ignore',
      message:
        'patterns with a slash begin at the root there and at spec.path here; use patterns without one',
    },
  ];
}
