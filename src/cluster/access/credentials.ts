import { type ExecFileException, execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { Clock } from '../../api/clock.ts';
import { present } from '../../api/kubernetes.ts';
import { systemWords } from '../../api/system-words.ts';
import { localError } from '../errors.ts';
import type { SelectedContext } from './kubeconfig.ts';
import type { ClusterProxy } from './proxy-url.ts';

/** Files (rotated tokens and certificates) are read again after this long, or as soon as a request is refused. */
const fileFreshnessMs = 20_000;
/** A plug-in's credential is renewed this long before it ends. */
const expiryLeewayMs = 10_000;

/** Credentials of one kubeconfig context, cached. */
interface Credentials {
  authenticate(): Promise<Authentication>;
  refresh(refused: Authentication): void;
}

/** Reads a context's credentials on demand: inline data, files (re-read), basic auth, or an exec plug-in. */
export function createCredentials(context: SelectedContext, clock: Clock): Credentials {
  let current:
    | { readonly value: Promise<Authentication>; readonly validUntilMs: number; readonly readAtMs: number }
    | undefined;
  let plugin: ExecCredential | undefined;
  /** As it was read last; undefined while what was refused is read again. */
  let latest: Authentication | undefined;

  async function read(): Promise<Authentication> {
    const expiresAtMs = plugin?.expiresAtMs ?? Number.POSITIVE_INFINITY;
    const isUsable = plugin !== undefined && clock.nowMs() <= expiresAtMs - expiryLeewayMs;
    if (context.user.exec && !isUsable) plugin = await runExecPlugin(context.user.exec, context.cluster);
    return compose(context, plugin);
  }

  return {
    authenticate() {
      const nowMs = clock.nowMs();
      // The second condition: a wall clock that was set back would otherwise extend the life of an old token.
      if (current && nowMs < current.validUntilMs && nowMs >= current.readAtMs) return current.value;
      const value = read();
      current = { value, readAtMs: nowMs, validUntilMs: nowMs + fileFreshnessMs };
      value.then(
        (read) => {
          if (current?.value === value) latest = read;
        },
        () => {
          current = undefined;
        },
      );
      return value;
    },
    refresh(refused) {
      // Requests that were sent together are refused one after the other: a person is asked to sign in once.
      if (JSON.stringify(latest) !== JSON.stringify(refused)) return;
      current = undefined;
      plugin = undefined;
      latest = undefined;
    },
  };
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
      `credential file ${file}: ${systemWords((error as NodeJS.ErrnoException).code) ?? 'cannot be read'}`,
    );
  }
}

/** What a TLS connection needs; PEM texts. Two requests with equal material share connections. */
export interface TlsMaterial {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly serverName?: string;
  /** Do not verify the server. Only on loopback. */
  readonly insecure: boolean;
}

/** Headers and TLS material for one request. Holds secrets: never log it. */
export interface Authentication {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsMaterial;
}

/** Where the API server is, and the credentials to use there. */
export interface ClusterAccess {
  /** Origin without a trailing slash; may have a path (`https://host:6443/k8s/clusters/a`). */
  readonly server: string;
  /** Namespace of the context or of the pod; `default` when neither says. */
  readonly namespace: string;
  /** Everything that goes to the server goes through it. */
  readonly proxy?: ClusterProxy;
  /** Current credentials; files and plug-ins are asked again when they may have changed. Throws `configuration` errors. */
  authenticate(): Promise<Authentication>;
  /** The server refused these credentials: the next `authenticate` reads everything again, unless that was done since. */
  refresh(refused: Authentication): void;
}

/** What a credential plug-in gave (client.authentication.k8s.io). Holds secrets. */
interface ExecCredential {
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
  /** When to ask again, milliseconds since the epoch; absent: use it until it is refused. */
  readonly expiresAtMs?: number;
}

const timeoutMs = 60_000;
const maximumOutputBytes = 1024 * 1024;

interface ExecEntry {
  readonly apiVersion?: unknown;
  readonly command?: unknown;
  readonly args?: unknown;
  readonly env?: unknown;
  readonly provideClusterInfo?: unknown;
}

/** Runs the kubeconfig's exec plug-in. The program gets the whole environment, as with kubectl; its output never enters a message, and what it says goes to a terminal only. */
async function runExecPlugin(entry: ExecEntry, cluster: SelectedContext['cluster']): Promise<ExecCredential> {
  if (typeof entry.command !== 'string' || entry.command === '') {
    throw localError('configuration', 'kubeconfig: users[].user.exec.command is missing');
  }
  const apiVersion =
    typeof entry.apiVersion === 'string' ? entry.apiVersion : 'client.authentication.k8s.io/v1';
  const asked = entry.provideClusterInfo === true ? { cluster: await clusterInfo(cluster) } : {};
  const spec = { interactive: false, ...asked };
  const info = JSON.stringify({ apiVersion, kind: 'ExecCredential', spec });
  const entries = Array.isArray(entry.env) ? entry.env : [];
  const added = Object.fromEntries(entries.map((each) => [String(each?.name), String(each?.value)]));
  const env = { ...process.env, ...added, KUBERNETES_EXEC_INFO: info };
  const args = Array.isArray(entry.args) ? entry.args.map(String) : [];
  return readCredential(entry.command, await run(entry.command, args, env));
}

/** The cluster in the words of client.authentication.k8s.io. */
async function clusterInfo(cluster: SelectedContext['cluster']): Promise<object> {
  const { server, tlsServerName, skipTLSVerify, proxyUrl, caData, caFile, execConfig } = cluster;
  const ca = await pem(caData, caFile);
  return present({
    server,
    'tls-server-name': tlsServerName,
    'insecure-skip-tls-verify': skipTLSVerify || undefined,
    'certificate-authority-data': ca && Buffer.from(ca).toString('base64'),
    'proxy-url': proxyUrl,
    config: execConfig,
  });
}

function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    // SIGKILL, since a plug-in that ignores SIGTERM would block every request.
    const limits = {
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      maxBuffer: maximumOutputBytes,
    } as const;
    const child = execFile(command, args, { env, ...limits }, (error, stdout) => {
      if (!error) return resolve(stdout);
      reject(localError('configuration', `credential plug-in ${command}: ${whyFailed(error)}`));
    });
    // Such as the code to sign in with. A log is not shown what it says.
    if (process.stderr.isTTY) child.stderr?.on('data', (said) => process.stderr.write(said));
  });
}

function whyFailed({ killed, code }: ExecFileException): string {
  if (code === 'ENOENT') return 'there is no such program; install it, or correct the kubeconfig';
  const why = killed
    ? `no answer within ${timeoutMs / 1000} s`
    : (systemWords(String(code)) ?? `failed (${code ?? 'unknown'})`);
  return `${why}; run it by hand to see its message`;
}

function readCredential(command: string, output: string): ExecCredential {
  const status = statusOf(output);
  const token = stringField(status, 'token');
  const cert = stringField(status, 'clientCertificateData');
  const key = stringField(status, 'clientKeyData');
  const expires = Date.parse(stringField(status, 'expirationTimestamp') ?? '');
  if (token === undefined && (cert === undefined || key === undefined)) {
    throw localError(
      'configuration',
      `credential plug-in ${command}: returned neither a token nor a client certificate with key`,
    );
  }
  return {
    ...(token === undefined ? {} : { token }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
    ...(Number.isFinite(expires) ? { expiresAtMs: expires } : {}),
  };
}

function statusOf(output: string): Record<string, unknown> {
  try {
    const status = (JSON.parse(output) as { status?: unknown } | null)?.status;
    return typeof status === 'object' && status !== null ? (status as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function stringField(status: Record<string, unknown>, field: string): string | undefined {
  const value = status[field];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
