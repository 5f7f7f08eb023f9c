import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from './cli-run.ts';
import { type Bed, canary, deployment, runUntilInitialized, startBed } from './holdfast-bed.ts';

let bed: Bed;
/** Where the controller of these tests keeps its key. */
const deployments = '/apis/apps/v1/namespaces/default/deployments';

beforeAll(async () => {
  bed = await startBed();
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await runUntilInitialized(bed);
});
afterAll(() => bed.close());

/** Commands that look at Canaries as the controller does, with what they assume of it. */
const commands = [
  [
    ['explain', 'web', '-n', 'shop', '--holdfast-namespace', 'default'],
    /--min-analysis-interval=10s --mesh-provider=kubernetes --selector-labels=app,name/,
  ],
  [
    ['diff', 'web', '-n', 'shop', '--holdfast-namespace', 'default'],
    /--mesh-provider=kubernetes .*--ingress-annotations-prefix=nginx\.ingress/,
  ],
  [
    ['drill', 'web', '-n', 'shop', '--holdfast-namespace', 'default'],
    /--selector-labels=app,name,app\.kubernetes\.io\/name --include-label-prefix=none/,
  ],
  [
    ['check', '--namespace', 'default'],
    /--watch-namespaces=none .*--metrics-server=http:\/\/prometheus:9090 --default-service-account=none/,
  ],
] as const;

async function installed(args: readonly string[]): Promise<void> {
  await bed.send('DELETE', `${deployments}/holdfast`);
  const { status } = await bed.send('POST', deployments, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'holdfast', namespace: 'default' },
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: 'holdfast' } },
      template: {
        metadata: { labels: { app: 'holdfast' } },
        spec: { containers: [{ name: 'holdfast', image: 'holdfast', command: ['holdfast'], args }] },
      },
    },
  });
  expect(status).toBe(201);
}

test.each(commands)('%j reads the flags of the controller from its Deployment', async (words, assumed) => {
  const ask = (...more: string[]) => run(...words, '--kubeconfig', bed.kubeconfigPath, ...more);
  await bed.send('DELETE', `${deployments}/holdfast`);
  // Where nothing says how the controller runs, the defaults are named.
  expect((await ask()).text).toMatch(assumed);

  await installed(['run', '--selector-labels=app', '--mesh-provider=gatewayapi:v1']);
  expect((await ask()).text).not.toContain('assumed');

  await installed(['run', '--mesh-provider=nonsense']);
  expect(await ask()).toMatchObject({
    code: 2,
    text: expect.stringMatching(/Deployment default\/holdfast: .*must be one of/s),
  });
});

test('a plan that asks the cluster reads them, too, and another one assumes nothing of it', async () => {
  const clone = join(dirname(bed.kubeconfigPath), 'clone');
  execFileSync('git', ['clone', '-q', bed.repository, clone], { stdio: 'pipe' });
  const plan = ['plan', '--repo', clone, '--base', 'main', '--head', 'main', '--path', '.'];
  const place = ['--kubeconfig', bed.kubeconfigPath, '--holdfast-namespace', 'default'];
  await bed.send('DELETE', `${deployments}/holdfast`);
  expect(await run(...plan, '--cluster', ...place)).toMatchObject({
    code: 0,
    text: expect.stringMatching(
      /assumed: --min-analysis-interval=10s --mesh-provider=kubernetes --metrics-server=/,
    ),
  });
  await installed(['run', '--mesh-provider=nonsense']);
  expect((await run(...plan, '--cluster', ...place)).code).toBe(2);
  const offline = await run(...plan, '-o', 'yaml');
  expect(offline).toMatchObject({ code: 0, text: offline.stdout });
  expect(offline.stdout).toMatch(/^apiVersion: holdfast\.dev\/v1\nkind: Plan\n/);
});

test('what is given is not looked for', async () => {
  await installed(['run', '--mesh-provider=nonsense']);
  const given = ['--selector-labels', 'app', '--include-label-prefix', '*'];
  const place = ['--kubeconfig', bed.kubeconfigPath, '-n', 'shop', '--holdfast-namespace', 'default'];
  expect(await run('drill', 'web', ...place, ...given)).toMatchObject({ code: 0 });
});
