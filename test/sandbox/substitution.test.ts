import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ApiRequest } from '../../sandbox/api-server/request.ts';
import { type Bed, condition, createSource, eventually, startBed, statusOf } from './holdfast-bed.ts';

let bed: Bed;
beforeEach(async () => {
  bed = await startBed();
});
afterEach(() => bed.close());

const manifest = JSON.stringify({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'app', namespace: 'shop' },
  data: { region: '${region}', key: 'k-${key}', own: '${own:=none}' },
});

function put(kind: 'configmaps' | 'secrets', name: string, data: Record<string, string>) {
  const path = `/api/v1/namespaces/shop/${kind}/${name}?fieldManager=test&force=true`;
  const object = {
    apiVersion: 'v1',
    kind: kind === 'secrets' ? 'Secret' : 'ConfigMap',
    metadata: { name },
    data,
  };
  return bed.send('PATCH', path, object, 'application/apply-patch+yaml');
}

function applied(expected: Record<string, string>) {
  const data = async () => (await bed.get('v1', 'ConfigMap', 'app'))?.data;
  return eventually(
    `data ${JSON.stringify(expected)}`,
    async () => JSON.stringify(await data()) === JSON.stringify(expected),
    { seen: data },
  );
}

const from = [
  { kind: 'ConfigMap', name: 'cluster' },
  { kind: 'Secret', name: 'keys' },
  { kind: 'ConfigMap', name: 'none', optional: true },
];

test('variables come from ConfigMaps, Secrets and the Source, and a new value is applied without a commit', async () => {
  await put('configmaps', 'cluster', { region: 'north\n', own: 'theirs' });
  await put('secrets', 'keys', { key: Buffer.from('hunter2').toString('base64') });
  await bed.commit('first', { 'app.json': manifest });
  await createSource(bed, { interval: '10m', substitute: { variables: { own: 'mine' }, from } });
  await bed.start();
  await applied({ region: 'north', key: 'k-hunter2', own: 'mine' });
  await put('configmaps', 'cluster', { region: 'south' });
  await applied({ region: 'south', key: 'k-hunter2', own: 'mine' });
});

test('a value that changes before its watch has begun is applied, too', async () => {
  await put('configmaps', 'cluster', { region: 'north' });
  await put('secrets', 'keys', { key: Buffer.from('hunter2').toString('base64') });
  await bed.commit('first', { 'app.json': manifest });
  const isOfWatch = ({ query }: ApiRequest) => `${query.get('fieldSelector')}`.includes('cluster');
  const end = bed.sandbox.fault((request) => (isOfWatch(request) ? { code: 503 } : undefined));
  await createSource(bed, { interval: '10m', substitute: { from } });
  await bed.start();
  await applied({ region: 'north', key: 'k-hunter2', own: 'none' });

  await put('configmaps', 'cluster', { region: 'south' });
  end();

  await applied({ region: 'south', key: 'k-hunter2', own: 'none' });
});

test('an object with variables that is missing is named, and so is a variable that strict finds missing', async () => {
  await bed.commit('first', { 'app.json': manifest });
  await createSource(bed, { substitute: { from: from.slice(0, 1), strict: true } });
  await bed.start();
  const ready = (reason: string) =>
    eventually(
      reason,
      async () => {
        const found = condition(await bed.source(), 'Ready');
        return found?.reason === reason && found.message;
      },
      { seen: async () => statusOf(await bed.source()) },
    );
  expect(await ready('VariablesNotFound')).toContain('spec.substitute: there is no ConfigMap shop/cluster');
  await put('configmaps', 'cluster', { region: 'north' });
  expect(await ready('InvalidManifests')).toMatch(
    /^app\.json:1: data\.key: needs the variable key, which is not set/,
  );
});
