import { readFile } from 'node:fs/promises';
import type { Clock } from '../api/clock.ts';
import { present } from '../api/present.ts';
import type { Authentication, TlsMaterial } from './access.ts';
import { localError } from './errors.ts';
import { type ExecCredential, runExecPlugin } from './exec-credential.ts';
import type { SelectedContext } from './kubeconfig-file.ts';

/** Files (rotated tokens and certificates) are read again after this long; a refused request makes it at once. */
const fileFreshnessMs = 20_000;
/** A plug-in's credential is renewed this long before it ends. */
const expiryLeewayMs = 10_000;

/** Credentials of one kubeconfig context, kept for a while. */
export interface Credentials {
  authenticate(): Promise<Authentication>;
  refresh(): void;
}

/** Reads a context's credentials on demand: inline data, files (re-read), basic auth, or an exec plug-in. */
export function createCredentials(context: SelectedContext, clock: Clock): Credentials {
  let current:
    | { readonly value: Promise<Authentication>; readonly validUntilMs: number; readonly readAtMs: number }
    | undefined;
  let plugin: ExecCredential | undefined;

  async function read(): Promise<Authentication> {
    if (context.user.exec && isExpired(plugin, clock)) plugin = await runExecPlugin(context.user.exec);
    return compose(context, plugin);
  }

  return {
    authenticate() {
      const nowMs = clock.nowMs();
      // A wall clock that was set back would otherwise keep an old token alive.
      if (current && nowMs < current.validUntilMs && nowMs >= current.readAtMs) return current.value;
      const value = read();
      current = { value, readAtMs: nowMs, validUntilMs: nowMs + fileFreshnessMs };
      value.catch(() => {
        current = undefined;
      });
      return value;
    },
    refresh() {
      current = undefined;
      plugin = undefined;
    },
  };
}

function isExpired(credential: ExecCredential | undefined, clock: Clock): boolean {
  if (!credential) return true;
  return credential.expiresAtMs !== undefined && clock.nowMs() > credential.expiresAtMs - expiryLeewayMs;
}

async function compose(
  context: SelectedContext,
  plugin: ExecCredential | undefined,
): Promise<Authentication> {
  const { cluster, user } = context;
  const [ca, cert, key, fileToken] = await Promise.all([
    pem(cluster.caData, cluster.caFile),
    pem(user.certData, user.certFile),
    pem(user.keyData, user.keyFile),
    user.tokenFile ? readTokenFile(user.tokenFile) : undefined,
  ]);
  const files = {
    ca,
    cert: plugin?.cert ?? cert,
    key: plugin?.key ?? key,
    serverName: cluster.tlsServerName,
  };
  const tls: TlsMaterial = { ...present(files), insecure: cluster.skipTLSVerify };
  return { headers: headersFor(context, plugin?.token ?? fileToken ?? user.token), tls };
}

function headersFor({ user }: SelectedContext, token: string | undefined): Record<string, string> {
  const headers: Record<string, string> = {};
  if (token) headers.authorization = `Bearer ${token.trim()}`;
  else if (user.username) {
    headers.authorization = `Basic ${Buffer.from(`${user.username}:${user.password ?? ''}`).toString('base64')}`;
  }
  if (user.impersonateUser) headers['impersonate-user'] = user.impersonateUser;
  return headers;
}

async function pem(base64: string | undefined, file: string | undefined): Promise<string | undefined> {
  if (base64) return Buffer.from(base64, 'base64').toString('utf8');
  return file ? readCredentialFile(file) : undefined;
}

async function readTokenFile(file: string): Promise<string> {
  const token = (await readCredentialFile(file)).trim();
  if (!token) throw localError('configuration', `token file ${file} is empty`);
  return token;
}

async function readCredentialFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw localError(
      'configuration',
      `credential file ${file}: ${(error as NodeJS.ErrnoException).code ?? 'cannot be read'}`,
    );
  }
}
