/** Access tokens of Google: of a service account's key (RFC 7523), or of the pod's own identity. */
import { createSign } from 'node:crypto';
import * as z from 'zod';
import { readPrivateKey } from '../../../http/private-key.ts';
import type { HttpResponse } from '../../../http/types.ts';
import { jsonIn, lent, type MetricAccess, type MetricHttp, type MetricRequest } from '../provider.ts';
import { refusalOf, tlsOf } from '../rest.ts';

const keySchema = z.object({
  type: z.literal('service_account'),
  client_email: z.string(),
  private_key: z.string(),
  private_key_id: z.string().optional(),
  token_uri: z.string().default('https://oauth2.googleapis.com/token'),
});
const tokenSchema = z.object({ access_token: z.string() });

const metadata = 'http://metadata.google.internal/computeMetadata/v1';

/** A token of the key in the template's Secret. Throws for an invalid key, without its content. */
export async function tokenOfKey(
  text: string,
  scope: string,
  request: MetricRequest,
  http: MetricHttp,
): Promise<string> {
  const key = keySchema.safeParse(jsonIn(text));
  if (!key.success) throw new Error('serviceAccountKey is not the JSON key of a service account');
  const { client_email: issuer, private_key: secret, private_key_id: id, token_uri: url } = key.data;
  const seconds = Math.floor(request.nowMs / 1_000);
  const claims = { iss: issuer, scope, aud: url, iat: seconds, exp: seconds + 3_600 };
  const header = { alg: 'RS256', typ: 'JWT', ...(id ? { kid: id } : {}) };
  const unsigned = [header, claims]
    .map((one) => Buffer.from(JSON.stringify(one)).toString('base64url'))
    .join('.');
  const assertion = `${unsigned}.${signature(unsigned, secret)}`;
  const grant = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion };
  const answer = await http.send({
    url,
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    body: new URLSearchParams(grant).toString(),
    tls: tlsOf(request),
    limits: { totalTimeoutMs: request.timeoutMs },
  });
  return tokenIn(answer, new URL(url).host);
}

function signature(text: string, privateKey: string): string {
  try {
    return createSign('RSA-SHA256').update(text).sign(readPrivateKey(privateKey), 'base64url');
  } catch (error) {
    const why = error instanceof RangeError ? error.message : 'cannot be used';
    throw new Error(`the private_key in serviceAccountKey ${why}`);
  }
}

/** A token of the pod's service account. Throws where it is not lent. */
export async function tokenOfPod(
  request: MetricRequest,
  identity: MetricAccess['identity'],
): Promise<string> {
  const path = '/instance/service-accounts/default/token';
  return tokenIn(await askMetadata(path, request, identity), 'metadata.google.internal');
}

/** The project that the pod runs in. */
export async function projectOfPod(
  request: MetricRequest,
  identity: MetricAccess['identity'],
): Promise<string> {
  const answer = await askMetadata('/project/project-id', request, identity);
  if (answer.status === 200) return Buffer.from(answer.body).toString('utf8').trim();
  throw new Error(`metadata.google.internal returns no project: ${refusalOf(answer)}`);
}

async function askMetadata(
  path: string,
  request: MetricRequest,
  identity: MetricAccess['identity'],
): Promise<HttpResponse> {
  const { http } = lent(request, identity);
  return http.send({
    url: `${metadata}${path}`,
    headers: { 'metadata-flavor': 'Google' },
    limits: { totalTimeoutMs: request.timeoutMs },
  });
}

function tokenIn(answer: HttpResponse, host: string): string {
  const parsed = tokenSchema.safeParse(jsonIn(Buffer.from(answer.body).toString('utf8')));
  if (answer.status === 200 && parsed.success) return parsed.data.access_token;
  throw new Error(`${host} gives no access token: ${refusalOf(answer)}`);
}
