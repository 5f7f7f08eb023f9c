import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { limits } from '../../api/limits.ts';
import { verifyPushWebhook } from './push-webhook.ts';

const secret = Buffer.from('a-long-webhook-secret');
const body = Buffer.from('{"ref":"refs/heads/main"}');
const hmac = createHmac('sha256', secret).update(body).digest('hex');

const valid = [
  ['github', { 'x-github-event': 'push', 'x-hub-signature-256': `sha256=${hmac}` }],
  ['gitlab', { 'x-gitlab-token': secret.toString() }],
  ['gitea', { 'x-gitea-signature': hmac, 'x-hub-signature-256': `sha256=${hmac}` }],
  ['gitea', { 'x-forgejo-signature': hmac }],
  ['bitbucket', { 'x-event-key': 'repo:push', 'x-hub-signature': `sha256=${hmac}` }],
  ['generic', { 'x-signature': hmac.toUpperCase() }],
  ['generic', { 'x-signature': `sha256=${hmac}` }],
  ['generic', { 'x-hub-signature-256': `sha256=${hmac}` }],
] as const;

test.each(valid)('accepts a delivery of %s: %o', (provider, headers) => {
  expect(verifyPushWebhook({ headers, body }, secret)).toMatchObject({ accepted: true, provider });
});

test.each(valid)('refuses a delivery of %s with another secret: %o', (_provider, headers) => {
  expect(verifyPushWebhook({ headers, body }, Buffer.from('other')).accepted).toBe(false);
});

test('refuses a signature that belongs to another body', () => {
  const headers = { 'x-hub-signature-256': `sha256=${hmac}` };
  expect(verifyPushWebhook({ headers, body: Buffer.from('{}') }, secret).accepted).toBe(false);
});

test.each([
  ['no header', {}],
  ['an empty token', { 'x-gitlab-token': '' }],
  ['a short signature', { 'x-signature': 'abcd' }],
  ['text that is no hexadecimal', { 'x-signature': 'z'.repeat(64) }],
  ['a signature without its prefix', { 'x-hub-signature-256': hmac }],
  ['a header sent twice', { 'x-signature': [hmac, hmac] }],
  ['the old SHA-1 signature', { 'x-hub-signature': 'sha1=0123456789012345678901234567890123456789' }],
])('refuses %s', (_name, headers) => {
  expect(verifyPushWebhook({ headers, body }, secret).accepted).toBe(false);
});

test('refuses everything while the Source has no secret', () => {
  const empty = createHmac('sha256', '').update(body).digest('hex');
  expect(verifyPushWebhook({ headers: { 'x-signature': empty }, body }, Buffer.alloc(0))).toMatchObject({
    accepted: false,
    reason: 'the Source has no webhookSecret',
  });
});

test('refuses a body beyond the cap, and never shows the secret in the reason', () => {
  const large = Buffer.alloc(limits.httpRequestBytes + 1);
  const verdict = verifyPushWebhook(
    { headers: { 'x-gitlab-token': secret.toString() }, body: large },
    secret,
  );
  expect(verdict.accepted).toBe(false);
  expect(JSON.stringify(verdict)).not.toContain(secret.toString());
});
