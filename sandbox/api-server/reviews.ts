import type { JsonRecord } from './json.ts';
import type { ApiRequest } from './request.ts';

/** What a user wants to do, in the terms of an access review. */
interface Access {
  readonly user: string;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace: string;
  /** Empty: any object of the resource. */
  readonly name: string;
}

/** Whether a user may do something; asked for writes of impersonated users and access reviews. */
export type AccessRule = (access: Access) => boolean;

/** The name of the user of a token; undefined: unknown. */
export type TokenRule = (token: string) => string | undefined;

interface ReviewRules {
  mayAccess: AccessRule;
  whoSent: TokenRule;
}

interface Reviewed {
  readonly spec: {
    readonly user?: string;
    readonly resourceAttributes?: Partial<Access>;
    readonly token?: string;
    readonly audiences?: readonly string[];
  };
}

/** The answer to a review, which is stored nowhere; undefined for any other request. */
export function reviewed(
  rules: ReviewRules,
  { method, path, body, impersonated }: ApiRequest,
): JsonRecord | undefined {
  const kind = /^\/apis\/auth(?:entic|oriz)ation\.k8s\.io\/v1\/(\w+reviews)$/.exec(path)?.[1];
  if (method !== 'POST' || !kind) return undefined;
  const review = JSON.parse(body) as Reviewed;
  if (kind === 'tokenreviews') return { ...review, status: tokenStatus(rules, review.spec) };
  const user = kind === 'selfsubjectaccessreviews' ? impersonated : (review.spec.user ?? '');
  const {
    verb = '',
    group = '',
    resource = '',
    namespace = '',
    name = '',
  } = review.spec.resourceAttributes ?? {};
  return {
    ...review,
    status: { allowed: rules.mayAccess({ user, verb, group, resource, namespace, name }) },
  };
}

function tokenStatus({ whoSent }: ReviewRules, { token = '', audiences }: Reviewed['spec']): JsonRecord {
  const username = whoSent(token);
  if (username === undefined) return { authenticated: false };
  return { authenticated: true, audiences, user: { username, groups: ['system:authenticated'] } };
}
