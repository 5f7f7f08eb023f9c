import type { Logger } from 'pino';
import { type BuiltInGate, isGateOpen, openGate } from '../api/gates.ts';
import { apiVersionOf } from '../api/kinds.ts';
import type { KubernetesObject, ObjectReference } from '../api/kubernetes.ts';
import { annotationPrefix } from '../api/verbs.ts';
import type { ClusterClient } from '../cluster/client.ts';
import { isApiError } from '../cluster/errors.ts';
import type { EventSink, WatchedSet } from '../engine/ports/ports.ts';
import type { CanaryName, GateKeeper, GatePermission } from '../web/gate-keeper.ts';

/** What keeping gates needs. */
export interface GateKeeperOptions {
  /** With a request budget of its own: anybody in the cluster can cause these requests. */
  readonly client: Pick<ClusterClient, 'get' | 'create' | 'patch'>;
  /** All Canaries of ours, while this copy leads. */
  readonly watched: () => Pick<WatchedSet, 'get'> | undefined;
  readonly events: EventSink;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

/** Field manager of gates that are switched over HTTP. */
const manager = 'holdfast-gate';
/** Tokens for the API server itself are refused: nobody should send them to another address. */
const audience = 'holdfast.dev';

/** Gates as annotations of Canaries; who may switch one is for the API server's token and access reviews to say. */
export function createGateKeeper({ client, watched, events, log }: GateKeeperOptions): GateKeeper {
  return {
    async isOpen(canary, gate) {
      const seen = watched()?.get(canary.namespace, canary.name);
      // What keeps a release back costs nothing; what lets it go on is read back.
      if (seen && !isGateOpen(seen, gate)) return false;
      const object = await client.get(referenceOf(canary));
      return object !== undefined && isGateOpen(object, gate);
    },
    async permission(token, canary, gate) {
      try {
        return await review(client, token, canary, gate);
      } catch (error) {
        log.warn({ err: error, canary }, 'could not review who wants to switch a gate');
        const why = 'who you are could not be reviewed';
        const isRefused = isApiError(error, 'forbidden', 'unknownKind', 'notFound');
        return {
          kind: 'unavailable',
          why: isRefused ? `${why}: Holdfast has no right to; use holdfast gate` : why,
        };
      }
    },
    async set(canary, gate, { open, user }) {
      const value = open ? openGate : 'closed';
      try {
        const body = { metadata: { annotations: { [annotationPrefix + gate]: value } } };
        const changed = await client.patch(referenceOf(canary), body, { type: 'merge', manager });
        tell(events, changed, `${user} set ${annotationPrefix}${gate} to ${value}`);
        return true;
      } catch (error) {
        if (isApiError(error, 'notFound')) return false;
        log.warn({ err: error, canary, user }, 'could not switch a gate');
        throw error;
      }
    },
  };
}

async function review(
  client: GateKeeperOptions['client'],
  token: string,
  { namespace, name }: CanaryName,
  gate: BuiltInGate,
): Promise<GatePermission> {
  const { user, authenticated, audiences } = await ask<TokenStatus>(client, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: { token, audiences: [audience] },
  });
  // A server that knows nothing of audiences leaves them out.
  if (!authenticated || !audiences?.includes(audience) || !user?.username) return { kind: 'unknown' };
  const { username, groups, uid, extra } = user;
  const resourceAttributes = { namespace, name, verb: gate, group: 'flagger.app', resource: 'canaries' };
  const { allowed } = await ask<{ allowed?: boolean }>(client, {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user: username, groups, uid, extra, resourceAttributes },
  });
  return { kind: allowed === true ? 'allowed' : 'forbidden', user: username };
}

interface TokenStatus {
  readonly authenticated?: boolean;
  readonly audiences?: readonly string[];
  readonly user?: {
    readonly username?: string;
    readonly uid?: string;
    readonly groups?: readonly string[];
    readonly extra?: Readonly<Record<string, readonly string[]>>;
  };
}

/** Reviews have no name and are stored nowhere: the answer is the object's status. */
async function ask<Status extends object>(
  client: GateKeeperOptions['client'],
  question: { apiVersion: string; kind: string; spec: object },
): Promise<Partial<Status>> {
  const answer = await client.create({ ...question, metadata: { name: '' } }, { manager });
  return (answer.status ?? {}) as Partial<Status>;
}

function tell(events: EventSink, canary: KubernetesObject, message: string): void {
  events.emit(canary, { type: 'Normal', reason: 'GateSwitched', message });
}

function referenceOf({ namespace, name }: CanaryName): ObjectReference {
  return { apiVersion: apiVersionOf('Canary'), kind: 'Canary', namespace, name };
}
