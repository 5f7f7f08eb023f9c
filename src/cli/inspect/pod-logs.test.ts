import { expect, it } from 'vitest';
import type { ContainerStatus, Pod } from '../../workload/pods/pods.ts';
import { logSources, readLog } from './pod-logs.ts';

function pod(name: string, isReady: boolean, ...containerStatuses: ContainerStatus[]): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop' },
    spec: { initContainers: [{ name: 'setup' }], containers: [{ name: 'app' }, { name: 'proxy' }] },
    status: {
      conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
      initContainerStatuses: [{ name: 'setup', ready: true, state: { terminated: { exitCode: 0 } } }],
      containerStatuses,
    },
  };
}
const fine = (name: string): ContainerStatus => ({
  name,
  ready: true,
  restartCount: 0,
  state: { running: {} },
});
const running = {
  restartCount: 2,
  state: { running: {} },
  lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } },
};
const anything = { side: undefined, container: undefined, previous: false };
const named = (...pods: Pod[]) =>
  logSources(
    pods.map((one) => ({ side: 'primary', pod: one })),
    anything,
  ).map(({ pod: name, container, previous }) => `${name}/${container}${previous ? ' previous' : ''}`);

it('pods that are ready and were never restarted do not fail', () => {
  expect(named(pod('a', true, fine('app'), fine('proxy')))).toEqual([]);
});

it('of one that fails only the containers that do are read, an init container that is done not among them', () => {
  expect(
    named(pod('a', false, { name: 'app', ready: false, state: { running: {} } }, fine('proxy'))),
  ).toEqual(['a/app']);
});

it('of one that runs again the run that ended comes first, with why it ended', () => {
  const restarted = pod('a', true, { name: 'app', ready: true, ...running }, fine('proxy'));
  expect(named(restarted)).toEqual(['a/app previous', 'a/app']);
  const [source] = logSources([{ side: 'canary', pod: restarted }], anything);
  expect(source?.problem).toBe('2 restarts, ended with 137 (OOMKilled)');
});

it('of one whose containers say nothing all are read, and of one side every container', () => {
  expect(named(pod('a', false))).toEqual(['a/setup', 'a/app', 'a/proxy']);
  const both = [
    { side: 'primary', pod: pod('a', true, fine('app'), fine('proxy')) },
    { side: 'canary', pod: pod('b', true, fine('app'), fine('proxy')) },
  ] as const;
  const sources = logSources(both, { side: 'canary', container: 'app', previous: true });
  expect(sources).toMatchObject([{ pod: 'b', container: 'app', previous: true }]);
});

it('a log is cut into lines wherever it comes in pieces, and a line without an end is one', async () => {
  const bytes = Buffer.from('grün\nzwei\r\n\u001b]8;;http://evil\u0007drei');
  async function* body(): AsyncGenerator<Uint8Array> {
    for (const byte of bytes) yield Uint8Array.of(byte);
  }
  const [source] = logSources([{ side: 'primary', pod: pod('a', false) }], anything);
  const lines: string[] = [];
  const bounds = { tailLines: 5, sinceSeconds: 60, follow: false };
  let query: Readonly<Record<string, string>> | undefined;
  const transport = {
    stream: async (request: { query?: Readonly<Record<string, string>> }) => {
      query = request.query;
      return { body: body() };
    },
  };
  for await (const line of readLog(transport, source!, bounds, new AbortController().signal))
    lines.push(line);
  expect(lines).toEqual(['grün', 'zwei', 'drei']);
  expect(query).toMatchObject({
    container: 'setup',
    tailLines: '5',
    sinceSeconds: '60',
    limitBytes: expect.any(String),
  });
});

it('a line without an end is cut in pieces instead of kept', async () => {
  async function* body(): AsyncGenerator<Uint8Array> {
    for (let megabyte = 0; megabyte < 4; megabyte += 1) yield Buffer.alloc(1024 * 1024, 'x');
  }
  const [source] = logSources([{ side: 'primary', pod: pod('a', false) }], anything);
  const bounds = { tailLines: undefined, sinceSeconds: undefined, follow: true };
  const lines: number[] = [];
  for await (const line of readLog(
    { stream: async () => ({ body: body() }) },
    source!,
    bounds,
    new AbortController().signal,
  ))
    lines.push(line.length);
  expect(lines).toEqual(Array(4).fill(1024 * 1024));
});
