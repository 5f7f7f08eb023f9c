import { expect, test } from 'vitest';
import { runDemo } from '../../sandbox/demo/demo.ts';
import type { DemoEvent } from '../../sandbox/demo/events.ts';
import { useBed } from './bed/client.ts';

const bed = useBed();

// A demo that finds the CRDs leaves them: other suites share this bed.

/** The story by iterations, without a router, is the sandbox's (test/sandbox/demo.test.ts). */
test('the demo ends as its story says on a real cluster, no request fails, and it leaves nothing behind', async () => {
  const namespace = 'demo-gatewayapi';
  const told: DemoEvent[] = [];
  await runDemo(
    {
      version: '0.0.0',
      kubeconfig: bed.kubeconfigPath,
      namespace,
      provider: 'gatewayapi:v1',
      gateway: bed.gateway,
      image: 'app:v1',
      trafficUrl: bed.envoyUrl,
      trafficHost: `${namespace}.bed.test`,
      besideOthers: true,
      keep: false,
    },
    { tell: (event) => void told.push(event), signal: AbortSignal.timeout(900_000) },
  );
  expect(told.at(-1)).toMatchObject({
    type: 'ended',
    ok: true,
    differences: [],
    promoted: ['v1', 'v2'],
    reverted: 'v3',
    failedRequests: 0,
  });
  const left = await bed.kubectl(['get', 'namespaces', '-o', 'name']);
  expect(left.split('\n')).not.toContain(`namespace/${namespace}`);
});
