/** What is looked at at three in the morning: objects, Events and logs, on the sandbox. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { EventLine } from '../../src/cli/inspect/event-lines.ts';
import { scopeOf, watchEvents } from '../../src/cli/inspect/events.ts';
import { logs } from '../../src/cli/inspect/logs.ts';
import type { TreeNode } from '../../src/cli/inspect/tree-nodes.ts';
import { run } from './cli-run.ts';
import { connectTo } from './connect-to.ts';
import { canary, deployment, eventually, runUntilInitialized, waitForPhase } from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

const settings = JSON.stringify({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'settings', namespace: 'shop' },
  data: { colour: 'red' },
});
let bed: QuickBed;

beforeEach(async () => {
  bed = await startQuickBed();
  await bed.commit('Open the shop', {
    ...{ 'web.json': deployment('shop/web:1'), 'canary.json': canary(), 'settings.json': settings },
  });
  await runUntilInitialized(bed);
});
afterEach(() => bed.close());

const cli = (...words: string[]) => run(...words, '--kubeconfig', bed.kubeconfigPath, '-n', 'shop');

test('tree shows what a Source applies, its Canary, and what belongs to that', async () => {
  const { code, stdout } = await cli('tree', 'source/shop');
  expect(code).toBe(0);
  const lines = stdout.split('\n').map((line) => line.trimEnd());
  expect(lines[1]).toMatch(/^Source shop\/shop +healthy/);
  expect(lines.find((line) => line.includes('ConfigMap shop/settings'))).toMatch(
    /^[├└|`]\S* ConfigMap shop\/settings +healthy$/,
  );
  expect(lines.find((line) => line.includes('Canary shop/web'))).toMatch(
    /Canary shop\/web +healthy .*Initialized, weight 0/,
  );
  expect(lines.find((line) => line.includes('Deployment shop/web-primary'))).toMatch(/healthy +primary/);
  expect(lines.filter((line) => / Deployment shop\/web /.test(line))).toHaveLength(1);
  expect(stdout).toMatch(/Service shop\/web-canary +healthy +service/);

  vi.stubEnv('LC_ALL', 'C');
  const { stdout: ascii } = await cli('tree', 'source/shop');
  vi.unstubAllEnvs();
  const drawn = ascii.trimEnd().split('\n').slice(2);
  expect(drawn.map((row) => row.replace(/ {3,}.*| {2}healthy.*/, ''))).toEqual([
    '|- Canary shop/web',
    '|  |- Deployment shop/web',
    '|  |- Deployment shop/web-primary',
    '|  |- Service shop/web',
    '|  |- Service shop/web-primary',
    '|  `- Service shop/web-canary',
    '`- ConfigMap shop/settings',
  ]);

  const { stdout: json } = await cli('tree', 'canary/web', '-o', 'json');
  const [root] = (JSON.parse(json) as { trees: Array<TreeNode & { unread: string[] }> }).trees;
  expect(root).toMatchObject({ kind: 'Canary', name: 'web', health: 'healthy', unread: [] });
  expect(root?.children.map(({ kind, name }) => `${kind}/${name}`)).toEqual(
    expect.arrayContaining([
      'Deployment/web',
      'Deployment/web-primary',
      'Service/web',
      'Service/web-primary',
    ]),
  );
});

test('tree says what is not healthy, missing, of another tool, and what may not be read', async () => {
  await bed.send('DELETE', '/apis/apps/v1/namespaces/shop/deployments/web-primary');
  const restore = bed.sandbox.fault(({ method, path }) =>
    method === 'GET' && /\/(configmaps|secrets|deployments\/web-primary)$/.test(path)
      ? path.endsWith('web-primary')
        ? { code: 404, reason: 'NotFound', message: 'deployments.apps "web-primary" not found' }
        : { code: 403, reason: 'Forbidden', message: 'no' }
      : undefined,
  );
  try {
    const patch = {
      metadata: {
        labels: {
          'kustomize.toolkit.fluxcd.io/name': 'apps',
          'kustomize.toolkit.fluxcd.io/namespace': 'flux',
        },
      },
    };
    await bed.send('PATCH', '/api/v1/namespaces/shop/services/web', patch);
    const { stdout, text } = await cli('tree', 'source/shop');
    expect(stdout).toMatch(/Deployment shop\/web-primary +missing +primary/);
    expect(stdout).toMatch(/Service shop\/web +healthy +service +Flux Kustomization flux\/apps/);
    expect(stdout).not.toContain('settings');
    expect(text).toContain('not shown: ConfigMap in namespace shop: you may not read this\n');
    expect(text).toContain('not shown: Secret in namespace shop: you may not read this\n');
  } finally {
    restore();
  }
});

test('tree says which object another one changes, as Holdfast reported it', async () => {
  const refusing = JSON.parse(settings);
  refusing.metadata.annotations = { 'holdfast.dev/on-conflict': 'refuse' };
  await bed.commit('Settings that nobody else may change', { 'settings.json': JSON.stringify(refusing) });
  const live = () => bed.get('v1', 'ConfigMap', 'settings');
  await eventually('it is applied', async () => (await live())?.metadata.annotations !== undefined);
  const path = '/api/v1/namespaces/shop/configmaps/settings?fieldManager=their-controller';
  await bed.send('PATCH', path, { data: { colour: 'blue' } });
  const line = await eventually('drift', async () =>
    (await cli('tree', 'source/shop')).stdout
      .split('\n')
      .find((one) => /[├└|`].*ConfigMap.*changed: /.test(one)),
  );
  expect(line).toMatch(
    /ConfigMap shop\/settings +healthy +changed: others write what Git says: \.data\.colour \(their-controller/,
  );
});

test('events lists what was reported of a Canary and its pods, the newest last, and not of others', async () => {
  const report = (name: string, about: object, more: object) =>
    bed.send('POST', '/api/v1/namespaces/shop/events', {
      ...{ apiVersion: 'v1', kind: 'Event', metadata: { name, namespace: 'shop' }, involvedObject: about },
      ...{
        type: 'Warning',
        reason: 'BackOff',
        message: 'back-off \u001b[31mrestarting',
        source: { component: 'kubelet' },
      },
      ...more,
    });
  const pod = (name: string) => ({ apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name });
  await report('a', pod('web-primary-6d5b244484-x7k2p'), {
    count: 12,
    firstTimestamp: '2030-01-01T00:00:00Z',
    lastTimestamp: '2030-01-01T00:05:00Z',
  });
  await report('b', pod('web-shop-6d5b244484-x7k2p'), { count: 1, lastTimestamp: '2030-01-01T00:05:00Z' });
  const [own] = bed.sandbox.store
    .list('/pods', 'shop')
    .filter(({ metadata }) => metadata.name.startsWith('web-primary-'));
  await report('c', pod(own?.metadata.name ?? ''), { count: 1, lastTimestamp: '2029-01-01T00:00:00Z' });
  const { stdout } = await cli('events', 'canary/web');
  expect(stdout).toContain(` Pod shop/${own?.metadata.name} `);
  const lines = stdout.trimEnd().split('\n');
  expect(lines.at(-1)).toMatch(
    /\(x12 over 5m\) +Warning +BackOff +Pod shop\/web-primary-6d5b244484-x7k2p +back-off +\[31mrestarting$/,
  );
  expect(stdout).toMatch(/Canary shop\/web /);
  expect(stdout).not.toContain('web-shop');
  expect(stdout).not.toContain('\u001b');

  const { stdout: json } = await cli('events', 'source/shop', '-o', 'json');
  const all = (JSON.parse(json) as { events: EventLine[] }).events;
  expect(new Set(all.map(({ object }) => object.split(' ')[0]))).toEqual(
    new Set(['Source', 'Canary', 'Pod']),
  );
  const times = all.map(({ lastTime }) => Date.parse(lastTime));
  expect(times).toEqual([...times].sort((left, right) => left - right));
  expect((await cli('events', '-l', 'team=nobody')).text).toContain(
    'No Canaries or Sources found with labels team=nobody',
  );
});

test('events -w goes on with what is reported from then on', async () => {
  const connection = await connectTo(bed);
  const stopping = new AbortController();
  const shown: string[] = [];
  try {
    const scope = await scopeOf(connection, 'canary/web', { namespace: 'shop' });
    const over = watchEvents(connection, scope, {
      ...{
        flags: { output: 'text' },
        signal: stopping.signal,
        print: (text: string) => void shown.push(text),
        warn: () => undefined,
      },
    }).catch((error: unknown) => error);
    await eventually('what is there already', async () => shown.join('').includes('Canary shop/web'));
    await bed.commit('Add gift cards', { 'web.json': deployment('shop/web:2') });
    await waitForPhase(bed, 'Succeeded');
    await eventually('news', async () =>
      /Synced|Succeeded|Promot/.test(shown.join('').split('Initialized').at(-1) ?? ''),
    );
    stopping.abort(new Error('interrupted'));
    expect(await over).toBe(stopping.signal.reason);
  } finally {
    await connection.close();
  }
});

test('logs prints those of the pods that fail, with the run that crashed, and nothing a terminal would obey', async () => {
  expect((await cli('logs', 'web')).text).toMatch(
    /^Canary shop\/web: no pod fails: .*--primary and --canary/,
  );
  bed.sandbox.behaviour.rule((pod) =>
    pod.metadata.name.startsWith('web-primary-')
      ? {
          failure: 'CrashLoopBackOff',
          log: ['\u001b[31mfatal\u001b[0m: no \u0007database\u001b]0;title\u0007', 'one\ttwo'],
        }
      : undefined,
  );
  const { text, stdout, code } = await eventually('a crash', async () => {
    const answer = await cli('logs', 'canary/web');
    return answer.stdout.includes('fatal') && answer;
  });
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^\[pod\/web-primary-\S+\/app\] fatal: no database\n\[pod\/web-primary-\S+\/app\] one\ttwo\n/,
  );
  expect(text).toMatch(
    /\[pod\/web-primary-\S+\/app\] primary: CrashLoopBackOff, \d+ restarts?, ended with 1 \(Error\)\n/,
  );
  expect(stdout.split('\n').every((line) => !line.includes('web-canary'))).toBe(true);

  const { stdout: json } = await cli('logs', 'web', '--primary', '--tail', '1', '-o', 'json');
  expect(JSON.parse(json.split('\n')[0] ?? '')).toMatchObject({
    side: 'primary',
    container: 'app',
    previous: false,
    line: 'one\ttwo',
  });
  expect(await cli('logs', 'web', '-c', 'sidecar')).toMatchObject({
    code: 0,
    text: expect.stringContaining('no pod that fails has a container sidecar'),
  });
});

test('logs says which log cannot be read and why, and ends with 2 when none can', async () => {
  await bed.commit('A wrong image', { 'web.json': deployment('missing/web:2') });
  const { text, stdout, code } = await eventually('a pod without an image', async () => {
    const answer = await cli('logs', 'canary/web');
    return answer.text.includes('waiting to start') && answer;
  });
  expect(code).toBe(2);
  expect(stdout).toBe('');
  expect(text).toMatch(/\[pod\/web-\S+\/app\] canary: ImagePullBackOff\n/);
  expect(text).toMatch(
    /\[pod\/web-\S+\/app\] get log of Pod shop\/web-\S+ \(app\): .*trying and failing to pull image\n/,
  );
});

test('logs -f goes on until it is interrupted, says which logs end before that, and ends after the last', async () => {
  const connection = await connectTo(bed);
  const stopping = new AbortController();
  const shown: string[] = [];
  const told: string[] = [];
  const canary = (await bed.canary())!;
  const options: Parameters<typeof logs>[2] = {
    ...{ side: 'primary', container: undefined, previous: false },
    ...{ tailLines: 10, sinceSeconds: undefined, follow: true, format: 'text', signal: stopping.signal },
  };
  const output = {
    out: (text: string) => void shown.push(text),
    err: (text: string) => void told.push(text),
  };
  const followed = async () => {
    shown.length = 0;
    const over = logs(connection, [canary], options, output).catch((error: unknown) => error);
    await eventually(
      'the first lines',
      async () => shown.filter((line) => line.includes('shop/web:1 started')).length === 2,
    );
    return { over };
  };
  try {
    const stopped = await followed();
    bed.sandbox.cutWatches('end');
    expect([await stopped.over, told]).toEqual([
      0,
      Array(2).fill(expect.stringContaining('the log has ended')),
    ]);

    told.length = 0;
    const lost = await followed();
    bed.sandbox.cutWatches('reset');
    expect(await lost.over).toBe(2);
    expect(told).toEqual(
      Array(2).fill(expect.stringMatching(/^\[pod\/.* the connection to the API server was lost/)),
    );

    const { over } = await followed();
    stopping.abort(new Error('interrupted'));
    expect(await over).toBe(stopping.signal.reason);
  } finally {
    await connection.close();
  }
});

test('commands about one Canary take all with certain labels instead, in one namespace or in all', async () => {
  const label = { metadata: { labels: { team: 'front' } } };
  const path = '/apis/flagger.app/v1beta1/namespaces/shop/canaries/web';
  await bed.send('PATCH', path, label);
  const everywhere = (...words: string[]) => run(...words, '-A', '--kubeconfig', bed.kubeconfigPath);

  expect(await everywhere('explain', '-l', 'team=front')).toMatchObject({
    ...{ code: 0, stdout: expect.stringContaining('Canary shop/web: Initialized') },
  });
  const { code, stdout } = await everywhere('diff', '-l', 'team=front', '-o', 'json');
  expect(code).toBe(0);
  expect(JSON.stringify(JSON.parse(stdout))).toContain('"canary":"shop/web"');
  expect((await cli('diff', 'source', '-l', 'team!=front')).text).toMatch(/Source shop\/shop: expected/);
  expect((await everywhere('wait', '-l', 'team=front')).stdout).toContain('Canary shop/web: Succeeded');
  expect((await cli('drill', '-l', 'team=back', '--holdfast-namespace', 'default')).stdout).toBe(
    'No Canaries found.\n',
  );
  expect((await everywhere('tree', 'canary', '-l', 'team=front')).stdout).toContain('Canary shop/web');
  expect((await everywhere('logs', '-l', 'team=front')).text).toContain('no pod fails');

  expect(await everywhere('history', '-l', 'team=back')).toMatchObject({
    ...{ code: 2, text: 'error: no Canary has the labels team=back\n' },
  });
  for (const [words, message] of [
    [['pause'], '-A needs -l LABELS'],
    [['pause', 'web'], 'cannot be named together with -A; use -n NAMESPACE'],
    [['diff', 'web', '-l', 'team=front'], 'cannot be named together with -l'],
    [['pause', '-l', 'team=front', '-n', 'shop'], '-A and -n exclude each other'],
  ] as const)
    expect(await everywhere(...words)).toMatchObject({ code: 2, text: expect.stringContaining(message) });
});
