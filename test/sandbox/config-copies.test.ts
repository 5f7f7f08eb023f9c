import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Bed, canary, condition, createSource, eventually, waitForPhase } from './holdfast-bed.ts';
import { startQuickBed } from './quick-bed.ts';
import { configWith, deploymentWithConfig } from './with-config.ts';

let bed: Bed;
beforeEach(async () => {
  bed = await startQuickBed();
  await bed.commit('v1', {
    'web.json': deploymentWithConfig('shop/web:1'),
    'config.json': configWith('info'),
    'canary.json': canary(),
  });
  await createSource(bed);
});
afterEach(() => bed.close());

/** Somebody writes a field of a copy with another tool. */
async function edit(kind: string, name: string, data: Record<string, string>): Promise<void> {
  const path = `/api/v1/namespaces/shop/${kind}/${name}?fieldManager=kubectl-edit`;
  const { status } = await bed.send('PATCH', path, { data });
  expect(status).toBe(200);
}

async function drifted(): Promise<string> {
  const found = condition(await bed.canary(), 'Drifted');
  return `${found?.status} ${found?.message}`;
}

function untilDrifted(wanted: RegExp): Promise<boolean> {
  return eventually(`Drifted ${wanted}`, async () => wanted.test(await drifted()), { seen: drifted });
}

async function levelOf(name: string): Promise<unknown> {
  return (await bed.get('v1', 'ConfigMap', name))?.data;
}

test.each(['configmaps/settings-primary', 'secrets/database-primary'])(
  'a copy that is deleted comes back as it was, without a restart: %s',
  async (path) => {
    await bed.start();
    await waitForPhase(bed, 'Initialized');
    const read = async () => (await bed.send('GET', `/api/v1/namespaces/shop/${path}`)).body;
    const before = (await read()) as { data: unknown };
    const primary = await bed.get('apps/v1', 'Deployment', 'web-primary');

    await bed.send('DELETE', `/api/v1/namespaces/shop/${path}`);

    await eventually(
      'the copy is back',
      async () => ((await read()) as { data?: unknown }).data !== undefined,
    );
    expect(await read()).toMatchObject({ data: before.data });
    const after = await bed.get('apps/v1', 'Deployment', 'web-primary');
    expect(after?.metadata.generation).toBe(primary?.metadata.generation);
    await eventually(
      'it is Ready again',
      async () => condition(await bed.canary(), 'Ready')?.status === 'True',
    );
  },
);

test('a copy that somebody edits is Drifted with key and values, a Secret without, until it is put back', async () => {
  await bed.start();
  await waitForPhase(bed, 'Initialized');

  await edit('configmaps', 'settings-primary', { level: 'debug' });
  await untilDrifted(
    /^True kubectl-edit changed data\.level \(debug, not info\) of ConfigMap settings-primary/,
  );
  await edit('configmaps', 'settings-primary', { level: 'info' });
  await untilDrifted(/^False/);

  const password = Buffer.from('swordfish').toString('base64');
  await edit('secrets', 'database-primary', { password });
  await untilDrifted(/^True kubectl-edit changed data\.password \(\(hidden\), not \(hidden\)\) of Secret/);
  expect(JSON.stringify(await bed.canary())).not.toMatch(new RegExp(`swordfish|hunter2|${password}`));
});

test('the next release takes an edited copy out', async () => {
  await bed.start();
  await waitForPhase(bed, 'Initialized');
  await edit('configmaps', 'settings-primary', { level: 'debug' });
  await untilDrifted(/^True/);

  await bed.commit('v2', { 'config.json': configWith('warning') });

  await waitForPhase(bed, 'Succeeded');
  expect(await levelOf('settings-primary')).toEqual({ level: 'warning' });
  await untilDrifted(/^False/);
});

test('a copy that a crash left from another release is written again', async () => {
  const first = await bed.start();
  await waitForPhase(bed, 'Initialized');
  await first.drain();
  const live = await bed.get('v1', 'ConfigMap', 'settings-primary');
  const annotations = { ...live?.metadata.annotations, 'holdfast.dev/digest': 'v1:other' };
  const { labels, name, namespace } = live?.metadata ?? {};
  const { status } = await bed.send(
    'PATCH',
    '/api/v1/namespaces/shop/configmaps/settings-primary?fieldManager=holdfast-rollout&force=true',
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace, labels, annotations },
      data: { level: 'warning' },
    },
    'application/apply-patch+yaml',
  );
  expect(status).toBe(200);

  await bed.start();

  await eventually('the copy is as the primary needs it', async () => {
    return JSON.stringify(await levelOf('settings-primary')) === '{"level":"info"}';
  });
});
