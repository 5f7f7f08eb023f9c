import { expect, it } from 'vitest';
import { type KubernetesObject, namespacesAnnotation, partOfLabel } from '../../api/kubernetes.ts';
import { localError } from '../../cluster/errors.ts';
import { applySetId } from '../../engine/apply-set.ts';
import type { Connection } from '../../server/connection.ts';
import { scopeOf, watchEvents } from './events.ts';

const source: KubernetesObject = {
  ...{ apiVersion: 'holdfast.dev/v1alpha1', kind: 'Source' },
  metadata: { name: 'shop', namespace: 'delivery', annotations: { [namespacesAnnotation]: 'shop,secret' } },
};

function canary(namespace: string, set = applySetId(source)): KubernetesObject {
  const metadata = { name: 'web', namespace, labels: { [partOfLabel]: set } };
  const spec = { targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } };
  return { apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata, spec };
}

function event(namespace: string, message: string): KubernetesObject {
  const involvedObject = { kind: 'Canary', namespace, name: 'web' };
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: message, namespace },
    involvedObject,
    message,
  } as object as KubernetesObject;
}

/** What `holdfast events source/shop -n delivery -w` says, where namespace `secret` may not be listed. */
async function told(namespaces = 'shop,secret') {
  const annotations = { [namespacesAnnotation]: namespaces };
  const objects = [
    canary('shop'),
    canary('other'),
    canary('delivery'),
    event('shop', 'of its Canary'),
    event('other', 'of another one'),
    event('delivery', 'of its own namespace'),
  ];
  const client = {
    get: async () => ({ ...source, metadata: { ...source.metadata, annotations } }),
    async list(_: string, kind: string, { namespace }: { namespace?: string }) {
      if (namespace === 'secret' || namespace === undefined)
        throw localError('forbidden', 'list: 403 Forbidden');
      return { items: objects.filter((one) => one.kind === kind && one.metadata.namespace === namespace) };
    },
  };
  const handle = {
    store: { subscribe: () => undefined },
    health: () => ({ failures: 0 }),
    release: async () => undefined,
  };
  const connection = { client, access: { namespace: 'default' }, caches: { ensure: () => handle } };
  const printed: string[] = [];
  const scope = await scopeOf(connection as never as Connection, 'source/shop', { namespace: 'delivery' });
  const watched = watchEvents(connection as never as Connection, scope, {
    ...{ flags: { output: 'text' }, signal: AbortSignal.timeout(1) },
    print: (text) => printed.push(text),
    warn: (text) => printed.push(text),
  });
  await watched.catch(() => undefined);
  return printed;
}

it('the Events of a Source are also those of its Canaries in other namespaces, as far as these may be listed', async () => {
  expect(await told()).toEqual([
    'not shown: Canaries of namespace secret: you may not list them\n',
    expect.stringContaining('Canary delivery/web  of its own namespace'),
    expect.stringContaining('Canary shop/web  of its Canary'),
  ]);
});

it('who may not list all namespaces sees those of a Source with very many in its own', async () => {
  const many = Array.from({ length: 60 }, (_, index) => `team-${index}`);
  expect(await told(many.join(','))).toEqual([
    'not shown: Canaries of other namespaces: you may not list them\n',
    expect.stringContaining('Canary delivery/web  of its own namespace'),
  ]);
});

it('says that Events of Sources are not shown to whoever may not list Sources', async () => {
  const client = {
    async list(_: string, kind: string) {
      if (kind === 'Source') throw localError('forbidden', 'list sources: 403 Forbidden');
      return { items: [canary('shop')] };
    },
  };
  const connection = { client, access: { namespace: 'shop' } } as never as Connection;

  const { isEmpty, unread } = await scopeOf(connection, undefined, {});

  expect([isEmpty, unread]).toEqual([false, ['not shown: Sources: you may not list them\n']]);
});
