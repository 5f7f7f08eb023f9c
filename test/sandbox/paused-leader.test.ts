/** A leader of the version before that stands still in the middle of its writes, wakes after another one has taken over, and undoes nothing. */
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { git } from '../../sandbox/git-server/git.test-support.ts';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import { imageOf } from '../objects.ts';
import { type BuiltProgram, buildProgram, type Run } from './built-program.ts';
import {
  type Bed,
  canary,
  createSource,
  deployment,
  eventually,
  failPrimary,
  primaryImage,
  startBed,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { hasPrevious, previousVersion } from './previous-version.ts';

let bed: Bed;
let older: BuiltProgram;
let newer: BuiltProgram;
beforeAll(async () => {
  newer = await buildProgram();
  older = hasPrevious ? await buildProgram(previousVersion) : newer;
});
afterAll(() => Promise.all([...new Set([older, newer])].map((program) => program.remove())));
beforeEach(async () => {
  bed = await startBed();
});
afterEach(async () => {
  for (const program of [older, newer]) program.killAll();
  await bed.close();
});

async function start(program: BuiltProgram): Promise<Run> {
  const data = await mkdtemp(join(program.folder, 'data-'));
  const places = ['--kubeconfig', bed.kubeconfigPath, '--data-dir', data, '--listen', '127.0.0.1:0'];
  return program.run(['run', ...places, '--min-analysis-interval', '100ms']);
}

const status = async () => statusOf(await bed.canary()) as CanaryStatus;

/** When the primary gets this image: at the write itself, before it is answered. */
function onImage(image: string, act: () => void): void {
  let isOver = false;
  bed.sandbox.store.subscribe(({ storageKey, object }) => {
    if (isOver || storageKey !== 'apps/deployments' || object?.metadata.name !== 'web-primary') return;
    if (imageOf(object) !== image) return;
    isOver = true;
    act();
  });
}

/** Everything that the older leader could double or undo: versions of the objects, the branch, and Events by what they say. */
async function everything(): Promise<unknown> {
  const { store } = bed.sandbox;
  const kinds = ['flagger.app/canaries', 'apps/deployments', '/services', '/secrets', 'holdfast.dev/sources'];
  const versions = kinds.flatMap((kind) =>
    store.list(kind, 'shop').map(({ metadata }) => `${kind} ${metadata.name} ${metadata.resourceVersion}`),
  );
  const refs = await git(bed.repository, ['for-each-ref', '--format=%(refname) %(objectname)']);
  return { versions, refs, events: store.list('events.k8s.io/events', 'shop').length };
}

test('one that stands still as it writes the last-known-good back doubles and undoes nothing', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await createSource(bed, { write: { revert: 'commit', ledger: true } });
  const first = await start(older);
  await waitForPhase(bed, 'Initialized');
  const second = await start(newer);
  await eventually('the standby is up', async () => /watch|wait|Holdfast is starting/.test(second.output()));
  failPrimary(bed, 'shop/web:2');
  const bad = await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  onImage('shop/web:2', () => onImage('shop/web:1', () => first.stop('SIGSTOP')));

  const isOver = async () => {
    const { run, history = [] } = await status();
    if (run || history.length === 0) return false;
    const head = await git(bed.repository, ['log', '--format=%s', 'main']);
    return head.split('\n').length > 2;
  };
  await eventually('v2 is taken back in Git, and nothing is under way', isOver, { seen: status });
  let before = await everything();
  await eventually('nothing changes any more', async () => {
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    const last = before;
    before = await everything();
    return JSON.stringify(last) === JSON.stringify(before);
  });
  first.stop('SIGCONT');
  expect(await first.ended).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 2_000));

  expect(await everything()).toEqual(before);
  const { history = [], rejected = [], incidents = [] } = await status();
  expect(history.filter(({ commit }) => commit === bad)).toMatchObject([{ result: 'Failed' }]);
  expect(rejected.map(({ commit }) => commit)).toEqual([bad]);
  expect(new Set(incidents.map(({ key }) => key)).size).toBe(incidents.length);
  expect(await primaryImage(bed)).toBe('shop/web:1');
  const subjects = (await git(bed.repository, ['log', '--format=%s', 'main'])).trim().split('\n');
  expect(subjects).toHaveLength(3);
  const events = bed.sandbox.store
    .list('events.k8s.io/events', 'shop')
    .filter(({ regarding }) => (regarding as { kind: string }).kind === 'Canary')
    .map(({ reason, note }) => `${reason} ${note}`);
  expect(events.filter((event, index) => events.indexOf(event) !== index)).toEqual([]);
});
