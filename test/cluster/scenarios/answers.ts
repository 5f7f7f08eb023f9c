import { waitFor } from '../bed/client.ts';
import type { Shop } from './shop.ts';

/** Resolves once the shop answers through Envoy without an error for a moment. */
export async function waitForAnswers(shop: Shop): Promise<void> {
  await waitFor(
    async () => {
      const load = shop.startLoad();
      await new Promise((resolve) => setTimeout(resolve, 400));
      const { requests, failed } = await load.stop();
      return requests > 0 && failed === 0;
    },
    { timeoutMs: 60_000, what: `${shop.namespace} answers through Envoy` },
  );
}
