import type { KubernetesObject } from '../../api/kubernetes.ts';
import { isApiError } from '../../cluster/errors.ts';
import type { Connection } from '../../server/connection.ts';
import { parseObjectArgument, refuseNameWithSelector, type SubjectFlags } from '../flags.ts';
import { readAll, readOne } from '../objects.ts';

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
  const wanted = kind ? [kind] : kinds;
  const query = {
    namespace: flags.allNamespaces ? undefined : namespace,
    labelSelector: flags.selector,
  };
  const lists = await Promise.all(
    wanted.map((one) =>
      readAll(client, one, query).catch((error: unknown) => {
        // Canaries are shown also where only Flagger's kinds are installed, or where the reader may not list Sources.
        const isOptional = wanted.length > 1 && one === 'Source';
        if (!isOptional || !isApiError(error, 'unknownKind', 'forbidden')) throw error;
        if (error.kind === 'forbidden') onUnread();
        return [];
      }),
    ),
  );
  return lists.flat();
}
