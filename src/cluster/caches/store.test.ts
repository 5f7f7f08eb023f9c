import { describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { KeysOf } from '../../contracts/cluster.ts';
import { createStore } from './store.ts';

function pod(
  name: string,
  version: number | string,
  more: { uid?: string; labels?: Record<string, string> } = {},
): KubernetesObject {
  const { uid = `uid-${name}`, labels = {} } = more;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'shop', name, uid, resourceVersion: String(version), labels },
  };
}

const version = (object: KubernetesObject | undefined) => object?.metadata.resourceVersion;

describe('store', () => {
  it('shows our own write immediately and is not reverted by an older event', () => {
    const store = createStore();
    store.applyEvent('ADDED', pod('a', 9));
    store.upsert(pod('a', 12));
    store.applyEvent('MODIFIED', pod('a', 10));
    expect(version(store.get('shop', 'a'))).toBe('12');
  });

  it('compares versions as numbers of any length', () => {
    const store = createStore();
    store.upsert(pod('a', '99999999999999999998'));
    store.upsert(pod('a', '99999999999999999999'));
    store.upsert(pod('a', '9'));
    store.upsert(pod('a', '100000000000000000000'));
    expect(version(store.get('shop', 'a'))).toBe('100000000000000000000');
  });

  it('does not bring back a deleted object when the answer to a write comes late', () => {
    const store = createStore();
    store.applyEvent('ADDED', pod('a', 1));
    store.applyEvent('DELETED', pod('a', 5));
    store.upsert(pod('a', 4));
    expect(store.list()).toEqual([]);
  });

  it('takes a new object under the name of a deleted one, and notifies of both', () => {
    const store = createStore();
    const notified: string[] = [];
    store.subscribe((type, object) => notified.push(`${type} ${object.metadata.uid}`));
    store.applyEvent('ADDED', pod('a', 1, { uid: 'one' }));
    store.upsert(pod('a', 7, { uid: 'two' }));
    store.applyEvent('DELETED', pod('a', 6, { uid: 'one' }));
    expect(store.get('shop', 'a')?.metadata.uid).toBe('two');
    expect(notified).toEqual(['added one', 'deleted one', 'added two']);
  });

  it('lets an object leave the selection and come back', () => {
    const store = createStore({ covers: ({ metadata }) => metadata.labels?.app === 'x' });
    store.applyEvent('ADDED', pod('a', 1, { labels: { app: 'x' } }));
    store.upsert(pod('a', 2));
    expect(store.list()).toEqual([]);
    store.upsert(pod('a', 3, { labels: { app: 'x' } }));
    // The late event about the departure is older than the return.
    store.applyEvent('DELETED', pod('a', 2));
    expect(version(store.get('shop', 'a'))).toBe('3');
  });

  it('preserves our own later write through one list that lacks it', () => {
    const store = createStore();
    store.replace([pod('a', 1)], '5');
    store.upsert(pod('b', 8));
    store.upsert(pod('a', 7));
    store.replace([pod('a', 1)], '6');
    expect(store.list().map(version)).toEqual(['7', '8']);
    store.replace([pod('a', 1)], '6');
    expect(store.list().map(version)).toEqual(['1']);
  });

  it('believes a list whose versions went back, as after a restored backup', () => {
    const store = createStore();
    store.replace([pod('a', 100), pod('b', 101)], '101');
    store.applyEvent('DELETED', pod('b', 102));
    store.replace([pod('a', 50), pod('b', 51)], '60');
    expect(store.list().map(version)).toEqual(['50', '51']);
    store.applyEvent('MODIFIED', pod('b', 61));
    expect(version(store.get('shop', 'b'))).toBe('61');
  });

  it('replays present objects to a new subscriber, and continues when another one throws', () => {
    const errors: unknown[] = [];
    const store = createStore({ onHandlerError: (error) => errors.push(error) });
    store.upsert(pod('a', 1));
    const notified: string[] = [];
    store.subscribe(() => {
      throw new Error('broken');
    });
    const stop = store.subscribe((type, object, old) =>
      notified.push(`${type} ${object.metadata.name} ${version(old)}`),
    );
    store.upsert(pod('a', 2));
    stop();
    store.upsert(pod('a', 3));
    expect(notified).toEqual(['added a undefined', 'modified a 1']);
    expect(errors).toHaveLength(3);
  });

  it('finds objects by index, also after they changed or went', () => {
    const store = createStore();
    store.upsert(pod('a', 1, { labels: { app: 'x' } }));
    const apps: KeysOf = ({ metadata }) => (metadata.labels?.app ? [metadata.labels.app] : []);
    const named = () => store.byKey(apps, 'x').map((object) => object.metadata.name);
    expect(named()).toEqual(['a']);
    store.upsert(pod('b', 2, { labels: { app: 'x' } }));
    store.upsert(pod('a', 3, { labels: { app: 'y' } }));
    expect(named()).toEqual(['b']);
    store.applyEvent('DELETED', pod('b', 4));
    expect(named()).toEqual([]);
  });

  it('notifies nobody of an event without a change', () => {
    const store = createStore();
    store.upsert(pod('a', 2));
    const notified: string[] = [];
    store.subscribe((type) => notified.push(type));
    store.applyEvent('MODIFIED', pod('a', 2));
    store.replace([pod('a', 2)], '2');
    expect(notified).toEqual(['added']);
  });
});
