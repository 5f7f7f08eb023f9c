import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type Bed,
  canary,
  condition,
  deployment,
  eventually,
  startBed,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { type OtherTool, otherTool } from './other-tool.ts';

let bed: Bed;
let flux: OtherTool;
beforeEach(async () => {
  bed = await startBed();
  flux = otherTool(bed);
});
afterEach(() => bed.close());

const deployments = '/apis/apps/v1/namespaces/flagger-system/deployments';
const leases = '/apis/coordination.k8s.io/v1/namespaces/flagger-system/leases';

async function startFlagger(...args: string[]): Promise<void> {
  const labels = { 'app.kubernetes.io/name': 'flagger' };
  await bed.send('POST', '/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'flagger-system' },
  });
  const containers = [{ name: 'flagger', image: 'flagger:1.44.0', args }];
  const { status } = await bed.send('POST', deployments, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'flagger', namespace: 'flagger-system', labels },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  });
  expect(status).toBe(201);
  await eventually('Flagger is available', async () => {
    const flagger = await bed.get('apps/v1', 'Deployment', 'flagger', 'flagger-system');
    return statusOf(flagger).availableReplicas === 1;
  });
}

async function stopFlagger(): Promise<void> {
  const patch = { spec: { replicas: 0 } };
  await bed.send('PATCH', `${deployments}/flagger`, patch);
}

/** As Flagger's client writes it. */
async function renewLease(renewTime: string): Promise<void> {
  const spec = { holderIdentity: 'flagger-1', leaseDurationSeconds: 2, renewTime };
  const lease = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'flagger-leader-election', namespace: 'flagger-system' },
    spec,
  };
  const path = `${leases}/flagger-leader-election?fieldManager=flagger&force=true`;
  const { status } = await bed.send('PATCH', path, lease, 'application/apply-patch+yaml');
  expect(status).toBeLessThan(300);
}

async function events(): Promise<Array<{ reason: string }>> {
  const { body } = await bed.send('GET', '/apis/events.k8s.io/v1/namespaces/shop/events');
  return (body as { items: Array<{ reason: string }> }).items;
}

const primary = () => bed.get('apps/v1', 'Deployment', 'web-primary');

function ourWrites(): string[] {
  return bed.sandbox.requests
    .all()
    .filter(({ method, userAgent }) => userAgent.startsWith('holdfast/') && method !== 'GET')
    .map(({ method, path }) => `${method} ${path}`);
}

test('nothing is done while a Deployment of Flagger is available; when it is scaled to zero, Holdfast begins', async () => {
  await startFlagger();
  await flux.apply(deployment('shop/web:1'), canary());
  await bed.start();
  await eventually('it is told', async () =>
    (await events()).some(({ reason }) => reason === 'ForeignController'),
  );
  expect(await primary()).toBeUndefined();
  expect(statusOf(await bed.canary())).toEqual({});

  await stopFlagger();
  await waitForPhase(bed, 'Initialized');
  expect(condition(await bed.canary(), 'ForeignController')).toBeUndefined();
});

test('what looks like Flagger in a namespace of others stops nobody where the namespaces of Flagger are named', async () => {
  await startFlagger();
  await renewLease(new Date(Date.now() + 3_600_000).toISOString());
  await flux.apply(deployment('shop/web:1'), canary());

  await bed.start({ flaggerNamespaces: ['flagger'] });

  await waitForPhase(bed, 'Initialized');
  expect((await events()).some(({ reason }) => reason === 'ForeignController')).toBe(false);
});

test('nothing is done while it cannot be seen whether Flagger runs', async () => {
  await startFlagger();
  await flux.apply(deployment('shop/web:1'), canary());
  const ofFlagger = ({ path, query }: { path: string; query: URLSearchParams }) =>
    path === '/apis/apps/v1/deployments' && query.get('labelSelector')?.includes('flagger');
  const recover = bed.sandbox.fault((request) => (ofFlagger(request) ? { code: 500 } : undefined));
  await bed.start();
  await sleep(3_000);
  expect(await primary()).toBeUndefined();
  recover();
  await eventually('it is told', async () =>
    (await events()).some(({ reason }) => reason === 'ForeignController'),
  );
  expect(await primary()).toBeUndefined();
});

test('a Canary at rest carries the condition ForeignController as long as Flagger acts', async () => {
  await flux.apply(deployment('shop/web:1'), canary());
  await bed.start();
  await waitForPhase(bed, 'Initialized');

  await startFlagger();
  await eventually('the condition is there', async () => {
    return condition(await bed.canary(), 'ForeignController')?.message.includes(
      'flagger-system/flagger is running',
    );
  });
  await flux.apply(deployment('shop/web:2'));
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(statusOf(await bed.canary()).phase).toBe('Initialized');

  await stopFlagger();
  await waitForPhase(bed, 'Succeeded');
  expect(condition(await bed.canary(), 'ForeignController')).toBeUndefined();
});

test('a Flagger that looks after another namespace is none of our business', async () => {
  await startFlagger('-namespace=elsewhere');
  await flux.apply(deployment('shop/web:1'), canary());
  await bed.start();
  await waitForPhase(bed, 'Initialized');
});

test('nothing is done while the Lease of Flagger is renewed', async () => {
  await bed.send('POST', '/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'flagger-system' },
  });
  await flux.apply(deployment('shop/web:1'), canary());
  await renewLease(new Date().toISOString().replace('Z', '000Z'));
  await bed.start();
  await eventually('it is told', async () =>
    (await events()).some(({ reason }) => reason === 'ForeignController'),
  );
  expect(await primary()).toBeUndefined();

  // The Lease runs out: Flagger was killed.
  await waitForPhase(bed, 'Initialized');
});

test('in the shadow everything is decided and nothing is written', async () => {
  await startFlagger();
  await flux.apply(deployment('shop/web:1'), canary());
  const lines: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  await bed.start({ shadow: true }, pino({ level: 'info' }, stream));
  const told = await eventually('the first decision is told', async () => {
    return lines.find((line) => line.includes('shadow mode: nothing was written'));
  });
  expect(JSON.parse(told)).toMatchObject({
    canary: 'shop/web',
    phase: 'Initializing',
    would: [
      expect.stringMatching(/^a record of release v1:/),
      expect.stringMatching(/^the primary is written/),
    ],
  });
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(ourWrites()).toEqual([]);
  expect(await primary()).toBeUndefined();
});
