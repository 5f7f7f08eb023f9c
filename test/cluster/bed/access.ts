import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { addresses } from './addresses.ts';
import type { ApiClient } from './api-client.ts';

/** Users of the bed's API server, all in system:masters; the audit log tells them apart. */
export const users = ['admin', 'kubelet', 'controller-manager', 'scheduler', 'contour'] as const;
export type User = (typeof users)[number];

/** A bearer token for each user. */
export type Tokens = Readonly<Record<User, string>>;

/** Makes the tokens and writes the API server's token file. */
export function createTokens(path: string): Tokens {
  const tokens = Object.fromEntries(users.map((user) => [user, randomBytes(16).toString('hex')])) as Record<
    User,
    string
  >;
  const lines = users.map((user) => `${tokens[user]},bed-${user},bed-${user},system:masters`);
  writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o600 });
  return tokens;
}

/** A token of a service account, valid for twelve hours. */
export async function accountToken(client: ApiClient, namespace: string, account: string): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
  const { status } = await client.request<{ status: { token: string } }>('POST', path, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: 43_200 },
  });
  return status.token;
}

/** Writes a kubeconfig for a user and returns its path. `ca` is the API server's certificate, PEM. */
export function writeKubeconfig(
  folder: string,
  user: string,
  token: string,
  ca: string,
  server: string = addresses.apiServer,
): string {
  const path = join(folder, `${user}.kubeconfig`);
  const cluster = {
    server,
    'certificate-authority-data': Buffer.from(ca).toString('base64'),
  };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'bed', cluster }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name: 'bed', context: { cluster: 'bed', user, namespace: 'default' } }],
    'current-context': 'bed',
  };
  writeFileSync(path, stringify(config), { mode: 0o600 });
  return path;
}
