import { getHeapStatistics } from 'node:v8';
import { sourceAccount } from '../api/kubernetes.ts';
import type { WatchedSet } from '../contracts/cluster.ts';
import type { SourceRights } from '../engine/sync/scope/permissions.ts';
import { createBuildCache } from '../render/build/builder.ts';
import { findBuilders, workFolderIn } from '../render/build/programs.ts';
import type { EngineWiring } from './engine-wiring.ts';
import { createRepositories } from './git.ts';
import { createGitAccess } from './git-access.ts';
import { namespacesOf } from './options.ts';
import { createOpenPoller } from './schedules.ts';

/** What Sources are read and written with. */
export function sourceParts(wiring: EngineWiring) {
  const { options, clock, http: client, fileSources, secretKey, sink } = wiring;
  const access = createGitAccess({ client, clock, env: process.env, fileSources });
  const {
    clusterName,
    programs = {},
    dataDirectory,
    gitDiskBytes: diskBytes,
    gitIdentity: identity,
    roomBytes = getHeapStatistics().heap_size_limit / 3,
  } = options;
  return {
    cluster: wiring.sourceCluster,
    secretKey,
    clusterName,
    tracksConfig: options.tracksConfig !== false,
    rights: rightsOf(wiring),
    builders: findBuilders(programs, workFolderIn(dataDirectory)),
    builds: createBuildCache(),
    repositories: createRepositories({ access, client, clock, dataDir: dataDirectory, diskBytes, identity }),
    openPoller: createOpenPoller(clock, Math.random),
    openForge: access.openForge,
    roomBytes,
    onDrift: sink.drift,
    onRendered: sink.rendered,
  };
}

/** Whose rights Sources are written with (ADR 38). A file on our own command line is the choice of who started us, as long as it says what is in the cluster. */
function rightsOf({ options, fileSources, ownNamespace }: EngineWiring): SourceRights {
  const { trustedSourceNamespaces = [], defaultServiceAccount } = options;
  const areFromFiles = options.sourceFiles.length > 0;
  const trustsFiles = areFromFiles && defaultServiceAccount === undefined;
  const isOwnWatched = namespacesOf(options).includes(ownNamespace);
  return {
    defaultServiceAccount,
    areFromFiles,
    ownNamespace,
    crossNamespaceRefs: options.forbidsOtherNamespaces === false,
    isTrusted: (source) =>
      trustedSourceNamespaces.includes(source.metadata.namespace ?? '') ||
      (trustsFiles && fileSources.isUnchanged(source)),
    protectedNamespaces: ['kube-system', ...(isOwnWatched ? [] : [ownNamespace])],
  };
}

/**
 * The RoleBindings of the account of Sources that name none. Where Holdfast is confined to namespaces, `holdfast install` prints them, and with
 * accounts of one's own or files none are needed.
 */
export function openBindings({ openWatch, options }: EngineWiring): WatchedSet | undefined {
  const isElsewhere = options.sourceFiles.length > 0 || options.defaultServiceAccount !== undefined;
  if (isElsewhere || options.shadow || namespacesOf(options).length > 0) return undefined;
  return openWatch({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    name: sourceAccount,
    metadataOnly: true,
  });
}
