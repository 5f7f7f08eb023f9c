/** An Application of Argo CD as a Source. Pure. */
import { isRecord, type KubernetesObject, listOf, present, recordOf } from '../../api/kubernetes.ts';
import { limits } from '../../api/limits.ts';
import { isSshAddress } from '../../api/source/git-address.ts';
import type { SourceHelm, SourceRef, SourceSpec } from '../../api/source/source.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { onApiError } from '../../cluster/errors.ts';
import { scanFile } from '../../render/yaml/scan.ts';
import {
  type ConvertedSource,
  type FieldRule,
  folderIn,
  listStops,
  type Stop,
  stopsOf,
  urlStops,
} from '../field-rules.ts';

type Fields = Readonly<Record<string, unknown>>;

const inGit = 'move it to kustomization.yaml in the repository first; Argo CD and Holdfast both read that';

const specRules: Readonly<Record<string, FieldRule>> = {
  source: 'carried',
  destination: 'carried',
  syncPolicy: 'carried',
  project: 'carried',
  revisionHistoryLimit: 'without effect',
  info: 'without effect',
  sources: { stop: 'a Source reads one repository; make one Application of each first' },
  sourceHydrator: { stop: 'a Source renders manifests itself; follow the hydrated branch' },
  ignoreDifferences: { stop: 'set holdfast.dev/ignore-fields on the objects instead' },
};

const sourceRules: Readonly<Record<string, FieldRule>> = {
  repoURL: 'carried',
  path: 'carried',
  targetRevision: 'carried',
  name: 'without effect',
  helm: 'carried',
  directory: 'carried',
  chart: { stop: 'a Source reads only Git; keep the chart in the repository' },
  plugin: { stop: 'a Source has no plugins; keep the rendered manifests in the repository' },
  kustomize: { stop: inGit },
  ref: { stop: 'a Source reads one repository' },
};

const directoryRules: Readonly<Record<string, FieldRule>> = {
  recurse: 'carried',
  include: { stop: 'use spec.ignore of the Source, or move the files to a folder of their own' },
  exclude: { stop: 'use spec.ignore of the Source, or move the files to a folder of their own' },
  jsonnet: { stop: 'Jsonnet is not rendered' },
};

const elsewhere = 'move the values to values files in the repository, or to spec.source.helm.valuesObject';
const helmRules: Readonly<Record<string, FieldRule>> = {
  releaseName: 'carried',
  valueFiles: 'carried',
  values: 'carried',
  valuesObject: 'carried',
  namespace: 'carried',
  skipTests: 'without effect',
  skipSchemaValidation: 'without effect',
  version: 'without effect',
  parameters: { stop: elsewhere },
  fileParameters: { stop: elsewhere },
  ignoreMissingValueFiles: { stop: 'list only files that exist' },
  passCredentials: { stop: 'nothing is downloaded while a chart is rendered' },
  skipCrds: { stop: 'CRDs of a chart are always rendered' },
  kubeVersion: { stop: 'a chart is always rendered for this cluster' },
  apiVersions: { stop: 'a chart is always rendered for this cluster' },
};

/** A Secret in which Argo CD keeps what it signs in with. */
export interface ArgoCredentials {
  readonly name: string;
  readonly hasKnownHosts: boolean;
}

/** What the Source says, and which fields stop it. */
export function sourceOfArgo(
  application: KubernetesObject,
  credentials: ArgoCredentials | undefined,
): ConvertedSource {
  const spec = (application.spec ?? {}) as Fields;
  const broken = [
    ...listStops(application.metadata.finalizers, 'metadata.finalizers'),
    ...brokenFields(spec),
  ];
  if (broken.length > 0) return { stops: broken, notes: [], spec: {} as SourceSpec };
  const source = (spec.source ?? {}) as Fields;
  const helm = helmOf(application, source);
  const { ref, why } = refOf(source.targetRevision);
  const destination = (spec.destination ?? {}) as Fields;
  const isHere = destination.server === 'https://kubernetes.default.svc' || destination.name === 'in-cluster';
  return {
    stops: [
      ...stopsOf(spec, specRules),
      ...stopsOf(source, sourceRules, 'spec.source'),
      ...stopsOf((source.directory ?? {}) as Fields, directoryRules, 'spec.source.directory'),
      ...sourceStops(spec, why),
      ...sshStops(application, source, credentials),
      ...(isHere ? [] : [destinationStop]),
      ...helm.stops,
    ],
    notes: notesOn(application, credentials),
    spec: {
      url: String(source.repoURL ?? ''),
      ref: ref ?? { branch: 'main' },
      ...present({
        path: folderIn(source.path),
        secretRef: credentials && { name: credentials.name },
        defaultNamespace: typeof destination.namespace === 'string' ? destination.namespace : undefined,
        helm: helm.value,
      }),
      prune: false,
    } as SourceSpec,
  };
}

/** Where `source` is missing, what takes its place has stopped the move already. */
function sourceStops({ source, sources, sourceHydrator }: Fields, why: Stop | undefined): Stop[] {
  if (!source && (sources || sourceHydrator)) return [];
  return [...urlStops(recordOf(source).repoURL, 'spec.source.repoURL'), ...(why ? [why] : [])];
}

/** What the API server would refuse, too. In a file a field may be there without a value. */
function brokenFields(spec: Fields): Stop[] {
  const { source, syncPolicy } = spec;
  const isMap = (value: unknown) => value == null || isRecord(value);
  const maps: Fields = {
    'spec.source': source,
    'spec.source.directory': recordOf(source).directory,
    'spec.source.helm': recordOf(source).helm,
    'spec.destination': spec.destination,
    'spec.syncPolicy': syncPolicy,
    'spec.syncPolicy.automated': recordOf(syncPolicy).automated,
  };
  const stops = Object.entries(maps)
    .filter(([, value]) => !isMap(value))
    .map(([field]) => ({ field, message: 'must be a map' }));
  const options = recordOf(syncPolicy).syncOptions ?? [];
  const isList = Array.isArray(options) && options.every((option) => typeof option === 'string');
  return isList
    ? stops
    : [...stops, { field: 'spec.syncPolicy.syncOptions', message: 'must be a list of texts' }];
}

const destinationStop: Stop = {
  field: 'spec.destination',
  message: 'a Source applies to its own cluster; run Holdfast in the other one',
};

const revisionStop = (message: string) => ({ why: { field: 'spec.source.targetRevision', message } });

/** Argo CD keeps the host keys of all servers in one ConfigMap, a Source in its Secret. */
function sshStops(
  { metadata: { namespace = 'argocd' } }: KubernetesObject,
  { repoURL }: Fields,
  credentials: ArgoCredentials | undefined,
): Stop[] {
  if (!isSshAddress(String(repoURL ?? '')) || credentials?.hasKnownHosts) return [];
  const field = 'spec.source.repoURL';
  if (!credentials)
    return [{ field, message: `no Secret with the SSH key of this repository was found in ${namespace}` }];
  const patch = `kubectl -n ${namespace} get configmap argocd-ssh-known-hosts-cm -o jsonpath='{.data.ssh_known_hosts}' | jq -Rs '{stringData: {known_hosts: .}}' | kubectl -n ${namespace} patch secret ${credentials.name} --patch-file=/dev/stdin`;
  return [
    {
      field,
      message: `Secret ${namespace}/${credentials.name} has no known_hosts, by which a Source knows the server; add those of Argo CD: ${patch}`,
    },
  ];
}

/** Argo CD does not say whether a name is a branch or a tag: versions are taken for tags. */
function refOf(revision: unknown): { ref?: SourceRef; why?: Stop } {
  const text = typeof revision === 'string' ? revision : '';
  if (text === '' || text === 'HEAD') return revisionStop('HEAD does not name a branch; set the branch');
  if (/^[0-9a-f]{40}$/i.test(text)) return { ref: { commit: text.toLowerCase() } };
  // Argo CD looks for a branch or tag of this name, and then takes it for the beginning of a commit.
  if (/^[0-9a-f]{7,39}$/i.test(text))
    return revisionStop(
      'may be a shortened commit or a name; write all 40 digits of the commit, or refs/heads/NAME or refs/tags/NAME',
    );
  const [, kind, name = ''] = /^refs\/(heads|tags)\/(.+)$/.exec(text) ?? [];
  if (kind) return { ref: kind === 'heads' ? { branch: name } : { tag: name } };
  // `release-1.x` is a branch.
  const beginsAsRange = /^\s*(?:[*^~<>=!]|v?\d|[xX](?:\.|$))/.test(text);
  if (beginsAsRange && /[*^~<>\s]|(?:^|\.)[xX](?:\.|$)/.test(text)) return { ref: { semver: text } };
  return { ref: /^v?\d+\.\d+\.\d+/.test(text) ? { tag: text } : { branch: text } };
}

function helmOf(
  { metadata }: KubernetesObject,
  { helm, path }: Fields,
): { value?: SourceHelm; stops: readonly Stop[] } {
  if (!helm) return { stops: [] };
  const given = helm as Fields;
  const stops = stopsOf(given, helmRules, 'spec.source.helm');
  const values = (given.valuesObject ?? textValues(given.values)) as
    | Record<string, unknown>
    | undefined
    | 'broken';
  const outside = listOf(given.valueFiles).filter((file) => /^(?:\$|\w+:)/.test(String(file)));
  return {
    stops: [
      ...stops,
      ...(values === 'broken' ? [{ field: 'spec.source.helm.values', message: 'is not a YAML map' }] : []),
      ...(outside.length > 0
        ? [{ field: 'spec.source.helm.valueFiles', message: 'values files must be in the repository' }]
        : []),
    ],
    value: present({
      releaseName: String(given.releaseName ?? metadata.name),
      namespace: typeof given.namespace === 'string' ? given.namespace : undefined,
      valuesFiles: Array.isArray(given.valueFiles)
        ? given.valueFiles.map((file) => fromFolder(folderIn(path), String(file)))
        : undefined,
      values: values === 'broken' ? undefined : values,
    }) as SourceHelm,
  };
}

/** To Argo CD a slash in front is the root of the repository, to a Source the folder of the chart. */
function fromFolder(folder: string | undefined, file: string): string {
  if (!file.startsWith('/')) return file;
  const up = (folder ?? '.').split('/').filter((part) => part !== '.');
  return [...up.map(() => '..'), file.replace(/^\/+/, '')].join('/');
}

/** As Helm reads them: `no` is false, and `0644` an octal number. */
function textValues(values: unknown): Record<string, unknown> | 'broken' | undefined {
  if (typeof values !== 'string') return undefined;
  const scanned = scanFile({ path: '', bytes: new TextEncoder().encode(values) }, limits);
  if (!scanned.ok) return 'broken';
  const [document, second] = scanned.documents;
  if (!document) return undefined;
  return !second && isRecord(document.value) ? document.value : 'broken';
}

function notesOn({ spec }: KubernetesObject, credentials: ArgoCredentials | undefined): string[] {
  const {
    project,
    source,
    syncPolicy: policy,
  } = (spec ?? {}) as {
    project?: string;
    source?: { directory?: { recurse?: boolean } | null; helm?: unknown } | null;
    syncPolicy?: (SyncPolicy & { managedNamespaceMetadata?: unknown }) | null;
  };
  const syncPolicy = policy ?? {};
  const recurse = source?.directory?.recurse === true;
  const { automated } = syncPolicy;
  const options = (syncPolicy.syncOptions ?? []).filter(
    (option) => !/^(?:ServerSideApply|Prune)=/.test(option),
  );
  const found: Array<string | false> = [
    project !== undefined &&
      project !== 'default' &&
      `the restrictions and sync windows of project ${project} are not migrated: use spec.allow, serviceAccountName and windows of the Source`,
    Boolean(syncPolicy.syncOptions?.includes(askToPrune)) &&
      `sync option ${askToPrune} is not carried, and the Source does not prune: to be asked before each deletion, set the annotation argocd.argoproj.io/sync-options: ${askToPrune} on the objects, and then spec.prune of the Source`,
    options.length > 0 && `sync options have no counterpart: ${options.join(', ')}`,
    Boolean(syncPolicy.managedNamespaceMetadata) &&
      'spec.syncPolicy.managedNamespaceMetadata has no counterpart: set these labels and annotations in the manifest of the Namespace',
    !(automated?.selfHeal === true && automated.enabled !== false) &&
      'a Source applies every commit and corrects drift by itself, also where Argo CD waited for a manual sync or had no selfHeal: to choose when a release starts, use spec.windows or a gate',
    !recurse &&
      !source?.helm &&
      'without spec.source.directory.recurse Argo CD reads no folders below the path, but a Source does, where no kustomization.yaml or chart says otherwise: move them elsewhere first, or name them in spec.ignore of the Source',
    credentials === undefined && 'a repository that asks for credentials needs spec.secretRef',
    'sync waves are ignored: objects are applied in the order of their kinds, and only spec.wait waits for health',
  ];
  return found.filter((note) => note !== false);
}

/** Of an Application. In a file a field may be there without a value. */
export interface SyncPolicy {
  readonly automated?: {
    readonly prune?: boolean;
    readonly enabled?: boolean;
    readonly selfHeal?: boolean;
  } | null;
  readonly syncOptions?: readonly string[] | null;
}

/** The option by which an Application deletes nothing, whatever `automated.prune` says. */
export const noPrune = 'Prune=false';

/** The option by which a person confirms each deletion. */
const askToPrune = 'Prune=confirm';

/** Whether Argo CD deletes what left Git. */
export function prunesByItself(policy: SyncPolicy | null | undefined): boolean {
  const { automated, syncOptions } = policy ?? {};
  return (
    automated?.prune === true &&
    automated.enabled !== false &&
    !(Array.isArray(syncOptions) && [noPrune, askToPrune].some((option) => syncOptions.includes(option)))
  );
}

/** The Secret in which Argo CD keeps what it logs in with at this address; undefined where there is none, or none may be seen. Throws ApiError. */
export async function readCredentials(
  client: ClusterClient,
  namespace: string,
  url: string,
): Promise<ArgoCredentials | undefined> {
  const found: Array<ArgoCredentials & { url: string; isForAll: boolean }> = [];
  for (const type of ['repository', 'repo-creds']) {
    const labelSelector = `argocd.argoproj.io/secret-type=${type}`;
    const { items } = await client
      .list('v1', 'Secret', { namespace, labelSelector })
      .catch(onApiError(['forbidden'], () => ({ items: [] })));
    for (const { metadata, data } of items) {
      const {
        url: encoded = '',
        password,
        bearerToken,
        githubAppPrivateKey,
        sshPrivateKey,
        known_hosts,
      } = (data ?? {}) as Record<string, string>;
      const { name } = metadata;
      const url = Buffer.from(encoded, 'base64').toString('utf8');
      if (isSshAddress(url) ? sshPrivateKey : (password ?? bearerToken ?? githubAppPrivateKey))
        found.push({ name, url, isForAll: type === 'repo-creds', hasKnownHosts: Boolean(known_hosts) });
    }
  }
  // A repository has the Secret of its own address; one of type repo-creds is for all addresses below its own.
  const plain = (address: string) => address.replace(/\/$/, '').replace(/\.git$/, '');
  const fitting = found.filter((one) =>
    one.isForAll ? one.url !== '' && url.startsWith(one.url) : plain(one.url) === plain(url),
  );
  return fitting.sort((left, right) => right.url.length - left.url.length)[0];
}
