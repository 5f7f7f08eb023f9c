import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { largeRsaKey } from '../../../http/testing/large-key.ts';
import type { MetricRequest } from '../provider.ts';
import { tokenOfKey } from './google.ts';

test('a key that would take a second to sign with is refused, and nothing is sent', async () => {
  const text = JSON.stringify({
    type: 'service_account',
    client_email: 'holdfast@project.example.com',
    private_key: largeRsaKey(16_384),
  });
  const asked: unknown[] = [];
  const http = { send: (request: unknown) => Promise.reject(asked.push(request)) };

  const token = tokenOfKey(text, 'scope', { nowMs: 0 } as MetricRequest, http);

  await expect(token).rejects.toThrow('the private_key in serviceAccountKey is a key of 16384 bits');
  expect(asked).toEqual([]);
});

test('why Google refuses a key is told in its words', async () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const text = JSON.stringify({
    type: 'service_account',
    client_email: 'holdfast@project.example.com',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  });
  const refusal = { error: 'invalid_grant', error_description: 'Invalid grant: account not found' };
  const body = Buffer.from(JSON.stringify(refusal));
  const http = { send: async () => ({ status: 400, headers: {}, body }) };

  await expect(tokenOfKey(text, 'scope', { nowMs: 0 } as MetricRequest, http)).rejects.toThrow(
    'oauth2.googleapis.com gives no access token: HTTP 400: invalid_grant: Invalid grant: account not found',
  );
});
