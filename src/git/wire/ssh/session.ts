/** One program of Git on a server of SSH: connected, the server known, signed in, started. */

import type { Client, ClientChannel, ConnectConfig, ParsedKey } from 'ssh2';
import { oneLine } from '../../../api/limits.ts';
import type { SshAddress } from '../../../api/source/git-address.ts';
import { HttpError } from '../../../http/errors.ts';
import type { Connection } from '../../../http/types.ts';
import { GitError } from '../../errors.ts';
import { fingerprintOf } from '../../ssh-fields.ts';
import type { SshCredentials } from '../credentials.ts';
import { type TransportOptions, toGitError } from '../transport.ts';
import type { KnownHosts } from './known-hosts.ts';

/** What may be started on the server. */
export type GitService = 'git-upload-pack' | 'git-receive-pack';

/** The program that runs on the server. `close` ends it, whatever it does; without it the connection stays until a deadline. */
export interface RunningService {
  /** Its output, to be read once. Throws GitError, also when it ended in failure without any output. */
  readonly output: AsyncGenerator<Buffer>;
  readonly maySend: () => boolean;
  write(bytes: Uint8Array): void;
  /** Nothing more will be written. */
  end(): void;
  close(): void;
}

/** What is started, and how much it may answer. */
interface ServiceRequest {
  readonly address: SshAddress;
  readonly service: GitService;
  readonly maxBytes: number;
}

/** Signing in, and the lengths of packets: what an answer weighs besides its own bytes. */
const OVERHEAD_BYTES = 131_072;
const MAX_STDERR_CHARACTERS = 2_000;
/**
 * Nothing with SHA-1, no compression, which could make much of little, and no group that the server chooses: to check one of 8,192 bits takes a
 * minute in which nothing else is done.
 */
const ALGORITHMS: ConnectConfig['algorithms'] = {
  kex: [
    'curve25519-sha256',
    'curve25519-sha256@libssh.org',
    'ecdh-sha2-nistp256',
    'ecdh-sha2-nistp384',
    'ecdh-sha2-nistp521',
    'diffie-hellman-group14-sha256',
    'diffie-hellman-group16-sha512',
  ],
  compress: ['none'],
  hmac: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com', 'hmac-sha2-256', 'hmac-sha2-512'],
};
const HOST_KEYS: Readonly<Record<string, readonly string[]>> = {
  'ssh-ed25519': ['ssh-ed25519'],
  'ecdsa-sha2-nistp256': ['ecdsa-sha2-nistp256'],
  'ecdsa-sha2-nistp384': ['ecdsa-sha2-nistp384'],
  'ecdsa-sha2-nistp521': ['ecdsa-sha2-nistp521'],
  'ssh-rsa': ['rsa-sha2-512', 'rsa-sha2-256'],
};

/** Starts the program. Throws GitError with the stage that failed. */
export async function startService(
  options: TransportOptions,
  request: ServiceRequest,
): Promise<RunningService> {
  const { client, credentials, limits, signal, stats, url } = options;
  const { ssh, proxy } = credentials;
  if (!ssh)
    throw new GitError(
      'Unauthorized',
      `${url} is an SSH address; name a Secret with identity and known_hosts in spec.secretRef`,
    );
  const { host, port } = request.address;
  stats.requests += 1;
  const connection = await client
    .connect({
      protocol: 'ssh',
      host,
      port,
      limits: {
        idleTimeoutMs: limits.idleTimeoutMs,
        totalTimeoutMs: limits.totalTimeoutMs,
        // Packets of SSH hold 32 KiB.
        maxBytes: request.maxBytes + Math.ceil(request.maxBytes / 64) + OVERHEAD_BYTES,
      },
      ...(proxy === undefined ? {} : { proxy }),
      ...(signal ? { signal } : {}),
    })
    .catch((error: unknown) => {
      throw toGitError(error);
    });
  try {
    return await signIn(connection, { ...request, url, ssh, stats });
  } catch (error) {
    connection.end();
    throw error;
  }
}

interface SignIn extends ServiceRequest {
  readonly url: string;
  readonly ssh: SshCredentials;
  readonly stats: TransportOptions['stats'];
}

async function signIn(connection: Connection, request: SignIn): Promise<RunningService> {
  const { address, ssh, service } = request;
  const { Client } = await import('ssh2');
  const client = new Client();
  const stage = { now: 'the server to greet' };
  const hostKey = hostKeyCheck(request, stage);
  const failed = failureOf(client, connection, { request, stage, hostProblem: hostKey.problem });
  const known = ssh.knownHosts.typesOf(address.host, address.port).flatMap((type) => HOST_KEYS[type] ?? []);
  const types = known.length > 0 ? known : Object.values(HOST_KEYS).flat();
  const ready = new Promise<void>((resolve) => client.once('ready', () => resolve()));
  client.connect({
    sock: connection.socket as NonNullable<ConnectConfig['sock']>,
    username: ssh.username ?? address.user ?? 'git',
    authHandler: [
      {
        type: 'publickey',
        username: ssh.username ?? address.user ?? 'git',
        key: withoutSha1(ssh.key),
      } as never,
    ],
    hostVerifier: hostKey.verify,
    algorithms: { ...ALGORITHMS, serverHostKey: types } as NonNullable<ConnectConfig['algorithms']>,
    // Deadlines are those of the connection.
    readyTimeout: 0,
    ident: 'holdfast',
  });
  await Promise.race([ready, failed]);
  stage.now = `the server to start ${service}`;
  const channel = await Promise.race([startProgram(client, request), failed]);
  stage.now = `the answer of ${service}`;
  return running(channel, { connection, failed, client }, request);
}

/** RSA keys sign with SHA-2 only; the library would fall back to SHA-1 for a server that does not list its algorithms. */
function withoutSha1(key: ParsedKey): ParsedKey {
  const strict: ParsedKey = Object.create(key);
  strict.sign = (data, algorithm) =>
    algorithm === 'sha1'
      ? (new Error('the server wants a signature with SHA-1') as never)
      : key.sign(data, algorithm);
  return strict;
}

/** Compares the host's key with the known ones; stores the problem for the message. */
function hostKeyCheck({ address: { host, port }, ssh }: SignIn, stage: { now: string }) {
  let problem: GitError | undefined;
  return {
    problem: () => problem,
    verify(key: Buffer): boolean {
      const verdict = ssh.knownHosts.judge(host, port, key);
      stage.now = 'the server to accept the key';
      if (verdict === 'known') return true;
      const type = key.toString('latin1', 4, 4 + Math.min(40, key.readUInt32BE())).replace(/[^\w@.-]/g, '?');
      problem = hostProblem(verdict, {
        server: port === 22 ? host : `[${host}]:${port}`,
        shown: `the ${type} key ${fingerprintOf(key)}`,
        secret: ssh.secret,
      });
      return false;
    },
  };
}

function hostProblem(
  verdict: Exclude<ReturnType<KnownHosts['judge']>, 'known'>,
  { server, shown, secret }: { server: string; shown: string; secret: string },
): GitError {
  const compare = "compare it with the fingerprints that the server's operator publishes";
  const problems = {
    unknown: `known_hosts of Secret ${secret} has no line for ${server}, which shows ${shown}; ${compare}, then add its line as ssh-keyscan prints it`,
    changed: `${server} shows ${shown}, which is not the one in known_hosts of Secret ${secret}: the connection may be intercepted; if its operator changed the key, ${compare}, then replace the line`,
    revoked: `${server} shows ${shown}, which known_hosts of Secret ${secret} marks as revoked`,
    authority: `known_hosts of Secret ${secret} has only a @cert-authority line for ${server}, and host certificates are not supported; add a line of its host key: it shows ${shown}`,
  };
  return new GitError('Unauthorized', `${problems[verdict]}; nothing was sent`);
}

interface Failing {
  readonly request: SignIn;
  readonly stage: { readonly now: string };
  readonly hostProblem: () => GitError | undefined;
}

/** Rejects with what ended the connection; never resolves. */
function failureOf(client: Client, connection: Connection, failing: Failing): Promise<never> {
  const failed = new Promise<never>((_resolve, reject) => {
    const refuse = (error?: Error & { level?: string }) => reject(reasonOf(connection, failing, error));
    connection.signal.addEventListener('abort', () => refuse(), { once: true });
    client.on('error', refuse);
    client.once('close', () => refuse());
  });
  failed.catch(() => undefined);
  return failed;
}

function reasonOf(
  { signal }: Connection,
  { request: { url, ssh }, stage, hostProblem }: Failing,
  error: (Error & { level?: string }) | undefined,
): unknown {
  const reason: unknown = signal.aborted ? signal.reason : undefined;
  if (reason instanceof HttpError && reason.code === 'Timeout')
    return new GitError('Timeout', `${reason.message}, waiting for ${stage.now}`, reason);
  if (reason !== undefined) return toGitError(reason);
  const problem = hostProblem();
  if (problem) return problem;
  if (error?.level === 'client-authentication') {
    const key = `${ssh.key.type} key ${fingerprintOf(ssh.key.getPublicSSH())} of Secret ${ssh.secret}`;
    return new GitError(
      'Unauthorized',
      `${url}: the server refused the ${key}; add its public key to the repository's deploy keys`,
    );
  }
  const detail = error ? `: ${readable(error.message)}` : '';
  const problemNow = `the SSH connection ended, waiting for ${stage.now}`;
  return new GitError('Unreachable', `${url}: ${problemNow}${detail}`, error);
}

function startProgram(client: Client, { service, address }: SignIn): Promise<ClientChannel> {
  const path = `'${address.path.replace(/['!]/g, (character) => `'\\${character}'`)}'`;
  // Servers that do not take the variable answer in version 0.
  const env = { GIT_PROTOCOL: 'version=2' };
  return new Promise((resolve, reject) => {
    client.exec(`${service} ${path}`, { env }, (error, channel) => {
      if (error) reject(new GitError('Unreachable', `the server does not start ${service}`, error));
      else resolve(channel);
    });
  });
}

interface Open {
  readonly client: Client;
  readonly connection: Connection;
  readonly failed: Promise<never>;
}

function running(channel: ClientChannel, open: Open, request: SignIn): RunningService {
  const { connection, failed } = open;
  let complaint = '';
  let exit: number | undefined;
  let [isLost, isWhole] = [false, false];
  channel.once('end', () => {
    // Not every server sends the exit status.
    isWhole = !isLost;
  });
  open.client.once('close', () => {
    isLost = true;
  });
  channel.stderr.on('data', (chunk: Buffer) => {
    complaint = (complaint + chunk.toString('utf8')).slice(0, MAX_STDERR_CHARACTERS);
  });
  channel.on('error', () => undefined);
  // A service that ends immediately may send its exit status before the listener exists; `close` repeats it.
  const closed = new Promise<void>((resolve) => {
    channel.once('close', (code: number | null | undefined) => {
      if (code !== undefined) exit = code ?? -1;
      resolve();
    });
  });
  const close = () => {
    open.client.end();
    connection.end();
  };
  async function* output(): AsyncGenerator<Buffer> {
    let received = 0;
    try {
      // When the connection is lost the library ends the channel, too.
      for await (const chunk of channel as AsyncIterable<Buffer>) {
        received += chunk.length;
        request.stats.receivedBytes += chunk.length;
        yield chunk;
      }
      await closed;
      if (exit === undefined && !isWhole) await failed;
      if (exit !== 0 && exit !== undefined && received === 0) throw refusal(request, complaint, exit);
    } finally {
      close();
    }
  }
  return {
    output: output(),
    maySend: connection.maySend,
    write: (bytes) => void channel.write(bytes),
    end: () => void channel.end(),
    close,
  };
}

/** Servers say in words what HTTP says with a status. */
function refusal({ service, url, ssh }: SignIn, complaint: string, exit: number): GitError {
  const said = complaint.trim() === '' ? `exit status ${exit}` : readable(complaint);
  const isMissing = /not found|not exist|not appear to be|no such|could not find/i.test(said);
  const isDenied = /denied|not allowed|read.?only|permission|forbidden|unauthori[sz]ed|access/i.test(said);
  if (service === 'git-receive-pack' && (isDenied || !isMissing))
    return new GitError(
      'Unauthorized',
      `${url}: the key of Secret ${ssh.secret} may not push (the server says: ${said}); give it the right to write`,
    );
  if (isMissing || isDenied)
    return new GitError(
      'NotFound',
      `${url}: no such repository, or the key of Secret ${ssh.secret} may not read it (the server says: ${said})`,
    );
  return new GitError('Unreachable', `${url}: ${service} failed (the server says: ${said})`);
}

/** The server's own words, cut and without control characters; it may send anything. */
function readable(text: string): string {
  return oneLine(text).trim().slice(0, 200);
}
