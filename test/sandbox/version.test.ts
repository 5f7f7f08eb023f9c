import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { run } from './cli-run.ts';
import { type Bed, eventually, startBed } from './holdfast-bed.ts';

/** What `run` says of itself is 0.0.0. */
let bed: Bed;
const nowhere = mkdtempSync(join(tmpdir(), 'holdfast-version-'));

beforeAll(async () => {
  bed = await startBed();
});
afterAll(async () => {
  await bed.close();
  rmSync(nowhere, { recursive: true });
});

const cluster = () => ['--kubeconfig', bed.kubeconfigPath, '--holdfast-namespace', 'default'];
const lease = () => bed.get('coordination.k8s.io/v1', 'Lease', 'holdfast', 'default');
const leasePath = '/apis/coordination.k8s.io/v1/namespaces/default/leases/holdfast';

test('before anything is installed the program knows only itself, and says where it looked', async () => {
  const { code, text } = await run('version', '--kubeconfig', bed.kubeconfigPath);
  expect(code).toBe(0);
  expect(text).toMatch(
    /^client {6}0\.0\.0\ncontroller {2}unknown: there is no Lease holdfast-system\/holdfast; /,
  );
  expect(await run('version', '--client')).toMatchObject({ code: 0, text: 'client      0.0.0\n' });
});

test('without a configured cluster nothing is asked, and a named one that is wrong is a wrong input', async () => {
  vi.stubEnv('HOME', nowhere);
  vi.stubEnv('KUBECONFIG', '');
  try {
    expect(await run('version')).toMatchObject({ code: 0, text: 'client      0.0.0\n' });
    expect((await run('version', '--kubeconfig', join(nowhere, 'config'))).code).toBe(2);
  } finally {
    vi.unstubAllEnvs();
  }
});

test('the leader says its version; versions far apart are told, and those of a neighbour are not', async () => {
  const near = await bed.start({ version: '0.1.7' });
  await near.leading;
  expect((await run('status', '-n', 'shop', ...cluster())).text).not.toContain('warning');
  const holder = (await lease())?.spec as { holderIdentity: string };
  const text = `client      0.0.0\ncontroller  0.1.7  (${holder.holderIdentity})\n`;
  expect(await run('version', ...cluster())).toMatchObject({ code: 0, text });
  expect(JSON.parse((await run('version', ...cluster(), '-o', 'json')).stdout)).toEqual({
    ...{ apiVersion: 'holdfast.dev/v1', kind: 'Version' },
    client: { version: '0.0.0' },
    controller: { version: '0.1.7', holder: holder.holderIdentity },
  });
  await near.drain();
  const gone = await run('version', ...cluster());
  expect(gone.text).toContain('unknown: nobody holds the Lease default/holdfast');
  // What is shown of objects looks as if all were well.
  const status = await run('status', '-n', 'shop', ...cluster());
  expect(status.text).toContain('warning: nobody holds the Lease default/holdfast: no controller runs; ');
  const check = await run('check', '--kubeconfig', bed.kubeconfigPath, '--namespace', 'default');
  expect(check.code).toBe(1);
  expect(check.text).toMatch(/failed +controller in namespace default: nobody holds the Lease/);

  const far = await bed.start({ version: '0.2.0' });
  await far.leading;
  await eventually('the next leader says its own', async () =>
    (await run('version', ...cluster())).text.includes('controller  0.2.0'),
  );
  const { text: warned } = await run('version', ...cluster());
  expect(warned).toContain('warning: this program is 0.0.0 and the controller 0.2.0');
  await far.drain();
});

test('a leader that says no version, or is silent, is not taken for one that does', async () => {
  const annotations = { 'holdfast.dev/version': null };
  const held = { holderIdentity: 'old', renewTime: new Date().toISOString().replace('Z', '000Z') };
  await bed.send('PATCH', leasePath, { metadata: { annotations }, spec: held });
  expect((await run('version', ...cluster())).text).toContain('does not say its version');
  const spec = { renewTime: '2020-01-01T00:00:00.000000Z' };
  await bed.send('PATCH', leasePath, { spec });
  expect((await run('version', ...cluster())).text).toMatch(/unknown: .* last renewed the Lease .* ago/);
});

test.each([5, -5])(
  'a leader is not taken for one that is silent where the clock of the machine is %d hours off',
  async (hours) => {
    const { now } = Date;
    const renewed = (ms: number) => ({
      spec: { renewTime: new Date(ms).toISOString().replace('Z', '000Z') },
    });
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + hours * 3_600_000);
    try {
      await bed.send('PATCH', leasePath, renewed(now()));
      expect((await run('version', ...cluster())).text).not.toContain('last renewed');
      await bed.send('PATCH', leasePath, renewed(now() - 600_000));
      expect((await run('version', ...cluster())).text).toMatch(
        /last renewed the Lease default\/holdfast (9m59s|10m) ago/,
      );
    } finally {
      clock.mockRestore();
    }
  },
);
