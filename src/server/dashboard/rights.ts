import type { Person, Wish } from '../http/reviews.ts';
import type { DashboardAccess, Verdict } from './access.ts';

/** What one person may read. */
export interface Rights {
  /** In one namespace, or of one object. */
  mayRead(wish: Omit<Wish, 'verb'> & { readonly verb?: string }): Promise<Verdict>;
  /** The namespaces among these in which that one may list a resource. `isUnknown`: some could not be asked about. */
  readable(
    resource: Pick<Wish, 'group' | 'resource'>,
    namespaces: ReadonlySet<string>,
  ): Promise<{ readonly namespaces: ReadonlySet<string>; readonly isUnknown: boolean }>;
}

/** By what the API server says, a few questions at a time. */
export function rightsOf(access: DashboardAccess, person: Person): Rights {
  const mayRead: Rights['mayRead'] = ({ verb = 'list', ...wish }) =>
    access.may(person, { verb, ...wish }, 'read');
  return {
    mayRead,
    async readable(resource, namespaces) {
      if ((await mayRead({ ...resource, namespace: '' })) === 'yes') return { namespaces, isUnknown: false };
      const verdicts = await Promise.all(
        [...namespaces].map(
          async (namespace) => [namespace, await mayRead({ ...resource, namespace })] as const,
        ),
      );
      return {
        namespaces: new Set(
          verdicts.flatMap(([namespace, verdict]) => (verdict === 'yes' ? [namespace] : [])),
        ),
        isUnknown: verdicts.some(([, verdict]) => verdict === 'unknown'),
      };
    },
  };
}
