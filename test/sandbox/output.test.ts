import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { scopeOf, watchEvents } from '../../src/cli/inspect/events.ts';
import { watchStatus } from '../../src/cli/status/watch.ts';
import type { Connection } from '../../src/server/connection.ts';
import { kindsByCommand } from '../documents/output-commands.ts';
import { outputKindsIn } from '../output-documents.ts';
import { run } from './cli-run.ts';
import { connectTo } from './connect-to.ts';
import {
  canary,
  deployment,
  eventually,
  runUntilInitialized,
  sourceFor,
  waitForPhase,
} from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';
import { configWith, deploymentWithConfig } from './with-config.ts';

let bed: QuickBed;
let connection: Connection;
let folder: string;
/** What each command printed, by kind. */
const seen = new Map<string, Set<string>>();

/** A release whose analysis goes on and on; a tree of Flux and one of Sources. */
beforeAll(async () => {
  bed = await startQuickBed();
  connection = await connectTo(bed);
  folder = await mkdtemp(join(tmpdir(), 'holdfast-output-'));
  await writeFile(join(folder, 'source.json'), JSON.stringify(sourceFor(bed)));
  const kustomization = {
    apiVersion: 'kustomize.toolkit.fluxcd.io/v1',
    kind: 'Kustomization',
    metadata: { name: 'apps', namespace: 'flux-system' },
    spec: { interval: '1m', path: './', prune: true, sourceRef: { kind: 'GitRepository', name: 'apps' } },
  };
  const repository = {
    apiVersion: 'source.toolkit.fluxcd.io/v1',
    kind: 'GitRepository',
    metadata: { name: 'apps', namespace: 'flux-system' },
    spec: { interval: '1m', url: 'https://git.example.com/apps', ref: { branch: 'main' } },
  };
  await writeFile(
    join(folder, 'flux.yaml'),
    [kustomization, repository].map((object) => JSON.stringify(object)).join('\n---\n'),
  );
  await bed.commit('v1', {
    'web.json': deploymentWithConfig('shop/web:1'),
    'config.json': configWith('info'),
    'canary.json': canary(),
    'other.json': deployment('shop/other:1', { name: 'other' }),
    'other-canary.json': canary({ name: 'other' }),
  });
  await runUntilInitialized(bed);
  await bed.commit('v2', {
    'web.json': deploymentWithConfig('shop/web:2'),
    'canary.json': canary({ analysis: { interval: '1m', iterations: 500 } }),
  });
  await waitForPhase(bed, 'Progressing');
});

afterAll(async () => {
  await connection.close();
  await rm(folder, { recursive: true, force: true });
  await bed.close();
});

/** Remembers which kinds a command prints, once each document fits its schema. */
function remember(command: string, text: string): void {
  const kinds = seen.get(command) ?? new Set();
  for (const kind of outputKindsIn(text)) kinds.add(kind);
  seen.set(command, kinds);
}

const place = () => ['--kubeconfig', bed.kubeconfigPath];
const inShop = () => [...place(), '-n', 'shop'];
const revision = ['--revision', '0'.repeat(40)];

/** Each command with its arguments, what it is started with besides, and the exit code. */
const calls: ReadonlyArray<
  readonly [command: string, words: readonly string[], where: () => string[], code: number]
> = [
  ['status', [], inShop, 0],
  ['status', ['canary/web'], inShop, 0],
  ['tree', ['source/shop'], inShop, 0],
  ['tree', ['-l', 'nothing=here'], inShop, 0],
  ['events', ['canary/web'], inShop, 0],
  ['logs', ['canary/web', '--primary', '--tail', '1'], inShop, 0],
  ['explain', ['canary/web'], inShop, 0],
  ['explain', ['canary/web', '--what-if', 'cause=Unschedulable', 'onFailure=revert'], inShop, 0],
  ['runbook', [], () => [], 0],
  ['runbook', ['PrimaryNotReady'], () => [], 0],
  ['diff', ['canary/web'], inShop, 0],
  ['diff', ['source/shop'], inShop, 0],
  ['history', ['canary/web'], inShop, 0],
  ['history', ['-l', '!none'], inShop, 0],
  ['wait', ['canary/other'], inShop, 0],
  ['wait', ['canary/web', '--timeout', '1'], inShop, 4],
  ['sync', ['source/shop'], inShop, 0],
  ['promote', ['web', ...revision], inShop, 1],
  ['approve', ['web', ...revision], inShop, 1],
  ['skip-step', ['web', ...revision], inShop, 1],
  ['ignore-window', ['web', ...revision], inShop, 1],
  ['abort', ['web', ...revision], inShop, 1],
  ['retry', ['web', ...revision], inShop, 1],
  ['rollback', ['web', '--to', '0'.repeat(40)], inShop, 1],
  ['pause', ['web'], inShop, 0],
  ['resume', ['web'], inShop, 0],
  ['suspend', ['source/shop'], inShop, 0],
  ['resume', ['source/shop'], inShop, 0],
  ['suspend', ['-l', '!none'], inShop, 0],
  ['resume', ['source', '-l', '!none'], inShop, 0],
  ['freeze', ['--reason', 'the sale', '--until', '2h', '-l', 'team=till'], inShop, 0],
  ['unfreeze', [], inShop, 0],
  ['gate', ['status', 'web'], inShop, 0],
  ['drill', ['web', '--holdfast-namespace', 'default'], inShop, 0],
  ['migrate plan', ['--holdfast-namespace', 'default'], place, 0],
  ['handback', ['--to', 'flagger', '--dry-run', '--holdfast-namespace', 'default'], place, 1],
  ['check', ['--namespace', 'default'], place, 0],
  ['install', [], () => [], 0],
  ['version', ['--client'], () => [], 0],
  ['version', ['--holdfast-namespace', 'default'], place, 0],
];

test.each(calls)('%s %j prints documents that fit their schemas', async (command, words, where, code) => {
  const result = await run(...command.split(' '), ...words, ...where(), '-o', 'json');
  expect(result.text).not.toBe('');
  expect(result.code, result.text).toBe(code);
  remember(command, result.stdout);
  expect([...(seen.get(command) ?? [])]).not.toContain('Error');
});

test('commands about files and commits print documents that fit their schemas', async () => {
  const source = join(folder, 'source.json');
  const clone = join(folder, 'clone');
  execFileSync('git', ['clone', '-q', bed.repository, clone], { stdio: 'pipe' });
  const plan = ['--repo', clone, '--base', 'HEAD^', '--head', 'HEAD', '--source', source];
  const flux = join(folder, 'flux.yaml');
  for (const [command, words] of [
    ['validate', [source]],
    ['plan', plan],
    ['migrate steps', ['--from', 'flux', flux, '--offline']],
    ['handback', ['--to', 'flux', source, '--offline']],
  ] as const)
    remember(command, (await run(...command.split(' '), ...words, '-o', 'json')).stdout);
});

test('commands that watch print a document a line', async () => {
  const stopping = new AbortController();
  let shown = '';
  const write = (text: string) => {
    shown += text;
  };
  const page = watchStatus(connection, {
    ...{ namespace: 'shop', format: 'json' as const, env: {}, signal: stopping.signal },
    screen: { columns: 80, colour: false },
    stream: { write } as unknown as NodeJS.WriteStream,
    onSilence: () => undefined,
  });
  const ended = expect(page).rejects.toThrow('interrupted');
  let reported = '';
  const scope = await scopeOf(connection, 'canary/web', { namespace: 'shop' });
  const events = watchEvents(connection, scope, {
    ...{ flags: { output: 'json' as const }, signal: stopping.signal, warn: () => undefined },
    print: (text) => {
      reported += text;
    },
  });
  const eventsEnded = expect(events).rejects.toThrow('interrupted');
  const watched = run('watch', 'canary/other', ...inShop(), '-o', 'json');
  await eventually('both kinds', async () => shown.includes('"Source"') && shown.includes('"Canary"'));
  await eventually('the watch of one Canary', async () =>
    bed.sandbox.requests
      .all()
      .some(({ query }) => query.includes('watch=true') && /metadata.name(=|%3D)other/.test(query)),
  );
  await bed.send('DELETE', '/apis/flagger.app/v1beta1/namespaces/shop/canaries/other');
  const { code, stdout } = await watched;
  await eventually('the deletion', async () => shown.includes('"DeletedObject"'));
  stopping.abort(new Error('interrupted'));
  await Promise.all([ended, eventsEnded]);

  expect(code).toBe(1);
  expect(stdout.trimEnd().split('\n').at(-1)).toContain('"type":"deleted"');
  remember('watch', stdout);
  remember('status', shown);
  remember('events', reported);
});

test('the page names exactly what the commands printed', () => {
  const documented = Object.fromEntries(kindsByCommand());
  const printed = Object.fromEntries([...seen].map(([command, kinds]) => [command, [...kinds].sort()]));
  // What the demo tells is checked while it plays.
  const { demo, ...others } = documented;
  expect(demo).toEqual(['DemoEvent']);
  expect(printed).toEqual(
    Object.fromEntries(
      Object.entries(others).map(([command, kinds]) => [command, [...new Set(kinds)].sort()]),
    ),
  );
});

test.each([
  [['history', 'nobody'], 'InvalidInput', 'Canary shop/nobody not found'],
  [['status', 'canary/nobody'], 'InvalidInput', 'Canary shop/nobody not found'],
  [['diff', 'nobody'], 'InvalidInput', 'Canary shop/nobody not found'],
  [['runbook', 'web'], 'InvalidInput', 'needs no action'],
  [['history', 'web', '--frist'], 'InvalidArguments', "unknown option '--frist'"],
  [['wait', 'web', '--context', 'nowhere'], 'Configuration', 'nowhere'],
])('%j is an Error on standard output too, in both formats', async (words, reason, message) => {
  const json = await run(...words, ...inShop(), '-o', 'json');
  const yaml = await run(...words, ...inShop(), '--output=yaml');

  const wanted = { kind: 'Error', exitCode: 2, reason, message: expect.stringContaining(message) };
  expect(json.code).toBe(2);
  expect(json.stdout.split('\n')).toHaveLength(2);
  expect(JSON.parse(json.stdout)).toMatchObject(wanted);
  expect(parse(yaml.stdout)).toMatchObject(wanted);
  expect(json.text).toContain('error: ');
});

test('with -l there is one List, whose items are documents', async () => {
  const { stdout } = await run('history', '-l', '!none', ...inShop(), '-o', 'json');
  expect(JSON.parse(stdout)).toMatchObject({
    ...{ apiVersion: 'v1', kind: 'List' },
    items: expect.arrayContaining([expect.objectContaining({ kind: 'History', canary: 'shop/web' })]),
  });
});
