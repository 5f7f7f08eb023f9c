import type { Logger } from 'pino';
import { annotationPrefix, type BuiltInGate, isGateOpen, openGate } from '../../api/annotations.ts';
import { apiVersionOf } from '../../api/kinds/kinds.ts';
import {
  type KubernetesObject,
  keyOf,
  type NamespacedName,
  type ObjectReference,
} from '../../api/kubernetes.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { isApiError, localError } from '../../cluster/errors.ts';
import type { EventSink, WatchedSet } from '../../contracts/cluster.ts';
import { whySetBack } from '../../workload/compare/managed-fields.ts';
import { reviewAccess, reviewToken } from './reviews.ts';

/** What gates use. */
interface GateAnnotationsOptions {
  /** Reads open gates. It and `client` have separate request budgets: everything in the cluster can cause these requests. */
  readonly reader: Pick<ClusterClient, 'get'>;
  readonly client: Pick<ClusterClient, 'create' | 'get' | 'patch'>;
  /** All watched Canaries; undefined before they are watched. */
  readonly canaries: () => Pick<WatchedSet, 'get' | 'synced'> | undefined;
  readonly events: EventSink;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

/** Field manager of gates that are switched over HTTP. */
const manager = 'holdfast-gate';

/** Gates as annotations of Canaries; token and access reviews of the API server decide who may switch one. */
export function createGateAnnotations(options: GateAnnotationsOptions): GateStore {
  const { reader, client, canaries, events, log } = options;
  const read = shareReads((canary: NamespacedName) => reader.get(referenceOf(canary)));

  /** Undefined: there is none of that name. Throws while the Canaries are not synced. */
  function seen({ namespace, name }: NamespacedName): KubernetesObject | undefined {
    const watched = canaries();
    if (!watched?.synced()) throw localError('transient', 'the Canaries are not known yet');
    return watched.get(namespace, name);
  }

  return {
    async isOpen(canary, gate) {
      // A closed gate is taken from the watch; an open one, which lets a release continue, is read again.
      const watched = seen(canary);
      if (!watched || !isGateOpen(watched, gate)) return false;
      const object = await read(canary);
      return object !== undefined && isGateOpen(object, gate);
    },
    async permission(token, canary, gate) {
      try {
        // Whether the Canary exists is revealed only to users who may switch its gate.
        return await review(client, token, canary, gate);
      } catch (error) {
        log.warn({ err: error, canary }, 'could not review who wants to switch a gate');
        const why = 'the token could not be reviewed';
        const isRefused = isApiError(error, 'forbidden', 'unknownKind', 'notFound');
        return {
          kind: 'unavailable',
          why: isRefused ? `${why}: Holdfast has no permission for that` : why,
        };
      }
    },
    async set(canary, gate, { open, user }) {
      const value = open ? openGate : 'closed';
      const key = annotationPrefix + gate;
      try {
        const live = await client.get(referenceOf(canary));
        if (!live) return { kind: 'absent' };
        const why = whySetBack(live, ['metadata', 'annotations', key]);
        if (why) return { kind: 'refused', why };
        const body = { metadata: { annotations: { [key]: value } } };
        const changed = await client.patch(referenceOf(canary), body, { type: 'merge', manager });
        const message = `${user} set ${key} to ${value}`;
        events.emit(changed, { type: 'Normal', reason: 'GateSwitched', message });
        return { kind: 'set' };
      } catch (error) {
        if (isApiError(error, 'notFound')) return { kind: 'absent' };
        log.warn({ err: error, canary, user }, 'could not switch a gate');
        throw error;
      }
    },
  };
}

/** At most one read of an object runs and one waits; the waiting one starts after all requests that it answers. */
function shareReads<T>(read: (canary: NamespacedName) => Promise<T>): (canary: NamespacedName) => Promise<T> {
  const running = new Map<string, Promise<unknown>>();
  const waiting = new Map<string, Promise<T>>();

  async function next(key: string, canary: NamespacedName): Promise<T> {
    await running.get(key)?.catch(() => undefined);
    waiting.delete(key);
    const reading = read(canary);
    running.set(key, reading);
    try {
      return await reading;
    } finally {
      if (running.get(key) === reading) running.delete(key);
    }
  }

  return (canary) => {
    const key = keyOf(canary);
    const shared = waiting.get(key) ?? next(key, canary);
    waiting.set(key, shared);
    return shared;
  };
}

async function review(
  client: GateAnnotationsOptions['client'],
  token: string,
  { namespace, name }: NamespacedName,
  gate: BuiltInGate,
): Promise<GatePermission> {
  const reviewer = { client, manager };
  const person = await reviewToken(reviewer, token);
  if (!person) return { kind: 'unknown' };
  const wish = { namespace, name, verb: gate, group: 'flagger.app', resource: 'canaries' };
  const isAllowed = await reviewAccess(reviewer, person, wish);
  return { kind: isAllowed ? 'allowed' : 'forbidden', user: person.user };
}

function referenceOf({ namespace, name }: NamespacedName): ObjectReference {
  return { apiVersion: apiVersionOf('Canary'), kind: 'Canary', namespace, name };
}

/** Who sent a token, and whether this user may switch a gate. */
export type GatePermission =
  | { readonly kind: 'allowed'; readonly user: string }
  /** An unknown user, or a token for another audience. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'forbidden'; readonly user: string }
  /** The API server was not asked, or did not answer. */
  | { readonly kind: 'unavailable'; readonly why: string };

/** What came of switching a gate. */
export type GateChange =
  | { readonly kind: 'set' }
  /** There is no such Canary. */
  | { readonly kind: 'absent' }
  /** Git, or another tool that applies, would set it back. */
  | { readonly kind: 'refused'; readonly why: string };

/** The gates in the cluster. */
export interface GateStore {
  /** An open gate is read back from the API server first. False for a Canary that does not exist. Throws when it is unknown. */
  isOpen(canary: NamespacedName, gate: BuiltInGate): Promise<boolean>;
  /** Asks the API server who sent the token. */
  permission(token: string, canary: NamespacedName, gate: BuiltInGate): Promise<GatePermission>;
  /** Throws what the API server says. */
  set(
    canary: NamespacedName,
    gate: BuiltInGate,
    change: { open: boolean; user: string },
  ): Promise<GateChange>;
}
