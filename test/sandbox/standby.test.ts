import { writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { type BuiltProgram, buildProgram, type Run } from './built-program.ts';
import {
  type Bed,
  canary,
  createSource,
  deployment,
  eventually,
  startBed,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';

/** What a Lease says. */
interface LeaseSpec {
  readonly holderIdentity: string;
  readonly leaseDurationSeconds: number;
  readonly leaseTransitions: number;
  readonly acquireTime: string;
  readonly renewTime: string;
}

/** One copy of the program, and the pod it believes to be in. */
interface Copy extends Run {
  readonly pod: { readonly name: string; readonly uid: string };
}

let program: BuiltProgram;
let bed: Bed;

beforeAll(async () => {
  program = await buildProgram();
});
afterAll(() => program.remove());
beforeEach(async () => {
  bed = await startBed();
});
afterEach(async () => {
  program.killAll();
  await bed.close();
});

async function startIn(name: string, more: readonly string[] = []): Promise<Copy> {
  const metadata = { name, namespace: 'default' };
  const spec = { containers: [{ name: 'holdfast', image: 'holdfast:test' }] };
  const pods = '/api/v1/namespaces/default/pods';
  const { body } = await bed.send('POST', pods, { apiVersion: 'v1', kind: 'Pod', metadata, spec });
  const { uid = '' } = (body as KubernetesObject).metadata;
  const data = await mkdtemp(join(program.folder, 'data-'));
  const places = ['--kubeconfig', bed.kubeconfigPath, '--data-dir', data, '--listen', '127.0.0.1:0'];
  const args = ['run', ...places, '--min-analysis-interval', '100ms', ...more];
  return { ...program.run(args, { POD_NAME: name, POD_UID: uid }), pod: { name, uid } };
}

async function lease(): Promise<LeaseSpec | undefined> {
  const object = await bed.get('coordination.k8s.io/v1', 'Lease', 'holdfast', 'default');
  return object?.spec as LeaseSpec | undefined;
}

const heldBy = ({ pod }: Copy) =>
  eventually(
    `${pod.name} holds the Lease`,
    async () => {
      const seen = await lease();
      return seen?.holderIdentity.startsWith(`${pod.name}_${pod.uid}_`) ? seen : undefined;
    },
    { seen: lease },
  );

/** A rollout under way under `first`, which has been seen at work for a while by a standby. */
async function twoCopies(): Promise<{ first: Copy; second: Copy; v2: string; before: LeaseSpec }> {
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1'),
    'canary.json': canary({ analysis: { iterations: 5 } }),
  });
  await createSource(bed);
  const first = await startIn('holdfast-a');
  await heldBy(first);
  const second = await startIn('holdfast-b');
  const standsBy = /watch|wait|Holdfast is starting/;
  await eventually('the standby is up', async () => standsBy.test(second.output()));
  await waitForPhase(bed, 'Initialized');
  const since = await heldBy(first);
  const renewals = new Set([since.renewTime]);
  await eventually('the standby has seen renewals', async () => {
    const { renewTime } = await heldBy(first);
    return renewals.add(renewTime).size > 4;
  });
  const v2 = await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Progressing');
  return { first, second, v2, before: await heldBy(first) };
}

/** Taken over by another, while the time that the last holder asked for was not over. */
function isTakenOverEarly(before: LeaseSpec, after: LeaseSpec): boolean {
  const runsOutMs = Date.parse(before.renewTime) + before.leaseDurationSeconds * 1000;
  return after.leaseTransitions === before.leaseTransitions + 1 && Date.parse(after.acquireTime) < runsOutMs;
}

async function endsWell(v2: string): Promise<void> {
  await waitForPhase(bed, 'Succeeded');
  expect(statusOf(await bed.canary()).lastPromotedCommit).toBe(v2);
}

test('a standby carries on at once when the container of the one that leads was killed (issue 11, 21)', async () => {
  const { first, second, v2, before } = await twoCopies();
  first.stop('SIGKILL');
  await first.ended;
  bed.sandbox.behaviour.rule(({ metadata }) =>
    metadata.uid === first.pod.uid ? { failure: 'CrashLoopBackOff', crashAfterMs: 0 } : undefined,
  );
  expect(isTakenOverEarly(before, await heldBy(second))).toBe(true);
  await endsWell(v2);
});

test('a standby carries on at once when the pod of the one that leads was deleted (issue 11, 21)', async () => {
  const { first, second, v2, before } = await twoCopies();
  first.stop('SIGKILL');
  await first.ended;
  await bed.send('DELETE', `/api/v1/namespaces/default/pods/${first.pod.name}`);
  expect(isTakenOverEarly(before, await heldBy(second))).toBe(true);
  await endsWell(v2);
});

test('a standby carries on at once when the one that leads was asked to end (issue 11, 21)', async () => {
  const { first, second, v2, before } = await twoCopies();
  first.stop('SIGTERM');
  expect(await first.ended).toBe(0);
  expect(isTakenOverEarly(before, await heldBy(second))).toBe(true);
  await endsWell(v2);
});

test('a copy that stood still for longer than its Lease ends without a write when it wakes', async () => {
  const { first, second, v2, before } = await twoCopies();
  // What is handed to the socket cannot be called back (see the transport's tests for all before that).
  await noWriteFor(200);
  first.stop('SIGSTOP');
  const after = await heldBy(second);
  // Its pod runs: nobody may know better than the Lease.
  expect(isTakenOverEarly(before, after)).toBe(false);
  await endsWell(v2);
  await noWriteFor(3_000);
  first.stop('SIGCONT');
  expect(await first.ended).toBe(1);
  expect(writes()).toEqual([]);
  expect((await heldBy(second)).leaseTransitions).toBe(after.leaseTransitions);
});

async function noWriteFor(quietMs: number): Promise<void> {
  await eventually(`no write for ${quietMs} ms`, async () => {
    bed.sandbox.requests.clear();
    await new Promise((resolve) => setTimeout(resolve, quietMs));
    return writes().length === 0;
  });
}

function writes(): string[] {
  return bed.sandbox.requests
    .writes()
    .filter(({ path, userAgent }) => userAgent.startsWith('holdfast/') && !path.includes('/leases/'))
    .map(({ method, path }) => `${method} ${path}`);
}

/** Where the API server of the bed listens. */
const taken = () => new URL(bed.sandbox.url).host;

/** A file with a Source that the API server refuses. */
function lostSource(): string {
  const path = join(program.folder, 'lost.json');
  const metadata = { name: 'lost', namespace: 'nowhere' };
  const spec = { url: 'https://git.example.com/a.git', ref: { branch: 'main' } };
  writeFileSync(
    path,
    JSON.stringify({ apiVersion: 'holdfast.dev/v1alpha1', kind: 'Source', metadata, spec }),
  );
  return path;
}

test.each<[string, () => string[], RegExp]>([
  ['that has no port', () => ['--listen', taken()], /cannot listen at .*: another program listens there/],
  ['whose dashboard has no port', () => ['--dashboard-listen', taken()], /cannot listen at /],
  [
    'whose dashboard has no secret',
    () => ['--dashboard-listen', '127.0.0.1:0', '--dashboard-proxy-secret', '/nowhere/secret'],
    /--dashboard-proxy-secret \/nowhere\/secret: there is no such file/,
  ],
  ['whose Source has no namespace', () => ['--source', lostSource()], /apply Source nowhere\/lost: 404/],
])('a copy %s says so, ends, and leaves the Lease to one that can do the work', async (_, more, said) => {
  const broken = await startIn('holdfast-a', more());

  expect(await broken.ended).toBe(2);

  expect(broken.output()).toMatch(said);
  expect((await lease())?.holderIdentity ?? '').toBe('');
  await heldBy(await startIn('holdfast-b'));
});
