import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type HookServer, startHookServer } from '../../hook-server.ts';
import { type BedClient, useBed, waitFor } from '../bed/client.ts';
import { openRunningShop } from './shop.ts';

const bed: BedClient = useBed();

let hooks: HookServer;

beforeAll(async () => {
  hooks = await startHookServer();
  hooks.answer('gate', 403);
});

afterAll(() => hooks.close());

interface Answer {
  readonly role: string;
  /** Cookies that the answer sets, with their attributes. */
  readonly cookies: readonly string[];
}

/** One request through Envoy, as a user with these cookies. */
function ask(host: string, cookie?: string): Promise<Answer> {
  const headers = { host, ...(cookie ? { cookie } : {}) };
  return new Promise((resolve, reject) => {
    const sent = request(bed.envoyUrl, { headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const { role = '' } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { role?: string };
        resolve({ role, cookies: response.headers['set-cookie'] ?? [] });
      });
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** Asks as new users until one is answered by this side. */
async function userOf(host: string, role: string): Promise<Answer> {
  return waitFor(
    async () => {
      const answer = await ask(host).catch(() => undefined);
      return answer?.role === role && answer.cookies.length > 0 ? answer : undefined;
    },
    { timeoutMs: 60_000, intervalMs: 20, what: `a new user of the ${role}` },
  );
}

test('users stay on the side that answered them first, and lose the cookie when the release has ended', async () => {
  const namespace = 'by-session';
  const host = `${namespace}.example.com`;
  const sessionAffinity = { cookieName: 'side', primaryCookieName: 'other', maxAge: 600 };
  const rate = {
    name: 'request-success-rate',
    thresholdRange: { min: 99 },
    interval: '5s',
    onNoData: 'wait' as const,
  };
  const shop = await openRunningShop(bed, namespace, {
    analysis: {
      ...{ interval: '2s', threshold: 2, stepWeights: [50, 60], sessionAffinity, metrics: [rate] },
      webhooks: [{ name: 'gate', type: 'confirm-promotion', url: hooks.url('gate') }],
    },
  });
  const load = shop.startLoad();
  await shop.release('v2');
  await shop.until('both sides have traffic', ({ phase, canaryWeight }) => {
    return phase === 'WaitingPromotion' && canaryWeight === 60;
  });

  const onCanary = await userOf(host, 'canary');
  const onPrimary = await userOf(host, 'primary');
  expect(onCanary.cookies).toEqual([expect.stringMatching(/^side=[a-z]{10}; Max-Age=600$/)]);
  expect(onPrimary.cookies).toEqual([expect.stringMatching(/^other=[a-z]{10}; Max-Age=2$/)]);
  const cookie = (answer: Answer) => answer.cookies[0]?.split(';')[0] ?? '';
  for (let count = 0; count < 5; count += 1) {
    expect((await ask(host, `a=1; ${cookie(onCanary)}; b=2`)).role).toBe('canary');
    expect((await ask(host, cookie(onPrimary))).role).toBe('primary');
  }

  hooks.answer('gate', 200);
  await shop.until('v2 succeeded', (status) => status.phase === 'Succeeded' && !status.run);
  const ended = await waitFor(
    async () => {
      const answer = await ask(host, cookie(onCanary));
      return answer.cookies.length > 0 ? answer : undefined;
    },
    { timeoutMs: 120_000, intervalMs: 100, what: 'the cookie is taken back' },
  );
  expect(ended).toEqual({ role: 'primary', cookies: [`${cookie(onCanary)}; Max-Age=-1`] });
  expect((await ask(host)).cookies).toEqual([]);
  expect((await load.stop()).failures).toEqual([]);
  await shop.close();
});
