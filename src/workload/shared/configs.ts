/** Tracked ConfigMaps and Secrets: under their own names for the canary, and as copies for the primary (flagger-behaviour.md 2.10). */
import type { Canary } from '../../api/canary/canary.ts';
import { livePart } from '../../api/commit.ts';
import {
  describe,
  type KubernetesObject,
  keepAwayAnnotations,
  ownerReference,
  ownLabels,
  type PodTemplate,
  present,
} from '../../api/kubernetes.ts';
import { configReferences, isFollowed, isTracked, type Release } from '../../release/release.ts';
import {
  commitAnnotation,
  configAnnotation,
  copiedByPrefix,
  copiedVersionAnnotation,
  copyName,
  digestAnnotation,
} from './metadata.ts';
import { RefusedError } from './refusal.ts';
import type { ConfigSources } from './workload-kind.ts';

/** Key of a config inside one namespace. */
export function configKey(kind: string, name: string): string {
  return `${kind}/${name}`;
}

/** Keys of the config that the pods of a workload name. */
export function configKeysIn(workload: KubernetesObject): Set<string> {
  return new Set(configReferences(workload).map(({ kind, name }) => configKey(kind, name)));
}

/** A config as it is written under its own name: only the fields in Git. Secrets' stringData becomes data, so that removed keys are deleted. */
export function plainConfig(config: KubernetesObject): KubernetesObject {
  const { name, namespace, labels, annotations } = config.metadata;
  return {
    apiVersion: config.apiVersion,
    kind: config.kind,
    metadata: { name, ...present({ namespace, labels, annotations }) },
    ...content(config),
    ...present({ immutable: config.immutable }),
  };
}

/** Copies for the primary; a live config that does not exist is left out (see `missingConfigs`). Throws RefusedError on a name clash. */
export function configCopies(sources: ConfigSources): KubernetesObject[] {
  const { canary, release, liveConfigs, includeLabelPrefixes } = sources;
  const named = new Set(release.liveConfigs.map(({ kind, name }) => configKey(kind, name)));
  const live = liveConfigs.filter(({ kind, metadata }) => named.has(configKey(kind, metadata.name)));
  const originals = [...release.configs, ...live].filter(isTracked);
  const taken = new Set(originals.map(({ kind, metadata }) => configKey(kind, metadata.name)));
  return originals.map((config) => {
    const name = copyNameOf(sources, config.kind, config.metadata.name);
    if (taken.has(configKey(config.kind, name)))
      throw new RefusedError({
        reason: 'NameTaken',
        object: describe(config),
        field: 'metadata.name',
        message: `the primary's copy would be ${config.kind} ${name}, which the workload uses itself; rename one of the two`,
      });
    return copyOf(config, name, { canary, release, prefixes: includeLabelPrefixes });
  });
}

/** New names for the references of the primary's pod template; depends on the release and not on which live objects exist today. */
export function primaryConfigNames(
  sources: ConfigSources,
): (kind: 'ConfigMap' | 'Secret', name: string) => string | undefined {
  const known = new Map(
    sources.liveConfigs.map((config) => [configKey(config.kind, config.metadata.name), isTracked(config)]),
  );
  const tracked = new Set([
    ...sources.release.configs.filter(isTracked).map(({ kind, metadata }) => configKey(kind, metadata.name)),
    ...sources.release.liveConfigs
      .map(({ kind, name }) => configKey(kind, name))
      .filter((key) => known.get(key) ?? !sources.untracked?.has(key)),
  ]);
  return (kind, name) => {
    return tracked.has(configKey(kind, name)) ? copyNameOf(sources, kind, name) : undefined;
  };
}

function copyNameOf(sources: ConfigSources, kind: string, name: string): string {
  return copyName(sources.canary, name, isShared(sources, kind, name));
}

/** Also a config whose copy would have the name of another's: for the target `web`, `settings-web` where `settings` is shared. */
function isShared(
  { canary, sharedConfigs }: Pick<ConfigSources, 'canary' | 'sharedConfigs'>,
  kind: string,
  name: string,
): boolean {
  const suffix = `-${canary.spec.targetRef.name}`;
  return (
    sharedConfigs.has(configKey(kind, name)) ||
    (name.endsWith(suffix) && isShared({ canary, sharedConfigs }, kind, name.slice(0, -suffix.length)))
  );
}

/** Required configs that are in neither Git nor the cluster. */
export function missingConfigs(
  sources: ConfigSources,
): Array<{ kind: 'ConfigMap' | 'Secret'; name: string }> {
  return absentConfigs(sources)
    .filter(({ optional }) => !optional)
    .map(({ kind, name }) => ({ kind, name }));
}

/** Copies of optional config that this release does not have: its pods would read what another release left there. */
export function unwantedCopies(sources: ConfigSources): ReturnType<typeof missingConfigs> {
  return absentConfigs(sources)
    .filter(({ optional }) => optional)
    .map(({ kind, name }) => ({ kind, name: copyNameOf(sources, kind, name) }));
}

function absentConfigs({ release, liveConfigs }: ConfigSources): Release['liveConfigs'] {
  const live = new Set(liveConfigs.map(({ kind, metadata }) => configKey(kind, metadata.name)));
  return release.liveConfigs.filter(({ kind, name }) => !live.has(configKey(kind, name)));
}

function copyOf(
  config: KubernetesObject,
  name: string,
  { canary, release, prefixes }: { canary: Canary; release: Release; prefixes: readonly string[] },
): KubernetesObject {
  const { resourceVersion } = config.metadata;
  // A config from Git has no version; one outside Git has, and a copy may follow it.
  const version = resourceVersion && isFollowed(config) ? { [copiedVersionAnnotation]: resourceVersion } : {};
  return {
    apiVersion: 'v1',
    kind: config.kind,
    metadata: {
      name,
      ...present({ namespace: canary.metadata.namespace }),
      labels: { ...copiedByPrefix(config.metadata.labels, prefixes), ...ownLabels(canary) },
      annotations: { ...keepAwayAnnotations, ...releaseAnnotations(release), ...version },
      ownerReferences: [ownerReference(canary)],
    },
    ...content(config),
  };
}

/** The annotations that say which release an object was written from. */
export function releaseAnnotations({ digest, commit }: Release): Record<string, string> {
  return { [digestAnnotation]: digest, ...(commit.commit ? { [commitAnnotation]: commit.commit } : {}) };
}

/** The content of a ConfigMap or Secret. `immutable` is not copied: the next release has to write the copy again. */
function content(config: KubernetesObject): Record<string, unknown> {
  if (config.kind !== 'Secret') return present({ data: config.data, binaryData: config.binaryData });
  const data = (withEncodedData(config).data ?? {}) as Record<string, string>;
  return { ...(Object.keys(data).length > 0 ? { data } : {}), ...present({ type: config.type }) };
}

/**
 * A Secret with what is in `stringData` in `data`, as the API server stores it: by `stringData` it would delete no key that is taken out, and what is
 * stored would never be as it was written. What the API server would refuse stays as it is.
 */
export function withEncodedData(object: KubernetesObject): KubernetesObject {
  const { stringData, ...secret } = object;
  const texts = Object.entries((stringData ?? {}) as Record<string, unknown>);
  if (
    object.kind !== 'Secret' ||
    stringData === undefined ||
    texts.some(([, text]) => typeof text !== 'string')
  )
    return object;
  const encoded = texts.map(([key, text]) => [key, Buffer.from(`${text}`, 'utf8').toString('base64')]);
  return { ...secret, data: { ...(secret.data as object | undefined), ...Object.fromEntries(encoded) } };
}

// A change of config alone must create new pods: a template names ConfigMaps and Secrets, not their content, and variables are read once. So the
// pod template carries a stamp of the config, the annotation `flagger-id`; unlike Flagger's it changes only with the config.

const stampAnnotation = 'flagger-id';

/** The stamp of a release's config, in Git and outside it; undefined when it tracks none. */
export function configStamp({
  configKey,
  digest,
}: Pick<Release, 'configKey' | 'digest'>): string | undefined {
  const parts = [configKey, livePart(digest)].filter((part) => part !== undefined);
  return parts.length > 0 ? parts.join('-') : undefined;
}

/**
 * The stamp of the primary. One with the same config keeps its stamp, and so does one that Holdfast did not write before: taking it
 * over restarts no pod.
 */
export function primaryStamp(
  release: Pick<Release, 'configKey' | 'digest'>,
  live: KubernetesObject | undefined,
): string | undefined {
  const stamp = configStamp(release);
  const { annotations = {} } = live?.metadata ?? {};
  const isSame = annotations[configAnnotation] === stamp;
  const isTakenOver = live !== undefined && annotations[digestAnnotation] === undefined;
  return isSame || isTakenOver ? stampOf(live) : stamp;
}

/** The template with the stamp on its pods. */
export function stamped(template: PodTemplate, stamp: string | undefined): PodTemplate {
  if (stamp === undefined) return template;
  const { metadata } = template;
  const annotations = { ...metadata?.annotations, [stampAnnotation]: stamp };
  return { ...template, metadata: { ...metadata, annotations } };
}

/** The stamp that the pods of a workload carry, if they do. */
export function stampOf(live: KubernetesObject | undefined): string | undefined {
  const { template } = (live?.spec ?? {}) as { template?: PodTemplate };
  return template?.metadata?.annotations?.[stampAnnotation];
}
