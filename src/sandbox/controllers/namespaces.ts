import type { Controller } from '../controller-loop.ts';
import { asRecord } from '../json.ts';
import { deleteObject } from '../object-deletion.ts';
import type { ApiWorld } from '../object-writer.ts';
import { everyObject } from './dependents.ts';

/** Empties a namespace that is being deleted, and lets it go once nothing is left in it. */
export function namespaceController(world: ApiWorld): Controller {
  return {
    name: 'namespaces',
    keysFor(event) {
      const name =
        event.storageKey === '/namespaces' ? event.object.metadata.name : event.object.metadata.namespace;
      const going = name
        ? world.store.get('/namespaces', undefined, name)?.metadata.deletionTimestamp
        : undefined;
      return name && going ? [name] : [];
    },
    reconcile(name) {
      const namespace = world.store.get('/namespaces', undefined, name);
      if (!namespace?.metadata.deletionTimestamp) return;
      const content = everyObject(world).filter(({ object }) => object.metadata.namespace === name);
      for (const { kind, object } of content) {
        if (!object.metadata.deletionTimestamp) deleteObject(world, kind, object, {});
      }
      if (everyObject(world).some(({ object }) => object.metadata.namespace === name)) return;
      world.store.remove('/namespaces', {
        ...namespace,
        spec: { ...asRecord(namespace.spec), finalizers: [] },
      });
    },
  };
}
