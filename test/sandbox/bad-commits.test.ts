import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { git } from '../../sandbox/git-server/git.test-support.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { imageOf } from '../objects.ts';
import {
  type Bed,
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  startBed,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { type Shops, useShops } from './scenarios/shop.ts';

/** What a bad commit brings beside version 2 of `other`, and where that must be told. */
interface Row {
  readonly what: string;
  readonly files?: Readonly<Record<string, string>>;
  /** For entries that are no files: mode, object and path of the index. */
  readonly entry?: string;
  /** Before the commit: what the cluster refuses from now on. */
  readonly before?: (bed: Bed, namespace: string) => void;
  readonly on: 'Source' | 'Canary';
  /** Default `web`. */
  readonly name?: string;
  readonly condition: string;
  readonly reason: string;
  readonly message: RegExp;
  /** What an event says; default as `message`. */
  readonly event?: RegExp;
  /** An object of the same commit that must not be there in part. */
  readonly absent?: readonly [apiVersion: string, kind: string, name: string];
  /** Phase the Canary `web` ends in; without it `web` stays Initialized at version 1. */
  readonly phase?: string;
}

const configMap = (name: string) =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n  namespace: shop\ndata:\n  key: value\n`;
const withoutTarget = () => {
  const { spec, ...rest } = JSON.parse(canary({ name: 'aimless' }));
  const { targetRef: _, ...others } = spec;
  return JSON.stringify({ ...rest, spec: others }, null, 2);
};
const rival = () => {
  const object = JSON.parse(canary({ name: 'zz-rival' }));
  object.spec.targetRef.name = 'web';
  return JSON.stringify(object);
};
const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefgh'
  .split('')
  .map((letter, index) => `${letter}: &${letter} [${Array(9).fill(`*${'abcdefg'[index]}`).join(',')}]\n`)
  .join('')}${configMap('bomb')}`;

const rows: readonly Row[] = [
  {
    what: 'YAML that does not parse',
    files: { 'bad.yaml': `${configMap('half')}---\napiVersion: v1\nkind: [ConfigMap\n` },
    on: 'Source',
    condition: 'Rendered',
    reason: 'InvalidManifests',
    message: /bad\.yaml:\d+: /,
    absent: ['v1', 'ConfigMap', 'half'],
  },
  {
    what: 'an alias bomb',
    files: { 'bomb.yaml': bomb },
    on: 'Source',
    condition: 'Rendered',
    reason: 'InvalidManifests',
    message: /bomb\.yaml:\d+: .*alias/,
    absent: ['v1', 'ConfigMap', 'bomb'],
  },
  {
    what: 'one object in two files',
    files: { 'one.yaml': configMap('twice'), 'two.yaml': configMap('twice') },
    on: 'Source',
    condition: 'Rendered',
    reason: 'InvalidManifests',
    message: /one\.yaml:1: .*two\.yaml:1/,
    absent: ['v1', 'ConfigMap', 'twice'],
  },
  {
    what: 'a Canary without target',
    files: { 'aimless.json': withoutTarget() },
    on: 'Source',
    condition: 'Rendered',
    reason: 'InvalidManifests',
    message: /aimless\.json:\d+: spec\.targetRef: is missing/,
    absent: ['flagger.app/v1beta1', 'Canary', 'aimless'],
  },
  {
    what: 'a Canary whose target is in no file',
    files: { 'lost.json': canary({ name: 'lost' }) },
    on: 'Canary',
    name: 'lost',
    condition: 'Ready',
    reason: 'TargetMissing',
    message: /Deployment.*lost/,
  },
  {
    what: 'a second Canary for one target',
    files: { 'rival.json': rival() },
    on: 'Source',
    condition: 'Rendered',
    reason: 'InvalidManifests',
    message:
      /rival\.json:1: spec\.targetRef\.name: Canary \S+\/zz-rival has the same target as Canary \S+\/web/,
  },
  {
    what: 'an unknown provider',
    files: {
      'canary.json': canary({ spec: { provider: 'carrier-pigeon' } }),
      'web.json': deployment('shop/web:2'),
    },
    on: 'Source',
    condition: 'Rendered',
    reason: 'InvalidManifests',
    message: /canary\.json:1: spec\.provider: "carrier-pigeon"/,
  },
  {
    what: 'a file of 20 MB',
    files: { 'big.yaml': `${configMap('big')}# ${'x'.repeat(20_000_000)}\n` },
    on: 'Source',
    condition: 'Rendered',
    reason: 'InvalidManifests',
    message: /big\.yaml.* 20\d{6} bytes/,
    absent: ['v1', 'ConfigMap', 'big'],
  },
  {
    what: 'a symbolic link',
    entry: '120000 {blob} link.yaml',
    on: 'Source',
    condition: 'Rendered',
    reason: 'InvalidManifests',
    message: /^link\.yaml: symbolic link/,
  },
  {
    what: 'a submodule',
    entry: '160000 {commit} vendor/theirs',
    on: 'Source',
    condition: 'Rendered',
    reason: 'InvalidManifests',
    message: /vendor\/theirs: .*submodule/,
  },
  {
    what: 'a kind without CRD',
    files: {
      'widget.yaml': 'apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: w\n  namespace: shop\n',
    },
    on: 'Source',
    condition: 'Applied',
    reason: 'UnknownKind',
    message: /widget\.yaml:1: Widget.*CustomResourceDefinition/,
  },
  {
    what: 'an object that RBAC forbids',
    files: { 'secret-place.yaml': configMap('forbidden') },
    before: (bed, namespace) => forbid(bed, namespace, '/configmaps/forbidden'),
    on: 'Source',
    condition: 'Applied',
    reason: 'Forbidden',
    message: /secret-place\.yaml:1: ConfigMap \S+\/forbidden.*cannot patch/,
  },
  {
    what: 'a primary that RBAC forbids to write',
    files: { 'web.json': deployment('shop/web:2') },
    before: (bed, namespace) => forbid(bed, namespace, '/deployments/web'),
    on: 'Canary',
    condition: 'Ready',
    reason: 'Forbidden',
    message: /deployments.*cannot patch|cannot patch/,
  },
  {
    what: 'a metric without values',
    files: {
      'web.json': deployment('shop/web:2'),
      'canary.json': canary({
        analysis: {
          threshold: 1,
          metrics: [
            {
              name: 'silence',
              query: 'sandbox_success_rate{namespace="shop",workload="nobody"}',
              thresholdRange: { min: 99 },
            },
          ],
        },
      }),
    },
    on: 'Canary',
    condition: 'Ready',
    reason: 'AnalysisFailed',
    message: /was rejected \(AnalysisFailed\)/,
    event: /silence/,
    phase: 'Failed',
  },
];

function forbid(bed: Bed, namespace: string, path: string): void {
  bed.sandbox.fault((request) =>
    request.method === 'PATCH' &&
    request.path.includes(`/namespaces/${namespace}/`) &&
    request.path.endsWith(path)
      ? { code: 403, reason: 'Forbidden', message: `User "holdfast" cannot patch ${path}` }
      : undefined,
  );
}

describe.concurrent('a bad commit', () => {
  const shops = useShops();
  test.each(rows.map((row, index) => ({ ...row, namespace: `row-${index}` })))(
    '$what: is told on the $on, and the other Canary is promoted',
    (row) => play(shops, row),
  );
});

/** A manifest of the namespace `shop`, for another one. */
function movedTo(namespace: string, manifest: string): string {
  return manifest.replaceAll(/("?namespace"?: ?"?)shop\b/g, `$1${namespace}`);
}

async function play(shops: Shops, row: Row & { readonly namespace: string }): Promise<void> {
  const { namespace } = row;
  const shop = await shops.open(namespace);
  const bed = shops.bed();
  const here = (files: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(files).map(([path, text]) => [path, movedTo(namespace, text)]));
  const canaryNamed = (name: string) => bed.get('flagger.app/v1beta1', 'Canary', name, namespace);
  const source = () => bed.get('holdfast.dev/v1alpha1', 'Source', 'shop', namespace);
  const primaryImage = async (name: string) =>
    imageOf(await bed.get('apps/v1', 'Deployment', `${name}-primary`, namespace));
  const untilPhase = (name: string, phase: string) =>
    eventually(`${name} is ${phase}`, async () => statusOf(await canaryNamed(name)).phase === phase, {
      seen: async () => statusOf(await canaryNamed(name)),
    });
  const good = {
    'web.json': deployment('shop/web:1'),
    'canary.json': canary(),
    'other.json': deployment('shop/other:1', { name: 'other' }),
    'other-canary.json': canary({ name: 'other' }),
  };
  await shop.commit('good', here(good));
  await untilPhase('web', 'Initialized');
  await untilPhase('other', 'Initialized');
  row.before?.(bed, namespace);
  if (row.entry) await addEntry(join(dirname(bed.repository), `${namespace}.git`), row.entry);
  const other = { 'other.json': deployment('shop/other:2', { name: 'other' }) };
  const commit = await shop.commit('bad', here({ ...row.files, ...other }));
  const holder = () => (row.on === 'Source' ? source() : canaryNamed(row.name ?? 'web'));
  const found = await eventually(
    `${row.on} says ${row.condition} ${row.reason}`,
    async () => {
      const seen = condition(await holder(), row.condition);
      return seen?.reason === row.reason && seen.status === 'False' && row.message.test(seen.message) && seen;
    },
    { seen: async () => statusOf(await holder()) },
  );
  await eventually(
    'an event that tells it',
    async () =>
      events(bed, namespace).find(
        (event) =>
          event.type === 'Warning' &&
          event.regarding.kind === row.on &&
          (row.event ?? row.message).test(event.note),
      ),
    { seen: async () => events(bed, namespace) },
  );
  await eventually(
    'the other Canary is promoted',
    async () => statusOf(await canaryNamed('other')).lastPromotedCommit === commit,
    { seen: async () => statusOf(await canaryNamed('other')) },
  );
  expect(await primaryImage('other')).toBe('shop/other:2');
  expect(await primaryImage('web')).toBe('shop/web:1');
  if (row.phase) await untilPhase('web', row.phase);
  if (row.absent) expect(await bed.get(...row.absent, namespace)).toBeUndefined();
  if (row.on === 'Source') {
    const ready = condition(await source(), 'Ready');
    expect(ready).toMatchObject({ status: 'False', message: found.message });
  }
}

interface Event {
  readonly type: string;
  readonly reason: string;
  readonly note: string;
  readonly regarding: { readonly kind: string; readonly name: string };
}

function events(bed: Bed, namespace = 'shop'): readonly Event[] {
  return bed.sandbox.store.list('events.k8s.io/events', namespace) as unknown as Event[];
}

/** Commits a link or a submodule, which no file content can express. */
async function addEntry(repository: string, entry: string): Promise<void> {
  const head = await git(repository, ['rev-parse', 'main']);
  const blob = await git(repository, ['hash-object', '-w', '--stdin'], { input: 'canary.json' });
  const [mode, object = '', path] = entry.replace('{blob}', blob).replace('{commit}', head).split(' ');
  const env = { GIT_INDEX_FILE: `${repository}/extra-index` };
  await git(repository, ['read-tree', head], { env });
  await git(repository, ['update-index', '--add', '--cacheinfo', `${mode},${object},${path}`], { env });
  const tree = await git(repository, ['write-tree'], { env });
  const identity = {
    GIT_AUTHOR_NAME: 'Ada',
    GIT_AUTHOR_EMAIL: 'ada@example.com',
    GIT_COMMITTER_NAME: 'Ada',
    GIT_COMMITTER_EMAIL: 'ada@example.com',
  };
  const commit = await git(repository, ['commit-tree', tree, '-p', head, '-m', 'entry'], {
    env: identity,
  });
  await git(repository, ['update-ref', 'refs/heads/main', commit]);
}

describe('a Git server that refuses', () => {
  let bed: Bed;
  beforeEach(async () => {
    bed = await startBed();
  });
  afterEach(() => bed.close());

  test.each([
    [401, 'Unauthorized', /user name|token|password|credential/i],
    [403, 'Unauthorized', /403|right|allowed/i],
    [404, 'NotFound', /shop\.git/],
    [500, 'Unreachable', /500/],
  ])('with %i is told as %s on its Source, and another Source goes on', async (code, reason, message) => {
    const server = createServer((_, response) => {
      response
        .writeHead(code, { 'www-authenticate': 'Basic realm="git"' })
        .end('<h1>secret-of-the-server</h1>');
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    try {
      const { port } = server.address() as AddressInfo;
      await bed.send('POST', '/api/v1/namespaces/shop/secrets', login);
      await bed.commit('good', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
      await createSource(bed);
      await bed.send('POST', '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources', {
        ...((await bed.source()) as KubernetesObject),
        metadata: { name: 'refused', namespace: 'shop' },
        spec: {
          url: `http://127.0.0.1:${port}/shop.git`,
          ref: { branch: 'main' },
          interval: '1s',
          secretRef: { name: 'login' },
        },
      });
      await bed.start();
      await waitForPhase(bed, 'Initialized');
      const refused = () => bed.get('holdfast.dev/v1alpha1', 'Source', 'refused');
      const seen = await eventually(
        `Fetched=False ${reason}`,
        async () => {
          const found = condition(await refused(), 'Fetched');
          return found?.status === 'False' && found.reason === reason && found;
        },
        { seen: async () => statusOf(await refused()) },
      );
      expect(seen.message).toMatch(message);
      const told = JSON.stringify([await refused(), events(bed)]);
      expect(told).not.toContain('hunter2');
      expect(told).not.toContain('secret-of-the-server');
      expect(condition(await refused(), 'Ready')).toMatchObject({ status: 'False', reason });
      const about = events(bed).filter(({ regarding }) => regarding.name === 'refused');
      expect(about.map((event) => event.reason)).toEqual([reason]);
    } finally {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    }
  });
});

const login = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'login', namespace: 'shop' },
  data: { username: btoa('ada'), password: btoa('hunter2') },
};

test('a cluster without our CRDs is told on /readyz, and Holdfast begins once they are there', async () => {
  const bed = await startBed();
  try {
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const name = 'canaries.flagger.app';
    const crd = (await bed.send('GET', `${path}/${name}`)).body as KubernetesObject;
    await bed.send('DELETE', `${path}/${name}`);
    await bed.commit('good', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
    await createSource(bed);
    const app = await bed.start();
    const told = await eventually('readiness names the CRD', async () => {
      const answer = await fetch(`${app.url}/readyz`);
      const text = await answer.text();
      return answer.status === 503 && text.includes('Canary') && text;
    });
    expect(told).toMatch(/lacks the CRDs of Canary; run: holdfast install --crds-only \| kubectl apply/);
    const { apiVersion, kind, spec } = crd;
    await bed.send('POST', path, { apiVersion, kind, metadata: { name }, spec });
    await waitForPhase(bed, 'Initialized');
  } finally {
    await bed.close();
  }
});
