import { afterEach, beforeEach, expect, test } from 'vitest';
import { drillAll } from '../../src/cli/requests/drill.ts';
import type { DrillReport } from '../../src/engine/canary/drill/drill.ts';
import type { Connection } from '../../src/server/connection.ts';
import { connectTo } from './connect-to.ts';
import {
  type Bed,
  canary,
  condition,
  deployment,
  eventually,
  notesOf,
  runUntilInitialized,
  waitForPhase,
} from './holdfast-bed.ts';
import { startQuickBed } from './quick-bed.ts';

let bed: Bed;
let connection: Connection;

beforeEach(async () => {
  bed = await startQuickBed();
  connection = await connectTo(bed);
});
afterEach(async () => {
  await connection.close();
  await bed.close();
});

const secrets = '/api/v1/namespaces/shop/secrets';

/** A workload that needs a key of a ConfigMap in Git and one of a Secret that a person made. */
function needy(image: string): string {
  const object = JSON.parse(deployment(image)) as {
    spec: { template: { spec: { containers: Array<Record<string, unknown>> } } };
  };
  const [container] = object.spec.template.spec.containers;
  if (container)
    container.env = [
      { name: 'FLAGS', valueFrom: { configMapKeyRef: { name: 'flags', key: 'list' } } },
      { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'token', key: 'value' } } },
    ];
  return JSON.stringify(object);
}

const flags = JSON.stringify({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'flags', namespace: 'shop' },
  data: { list: 'a,b' },
});

async function initialized(more: Parameters<Bed['start']>[0] = {}): Promise<void> {
  await bed.send('POST', secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'token', namespace: 'shop' },
    data: { value: 'czNjcmV0' },
  });
  await bed.commit('v1', { 'web.json': needy('shop/web:1'), 'canary.json': canary(), 'flags.json': flags });
  await runUntilInitialized(bed, {}, more);
}

function drillAs(format: 'json' | 'text') {
  const namespace = connection.access.namespace;
  return drillAll(connection.client, {
    name: 'web',
    namespace: 'shop',
    ownNamespace: namespace,
    selectorLabels: ['app'],
    includeLabelPrefixes: [],
    format,
    screen: { columns: 100, colour: false },
    nowMs: Date.now(),
  });
}

async function drill(): Promise<{ report: DrillReport; exitCode: number }> {
  const { stdout, stderr, exitCode } = await drillAs('json');
  expect(stderr).toBe('');
  const [report] = (JSON.parse(stdout) as { canaries: DrillReport[] }).canaries;
  if (!report) throw new Error('no report');
  return { report, exitCode };
}

function patch(path: string, body: unknown) {
  return bed.send('PATCH', path, body);
}

test('a drill tries everything of the last-known-good and writes nothing but the condition', async () => {
  await initialized();
  bed.sandbox.requests.clear();
  const { report, exitCode } = await drill();
  expect(report).toMatchObject({ canary: 'shop/web', passed: true, findings: [], unseen: [] });
  // Copies of the ConfigMap and the Secret, the primary, two Services and a pod.
  expect(report.objects).toBe(6);
  expect(exitCode).toBe(0);
  const writes = bed.sandbox.requests
    .writes()
    .map(({ method, path }) => `${method} ${path.split('/').slice(-3).join('/')}`);
  expect(writes.filter((write) => !/leases|events/.test(write))).toEqual(['PATCH canaries/web/status']);
  const found = condition(await bed.canary(), 'RollbackReady');
  expect(found).toMatchObject({ status: 'True', reason: 'DrillPassed' });
  expect(found?.message).toContain('images were not pulled');
});

test('a Canary that is not valid keeps no other one from its drill', async () => {
  await initialized();
  // No API server looks into the annotation.
  const invalid = JSON.parse(canary({ name: 'aside', spec: { postPromotion: undefined } }));
  invalid.metadata.annotations = { 'holdfast.dev/post-promotion': 'onFailure: maybe' };
  await bed.send('POST', '/apis/flagger.app/v1beta1/namespaces/shop/canaries', invalid);

  const { stdout, stderr, exitCode } = await drillAll(connection.client, {
    ...{ name: undefined, namespace: 'shop', ownNamespace: connection.access.namespace },
    ...{ selectorLabels: ['app'], includeLabelPrefixes: [], format: 'json', nowMs: Date.now() },
    screen: { columns: 100, colour: false },
  });

  expect(JSON.parse(stdout)).toMatchObject({ canaries: [{ canary: 'shop/web', passed: true }] });
  expect(stderr).toMatch(/^error: Canary shop\/aside: .*onFailure/);
  expect(exitCode).toBe(2);
});

test('what the person who drills may not read or write is told, and is no refusal of the release', async () => {
  await initialized();
  const lacks = (verb: string) => ({
    code: 403,
    message: `secrets is forbidden: User "ada" cannot ${verb} resource "secrets" in API group "" in the namespace "shop"`,
  });
  let mayRead = true;
  bed.sandbox.fault(({ method, path, query }) => {
    if (method === 'GET' && /secrets\/holdfast-web-/.test(path) && !mayRead) return lacks('get');
    return path.endsWith('/secrets/token-primary') && query.has('dryRun') ? lacks('patch') : undefined;
  });

  const { report, exitCode } = await drill();
  expect(report).toMatchObject({
    passed: true,
    findings: [],
    unseen: [{ object: 'Secret shop/token-primary' }],
  });
  expect(exitCode).toBe(0);
  const { stdout } = await drillAs('text');
  expect(stdout).toMatch(
    /^shop\/web: \S+ v1 nothing was refused \(5 of 6 objects tested; images are not pulled\)$/m,
  );

  mayRead = false;
  await expect(drill()).rejects.toThrow(/Secret shop\/holdfast-web-.*403/);
  expect(condition(await bed.canary(), 'RollbackReady')?.reason).not.toBe('DrillFailed');
});

test('a change of the target, which is refused, changes nothing of what is drilled', async () => {
  await initialized();
  const targetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'other' };
  await bed.commit('another target', { 'canary.json': canary({ spec: { targetRef } }) });
  await eventually(
    'it is told',
    async () => condition(await bed.canary(), 'Ready')?.reason === 'InvalidSpec',
  );
  bed.sandbox.fault(({ path, query }) =>
    path.endsWith('/deployments/web-primary') && query.has('dryRun') ? { code: 422 } : undefined,
  );

  const { report } = await drill();

  expect(report.findings.map(({ object }) => object)).toEqual(['Deployment shop/web-primary']);
});

test('a key that is gone and a copy that cannot be written are found, and the condition heals with the next drill', async () => {
  await initialized();
  const copy = '/api/v1/namespaces/shop/configmaps/flags-primary';
  await patch(copy, { data: { list: 'other' }, immutable: true });
  expect((await drill()).report.findings).toEqual([]);
  // Somebody else's object is not made anew.
  await patch(copy, { metadata: { labels: { 'holdfast.dev/canary': null } } });
  await bed.send('DELETE', `${secrets}/token`);
  await patch(`${secrets}/token-primary`, { data: { value: null } });
  const { report, exitCode } = await drill();
  expect(exitCode).toBe(1);
  expect(report.findings.map(({ object, reason }) => [object, reason])).toEqual([
    ['ConfigMap shop/flags-primary', 'Invalid'],
    ['Deployment shop/web-primary', 'KeyMissing'],
  ]);
  expect(JSON.stringify(report)).not.toContain('czNjcmV0');
  const found = condition(await bed.canary(), 'RollbackReady');
  expect(found).toMatchObject({ status: 'False', reason: 'DrillFailed' });
  expect(found?.message).toContain('key value of Secret token-primary');

  await bed.send('DELETE', copy);
  await patch(`${secrets}/token-primary`, { data: { value: 'czNjcmV0' } });
  expect((await drill()).report.passed).toBe(true);
  expect(condition(await bed.canary(), 'RollbackReady')?.status).toBe('True');
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Succeeded');
  await eventually('a new release was not drilled yet', async () => {
    return condition(await bed.canary(), 'RollbackReady')?.reason === 'RecordKept';
  });
});

test('drills come by themselves at the times of the schedule', async () => {
  await initialized({ drillSchedule: '* * * * * *' });
  await eventually('the first one passed', async () => {
    return condition(await bed.canary(), 'RollbackReady')?.reason === 'DrillPassed';
  });
  await bed.send('DELETE', `${secrets}/token`);
  await bed.send('DELETE', `${secrets}/token-primary`);
  await eventually('a later one failed', async () => {
    return condition(await bed.canary(), 'RollbackReady')?.reason === 'DrillFailed';
  });
  await eventually('it is an event', async () => notesOf(bed, 'DrillFailed').length > 0);
});
