import { createHmac } from 'node:crypto';

/** Key `webhookSecret` of the Sources that benches notify. */
export const PUSH_SECRET = 'a shared secret of the push webhook';

/** Tells a Source of a push, as a forge does. Throws when it is not taken. */
export async function notifyOfPush(url: string, namespace: string, source: string): Promise<void> {
  const body = JSON.stringify({ ref: 'refs/heads/main' });
  const signature = createHmac('sha256', PUSH_SECRET).update(body).digest('hex');
  const response = await fetch(`${url}/hooks/${namespace}/${source}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-github-event': 'push',
      'x-hub-signature-256': `sha256=${signature}`,
    },
    body,
  });
  if (!response.ok) throw new Error(`the push webhook was answered ${response.status}`);
}
