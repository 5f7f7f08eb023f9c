/** Another controller undoes at once what Holdfast writes for a Canary. */
import { expect, test } from 'vitest';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { type Shop, useShops } from './scenarios/shop.ts';

const shops = useShops();
const readyOf = ({ conditions }: CanaryStatus) => conditions?.find(({ type }) => type === 'Ready');
const isTold = (status: CanaryStatus) => readyOf(status)?.reason === 'ForeignChange';
const theirs = { app: 'theirs' };

/** From now on the primary's Service selects other pods as soon as Holdfast has written it; the returned function ends that. */
function contend(shop: Shop): () => void {
  const { namespace } = shop;
  const { store } = shops.bed().sandbox;
  const { put } = store;
  let isOver = false;
  Object.assign(store, {
    put(key: string, sent: KubernetesObject): KubernetesObject {
      const stored = put(key, sent);
      const { selector } = (stored.spec ?? {}) as { selector?: object };
      const isIts =
        /(^|\/)services$/.test(key) &&
        stored.metadata.namespace === namespace &&
        /-primary$/.test(stored.metadata.name);
      if (!isOver && isIts && JSON.stringify(selector) !== JSON.stringify(theirs))
        setImmediate(() => void change(shop));
      return stored;
    },
  });
  return () => {
    isOver = true;
  };
}

function change({ namespace }: Shop): Promise<unknown> {
  const path = `/api/v1/namespaces/${namespace}/services/podinfo-primary`;
  return shops.bed().send('PATCH', path, { spec: { selector: theirs } }, 'application/merge-patch+json');
}

/** Writes of that Service by Holdfast in so much of the shop's time. */
async function writesIn({ namespace }: Shop, durationMs: number): Promise<number> {
  const { requests } = shops.bed().sandbox;
  requests.clear();
  await shops.pass(durationMs);
  const path = `/api/v1/namespaces/${namespace}/services/podinfo-primary`;
  return requests.writes().filter((one) => one.path === path && one.query.includes('fieldManager=holdfast'))
    .length;
}

test('it is told, tried less often, and put right once the other one has stopped', async () => {
  const shop = await shops.openRunning('contested');
  const stop = contend(shop);
  await change(shop);
  await shop.until('it is told', isTold);
  expect(readyOf(shop.status())?.message).toMatch(
    /undoes what Holdfast writes \(the Services are written\).*Stop the other writer/,
  );
  // Without a limit it is 600 a minute here.
  expect(await writesIn(shop, 60_000)).toBeLessThan(300);
  stop();
  await shop.until('it is at rest', (status) => readyOf(status)?.status === 'True');
  expect(await writesIn(shop, 60_000)).toBe(0);
});
