/** A Kustomization of Flux and its GitRepository as a Source. Pure. */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { present } from '../../api/present.ts';
import type { SourceSpec } from '../../api/source.ts';
import { type Carried, folderIn } from './carried.ts';
import {
  decryptionIn,
  dependsOnIn,
  type Fields,
  ignoreIn,
  nameIn,
  refOf,
  substituteIn,
  text,
  verifyIn,
} from './flux-fields.ts';
import { kustomizationStops, repositoryStops } from './flux-stops.ts';

/** What the Source says, and which fields of the two stop it. Fields of the repository are named `GitRepository spec.x`. */
export function sourceOfFlux(
  kustomization: KubernetesObject,
  repository: KubernetesObject | undefined,
): Carried {
  const spec = (kustomization.spec ?? {}) as Fields;
  const git = (repository?.spec ?? {}) as Fields;
  const [decryption, substitute] = [decryptionIn(spec), substituteIn(spec)];
  const stops = [
    ...kustomizationStops(spec, git),
    ...decryption.stops,
    ...substitute.stops,
    ...(repository ? repositoryStops(kustomization, repository) : []),
  ];
  const waits = spec.wait === true || (Array.isArray(spec.healthChecks) && spec.healthChecks.length > 0);
  return {
    stops,
    notes: notesOn(spec),
    spec: {
      url: String(git.url ?? ''),
      ref: refOf(git.ref as Fields | undefined),
      ...present({
        path: folderIn(spec.path),
        interval: text(git.interval),
        timeout: text(spec.timeout) ?? text(git.timeout),
        retryInterval: text(spec.retryInterval),
        secretRef: nameIn(git.secretRef),
        proxySecretRef: nameIn(git.proxySecretRef),
        verify: verifyIn(git),
        ignore: ignoreIn(git),
        decryption: decryption.value,
        substitute: substitute.value,
        defaultNamespace: text(spec.targetNamespace),
        serviceAccountName: text(spec.serviceAccountName),
        dependsOn: dependsOnIn(spec),
        force: spec.force === true ? true : undefined,
        wait: waits ? true : undefined,
      }),
      prune: false,
    } as SourceSpec,
  };
}

/** The GitRepository that a Kustomization names, `namespace/name`; undefined: it names another kind. */
export function repositoryOf({
  spec,
  metadata,
}: KubernetesObject): { namespace: string; name: string } | undefined {
  const { kind, name, namespace } = ((spec ?? {}) as { sourceRef?: Record<string, string> }).sourceRef ?? {};
  return kind === 'GitRepository' && name
    ? { namespace: namespace ?? metadata.namespace ?? '', name }
    : undefined;
}

function notesOn(spec: Fields): string[] {
  const found: Array<string | false> = [
    Boolean(spec.targetNamespace) &&
      'spec.targetNamespace becomes defaultNamespace, which objects that name a namespace themselves do not follow',
    Array.isArray(spec.healthChecks) &&
      spec.wait !== true &&
      spec.healthChecks.length > 0 &&
      'spec.healthChecks becomes wait: true, which waits for everything that is applied',
    Boolean(spec.interval) &&
      'spec.interval has no counterpart: what somebody changes is put back within seconds; Git is asked every interval of the GitRepository',
  ];
  return found.filter((note) => note !== false);
}
