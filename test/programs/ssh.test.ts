import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/api/clock.ts';
import type { SecretValues } from '../../src/api/kubernetes.ts';
import type { Source } from '../../src/api/source/source.ts';
import type { GitError } from '../../src/git/errors.ts';
import { createGitSource, type GitSourceOptions } from '../../src/git/poll/git-source.ts';
import { createStores } from '../../src/git/store/stores.ts';
import { createTestRepository, noise, type TestRepository } from '../../src/git/testing/test-repository.ts';
import { createHttpClient } from '../../src/http/client.ts';
import { createGitAccess } from '../../src/server/git-access.ts';
import { type Sshd, startSshd } from './sshd.ts';

const PASSPHRASE = 'correct h0rse';
const http = createHttpClient({ allowLoopback: true });
const access = createGitAccess({
  client: http,
  clock: systemClock,
  env: {},
  fileSources: { trusts: () => false } as never,
});
const signal = new AbortController().signal;

let root: string;
let sshd: Sshd;
let repository: TestRepository;
let key: ReturnType<Sshd['key']>;
let secret: Record<string, string>;
let repositories = 0;
let name: string;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'holdfast-ssh-'));
  sshd = await startSshd(root);
  key = sshd.key('-t', 'ed25519', '-N', '');
});
afterAll(async () => {
  await http.close();
  await sshd.close();
  rmSync(root, { recursive: true, force: true });
});
beforeEach(() => {
  repositories += 1;
  name = `shop-${repositories}`;
  repository = createTestRepository(root, name);
  sshd.authorize(key.line);
  secret = { identity: key.text, 'identity.pub': key.line, known_hosts: sshd.knownHost() };
});
afterEach(() => sshd.fault(''));

/** The repository as a Source reads it, with the Secret as it is then. */
function open(options: Partial<GitSourceOptions> = {}) {
  const url = options.url ?? sshd.url(name);
  const source: Source = {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'shop', namespace: 'delivery' },
    spec: { url, ref: { branch: 'main' }, secretRef: { name: 'git' } },
  };
  const values = (): SecretValues =>
    Object.fromEntries(Object.entries(secret).map(([entry, text]) => [entry, Buffer.from(text)]));
  return createGitSource({
    namespace: 'delivery',
    name: 'shop',
    url,
    reference: { branch: 'main' },
    stores: createStores({ dataDir: join(root, `data-${repositories}`), clock: systemClock }),
    client: http,
    credentials: () =>
      access.credentials(source, { credentials: async () => values(), proxy: async () => undefined }),
    ...options,
  });
}

/** How an operation fails; nothing of the Secret may be in what people see of it. */
async function failure(work: Promise<unknown>): Promise<GitError> {
  const error = await work.then(
    () => new Error('it succeeded'),
    (caught: GitError) => caught,
  );
  const secrets = [PASSPHRASE, ...key.text.split('\n').slice(1, 3)];
  for (const word of secrets) expect(`${error.message}${error.stack}`).not.toContain(word);
  return error as GitError;
}

/** A commit on `parent` that is pushed to main. */
const change = (parent: string, text: string) => ({
  ...{ parent, before: parent, ref: 'refs/heads/main', message: 'Undo', time: 1_790_000_000 },
  files: new Map([['app.yaml', Buffer.from(text)]]),
});

describe('a repository behind sshd', () => {
  it('is read, and again when there is a new commit, without its pack being sent twice', async () => {
    const first = repository.commit({ 'app.yaml': 'a: 1\n', 'large.txt': noise(1, 200_000) });
    const source = open();
    expect((await source.poll(signal)).head.commit).toBe(first);
    const firstBytes = source.stats.receivedBytes;
    expect(firstBytes).toBeGreaterThan(100_000);
    const { files } = await source.readFiles(first, '.');
    expect(files.map(({ path, bytes }) => [path, Buffer.from(bytes).toString()])).toEqual([
      ['app.yaml', 'a: 1\n'],
    ]);
    expect((await source.poll(signal)).kind).toBe('unchanged');
    const second = repository.commit({ 'app.yaml': 'a: 2\n' });
    expect(await source.poll(signal)).toMatchObject({ kind: 'moved', head: { commit: second } });
    expect(source.stats.receivedBytes - firstBytes).toBeLessThan(10_000);
  });

  it('gives out a commit by its id, though no ref leads to it any more', async () => {
    const lost = repository.commit({ 'app.yaml': 'a: 1\n' });
    repository.git('commit', '-q', '--amend', '-m', 'Another');
    repository.forcePush();
    const source = open();
    await source.poll(signal);
    expect((await source.readCommit(lost)).commit).toBe(lost);
  });

  it('takes a commit and a ref, and says who was faster', async () => {
    const parent = repository.commit({ 'app.yaml': 'a: 1\n' });
    const source = open();
    await source.poll(signal);
    const commit = await source.commitFiles(change(parent, 'a: 2\n'));
    expect(repository.bare('show', 'main:app.yaml')).toBe('a: 2');
    expect(await source.poll(signal)).toMatchObject({ kind: 'moved', head: { commit, subject: 'Undo' } });
    await source.moveRef({ ref: 'refs/holdfast/lkg', before: undefined, after: commit });
    expect(await source.listRefs('refs/holdfast/')).toEqual(new Map([['refs/holdfast/lkg', commit]]));
    const late = await failure(source.commitFiles(change(parent, 'a: 3\n')));
    expect(late).toMatchObject({ code: 'Conflict', message: expect.stringContaining(`is at ${commit}`) });
  });

  it('refuses a push in the words of its hook', async () => {
    const parent = repository.commit({ 'app.yaml': 'a: 1\n' });
    const hook = join(root, `${name}.git`, 'hooks', 'pre-receive');
    writeFileSync(hook, '#!/bin/sh\necho nobody pushes on Fridays >&2\nexit 1\n', { mode: 0o755 });
    const refused = await failure(open().commitFiles(change(parent, 'a: 2\n')));
    expect(refused).toMatchObject({ code: 'Rejected', message: expect.stringContaining('on Fridays') });
    expect(repository.bare('rev-parse', 'main')).toBe(parent);
  });

  it('is read and written where the server knows protocol v0 alone', async () => {
    const old = await startSshd(root, { isOld: true });
    try {
      old.authorize(key.line);
      secret.known_hosts = old.knownHost();
      const source = open({ url: old.url(name) });
      await expect(source.poll(signal)).rejects.toMatchObject({ code: 'RefNotFound' });
      const first = repository.commit({ 'app.yaml': 'a: 1\n' });
      repository.git('tag', '-a', '-m', 'One', 'v1.0.0');
      repository.git('push', '-q', 'origin', 'v1.0.0');
      expect((await source.poll(signal)).head.commit).toBe(first);
      const second = repository.commit({ 'app.yaml': 'a: 2\n' });
      expect(await source.poll(signal)).toMatchObject({ kind: 'moved', head: { commit: second } });
      const pushed = await source.commitFiles(change(second, 'a: 3\n'));
      expect(repository.bare('rev-parse', 'main')).toBe(pushed);
      const tagged = open({ url: old.url(name), reference: { semver: '1.x' } });
      expect((await tagged.poll(signal)).head.commit).toBe(first);
    } finally {
      await old.close();
    }
  });

  it('is read at the path that the server has for its users', async () => {
    const commit = repository.commit({ 'app.yaml': 'a: 1\n' });
    const url = `ssh://git@127.0.0.1:${sshd.port}/~/${name}.git`;
    expect((await open({ url }).poll(signal)).head.commit).toBe(commit);
  });
});

describe('a key', () => {
  it.each<readonly [string, readonly string[], Record<string, string>]>([
    ['of ECDSA', ['-t', 'ecdsa', '-b', '384', '-N', ''], {}],
    ['of RSA, with SHA-2', ['-t', 'rsa', '-b', '2048', '-N', ''], {}],
    ['with a passphrase', ['-t', 'ed25519', '-N', PASSPHRASE, '-a', '4'], { password: `${PASSPHRASE}\n` }],
  ])('%s signs in', async (_what, args, more) => {
    const commit = repository.commit({ 'app.yaml': 'a: 1\n' });
    const other = sshd.key(...args);
    sshd.authorize(other.line);
    secret = { ...secret, identity: other.text, ...more };
    expect((await open().poll(signal)).head.commit).toBe(commit);
  });

  it("signs in from a Secret of Argo CD's", async () => {
    const commit = repository.commit({ 'app.yaml': 'a: 1\n' });
    const { known_hosts = '' } = secret;
    secret = { type: 'git', url: sshd.url(name), sshPrivateKey: key.text, known_hosts };
    expect((await open().poll(signal)).head.commit).toBe(commit);
  });

  it.each<readonly [string, Record<string, string>, string]>([
    ['whose passphrase is missing', {}, 'has no passphrase in the key password'],
    ['whose passphrase is another', { password: 'wr0ng' }, 'cannot be opened with the passphrase'],
  ])('%s is told', async (_what, more, problem) => {
    secret = { ...secret, identity: sshd.key('-t', 'ed25519', '-N', PASSPHRASE, '-a', '4').text, ...more };
    const refused = await failure(open().poll(signal));
    expect(refused).toMatchObject({ code: 'Unauthorized', actor: 'operator' });
    expect(refused.message).toMatch(`Secret delivery/git: identity `);
    expect(refused.message).toContain(problem);
  });

  it.each<readonly [string, readonly string[], string]>([
    ['a key', ['identity'], 'needs a private key; add it as identity'],
    ['known_hosts', ['known_hosts'], 'needs known_hosts'],
  ])('is not used when the Secret has no %s', async (_what, without, problem) => {
    for (const entry of without) delete secret[entry];
    const refused = await failure(open().poll(signal));
    expect(refused).toMatchObject({ code: 'Unauthorized', message: expect.stringContaining(problem) });
    expect(refused.message).toContain('Secret delivery/git');
  });

  it('that the server does not know is named, and a rotated Secret is used at once', async () => {
    const commit = repository.commit({ 'app.yaml': 'a: 1\n' });
    const source = open();
    await source.poll(signal);
    const next = sshd.key('-t', 'ecdsa', '-N', '');
    sshd.authorize(next.line);
    const refused = await failure(source.poll(signal));
    expect(refused).toMatchObject({ code: 'Unauthorized', actor: 'operator' });
    expect(refused.message).toMatch(/refused the ssh-ed25519 key SHA256:\S+ of Secret delivery\/git/);
    secret.identity = next.text;
    expect(await source.poll(signal)).toMatchObject({ kind: 'unchanged', head: { commit } });
  });

  it('that may only read cannot push, and the server says why', async () => {
    const parent = repository.commit({ 'app.yaml': 'a: 1\n' });
    sshd.fault(
      `case "$SSH_ORIGINAL_COMMAND" in git-receive-pack*) echo 'ERROR: The key is read only.' >&2; exit 1;; esac`,
    );
    const source = open();
    await source.poll(signal);
    const refused = await failure(source.commitFiles(change(parent, 'a: 2\n')));
    expect(refused).toMatchObject({ code: 'Unauthorized', actor: 'operator' });
    expect(refused.message).toMatch(/may not push \(the server says: ERROR: The key is read only\.\)/);
    expect(repository.bare('rev-parse', 'main')).toBe(parent);
  });

  it('sees no repository that is not there', async () => {
    const refused = await failure(open({ url: sshd.url('none') }).poll(signal));
    expect(refused).toMatchObject({ code: 'NotFound', actor: 'author' });
    expect(refused.message).toMatch(/no such repository, or the key .* may not read it \(the server says: /);
  });
});

describe('a server', () => {
  it.each(['ed25519', 'ecdsa', 'rsa'] as const)('is known by its %s key alone', async (type) => {
    const commit = repository.commit({ 'app.yaml': 'a: 1\n' });
    secret.known_hosts = sshd.knownHost(type);
    expect((await open().poll(signal)).head.commit).toBe(commit);
  });

  it.each<readonly [string, () => string, RegExp]>([
    [
      'unknown',
      () => `git.example.com ${key.line}`,
      /has no line for \[127\.0\.0\.1\]:\d+, which shows the \S+ key SHA256:/,
    ],
    [
      'known by its name alone, not by its port',
      () => sshd.knownHost().replace(/^\S+/, '127.0.0.1'),
      /has no line for/,
    ],
    [
      'another one',
      () => sshd.knownHost().replace(/ \S+ \S+/, ` ${key.line}`),
      /which is not the one in known_hosts .* the connection may be intercepted/,
    ],
    ['revoked', () => `${sshd.knownHost()}@revoked ${sshd.knownHost()}`, /marks as revoked/],
    [
      'signed by an authority alone',
      () => `@cert-authority ${sshd.knownHost()}`,
      /host certificates are not supported/,
    ],
    [
      'in a file that cannot be read',
      () => 'what is this',
      /known_hosts line 1 is not a line of known_hosts/,
    ],
  ])('that is %s gets no signature of the key', async (_what, knownHosts, problem) => {
    repository.commit({ 'app.yaml': 'a: 1\n' });
    secret.known_hosts = knownHosts();
    const before = sshd.log().length;
    const refused = await failure(open().poll(signal));
    expect(refused).toMatchObject({ code: 'Unauthorized', actor: 'operator' });
    expect(refused.message).toMatch(problem);
    expect(refused.message).toContain('Secret delivery/git');
    expect(sshd.log().slice(before)).not.toMatch(/publickey/);
  });

  it.each([
    ['takes the connection and is silent', '', /waiting for the server to greet/],
    ['greets and is silent', 'SSH-2.0-hung\r\n', /waiting for the server to greet/],
  ])('that %s is given up', async (_what, greeting, problem) => {
    const hung = await listen((socket) => void socket.write(greeting));
    const url = `ssh://git@127.0.0.1:${hung.port}/shop.git`;
    const refused = await failure(open({ url, limits: { idleTimeoutMs: 300 } }).poll(signal));
    expect(refused).toMatchObject({ code: 'Timeout', actor: 'nobody' });
    expect(refused.message).toMatch(problem);
    await hung.close();
  });

  it('that never stops sending is cut off', async () => {
    const noisy = await listen((socket) => {
      const timer = setInterval(() => socket.write(`${'noise '.repeat(2_000)}\r\n`), 1);
      socket.once('close', () => clearInterval(timer));
    });
    const url = `ssh://git@127.0.0.1:${noisy.port}/shop.git`;
    const refused = await failure(open({ url, limits: { maxListingBytes: 10_000 } }).poll(signal));
    expect(['TooLarge', 'Unreachable']).toContain(refused.code);
    await noisy.close();
  });

  it.each([
    ['starts nothing', 'sleep 30', /waiting for the answer of git-upload-pack/],
    [
      'lists half of its refs',
      `printf '000eversion 2\\n'; sleep 30`,
      /waiting for the answer of git-upload-pack/,
    ],
  ])('that %s is given up', async (_what, fault, problem) => {
    repository.commit({ 'app.yaml': 'a: 1\n' });
    sshd.fault(fault);
    const refused = await failure(open({ limits: { idleTimeoutMs: 1_500 } }).poll(signal));
    expect(refused).toMatchObject({ code: 'Timeout', actor: 'nobody' });
    expect(refused.message).toMatch(problem);
  });

  it('that trickles is given up at the total deadline', async () => {
    repository.commit({ 'app.yaml': 'a: 1\n' });
    sshd.fault(`printf '000eversion 2\\n'; while sleep 0.2; do printf '0006a\\n'; done`);
    const limits = { idleTimeoutMs: 2_000, totalTimeoutMs: 3_000 };
    const refused = await failure(open({ limits }).poll(signal));
    expect(refused).toMatchObject({ code: 'Timeout', message: expect.stringContaining('within 3 s') });
  });

  it('that lists without end is cut off', async () => {
    repository.commit({ 'app.yaml': 'a: 1\n' });
    sshd.fault(`printf '000eversion 2\\n'; yes 0006a`);
    const refused = await failure(open({ limits: { maxListingBytes: 100_000 } }).poll(signal));
    expect(refused).toMatchObject({ code: 'TooLarge', actor: 'author' });
  });

  it('whose pack is larger than allowed is cut off, and the store stays as it was', async () => {
    const small = repository.commit({ 'app.yaml': 'a: 1\n' });
    const source = open({ limits: { maxPackBytes: 50_000 } });
    await source.poll(signal);
    repository.commit({ 'large.txt': noise(2, 2_000_000) });
    const refused = await failure(source.poll(signal));
    expect(refused).toMatchObject({ code: 'TooLarge', actor: 'author' });
    expect((await source.readFiles(small, '.')).files).toHaveLength(1);
  });

  it('whose pack is cut gives nothing to the store, and the next poll succeeds', async () => {
    const first = repository.commit({ 'app.yaml': 'a: 1\n', 'large.txt': noise(3, 300_000) });
    const source = open();
    sshd.fault('eval "set -- $SSH_ORIGINAL_COMMAND"; "$1" "$2" | dd bs=1 count=100000 status=none; exit 0');
    const cut = await failure(source.poll(signal));
    expect(['Unreachable', 'Corrupt']).toContain(cut.code);
    expect(cut.actor).toBe('nobody');
    sshd.fault('');
    expect((await source.poll(signal)).head.commit).toBe(first);
  });

  it.each([
    ['before', ''],
    ['while', `printf '000eversion 2\\n'; `],
  ])('that goes away %s it answers is told from one that answers', async (_when, said) => {
    repository.commit({ 'app.yaml': 'a: 1\n' });
    // The process of sshd that serves the connection.
    sshd.fault(`${said}kill -9 $PPID; sleep 1`);
    const lost = await failure(open().poll(signal));
    expect(lost).toMatchObject({ code: 'Unreachable', actor: 'nobody' });
  });

  it('that does not speak Git is told', async () => {
    sshd.fault('echo Welcome to the machine; exit 0');
    const refused = await failure(open().poll(signal));
    expect(refused.message).toMatch(/did not answer in the Git protocol|truncated/);
  });

  it('is left at once by who gives up', async () => {
    repository.commit({ 'app.yaml': 'a: 1\n' });
    sshd.fault('sleep 30');
    const asking = open().poll(AbortSignal.timeout(500));
    expect(await failure(asking)).toMatchObject({ code: 'Aborted' });
  });
});

/** A server that speaks no SSH. */
async function listen(serve: (socket: Socket) => void): Promise<{ port: number; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
