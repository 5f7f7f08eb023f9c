import { afterEach, beforeEach, expect, test } from 'vitest';
import { freezeLabel, readFreeze } from '../../src/api/freeze.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { freeze, unfreeze } from '../../src/cli/requests/freeze.ts';
import type { Connection } from '../../src/server/connection.ts';
import { run } from './cli-run.ts';
import { connectTo } from './connect-to.ts';
import {
  canary,
  condition,
  deployment,
  eventually,
  primaryImage,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { otherTool } from './other-tool.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

/** A Canary that another tool applies, as Flux does: there is no Source whose windows could hold it. */
let bed: QuickBed;
let connection: Connection;

beforeEach(async () => {
  bed = await startQuickBed();
  connection = await connectTo(bed);
  await applied('shop/web:1');
  await otherTool(bed).apply(canary());
  await bed.start();
  await waitForPhase(bed, 'Initialized');
});
afterEach(async () => {
  await connection.close();
  await bed.close();
});

function applied(image: string): Promise<void> {
  return otherTool(bed).apply(deployment(image));
}

/** Every day from `inMs` on for a minute; to the second, so that the test does not wait for minutes. */
function frozenDaily(inMs: number, startsOnly = false) {
  const begin = new Date(bed.clock.nowMs() + inMs);
  const schedule = `${begin.getUTCSeconds()} ${begin.getUTCMinutes()} ${begin.getUTCHours()} * * *`;
  return freeze(connection.client, {
    ...{ namespace: 'shop', selector: undefined, until: undefined, reason: 'the night', format: 'text' },
    windows: [{ kind: 'deny', schedule, duration: '1m', timeZone: 'UTC' }],
    ...{ startsOnly, serverNowMs: () => bed.clock.nowMs(), ownNamespace: 'default' },
  });
}

async function frozen(): Promise<string | undefined> {
  const found = condition(await bed.canary(), 'Frozen');
  return found?.status === 'True' ? found.reason : found?.status;
}

test('a freeze that comes back holds a Canary without a Source, from when it begins until it ends', async () => {
  const { stdout } = await frozenDaily(20_000);
  expect(stdout).toContain('frozen for 1m each time at');
  expect(stdout).toContain('until holdfast unfreeze -n shop --scheduled;');
  await bed.pass(5_000);
  expect(await frozen()).toBeUndefined();

  // It begins without anybody's doing.
  await eventually('it is frozen', async () => (await frozen()) === 'Frozen');
  await applied('shop/web:2');
  await waitForPhase(bed, 'Waiting');
  expect(statusOf(await bed.canary()).next).toMatchObject({ time: expect.any(String) });
  expect(await primaryImage(bed)).toBe('shop/web:1');

  await waitForPhase(bed, 'Succeeded');
  expect([await primaryImage(bed), await frozen()]).toEqual(['shop/web:2', 'False']);
});

test('of starts only, what has begun is promoted meanwhile; unfreeze leaves it alone unless it is meant', async () => {
  await applied('shop/web:2');
  await waitForPhase(bed, 'Progressing');
  await frozenDaily(1_000, true);
  await waitForPhase(bed, 'Succeeded');
  await eventually('starts are frozen', async () => (await frozen()) === 'StartsFrozen');
  await applied('shop/web:3');
  await waitForPhase(bed, 'Waiting');
  expect(await primaryImage(bed)).toBe('shop/web:2');

  const place = { namespace: 'shop', ownNamespace: 'default' };
  const scope = { ...place, selector: undefined, format: 'text' as const };
  await expect(unfreeze(connection.client, { ...scope, scheduled: false })).rejects.toThrow(
    /the night, which has a schedule: use --scheduled/,
  );
  await unfreeze(connection.client, { ...scope, scheduled: true });
  await waitForPhase(bed, 'Succeeded');
  expect(await primaryImage(bed)).toBe('shop/web:3');
});

test('unfreeze lifts no freeze that another tool applies, since it would be back at once, and says where to change it', async () => {
  const config = { apiVersion: 'v1', kind: 'ConfigMap', data: { reason: 'holidays' } };
  const metadata = { name: 'end-of-year', namespace: 'shop', labels: { [freezeLabel]: 'true' } };
  await otherTool(bed).apply(JSON.stringify({ ...config, metadata }));
  await eventually('it is frozen', async () => (await frozen()) === 'Frozen');
  const place = { namespace: 'shop', ownNamespace: 'default' };
  const scope = { ...place, selector: undefined, format: 'text' as const, scheduled: false };
  await expect(unfreeze(connection.client, scope)).rejects.toThrow(
    /end-of-year: .* is set by kustomize-controller, which would set it back; change it there/,
  );

  await freeze(connection.client, {
    ...{ namespace: 'shop', selector: undefined, until: undefined, reason: 'the sale', format: 'text' },
    ...{
      windows: undefined,
      startsOnly: false,
      serverNowMs: () => bed.clock.nowMs(),
      ownNamespace: 'default',
    },
  });
  expect(await unfreeze(connection.client, scope)).toMatchObject({
    exitCode: 1,
    stdout: 'ConfigMap shop/holdfast-freeze: the freeze is lifted\n',
    stderr: expect.stringContaining('warning: still frozen: ConfigMap shop/end-of-year'),
  });
  expect(await frozen()).toBe('Frozen');
});

test('a freeze stays in force while freezes may not be listed any more, and its end is noticed afterwards', async () => {
  await freeze(connection.client, {
    ...{ namespace: 'shop', selector: undefined, until: undefined, reason: 'the sale', format: 'text' },
    ...{
      windows: undefined,
      startsOnly: false,
      serverNowMs: () => bed.clock.nowMs(),
      ownNamespace: 'default',
    },
  });
  await eventually('it is frozen', async () => (await frozen()) === 'Frozen');
  const message = 'configmaps is forbidden: User "holdfast" cannot list resource "configmaps"';
  const grantAgain = bed.sandbox.fault(({ path, query }) =>
    path.endsWith('/configmaps') && query.get('labelSelector') === freezeLabel
      ? { code: 403, reason: 'Forbidden', message }
      : undefined,
  );
  bed.sandbox.cutWatches('end');
  await applied('shop/web:2');
  await waitForPhase(bed, 'Waiting');

  // Nobody can see that it is gone.
  const path = '/api/v1/namespaces/shop/configmaps/holdfast-freeze';
  expect((await bed.send('DELETE', path)).status).toBe(200);
  await bed.pass(60_000);
  expect([statusOf(await bed.canary()).phase, await primaryImage(bed)]).toEqual(['Waiting', 'shop/web:1']);

  grantAgain();
  await waitForPhase(bed, 'Succeeded');
  expect(await primaryImage(bed)).toBe('shop/web:2');
});

test('the command line writes the calendar in the zone that it is given, and refuses one that never comes', async () => {
  const place = ['-n', 'shop', '--kubeconfig', bed.kubeconfigPath, '--reason', 'the weekend'];
  const weekend = ['--schedule', '0 18 * * 5', '--duration', '62h', '--time-zone', 'Europe/Oslo'];
  const { code, stdout } = await run('freeze', ...weekend, '--starts-only', ...place, '-o', 'json');
  expect([code, JSON.parse(stdout)]).toMatchObject([
    0,
    { holds: 'starts', windows: [{ schedule: '0 18 * * 5' }] },
  ]);
  const { freeze: name } = JSON.parse(stdout) as { freeze: string };
  const written = await bed.get('v1', 'ConfigMap', name.replace('shop/', ''));
  expect(readFreeze(written as KubernetesObject)).toMatchObject({
    ...{ startsOnly: true, reason: 'the weekend', untilMs: undefined },
    windows: [{ kind: 'deny', schedule: '0 18 * * 5', duration: '62h', timeZone: 'Europe/Oslo' }],
  });

  const wrong = [
    [['--duration', '62h'], '--duration and --time-zone go with --schedule'],
    [['--schedule', '0 18 * * 5'], '--schedule needs --duration'],
    [['--schedule', '0 18 * * 5', '--duration', 'long'], '--schedule needs --duration'],
    [['--schedule', '0 18 31 2 *', '--duration', '1h'], '0 18 31 2 *'],
    [['--schedule', '0 18 * * 5', '--duration', '1h', '--time-zone', 'Oslo'], 'Oslo'],
  ] as const;
  for (const [words, message] of wrong)
    expect(await run('freeze', ...words, ...place)).toMatchObject({
      code: 2,
      text: expect.stringContaining(message),
    });
});
