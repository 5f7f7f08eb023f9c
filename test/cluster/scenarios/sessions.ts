import { request } from 'node:http';
import { expect } from 'vitest';
import type { HookServer } from '../../hook-server.ts';
import { waitFor } from '../bed/client.ts';
import type { Analysis } from './shares.ts';
import { rate, type Shop } from './shop.ts';

interface Answer {
  readonly role: string;
  /** Cookies that the answer sets, with their attributes. */
  readonly cookies: readonly string[];
}

/** One request to the data plane, as a user with these cookies. */
function ask(url: string, host: string, cookie?: string): Promise<Answer> {
  const headers = { host, ...(cookie ? { cookie } : {}) };
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers, agent: false }, (response) => {
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

/** An analysis that keeps users on their side, and waits for `keepsSides` before its promotion. */
export function sessionsOf(
  hooks: HookServer,
  name: string,
  metric: NonNullable<Analysis['metrics']>[number] = rate,
): Analysis {
  hooks.answer(name, 403);
  const sessionAffinity = { cookieName: 'side', primaryCookieName: 'other', maxAge: 600 };
  const gate = { name: 'gate', type: 'confirm-promotion' as const, url: hooks.url(name) };
  return {
    ...{ interval: '2s', threshold: 2, stepWeights: [50, 60], sessionAffinity },
    ...{ metrics: [metric], webhooks: [gate] },
  };
}

/** Releases v2 to a shop with the analysis of `sessionsOf`: users stay on the side that answered them first, and lose the cookie when the release has ended. */
export async function keepsSides(shop: Shop, hooks: HookServer, url: string): Promise<void> {
  const host = `${shop.namespace}.example.com`;
  const askAs = (cookie?: string) => ask(url, host, cookie);
  /** Asks as new users until one is answered by this side. */
  const userOf = (role: string) =>
    waitFor(
      async () => {
        const answer = await askAs().catch(() => undefined);
        return answer?.role === role && answer.cookies.length > 0 ? answer : undefined;
      },
      { timeoutMs: 60_000, intervalMs: 20, what: `a new user of the ${role}` },
    );
  const load = shop.startLoad();
  await shop.release('v2');
  await shop.until('both sides have traffic', ({ phase, canaryWeight }) => {
    return phase === 'WaitingPromotion' && canaryWeight === 60;
  });

  const onCanary = await userOf('canary');
  const onPrimary = await userOf('primary');
  expect(onCanary.cookies).toEqual([expect.stringMatching(/^side=[a-z]{10}; Max-Age=600$/)]);
  expect(onPrimary.cookies).toEqual([expect.stringMatching(/^other=[a-z]{10}; Max-Age=2$/)]);
  const cookie = (answer: Answer) => answer.cookies[0]?.split(';')[0] ?? '';
  for (let count = 0; count < 5; count += 1) {
    expect((await askAs(`a=1; ${cookie(onCanary)}; b=2`)).role).toBe('canary');
    expect((await askAs(cookie(onPrimary))).role).toBe('primary');
  }

  hooks.answer(shop.namespace, 200);
  await shop.until('v2 succeeded', (status) => status.phase === 'Succeeded' && !status.run);
  const ended = await waitFor(
    async () => {
      const answer = await askAs(cookie(onCanary));
      return answer.cookies.length > 0 ? answer : undefined;
    },
    { timeoutMs: 120_000, intervalMs: 100, what: 'the cookie is taken back' },
  );
  expect(ended).toEqual({ role: 'primary', cookies: [`${cookie(onCanary)}; Max-Age=-1`] });
  expect((await askAs()).cookies).toEqual([]);
  expect((await load.stop()).failures).toEqual([]);
}
