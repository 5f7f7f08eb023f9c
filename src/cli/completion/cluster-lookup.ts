import { homedir } from 'node:os';
import { canaryStatus } from '../../api/canary/summary.ts';
import { limits } from '../../api/limits.ts';
import { listContexts } from '../../cluster/access/cluster-access.ts';
import type { Connection } from '../../server/connection.ts';
import { withConnection } from '../command.ts';
import { readAll, readOne } from '../objects.ts';
import { commitSubject } from '../status/rows.ts';
import type { Lookup, Suggestion } from './suggest.ts';

/** Looks into the kubeconfig and the cluster that the flags on a line name. Rejects with what connecting or reading throws. */
export function clusterLookup(flags: ReadonlyMap<string, string>, version: string): Lookup {
  // Shells leave `~/` as it is typed.
  const kubeconfig = flags.get('--kubeconfig')?.replace(/^~(?=\/)/, process.env.HOME ?? homedir());
  const context = flags.get('--context') || undefined;
  const onCluster = <T>(work: (connection: Connection) => Promise<T>) =>
    withConnection({ kubeconfig, context }, { version }, work);
  const namespaceIn = ({ access }: Connection) => flags.get('--namespace') || access.namespace;
  const contexts = () => listContexts({ ...(kubeconfig ? { kubeconfig } : {}), allowExec: true });
  return {
    contexts: async () =>
      (await contexts()).map(({ name, namespace }) => ({ value: name, description: namespace })),
    namespaces: () =>
      onCluster(async ({ client }) =>
        suggestions((await client.list('v1', 'Namespace', { metadataOnly: true })).items),
      ).catch(async () => {
        // Who may not list namespaces has those of their contexts.
        const own = (await contexts()).map(({ namespace }) => namespace).filter((one) => one !== undefined);
        return [...new Set(own)].map((value) => ({ value }));
      }),
    objects: (kind) =>
      onCluster(async (connection) => {
        const query = { namespace: namespaceIn(connection), metadataOnly: true };
        return suggestions(await readAll(connection.client, kind, query));
      }),
    commits: (name) =>
      onCluster(async (connection) => {
        const place = { namespace: namespaceIn(connection), name };
        const canary = await readOne(connection.client, 'Canary', place);
        const { run, history = [] } = canaryStatus(canary);
        const commits = [run?.commit ?? '', ...history.map(({ commit }) => commit)];
        return [...new Set(commits)].map((value) => ({ value, description: commitSubject(canary, value) }));
      }),
  };
}

function suggestions(objects: ReadonlyArray<{ readonly metadata: { readonly name: string } }>): Suggestion[] {
  return objects
    .slice(0, limits.completions)
    .map(({ metadata }) => ({ value: metadata.name }))
    .sort((left, right) => (left.value < right.value ? -1 : 1));
}
