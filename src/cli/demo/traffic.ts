import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Traffic } from './stage.ts';

const requestsPerSecond = 20;
const timeoutMs = 10_000;
/** Requests that may be open at once; beyond, the target is too slow to be asked more often. */
const maximumOpen = 200;

/**
 * Sends GET requests at a constant rate until stopped. A failed one: no answer in 10 s, or a status outside 200-299. Counting begins with
 * the first answer that passes: a gateway needs a moment for a new route.
 */
export function startHttpTraffic({ url, host }: { url: string; host: string | undefined }): Traffic {
  const secure = url.startsWith('https:');
  const agent = secure ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true });
  const open = new Set<Promise<void>>();
  let requests = 0;
  let failed = 0;

  function ask(): Promise<boolean> {
    return new Promise((resolve) => {
      const options = { agent, timeout: timeoutMs, headers: host ? { host } : {} };
      const request = (secure ? httpsRequest : httpRequest)(url, options, (response) => {
        const { statusCode = 0 } = response;
        response.resume();
        response.on('end', () => resolve(statusCode >= 200 && statusCode < 300));
        response.on('error', () => resolve(false));
      });
      request.on('timeout', () => request.destroy());
      request.on('error', () => resolve(false));
      request.end();
    });
  }

  async function sendOne(): Promise<void> {
    const passed = await ask();
    if (!passed && requests === 0) return;
    requests += 1;
    if (!passed) failed += 1;
  }

  const timer = setInterval(() => {
    if (open.size >= maximumOpen) return;
    const one: Promise<void> = sendOne().finally(() => open.delete(one));
    open.add(one);
  }, 1000 / requestsPerSecond);

  return {
    totals: () => ({ requests, failed }),
    async stop() {
      clearInterval(timer);
      await Promise.all(open);
      agent.destroy();
    },
  };
}
