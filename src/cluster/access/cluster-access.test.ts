import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createManualClock } from '../testing/manual-clock.ts';
import { type AccessOptions, loadClusterAccess } from './cluster-access.ts';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'holdfast-kubeconfig-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

interface Parts {
  readonly name?: string;
  readonly cluster?: Record<string, unknown>;
  readonly user?: Record<string, unknown>;
  readonly context?: Record<string, unknown>;
}

function write(file: string, content: string): string {
  const full = path.join(directory, file);
  mkdirSync(path.dirname(full), { recursive: true });
  writeFileSync(full, content);
  return full;
}

function kubeconfig(parts: Parts, file = 'config'): string {
  const { name = 'main', cluster = {}, user = {}, context = {} } = parts;
  return write(
    file,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': name,
      clusters: [{ name, cluster: { server: 'https://api.example.com:6443/', ...cluster } }],
      users: [{ name, user }],
      contexts: [{ name, context: { cluster: name, user: name, ...context } }],
    }),
  );
}

function load(file: string, more: Partial<AccessOptions> = {}) {
  return loadClusterAccess({ kubeconfig: file, allowExec: false, env: { HOME: directory }, ...more });
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('loadClusterAccess', () => {
  it('reads server, namespace, authority and token', async () => {
    const cluster = { 'certificate-authority-data': base64('CA'), 'tls-server-name': 'api.internal' };
    const access = await load(
      kubeconfig({ cluster, user: { token: 'secret' }, context: { namespace: 'shop' } }),
    );
    expect(access).toMatchObject({ server: 'https://api.example.com:6443', namespace: 'shop' });
    expect(await access.authenticate()).toEqual({
      headers: { authorization: 'Bearer secret' },
      tls: { ca: 'CA', serverName: 'api.internal', insecure: false },
    });
  });

  it('reads client certificates from files next to the kubeconfig, basic auth, and the user to impersonate', async () => {
    write('client.crt', 'CERT');
    write('client.key', 'KEY');
    const certificates = await load(
      kubeconfig({ user: { 'client-certificate': 'client.crt', 'client-key': './client.key', as: 'jane' } }),
    );
    expect(await certificates.authenticate()).toEqual({
      headers: { 'impersonate-user': 'jane' },
      tls: { cert: 'CERT', key: 'KEY', insecure: false },
    });
    const basic = await load(kubeconfig({ user: { username: 'a', password: 'b' } }));
    expect((await basic.authenticate()).headers).toEqual({ authorization: `Basic ${base64('a:b')}` });
  });

  it('reads a token file again after 20 s, and immediately when the token was refused', async () => {
    const clock = createManualClock();
    const token = write('token', 'one\n');
    const access = await load(kubeconfig({ user: { tokenFile: 'token' } }), { clock });
    const current = async () => (await access.authenticate()).headers.authorization;
    expect(await current()).toBe('Bearer one');
    writeFileSync(token, 'two');
    expect(await current()).toBe('Bearer one');
    access.refresh(await access.authenticate());
    expect(await current()).toBe('Bearer two');
    writeFileSync(token, 'three');
    clock.advance(21_000);
    expect(await current()).toBe('Bearer three');
    writeFileSync(token, 'four');
    clock.setWall(clock.nowMs() - 3_600_000);
    expect(await current()).toBe('Bearer four');
  });

  it('finds the files of KUBECONFIG, the first one deciding, and skips missing ones', async () => {
    const first = kubeconfig({ name: 'first', user: { token: '1' } }, 'first');
    const second = kubeconfig({ name: 'second', user: { token: '2' } }, 'second');
    const env = { KUBECONFIG: [path.join(directory, 'none'), first, second].join(path.delimiter) };
    const byDefault = await loadClusterAccess({ allowExec: false, env });
    const named = await loadClusterAccess({ allowExec: false, env, context: 'second' });
    expect((await byDefault.authenticate()).headers.authorization).toBe('Bearer 1');
    expect((await named.authenticate()).headers.authorization).toBe('Bearer 2');
    const lost = { KUBECONFIG: `${first}.old${path.delimiter}${second}.old` };
    await expect(loadClusterAccess({ allowExec: false, env: lost })).rejects.toThrow(
      `KUBECONFIG names no file that exists: ${lost.KUBECONFIG}`,
    );
  });

  it('uses the service account inside a pod, and the home directory elsewhere', async () => {
    const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443', HOME: directory };
    write('sa/token', 'pod-token');
    write('sa/ca.crt', 'CA');
    write('sa/namespace', 'delivery\n');
    const serviceAccountDirectory = path.join(directory, 'sa');
    const inPod = await loadClusterAccess({ allowExec: false, env, serviceAccountDirectory });
    expect(inPod).toMatchObject({ server: 'https://[fd00::1]:443', namespace: 'delivery' });
    expect(await inPod.authenticate()).toEqual({
      headers: { authorization: 'Bearer pod-token' },
      tls: { ca: 'CA', insecure: false },
    });
    kubeconfig({ user: { token: 'home' } }, '.kube/config');
    const atHome = await loadClusterAccess({
      allowExec: false,
      env: { HOME: directory },
      serviceAccountDirectory,
    });
    expect((await atHome.authenticate()).headers.authorization).toBe('Bearer home');
  });

  it('tells an exec plug-in about the cluster where its entry asks for that, and else not', async () => {
    const repeat = 'printf %s "$KUBERNETES_EXEC_INFO" | base64 | tr -d "\\n"';
    const exec = { command: 'sh', args: ['-c', `printf '{"status":{"token":"%s"}}' "$(${repeat})"`] };
    const config = { shoot: 'prod' };
    const cluster = {
      'certificate-authority': write('ca.crt', 'CA'),
      'tls-server-name': 'api.internal',
      extensions: [
        { name: 'other', extension: {} },
        { name: 'client.authentication.k8s.io/exec', extension: config },
      ],
    };
    const told = async (provideClusterInfo: boolean) => {
      const file = kubeconfig({ cluster, user: { exec: { ...exec, provideClusterInfo } } });
      const { headers } = await (await load(file, { allowExec: true })).authenticate();
      const info = Buffer.from(headers.authorization?.slice('Bearer '.length) ?? '', 'base64').toString();
      return (JSON.parse(info) as { spec: unknown }).spec;
    };

    expect(await told(true)).toEqual({
      interactive: false,
      cluster: {
        server: 'https://api.example.com:6443',
        'tls-server-name': 'api.internal',
        'certificate-authority-data': base64('CA'),
        config,
      },
    });
    expect(await told(false)).toEqual({ interactive: false });
  });

  it('runs an exec plug-in for a person, caches its answer until it expires, and refuses it for a server', async () => {
    const clock = createManualClock();
    const until = new Date(clock.nowMs() + 60_000).toISOString();
    const program = write(
      'plugin',
      `#!/bin/sh\necho x >> "${directory}/runs"\nn=$(wc -l < "${directory}/runs")\necho "{\\"status\\":{\\"token\\":\\"$GREETING-$((n))\\",\\"expirationTimestamp\\":\\"${until}\\"}}"\n`,
    );
    chmodSync(program, 0o755);
    const file = kubeconfig({
      user: { exec: { command: program, env: [{ name: 'GREETING', value: 'hi' }] } },
    });
    const access = await load(file, { allowExec: true, clock });
    const current = async () => (await access.authenticate()).headers.authorization;
    expect(await current()).toBe('Bearer hi-1');
    clock.advance(30_000);
    expect(await current()).toBe('Bearer hi-1');
    clock.advance(25_000);
    expect(await current()).toBe('Bearer hi-2');
    await expect(load(file)).rejects.toThrow(/exec credential plug-ins are not allowed/);
  });

  it('looks for the program of a plug-in beside the kubeconfig where its path is relative, as kubectl does', async () => {
    const program = write('beside', '#!/bin/sh\necho \'{"status":{"token":"found"}}\'\n');
    chmodSync(program, 0o755);
    const file = kubeconfig({ user: { exec: { command: `./${path.basename(program)}` } } });

    const access = await load(file, { allowExec: true });

    expect((await access.authenticate()).headers.authorization).toBe('Bearer found');
  });

  it('asks a plug-in once for all requests that were refused with the same credentials', async () => {
    const program = write(
      'again',
      `#!/bin/sh\necho x >> "${directory}/again-runs"\nn=$(wc -l < "${directory}/again-runs")\necho "{\\"status\\":{\\"token\\":\\"$((n))\\"}}"\n`,
    );
    chmodSync(program, 0o755);
    const access = await load(kubeconfig({ user: { exec: { command: program } } }), { allowExec: true });
    const refused = await access.authenticate();
    access.refresh(refused);
    const asked = access.authenticate();

    access.refresh(refused);
    await asked;
    access.refresh(refused);

    expect((await access.authenticate()).headers.authorization).toBe('Bearer 2');
  });

  it('shows what a plug-in says to the person at the terminal, such as the code to sign in with', async () => {
    const user = {
      exec: { command: 'sh', args: ['-c', `echo enter ABC >&2; echo '{"status":{"token":"x"}}'`] },
    };
    const said: string[] = [];
    const { isTTY } = process.stderr;
    process.stderr.isTTY = true;
    const written = vi
      .spyOn(process.stderr, 'write')
      .mockImplementation((chunk) => said.push(`${chunk}`) > 0);
    try {
      await (await load(kubeconfig({ user }), { allowExec: true })).authenticate();
    } finally {
      written.mockRestore();
      process.stderr.isTTY = isTTY;
    }

    expect(said.join('')).toBe('enter ABC\n');
  });

  it('does not repeat what a failing plug-in printed', async () => {
    const user = { exec: { command: 'sh', args: ['-c', 'echo hunter2; echo hunter2 >&2; exit 3'] } };
    const access = await load(kubeconfig({ user }), { allowExec: true });
    const error = await access.authenticate().catch((reason) => reason);
    expect(error).toMatchObject({ kind: 'configuration', actor: 'administrator' });
    expect(error.message).toContain('failed (3)');
    expect(error.message).not.toContain('hunter2');
  });

  it('says that the program of a plug-in is not there, in words', async () => {
    const access = await load(kubeconfig({ user: { exec: { command: 'no-such-plug-in' } } }), {
      allowExec: true,
    });
    await expect(access.authenticate()).rejects.toThrow(
      /^credential plug-in no-such-plug-in: there is no such program; install it, or correct the kubeconfig$/,
    );
  });

  it('takes plain http and unverified TLS on loopback only', async () => {
    await expect(load(kubeconfig({ cluster: { server: 'http://127.0.0.1:8001' } }))).resolves.toBeDefined();
    await expect(load(kubeconfig({ cluster: { server: 'http://api.example.com' } }))).rejects.toThrow(
      /must use https/,
    );
    const insecure = { 'insecure-skip-tls-verify': true };
    await expect(load(kubeconfig({ cluster: insecure }))).rejects.toThrow(/insecure-skip-tls-verify/);
    await expect(
      load(kubeconfig({ cluster: { server: 'https://127.0.0.1:1', ...insecure } })),
    ).resolves.toBeDefined();
  });

  it.each([
    ['auth-provider', { user: { 'auth-provider': { name: 'oidc' } } }],
    ['as-groups', { user: { as: 'x', 'as-groups': ['admins'] } }],
  ])('refuses %s instead of ignoring it', async (what, parts) => {
    await expect(load(kubeconfig(parts))).rejects.toThrow(new RegExp(`${what}.* is not supported`));
  });

  it('reads a proxy, and removes its credentials from its address', async () => {
    const through = (proxy: string) => load(kubeconfig({ cluster: { 'proxy-url': proxy } }));
    expect((await through('http://proxy:3128/')).proxy).toEqual({ origin: 'http://proxy:3128' });
    expect((await through('https://me:p%40ss@proxy')).proxy).toEqual({
      origin: 'https://proxy',
      authorization: `Basic ${base64('me:p@ss')}`,
    });
  });

  it.each([
    ['socks5://me:hunter2@proxy:1080', /^kubeconfig: proxy-url is a socks5 proxy; only HTTP and HTTPS/],
    ['proxy hunter2', /^kubeconfig: proxy-url must be http\(s\):\/\/host:port$/],
    [
      'http://me:%zzhunter2@proxy',
      /^kubeconfig: proxy-url has a user or password that is not percent-encoded$/,
    ],
  ])('refuses the proxy %s without quoting it', async (proxy, message) => {
    const error = await load(kubeconfig({ cluster: { 'proxy-url': proxy } })).catch((reason) => reason);
    expect(error).toMatchObject({ kind: 'configuration' });
    expect(error.message).toMatch(message);
    expect(error.message).not.toContain('hunter2');
  });

  it('takes plain http to loopback through a proxy on this machine only', async () => {
    const cluster = (proxy: string) =>
      kubeconfig({ cluster: { server: 'http://127.0.0.1:8001', 'proxy-url': proxy } });
    await expect(load(cluster('http://localhost:3128'))).resolves.toBeDefined();
    await expect(load(cluster('http://proxy:3128'))).rejects.toThrow(/must use https/);
  });

  it.each([
    ['a missing file', () => path.join(directory, 'none'), /there is no such file/],
    [
      'a broken file, without its content',
      () => write('bad', 'a: [\ntoken: hunter2: x'),
      /bad:\d+: invalid YAML$/,
    ],
    ['a list', () => write('list', '[]'), /list: does not exist|current-context is not set/],
    ['a missing server', () => write('s', '{"clusters":[{"name":"x","cluster":{}}]}'), /server is missing/],
    ['an unknown context', () => write('c', '{"current-context":"prod"}'), /context "prod" does not exist/],
    [
      'a mistyped context, with those that there are',
      () => write('m', '{"current-context":"prdo","contexts":[{"name":"prod","context":{"cluster":"x"}}]}'),
      /context "prdo" does not exist; there are: "prod"$/,
    ],
    ['a server that is no URL', () => kubeconfig({ cluster: { server: 'nonsense' } }), /not a URL/],
  ])('explains %s', async (_, file, message) => {
    const error = await load(file()).catch((reason) => reason);
    expect(error).toMatchObject({ kind: 'configuration' });
    expect(error.message).toMatch(message);
    expect(error.message).not.toContain('hunter2');
  });

  it('says that there is no cluster at all', async () => {
    await expect(loadClusterAccess({ allowExec: false, env: { HOME: directory } })).rejects.toThrow(
      /--kubeconfig/,
    );
  });
});
