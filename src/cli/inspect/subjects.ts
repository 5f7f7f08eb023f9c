import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { Connection } from '../../server/connection.ts';
import { parseObjectArgument, refuseNameWithSelector, type SubjectFlags } from '../flags.ts';
import { readKinds, readOne } from '../objects.ts';

/**
 * The object that is named, or all of the kinds that -n, -A and -l choose, by namespace and name. `onUnread` is called where Sources may not be listed beside
 * Canaries. Throws ApiError, and InputError for a name together with -A or -l and for one that does not exist.
 */
export async function readSubjects(
  { access, client }: Pick<Connection, 'access' | 'client'>,
  text: string | undefined,
  flags: SubjectFlags,
  kinds: ReadonlyArray<'Canary' | 'Source'>,
  onUnread = () => {},
): Promise<KubernetesObject[]> {
  const { kind, name } = parseObjectArgument(text, undefined);
  const namespace = flags.namespace ?? access.namespace;
  refuseNameWithSelector(name, flags);
  if (name !== undefined) return [await readOne(client, kind ?? 'Canary', { namespace, name })];
  const query = {
    namespace: flags.allNamespaces ? undefined : namespace,
    labelSelector: flags.selector,
  };
  const { Canary = [], Source = [] } = await readKinds(client, kind ? [kind] : kinds, query, onUnread);
  return [...Canary, ...Source];
}
