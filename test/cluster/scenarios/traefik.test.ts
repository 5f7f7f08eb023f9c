/** Routing providers whose objects Traefik reads, with real requests through it: its own, and those of ingress-nginx, whose annotations it takes. */
import { afterAll, beforeAll, describe, test } from 'vitest';
import { type HookServer, startHookServer } from '../../hook-server.ts';
import { type BedClient, useBed } from '../bed/client.ts';
import { startTraefik, type Traefik } from '../bed/traefik.ts';
import {
  type Analysis,
  dividesByShares,
  insidersOf,
  podsRate,
  podsTemplate,
  reachesByHeader,
  stepsOf,
} from './shares.ts';
import { rate, type ShopOptions, shareHoldfast, untilRunning } from './shop.ts';

const bed: BedClient = useBed();
const shops = shareHoldfast(bed, ['by-traefik', 'by-nginx', 'by-nginx-header']);

let hooks: HookServer;
let traefik: Traefik;

beforeAll(async () => {
  hooks = await startHookServer();
  traefik = await startTraefik(bed);
}, 2_500_000);

afterAll(async () => {
  await traefik.stop();
  await hooks.close();
});

const open = async (namespace: string, options: ShopOptions) =>
  untilRunning(await shops.open(namespace, { entryUrl: traefik.url, ...options }));

function ingressShop(namespace: string, analysis: Analysis): ShopOptions {
  const backend = { service: { name: 'podinfo', port: { number: 80 } } };
  const ingress = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: 'podinfo' },
    spec: {
      ingressClassName: 'nginx',
      rules: [
        {
          host: `${namespace}.example.com`,
          http: { paths: [{ path: '/', pathType: 'Prefix', backend }] },
        },
      ],
    },
  };
  return {
    provider: 'nginx',
    analysis,
    postPromotion: { metrics: [podsRate] },
    spec: {
      ingressRef: { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', name: 'podinfo' },
    },
    files: { ingress, template: podsTemplate(bed) },
  };
}

describe.concurrent('through Traefik', () => {
  test('traefik: users are divided as each step says, checks count its requests, and a bad release goes back', async () => {
    const namespace = 'by-traefik';
    const route = {
      apiVersion: 'traefik.io/v1alpha1',
      kind: 'IngressRoute',
      metadata: { name: 'podinfo' },
      spec: {
        entryPoints: ['web'],
        routes: [
          {
            kind: 'Rule',
            match: `Host(\`${namespace}.example.com\`)`,
            services: [{ kind: 'TraefikService', name: 'podinfo' }],
          },
        ],
      },
    };
    const shop = await open(namespace, {
      provider: 'traefik',
      analysis: stepsOf(hooks, namespace, rate),
      files: { route },
    });
    await dividesByShares(bed, { shop, hooks, url: traefik.url });
    await shop.close();
  });

  test('nginx: users are divided as the annotations of each step say, and a bad release goes back', async () => {
    const namespace = 'by-nginx';
    const shop = await open(namespace, ingressShop(namespace, stepsOf(hooks, namespace, podsRate)));
    await dividesByShares(bed, { shop, hooks, url: traefik.url });
    await shop.close();
  });

  test('nginx: only requests with the header reach an A/B canary', async () => {
    const namespace = 'by-nginx-header';
    // Traefik has no metrics of ingress-nginx; the pods have their own.
    const shop = await open(namespace, ingressShop(namespace, insidersOf(hooks, namespace, podsRate)));
    await reachesByHeader(shop, hooks);
    await shop.close();
  });
});
