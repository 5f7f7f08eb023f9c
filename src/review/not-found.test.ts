import { expect, it } from 'vitest';
import type { ClusterClient } from '../cluster/client/client.ts';
import { localError } from '../cluster/errors.ts';
import { notFound } from './not-found.ts';

/** A cluster with Canaries of these names, `namespace/name`, of which only those of one namespace may be listed, or none, or all. */
function cluster(names: readonly string[], mayList: string | boolean = true): Pick<ClusterClient, 'list'> {
  const items = names.map((text) => {
    const [namespace = '', name = ''] = text.split('/');
    return { apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata: { namespace, name } };
  });
  return {
    list: async (_version, _kind, { namespace } = {}) => {
      if (mayList === false || (mayList !== true && namespace !== mayList))
        throw localError('forbidden', 'list canaries: 403 Forbidden');
      return {
        items: items.filter(({ metadata }) => [undefined, metadata.namespace].includes(namespace)),
        resourceVersion: '1',
      };
    },
  };
}

const asked = { apiVersion: 'flagger.app/v1beta1', kind: 'Canary', namespace: 'default', name: 'web' };

it.each<[string, Pick<ClusterClient, 'list'>, string]>([
  [
    'in another namespace',
    cluster(['shop/web', 'default/cart']),
    'there is one in namespace shop; use -n shop',
  ],
  [
    'under a similar name',
    cluster(['default/wep', 'shop/wbe'], 'default'),
    'did you mean wep? Otherwise use -n NAMESPACE for another namespace',
  ],
  ['nowhere', cluster(['shop/cart']), 'use -n NAMESPACE for another namespace'],
  ['where nothing may be listed', cluster(['shop/web'], false), 'use -n NAMESPACE for another namespace'],
])('an object that is %s', async (_, client, hint) => {
  expect((await notFound(client, asked)).message).toBe(`Canary default/web not found; ${hint}`);
});

it('a name alone that is that of a Source is answered with how that is named', async () => {
  const metadata = { namespace: 'default', name: 'web' };
  const client: Pick<ClusterClient, 'list'> = {
    list: async (apiVersion, kind) => ({
      items: kind === 'Source' ? [{ apiVersion, kind, metadata }] : [],
      resourceVersion: '1',
    }),
  };
  const hint = 'there is a Source of that name: source/web';
  expect((await notFound(client, asked)).message).toBe(`Canary default/web not found; ${hint}`);
});
