import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { programs } from './programs.ts';

type KeyType = 'ed25519' | 'ecdsa' | 'rsa';

/** Debian's sshd on a free port of 127.0.0.1, with git behind it. Its only user is git, who is whoever runs the test. */
export interface Sshd {
  readonly port: number;
  /** `ssh://git@127.0.0.1:port/folder/name.git`. */
  url(name: string): string;
  /** Makes a key pair; the private half as text, and the public one as a line. */
  key(...args: readonly string[]): { readonly text: string; readonly line: string };
  /** Only these public keys may sign in from now on. */
  authorize(...lines: readonly string[]): void;
  /** Line of known_hosts for a host key of the server. */
  knownHost(type?: KeyType): string;
  /** A script of the shell that runs before git is started; empty: none. */
  fault(script: string): void;
  /** What the server wrote of its connections. */
  log(): string;
  close(): Promise<void>;
}

/** Settings beside those of every server here. */
interface SshdOptions {
  /** Default: all three. */
  readonly hostKeys?: readonly KeyType[];
  /** Default: takes the variable GIT_PROTOCOL, as forges do. */
  readonly isOld?: boolean;
}

/** Starts it in this folder, which holds the repositories. */
export async function startSshd(folder: string, options: SshdOptions = {}): Promise<Sshd> {
  const { hostKeys = ['ed25519', 'ecdsa', 'rsa'], isOld = false } = options;
  const port = await freePort();
  const place = join(folder, `sshd-${port}`);
  const file = (name: string) => join(place, name);
  mkdirSync(place);
  for (const type of hostKeys) keygen(file(`host-${type}`), ['-t', type, '-N', '']);
  const put = (name: string, text: string, mode?: number) => writeFileSync(file(name), text, { mode });
  put('authorized', '');
  put('fault', '');
  put('gate', `#!/bin/sh\n. ${file('fault')}\nexec git-shell -c "$SSH_ORIGINAL_COMMAND"\n`, 0o755);
  put('passwd', passwd(folder));
  put('group', `git:x:${process.getgid?.()}:\nsshd:x:65534:\n`);
  put('config', config({ file, port, hostKeys, isOld }));
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  const libraries = join(dirname(programs.sshd), '../lib', libraryFolder());
  const server = spawn(programs.sshd, ['-D', '-e', '-f', file('config')], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      PATH: process.env.PATH ?? '',
      LD_LIBRARY_PATH: libraries,
      LD_PRELOAD: join(libraries, 'libnss_wrapper.so'),
      NSS_WRAPPER_PASSWD: file('passwd'),
      NSS_WRAPPER_GROUP: file('group'),
    },
  });
  let log = '';
  const listening = new Promise<void>((resolve, reject) => {
    server.stderr.on('data', (chunk: Buffer) => {
      log += chunk.toString();
      if (log.includes('Server listening')) resolve();
    });
    server.once('exit', () => reject(new Error(`sshd ended: ${log}`)));
  });
  await listening;
  let keys = 0;
  return {
    port,
    url: (name) => `ssh://git@127.0.0.1:${port}${join(folder, `${name}.git`)}`,
    key(...args) {
      keys += 1;
      return keygen(file(`key-${keys}`), args);
    },
    authorize: (...lines) => put('authorized', `${lines.join('\n')}\n`),
    knownHost: (type = 'ed25519') =>
      `[127.0.0.1]:${port} ${readFileSync(file(`host-${type}.pub`), 'utf8').trim()}\n`,
    fault: (script) => put('fault', `${script}\n`),
    log: () => log,
    async close() {
      server.removeAllListeners('exit');
      const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()));
      server.kill('SIGTERM');
      await ended;
      rmSync(place, { recursive: true, force: true });
    },
  };
}

/** The users of the server: who runs the test, and the one that sshd gives its rights up for. */
function passwd(home: string): string {
  const own = `${process.getuid?.()}:${process.getgid?.()}`;
  return `git:x:${own}::${home}:/bin/sh\nsshd:x:65534:65534::/run/sshd:/usr/sbin/nologin\n`;
}

function config(of: {
  readonly file: (name: string) => string;
  readonly port: number;
  readonly hostKeys: readonly KeyType[];
  readonly isOld: boolean;
}): string {
  const { file, port, hostKeys, isOld } = of;
  return [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    ...hostKeys.map((type) => `HostKey ${file(`host-${type}`)}`),
    `AuthorizedKeysFile ${file('authorized')}`,
    `ForceCommand ${file('gate')}`,
    ...(isOld ? [] : ['AcceptEnv GIT_PROTOCOL']),
    ...['StrictModes no', 'PermitRootLogin yes', 'PidFile none', 'UsePAM no', 'PasswordAuthentication no'],
    '',
  ].join('\n');
}

function keygen(file: string, args: readonly string[]): { text: string; line: string } {
  execFileSync('ssh-keygen', ['-q', '-C', '', '-f', file, ...args]);
  return { text: readFileSync(file, 'utf8'), line: readFileSync(`${file}.pub`, 'utf8').trim() };
}

/** Debian's name of the machine's libraries. */
function libraryFolder(): string {
  const usual = process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu';
  const folder = join(dirname(programs.sshd), '../lib', usual);
  if (!existsSync(folder)) throw new Error(`${folder} is missing: run node scripts/programs-build.mjs`);
  return usual;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
