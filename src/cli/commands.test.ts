import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runProgram } from './commands.ts';

let folder: string;
let stdout: string;
let stderr: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-commands-'));
  stdout = '';
  stderr = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    stdout += String(text);
    return true;
  });
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    stderr += String(text);
    return true;
  });
});

afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const run = (...argv: string[]) => runProgram(argv, '1.2.3');
const configMap = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\n';

describe('the command line', () => {
  it('help lists the commands with a word about each', async () => {
    expect(await run('--help')).toBe(0);
    expect(stdout).toMatch(/^ {2}status +show Canaries and Sources, or one of them in full$/m);
    expect(stdout).not.toContain('adopt');
  });

  it.each([[['status', '--help']], [['help', 'status']]])('%j is the help of the command', async (argv) => {
    expect(await run(...argv)).toBe(0);
    expect(stdout).toContain('--holdfast-namespace');
  });

  it('help names each default as it would be typed', async () => {
    expect(await run('run', '--help')).toBe(0);
    const typed = stdout.replace(/\s+/g, ' ');
    expect(typed).toContain('/metrics, /hooks and the built-in gates (default: 127.0.0.1:8080)');
    expect(typed).toContain('are raised to it (default: 10s)');
    expect(typed).toContain(
      'primary from canary pods (comma-separated) (default: app,name,app.kubernetes.io/name)',
    );
    expect(stdout).not.toMatch(/default: [[{]|default: \)|default: false/);
  });

  it.each([
    ['freeze', '--reason <text> why; shown in the status of every Canary (required)'],
    ['plan', 'for example HEAD^ or main~2 (required)'],
    ['handback', '(choices: "flagger", "flux", "argocd") (required)'],
  ])('help says which options %s does not go without', async (command, words) => {
    expect(await run(command, '--help')).toBe(0);
    expect(stdout.replace(/\s+/g, ' ')).toContain(words);
  });

  it("help says which defaults are the controller's, also of switches", async () => {
    expect(await run('check', '--help')).toBe(0);
    const typed = stdout.replace(/\s+/g, ' ');
    expect(typed).toContain("routing provider of Canaries without spec.provider (default: the controller's)");
    expect(typed).toContain("other objects of other namespaces (default: the controller's)");
    expect(typed).toContain("for Sources without serviceAccountName (default: the controller's)");
  });

  it('help fits a terminal of 80 columns, but for what has no blank in it', async () => {
    for (const command of ['run', 'diff', 'plan', 'check', 'install'])
      expect(await run(command, '--help')).toBe(0);
    const long = stdout.split('\n').filter((line) => line.length > 80 && /\S\s+\S/.test(line.slice(48)));
    expect(long).toEqual([]);
  });

  it('a command that does not exist is refused with one that may be meant', async () => {
    expect(await run('statu')).toBe(2);
    expect(stderr).toContain('(Did you mean status?)');
  });

  it.each([
    ['uninstall', /hand back their traffic first, .*holdfast install .*docs\/guides\/uninstall\.md/],
    ['upgrade', /holdfast install of the new version .*docs\/guides\/upgrade\.md/],
  ])(
    '%s, which is no command, is refused with what to do, and not with another command that is near',
    async (word, what) => {
      expect(await run(word)).toBe(2);
      expect(stderr).toMatch(what);
      expect(stderr).not.toContain('Did you mean');
      expect(await run(word, '-o', 'json')).toBe(2);
      expect(JSON.parse(stdout)).toMatchObject({ kind: 'Error', reason: 'InvalidArguments' });
    },
  );

  it('install prints manifests for this version', async () => {
    expect(await run('install', '--namespace', 'fast', '--watch-namespaces', 'a, b,a')).toBe(0);
    expect(stdout).toContain('image: holdfast:v1.2.3\n');
    expect(stdout).toContain('--watch-namespaces=a,b\n');
    expect(stderr).toBe('');
  });

  it('install hands flags of run to the program, once they are ones that it takes', async () => {
    const flags = ['log-level=debug', 'shadow', 'metrics-server=http://prometheus:9090'];
    expect(await run('install', ...flags.flatMap((flag) => ['--flag', flag]))).toBe(0);
    expect(stdout).toMatch(
      /- --data-dir=\/data\n\s+- --log-level=debug\n\s+- --metrics-server=http:\/\/prometheus:9090\n\s+- --shadow\n/,
    );
  });

  it.each([
    ['data-dir=/tmp', '--data-dir is set by install'],
    ['log-levle=debug', 'holdfast run has no such flag'],
    ['log-level', '--log-level needs a value'],
    ['log-level=loud', 'must be'],
    ['metrics-server=prometheus', 'must be'],
    ['shadow=no', '--shadow takes no value'],
  ])('install refuses --flag %s', async (flag, message) => {
    expect(await run('install', '--flag', flag)).toBe(2);
    expect(stderr).toContain(message);
    expect(stdout).toBe('');
  });

  it.each(['--watch-namespaces', '--providers', '--egress'])(
    'install takes no empty %s, as of a variable that is not set: everything would be allowed',
    async (flag) => {
      expect(await run('install', flag, '')).toBe(2);
      expect(stderr).toContain('must name at least one; without this option all are meant');
      expect(stdout).toBe('');
    },
  );

  it('plan takes no empty --fail-on, as of a variable that is not set: every plan would pass', async () => {
    expect(await run('plan', '--base', 'HEAD', '--fail-on', '')).toBe(2);
    expect(stderr).toContain('it must be one of changes, one-way, refused, problems, none');
  });

  it('check names the flag for the namespace that -n means elsewhere', async () => {
    expect(await run('check', '-n', 'shop')).toBe(2);
    expect(stderr).toContain(
      '--watch-namespaces shop checks the Canaries and Sources of that namespace alone',
    );
    expect(await run('check', '--help')).toBe(0);
    expect(stdout).not.toContain('-n <name>');
  });

  it('completion names its shells in its help', async () => {
    expect(await run('completion', '--help')).toBe(0);
    expect(stdout).toMatch(/^ {2}shell +.*"bash", "zsh", "fish"/m);
  });

  it('validate ends with 0 for sound files and with 2 for others', async () => {
    expect(await run('validate', file('good.yaml', configMap))).toBe(0);
    expect(await run('validate', file('bad.yaml', 'kind: ['))).toBe(2);
    expect(stdout).toMatch(/bad\.yaml:\d+: is not valid YAML/);
  });

  it('validate -o json prints nothing but JSON', async () => {
    expect(await run('validate', '-o', 'json', file('bad.yaml', 'kind: ['))).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({
      files: 1,
      objects: 0,
      problems: [{ message: expect.stringContaining('is not valid YAML') }],
    });
  });

  it.each([
    [['install', '-o', 'xml']],
    [['install', '--namespace', 'A']],
    [['validate']],
    [['status', 'pod', 'web']],
    [['status', 'web', '-A', '--kubeconfig', 'nowhere']],
    [['status', '--kubeconfig', 'nowhere']],
    [['check', '--kubeconfig', 'nowhere']],
    [['check', '--source', 'nowhere.yaml']],
  ])('refuses %j with 2 and a message', async (argv) => {
    expect(await run(...argv)).toBe(2);
    expect(stderr).not.toBe('');
    expect(stdout).toBe('');
  });

  function kubeconfigFor(server: string): string {
    const config = {
      clusters: [{ name: 'a', cluster: { server } }],
      users: [{ name: 'a', user: {} }],
      contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
      'current-context': 'a',
    };
    return file('kubeconfig', JSON.stringify(config));
  }

  it('version and check say what a refused login means, as every other command', async () => {
    const server = createServer((_, response) => response.writeHead(401).end('{}'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      expect(await run('version', '--kubeconfig', kubeconfigFor(`http://127.0.0.1:${port}`))).toBe(0);
      expect(stdout).toContain('does not accept the credentials of the kubeconfig');
      stdout = '';
      expect(await run('check', '--kubeconfig', kubeconfigFor(`http://127.0.0.1:${port}`))).toBe(1);
      expect(stdout.replace(/\s+/g, ' ')).toContain('does not accept the credentials of the kubeconfig');
    } finally {
      server.close();
    }
  });

  it('wait gives up in its own time on a server that takes requests and never answers', async () => {
    const server = createServer(() => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      const where = ['--kubeconfig', kubeconfigFor(`http://127.0.0.1:${port}`), '-n', 'shop'];
      expect(await run('wait', 'web', '--timeout', '1', ...where)).toBe(2);
      expect(stderr).toContain('timed out after 1000 ms');
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  describe('with an API server that does not answer', () => {
    let kubeconfig: string;
    beforeEach(() => {
      kubeconfig = kubeconfigFor('http://127.0.0.1:1');
    });

    it('check tells of it as of everything else that fails', async () => {
      expect(await run('check', '--kubeconfig', kubeconfig)).toBe(1);
      expect(stdout).toMatch(/failed .*http:\/\/127\.0\.0\.1:1: .*the connection was refused/s);
    });

    it.each([['wait'], ['drill']])(
      '%s does not say that the release failed, and names the server',
      async (name) => {
        expect(await run(name, 'web', '--kubeconfig', kubeconfig, '-n', 'shop')).toBe(2);
        expect(stderr).toMatch(
          /the connection was refused: nothing listens at this address \(API server http:\/\/127\.0\.0\.1:1\)/,
        );
      },
    );
  });
});
