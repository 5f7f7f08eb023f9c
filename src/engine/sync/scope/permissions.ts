/** Who writes what a Source holds, and what no Source may write (docs/adr/0038-sources-write-as-accounts.md). */

import type { Clock } from '../../../api/clock.ts';
import {
  clusterKeySecret,
  type KubernetesObject,
  referenceOf,
  sourceAccount,
} from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import type { Cluster } from '../../../contracts/cluster.ts';
import { EngineError, failureOf } from '../../failure.ts';
import { groupKindOf } from './inventory.ts';

/** What an administrator chose for Sources that name no account. */
export interface SourceRights {
  /** Service account, in each Source's own namespace, that they are written as. Undefined: `sourceAccount`, in that namespace alone. */
  readonly defaultServiceAccount?: string | undefined;
  /** True for a Source that is written with Holdfast's own rights: of a trusted namespace, or exactly as on our own command line. */
  readonly isTrusted: (source: Source) => boolean;
  /** Sources of our own command line: their administrator may name kube-system in `spec.allow.namespaces`. */
  readonly areFromFiles: boolean;
  /** Sources may depend on Sources, and alert by AlertProviders, of other namespaces. */
  readonly crossNamespaceRefs: boolean;
  /** Where Holdfast's Lease and key are. */
  readonly ownNamespace: string;
  /** Where no Source writes with rights that it was not given by name. */
  readonly protectedNamespaces: readonly string[];
}

/** Who writes a Source. */
export type SourceWriter =
  /** Holdfast itself: an administrator trusts the Source. */
  | { readonly kind: 'holdfast'; readonly user: undefined }
  /** An account with rights of its own: the API server authorizes every write. */
  | { readonly kind: 'account'; readonly user: string }
  /** The account of Sources that name none, which has the role `edit` in the Source's namespace. */
  | { readonly kind: 'default'; readonly user: string };

/** Decides it. Only accounts of the Source's own namespace can be named: who may write there may use them anyway. */
export function writerOf(source: Source, rights: SourceRights): SourceWriter {
  const { metadata, spec } = source;
  const userOf = (name: string) => accountUser(metadata.namespace ?? '', name);
  if (spec.serviceAccountName) return { kind: 'account', user: userOf(spec.serviceAccountName) };
  if (rights.isTrusted(source)) return { kind: 'holdfast', user: undefined };
  if (rights.defaultServiceAccount) return { kind: 'account', user: userOf(rights.defaultServiceAccount) };
  return { kind: 'default', user: userOf(sourceAccount) };
}

/** A service account as the API server names its user. */
export function accountUser(namespace: string, name: string): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

/** The cluster as the Source's account sees it and may write it. */
export function clusterOf(
  { cluster, rights }: { readonly cluster: Cluster; readonly rights: SourceRights },
  source: Source,
): Cluster {
  return cluster.as(writerOf(source, rights).user, { readsToo: true });
}

/** The two ways to let a Source write more, for people. */
export function waysOut({ metadata }: Source): string {
  const namespace = metadata.namespace ?? '';
  return (
    `name a service account of ${namespace} with the rights in spec.serviceAccountName (holdfast install --impersonation), ` +
    `or let an administrator trust the namespace (holdfast install --trusted-source-namespaces ${namespace})`
  );
}

/** Nothing is written there unless `spec.allow.namespaces` names it. */
const systemNamespace = 'kube-system';

/**
 * Why a Source may not write an object (S21); undefined: it may. A Source that is confined to namespaces writes outside of them only kinds that
 * `spec.allow.kinds` names, besides those namespaces themselves: a ClusterRoleBinding would undo the confinement. Without `rights`, as for
 * commands that do not know how Holdfast was started, only `spec.allow` counts.
 */
export function whyNotAllowed(
  source: Source,
  object: KubernetesObject,
  rights?: SourceRights,
): string | undefined {
  return (rights && whyBeyondRights(source, object, rights)) ?? whyNotInList(source, object);
}

/** What `spec.allow` cannot open. */
function whyBeyondRights(source: Source, object: KubernetesObject, rights: SourceRights): string | undefined {
  const { namespace, name } = object.metadata;
  if (isOwnObject(object, rights)) return `${object.kind} ${namespace}/${name} belongs to Holdfast itself`;
  const { kind } = writerOf(source, rights);
  const isProtected = rights.protectedNamespaces.includes(
    object.kind === 'Namespace' ? name : (namespace ?? ''),
  );
  if (kind === 'holdfast' && isProtected && !rights.areFromFiles)
    return `namespace ${namespace ?? name} is closed to Sources that write with Holdfast's own rights; name a service account in spec.serviceAccountName`;
  if (kind !== 'default') return undefined;
  if (namespace !== undefined && namespace === source.metadata.namespace)
    return isProtected
      ? `a Source in ${namespace} writes nothing without spec.serviceAccountName`
      : undefined;
  const what =
    namespace === undefined
      ? `${object.kind} ${name} is in no namespace`
      : `namespace ${namespace} is another one`;
  return `${what}, and a Source without spec.serviceAccountName writes in its own only; ${waysOut(source)}`;
}

/** The key that hashes Secrets, and the Lease: who could write them could speak for Holdfast. */
function isOwnObject({ kind, metadata }: KubernetesObject, { ownNamespace }: SourceRights): boolean {
  if (metadata.namespace !== ownNamespace) return false;
  return (
    (kind === 'Secret' && metadata.name === clusterKeySecret) ||
    (kind === 'Lease' && metadata.name === 'holdfast')
  );
}

function whyNotInList({ spec }: Source, object: KubernetesObject): string | undefined {
  const { namespaces, kinds } = spec.allow ?? {};
  const isNamed = kinds?.some((kind) => kind === object.kind || kind === groupKindOf(object)) === true;
  if (kinds && !isNamed) return `kind ${object.kind} is not in spec.allow.kinds of the Source`;
  const { namespace, name } = object.metadata;
  if (namespace === undefined) {
    const isOwn = object.kind === 'Namespace' && namespaces?.includes(name) === true;
    if (!namespaces || isNamed || isOwn) return undefined;
    return `${object.kind} ${name} is in no namespace, and the Source is confined by spec.allow.namespaces; name the kind in spec.allow.kinds${kinds ? '' : ', with every other kind that the Source writes'}`;
  }
  if (!namespaces)
    return namespace === systemNamespace
      ? `namespace ${namespace} is closed to Sources without spec.allow.namespaces; name it there with every other namespace that the Source writes, and if some of its kinds are in no namespace, all its kinds in spec.allow.kinds`
      : undefined;
  return namespaces.includes(namespace)
    ? undefined
    : `namespace ${namespace} is not in spec.allow.namespaces of the Source`;
}

/** Throws EngineError NotAllowed. */
export function refuseNotAllowed(source: Source, object: KubernetesObject, rights?: SourceRights): void {
  const why = whyNotAllowed(source, object, rights);
  if (why !== undefined) throw new EngineError('NotAllowed', why);
}

/** Asks for each account and object once a minute, and more often after a refusal. */
export interface AccountRights {
  /** Whether the account may write the object. Throws what the API server says. */
  mayWrite(account: string, object: KubernetesObject): Promise<boolean>;
}

/** Somebody may change a role at any time. */
const believedMs = 60_000;
/** A role that was bound just now counts soon. */
const refusedMs = 5_000;

interface Answer {
  untilMs: number;
  readonly isAllowed: Promise<boolean>;
}

/** Nothing was asked yet. */
export function createAccountRights({
  cluster,
  clock,
}: {
  readonly cluster: Cluster;
  readonly clock: Pick<Clock, 'nowMs'>;
}): AccountRights {
  const answers = new Map<string, Answer>();
  let forgottenMs = clock.nowMs();

  /** Each commit may be about other names: what counts no longer is not kept. */
  function forgetOld(nowMs: number): void {
    // Wall clocks jump.
    if (Math.abs(nowMs - forgottenMs) < believedMs) return;
    forgottenMs = nowMs;
    for (const [key, { untilMs }] of answers) if (untilMs <= nowMs) answers.delete(key);
  }

  function ask(account: string, { apiVersion, kind, namespace, name }: Question): Promise<boolean> {
    const key = [account, apiVersion, kind, namespace ?? '', name ?? ''].join(' ');
    const known = answers.get(key);
    const nowMs = clock.nowMs();
    forgetOld(nowMs);
    if (known && nowMs < known.untilMs) return known.isAllowed;
    const where = { apiVersion, kind, ...(namespace ? { namespace } : {}), ...(name ? { name } : {}) };
    const isAllowed = cluster.as(account).mayPatch(where);
    const answer: Answer = { untilMs: nowMs + believedMs, isAllowed };
    answers.set(key, answer);
    isAllowed.then(
      (isIt) => {
        if (!isIt) answer.untilMs = nowMs + refusedMs;
      },
      () => answers.delete(key),
    );
    return isAllowed;
  }

  return {
    async mayWrite(account, object) {
      const { name, ...kind } = referenceOf(object);
      try {
        // One answer for a thousand workloads of a kind; some accounts may write only those of certain names.
        return (await ask(account, kind)) || (await ask(account, { ...kind, name }));
      } catch (error) {
        const { reason } = failureOf(error);
        // Who may not be impersonated writes nothing. What a kind is that nobody serves, the write itself tells.
        if (reason === 'Forbidden' || reason === 'UnknownKind') return reason === 'UnknownKind';
        throw error;
      }
    },
  };
}

/**
 * Whether the API server lets a Source write an object that its spec lets it write (`whyNotAllowed`): an account is asked for; the default one has its
 * rights in the Source's own namespace, and reaches no other. Throws what the API server says.
 */
export async function mayWrite(
  { accountRights, rights }: { readonly accountRights: AccountRights; readonly rights: SourceRights },
  source: Source,
  object: KubernetesObject,
): Promise<boolean> {
  const { kind, user } = writerOf(source, rights);
  return kind !== 'account' || accountRights.mayWrite(user, object);
}

type Question = Parameters<Cluster['mayPatch']>[0];
