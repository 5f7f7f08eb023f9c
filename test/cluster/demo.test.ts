import { expect, test } from 'vitest';
import { runDemo } from '../../sandbox/demo/demo.ts';
import type { DemoEvent } from '../../sandbox/demo/events.ts';
import { useBed } from './bed/client.ts';

const bed = useBed();

// A demo that finds the CRDs leaves them: other suites share this bed.

/** Plays the demo on the bed and returns what it told. */
async function playOnBed(provider: string, namespace: string, sampled: boolean): Promise<DemoEvent[]> {
  const told: DemoEvent[] = [];
  const host = `${namespace}.bed.test`;
  await runDemo(
    {
      version: '0.0.0',
      kubeconfig: bed.kubeconfigPath,
      namespace,
      provider,
      gateway: provider === 'gatewayapi:v1' ? bed.gateway : undefined,
      image: 'app:v1',
      trafficUrl: sampled ? bed.envoyUrl : undefined,
      trafficHost: sampled ? host : undefined,
      besideOthers: true,
      keep: false,
    },
    { tell: (event) => void told.push(event), signal: AbortSignal.timeout(900_000) },
  );
  return told;
}

async function namespaces(): Promise<string[]> {
  const names = await bed.kubectl(['get', 'namespaces', '-o', 'name']);
  return names.split('\n').map((name) => name.replace('namespace/', ''));
}

test.concurrent.each([
  ['gatewayapi:v1', true],
  ['kubernetes', false],
])(
  'the demo with provider %s ends as its story says, and leaves nothing behind',
  async (provider, sampled) => {
    const namespace = `demo-${provider.replace(/\W+/g, '-')}`;
    const told = await playOnBed(provider, namespace, sampled);
    const ended = told.at(-1);
    expect(ended).toMatchObject({
      type: 'ended',
      ok: true,
      differences: [],
      promoted: ['v1', 'v2'],
      reverted: 'v3',
    });
    expect(ended).toMatchObject({ failedRequests: sampled ? 0 : null });
    expect(await namespaces()).not.toContain(namespace);
  },
);
