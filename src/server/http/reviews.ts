import type { ClusterClient } from '../../cluster/client/client.ts';

/** A user whose name the API server, or a login proxy, has confirmed. */
export interface Person {
  readonly user: string;
  readonly groups?: readonly string[] | undefined;
  readonly uid?: string | undefined;
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** What a user wants to do, in the terms of RBAC. */
export interface Wish {
  readonly verb: string;
  readonly group: string;
  /** Plural. */
  readonly resource: string;
  /** Empty: in all namespaces. */
  readonly namespace: string;
  /** Absent: any object. */
  readonly name?: string;
}

/** The client for reviews, and its field manager. */
interface Reviewer {
  readonly client: Pick<ClusterClient, 'create'>;
  /** Field manager. */
  readonly manager: string;
}

/** Tokens for the API server itself are refused: they must not be sent to another address. */
const audience = 'holdfast.dev';

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

/** Who sent a token for the audience holdfast.dev (docs/security.md); undefined: an unknown user, or another audience. Throws ApiError. */
export async function reviewToken(reviewer: Reviewer, token: string): Promise<Person | undefined> {
  const { user, authenticated, audiences } = await ask<TokenStatus>(reviewer, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: { token, audiences: [audience] },
  });
  // A server that knows nothing of audiences leaves them out.
  if (!authenticated || !audiences?.includes(audience) || !user?.username) return undefined;
  const { username, groups, uid, extra } = user;
  return { user: username, groups, uid, extra };
}

/** Whether the user may do this. Throws ApiError. */
export async function reviewAccess(reviewer: Reviewer, person: Person, wish: Wish): Promise<boolean> {
  const { allowed } = await ask<{ allowed?: boolean }>(reviewer, {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { ...person, resourceAttributes: wish },
  });
  return allowed === true;
}

/** Reviews have no name and are stored nowhere: the answer is the object's status. */
async function ask<Status extends object>(
  { client, manager }: Reviewer,
  question: { apiVersion: string; kind: string; spec: object },
): Promise<Partial<Status>> {
  const answer = await client.create({ ...question, metadata: { name: '' } }, { manager });
  return (answer.status ?? {}) as Partial<Status>;
}
