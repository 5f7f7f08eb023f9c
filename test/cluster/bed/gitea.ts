import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createGitClone, type GitClone } from './git-repo.ts';
import { untilBuilt } from './late-program.ts';
import { createPrograms, waitForAnswer } from './program.ts';

const run = promisify(execFile);

/** A real Gitea with SQLite, started for one suite. */
export interface Gitea {
  readonly url: string;
  readonly adminToken: string;
  /** A request to its API as the administrator, or with another token; throws for an answer that is no success. */
  api<T = unknown>(method: string, path: string, json?: unknown, token?: string): Promise<T>;
  /** A user with a token of these scopes; default: exactly those that docs/guides/forges.md asks for. */
  createUser(
    name: string,
    scopes?: readonly string[],
  ): Promise<{ readonly name: string; readonly token: string }>;
  /** A repository of the organisation `acme`; `writers` may push, and `main` has one commit. Returns its URL. */
  createRepository(name: string, writers?: readonly string[]): Promise<string>;
  /** A clone that pushes to such a repository as the administrator. */
  clone(url: string): Promise<GitClone>;
  stop(): Promise<void>;
}

const START_MS = 300_000;
const PASSWORD = 'not-a-secret-1';

/**
 * Starts Gitea from the folder that `scripts/bed-build.mjs` fills, and waits while that is still at work. Throws with its message when
 * the program cannot be built.
 */
export async function startGitea(folder: string, logsDir: string): Promise<Gitea> {
  await untilBuilt(folder, 'gitea');
  const home = mkdtempSync(join(tmpdir(), 'holdfast-gitea-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const config = join(home, 'app.ini');
  writeFileSync(config, configuration(folder, home, port));
  const programs = createPrograms(logsDir);
  const program = join(folder, 'gitea');
  const server = programs.start(`gitea-${port}`, program, ['web', '--config', config, '--work-path', home]);
  await waitForAnswer(server, `${url}/api/healthz`, START_MS);
  const cli = (...args: readonly string[]) =>
    run(program, [...args, '--config', config, '--work-path', home]);
  const names = ['--username', 'keeper', '--email', 'keeper@example.com', '--password', PASSWORD];
  await cli('admin', 'user', 'create', '--admin', '--must-change-password=false', ...names);
  const token = ['--username', 'keeper', '--token-name', 'bed', '--scopes', 'all', '--raw'];
  const { stdout } = await cli('admin', 'user', 'generate-access-token', ...token);
  // Its log goes to the same output, before the token or after it.
  const [adminToken] = /^[0-9a-f]{40}$/m.exec(stdout) ?? [];
  if (!adminToken) throw new Error(`Gitea printed no token: ${stdout}`);
  const requests = client(url, adminToken);
  await requests.api('POST', '/orgs', { username: 'acme' });
  return {
    ...requests,
    url,
    adminToken,
    async clone(repository) {
      const clone = await createGitClone(repository, repository.replace('://', `://keeper:${adminToken}@`));
      await clone.git('pull', '--quiet', 'origin', 'main');
      return clone;
    },
    async stop() {
      await programs.stopAll();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** As small as it goes; webhooks may reach the bed's own addresses. */
function configuration(folder: string, home: string, port: number): string {
  return `
APP_NAME = bed
RUN_USER = ${userInfo().username}
RUN_MODE = prod
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = ${port}
ROOT_URL = http://127.0.0.1:${port}/
STATIC_ROOT_PATH = ${folder}
APP_DATA_PATH = ${join(home, 'data')}
DISABLE_SSH = true
OFFLINE_MODE = true
LFS_START_SERVER = false
[database]
DB_TYPE = sqlite3
PATH = ${join(home, 'gitea.db')}
[repository]
ROOT = ${join(home, 'repositories')}
DEFAULT_BRANCH = main
[security]
INSTALL_LOCK = true
PASSWORD_HASH_ALGO = pbkdf2_v1
[webhook]
ALLOWED_HOST_LIST = *
[actions]
ENABLED = false
[cron]
ENABLED = false
[log]
LEVEL = Warn
`;
}

function client(url: string, adminToken: string): Pick<Gitea, 'api' | 'createUser' | 'createRepository'> {
  const send = async (method: string, path: string, json: unknown, authorization: string) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`Gitea: ${method} ${path}: ${response.status} ${text.slice(0, 300)}`);
    return text ? JSON.parse(text) : undefined;
  };
  const api: Gitea['api'] = (method, path, json, token = adminToken) =>
    send(method, path, json, `token ${token}`);
  return {
    api,
    async createUser(name, scopes = ['write:repository', 'write:issue']) {
      const email = `${name}@example.com`;
      await api('POST', '/admin/users', {
        username: name,
        email,
        password: PASSWORD,
        must_change_password: false,
      });
      const basic = `Basic ${Buffer.from(`${name}:${PASSWORD}`).toString('base64')}`;
      const wanted = { name: 'bed', scopes };
      const { sha1 } = (await send('POST', `/users/${name}/tokens`, wanted, basic)) as { sha1: string };
      return { name, token: sha1 };
    },
    async createRepository(name, writers = []) {
      await api('POST', '/orgs/acme/repos', { name, default_branch: 'main', auto_init: true });
      for (const writer of writers) {
        await api('PUT', `/repos/acme/${name}/collaborators/${writer}`, { permission: 'write' });
      }
      return `${url}/acme/${name}.git`;
    },
  };
}
