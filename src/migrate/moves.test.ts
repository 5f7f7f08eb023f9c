import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Connection } from '../server/connection.ts';
import { unifiedDiff } from './edit.ts';
import { planMoves } from './moves.ts';
import { moveLines } from './moves-text.ts';
import { movesExitCode } from './steps.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-moves-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const head = (kind: string, name: string, namespace = 'flux-system') =>
  `apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: ${kind}\nmetadata: {name: ${name}, namespace: ${namespace}}\n`;
const repository = `apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: apps, namespace: flux-system}
spec: {interval: 1m, url: "https://git.example.com/a.git", ref: {branch: main}}
`;
const from = 'sourceRef: {kind: GitRepository, name: apps}';

async function plan(files: Record<string, string>, tool: 'flux' | 'argocd' = 'flux', isBack = false) {
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return planMoves({ tool, path: folder, isBack, cluster: undefined });
}

it('puts first what others depend on, and passes over what is of no tool, broken or not', async () => {
  const moves = await plan({
    'a.yaml': `${head('Kustomization', 'web')}spec: {prune: true, ${from}, dependsOn: [{name: base}]}\n---\n${repository}`,
    'b.yaml': `${head('Kustomization', 'base')}spec: {prune: true, ${from}}\n`,
    'values.yaml': '{{ not yaml',
  });
  expect(moves.map(({ name }) => name)).toEqual([
    'Kustomization flux-system/base',
    'Kustomization flux-system/web',
  ]);
  expect(movesExitCode(moves)).toBe(3);
});

it.each([
  [
    'flux',
    `${head('Kustomization', 'web').replace('{name: web, namespace: flux-system}', '\n  name: web\n  namespace: flux-system\n  annotations:')}spec:\n  prune: true\n  ${from}\n  dependsOn:\n  postBuild: {substitute: , substituteFrom: }\n---\n${repository}`,
  ],
  [
    'argocd',
    `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web, namespace: argocd}
spec:
  source: {repoURL: "https://git.example.com/a.git", path: web, targetRevision: main}
  destination: {server: "https://kubernetes.default.svc", namespace: web}
  syncPolicy:
    # automated: {}
`,
  ],
] as const)('takes a field without a value for none: %s', async (tool, text) => {
  const [move, ...others] = await plan({ 'a.yaml': text }, tool);
  expect([move?.stops, others]).toEqual([[], []]);
  const changed = move?.steps.flatMap(({ changes }) => changes.map(({ after = '' }) => after)).join('\n');
  expect(changed).toContain(tool === 'flux' ? 'suspend: true' : 'Prune=false');
});

it('moves what is clear where other files of the folder are of no concern, twice there, or of another cluster', async () => {
  const other =
    'apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: db, namespace: shop}\n';
  const moves = await plan({
    'a.yaml': `${head('Kustomization', 'web')}spec: {prune: true, ${from}}\n---\n${repository}`,
    'prod.yaml': `${head('Kustomization', 'apps')}spec: {path: ./prod, ${from}}\n`,
    'staging.yaml': `${head('Kustomization', 'apps')}spec: {path: ./staging, ${from}}\n`,
    'namespace-a.yaml':
      'apiVersion: v1\nkind: Namespace\nmetadata: {name: _, labels: {kustomize.toolkit.fluxcd.io/prune: disabled}}\n',
    'namespace-b.yaml':
      'apiVersion: v1\nkind: Namespace\nmetadata: {name: _, labels: {kustomize.toolkit.fluxcd.io/prune: disabled}}\n',
    'release.yaml': other,
    'release-patch.yaml': other,
    'values.yaml': '# apiVersion: helm.toolkit.fluxcd.io/v2\nreplicas: 1\n',
  });

  const stops = moves.map(({ name, stops: [first] }) => [name, first?.replace(/.*\/(?=\w+\.yaml:1: K)/, '')]);
  expect(stops).toEqual([
    ['Kustomization flux-system/web', undefined],
    [
      'Kustomization flux-system/apps',
      expect.stringMatching(
        /^prod\.yaml:1: Kustomization flux-system\/apps is also in .*staging\.yaml:1: name only the folder or file of the one to migrate$/,
      ),
    ],
    ['Kustomization flux-system/apps', expect.stringMatching(/^staging\.yaml:1: .*prod\.yaml:1: name only/)],
    ['HelmRelease shop/db', expect.stringContaining('not migrated')],
    ['HelmRelease shop/db', expect.stringContaining('not migrated')],
  ]);
});

it('refuses a broken file of the tool with its line, and goes on with the others', async () => {
  const moves = await plan({
    'a.yaml': `${head('Kustomization', 'web')}spec: {{ .Values.web }}\n`,
    'b.yaml': `${head('Kustomization', 'base')}spec: {prune: true, ${from}}\n---\n${repository}`,
  });
  expect(moves.map(({ name, stops }) => [name, ...stops])).toEqual([
    ['Kustomization flux-system/base'],
    [`File ${join(folder, 'a.yaml')}`, expect.stringMatching(/a\.yaml:\d+: /)],
  ]);
  expect(movesExitCode(moves)).toBe(1);
  const alone = planMoves({ tool: 'flux', path: join(folder, 'a.yaml'), isBack: false, cluster: undefined });
  await expect(alone).rejects.toThrow(/a\.yaml:\d+: /);
  await expect(
    planMoves({ tool: 'flux', path: join(folder, 'no'), isBack: false, cluster: undefined }),
  ).rejects.toThrow('does not exist');
});

it('stops with file, line and field on what cannot be carried, and names what it does not move', async () => {
  const moves = await plan({
    'a.yaml': `${head('Kustomization', 'web')}spec:\n  ${from}\n  images:\n  - name: web\n---\n${repository}`,
    'b.yaml': `apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: db, namespace: shop}\n`,
    'c.yaml': `${head('Kustomization', 'lost')}spec: {sourceRef: {kind: GitRepository, name: gone}}\n`,
  });
  const stops = new Map(moves.map((move) => [move.name, move.stops.join('\n')]));
  expect(stops.get('Kustomization flux-system/web')).toMatch(
    /a\.yaml:6: spec\.images: move it to kustomization\.yaml/,
  );
  expect(stops.get('Kustomization flux-system/lost')).toMatch(/c\.yaml:4: its GitRepository is neither/);
  expect(stops.get('HelmRelease shop/db')).toMatch(/b\.yaml:1: .* not migrated/);
  expect(moves.every(({ steps }) => steps.length === 0)).toBe(true);
  expect(movesExitCode(moves)).toBe(1);
});

it('names alerts and push webhooks also where they are in the cluster alone, and each once', async () => {
  const apiVersion = 'notification.toolkit.fluxcd.io/v1';
  const named = (kind: string, name: string, spec: object) => ({
    ...{ apiVersion, kind, metadata: { name, namespace: 'flux-system' }, spec },
  });
  const live = [
    named('Alert', 'all', { eventSources: [{ kind: 'Kustomization', name: '*' }] }),
    named('Receiver', 'github', { resources: [{ kind: 'GitRepository', name: 'apps' }] }),
  ];
  const client = {
    find: async (group: string) => (apiVersion.startsWith(group) && group ? { apiVersion } : undefined),
    get: async () => undefined,
    list: async (_: string, kind: string) => ({ items: live.filter((one) => one.kind === kind) }),
  };
  const connection = { client } as unknown as Connection;
  const compare = async () => ({ missing: [], created: [], changed: [], refused: [] });
  const alert = `apiVersion: ${apiVersion}\nkind: Alert\nmetadata: {name: all, namespace: flux-system}\nspec: {eventSources: [{kind: Kustomization, name: '*'}]}\n`;
  const text = `${head('Kustomization', 'web')}spec: {prune: true, ${from}}\n---\n${repository}---\n${alert}`;
  await writeFile(join(folder, 'a.yaml'), text);

  const [move] = await planMoves({
    ...{ tool: 'flux', path: folder, isBack: false },
    cluster: { connection, compare },
  });

  const about = (kind: string) => move?.notes.filter((note) => note.startsWith(`${kind} flux-system/`));
  expect(about('Alert')).toHaveLength(1);
  expect(about('Receiver')).toEqual([expect.stringMatching(/^Receiver flux-system\/github reconciles it/)]);
});

it('names alerts, push webhooks and annotations that a Source does not have by itself', async () => {
  const notification = (kind: string, name: string, spec: string) =>
    `apiVersion: notification.toolkit.fluxcd.io/v1\nkind: ${kind}\nmetadata: {name: ${name}, namespace: flux-system}\nspec: ${spec}\n`;
  const moves = await plan({
    'a.yaml': [
      `${head('Kustomization', 'web').replace('}', ', annotations: {reconcile.fluxcd.io/requestedAt: now}}')}spec: {prune: true, ${from}}\n`,
      repository,
      notification('Alert', 'all', "{eventSources: [{kind: Kustomization, name: '*'}]}"),
      notification('Alert', 'other', '{eventSources: [{kind: Kustomization, name: other}]}'),
      notification('Receiver', 'github', '{resources: [{kind: GitRepository, name: apps}]}'),
    ].join('---\n'),
  });
  const notes = moves[0]?.notes.join('\n');
  expect(notes).toContain(
    'Alert flux-system/all reports about it, and does not about a Source: use spec.alerts',
  );
  expect(notes).not.toContain('flux-system/other');
  expect(notes).toContain(
    'Receiver flux-system/github reconciles it at a push: let the Git server call /hooks/flux-system/web of Holdfast, too',
  );
  expect(notes).not.toContain('annotation');

  const argo = (metadata: string) =>
    `apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web, namespace: argocd${metadata}}\nspec: {source: {repoURL: "https://git.example.com/a.git", targetRevision: main}, destination: {server: "https://kubernetes.default.svc"}}\n`;
  const annotations =
    ', annotations: {notifications.argoproj.io/subscribe.on-sync-failed.slack: ops, argocd.argoproj.io/refresh: hard, argocd.argoproj.io/sync-wave: "2"}';
  const [application] = await plan({ 'a.yaml': argo(annotations) }, 'argocd');
  expect(application?.notes.join('\n')).toContain(
    'its annotations notifications.argoproj.io/subscribe.on-sync-failed.slack, argocd.argoproj.io/sync-wave are not carried: nothing reads them on a Source; see spec.alerts and spec.dependsOn',
  );
  expect((await plan({ 'a.yaml': argo('') }, 'argocd'))[0]?.notes.join()).not.toContain('annotation');
});

it('refuses an ApplicationSet', async () => {
  const text =
    'apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: all, namespace: argocd}\n';
  const moves = await plan({ 'a.yaml': text }, 'argocd');
  expect(moves[0]?.stops[0]).toMatch(
    /it generates Applications .* set spec\.syncPolicy\.preserveResourcesOnDeletion: true, /,
  );
});

it.each([
  ['automated: {prune: true}', true],
  ['automated: {prune: true, enabled: false}', false],
  ['automated: {prune: true}, syncOptions: [Prune=false]', false],
])('the Source prunes in the end only where Argo CD did: %s', async (syncPolicy, prunes) => {
  const text = `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd}
spec:
  project: default
  source: {repoURL: "https://git.example.com/a.git", path: ., targetRevision: main}
  destination: {server: "https://kubernetes.default.svc"}
  syncPolicy: {${syncPolicy}}
`;
  const moves = await plan({ 'a.yaml': text }, 'argocd');
  expect(moves[0]?.steps.at(-1)?.title).toBe(prunes ? 'turn pruning on' : 'finish the migration');
});

it('gives back only what the other tool can say', async () => {
  const source = (more: string) =>
    `apiVersion: holdfast.dev/v1alpha1\nkind: Source\nmetadata: {name: shop, namespace: delivery}\nspec:\n  url: https://git.example.com/a.git\n  ref: {branch: main}\n  prune: true\n${more}`;
  const stopped = await plan(
    { 'a.yaml': source('  windows: [{kind: deny, schedule: "0 8 * * *", duration: 1h}]\n') },
    'flux',
    true,
  );
  expect(stopped[0]?.stops[0]).toMatch(/a\.yaml:8: spec\.windows: has no counterpart/);
  const moves = await plan({ 'a.yaml': source('  path: ./shop\n') }, 'argocd', true);
  const lines = moveLines(moves, { columns: 100, colour: false });
  expect(lines).toContain('+    targetRevision: main');
  expect(lines).toContain('+  suspend: true');
  expect(lines.filter((line) => /^\d\. /.test(line))).toHaveLength(5);
});

it.each(['flux', 'argocd'] as const)(
  'a Source that applies nothing is given to no second owner: %s',
  async (tool) => {
    const source = `apiVersion: holdfast.dev/v1alpha1\nkind: Source\nmetadata: {name: shop, namespace: delivery}\nspec: {url: "https://git.example.com/a.git", ref: {branch: main}, apply: false}\n`;

    const [move] = await plan({ 'a.yaml': source }, tool, true);

    expect(move).toMatchObject({
      stops: [],
      notes: ['spec.apply is false: another tool applies its objects, so that there is nothing to hand back'],
      steps: [],
    });
  },
);

it.each<['flux' | 'argocd', string, RegExp]>([
  ['flux', 'helm', /a\.yaml:5: spec\.renderer: a Kustomization does not render charts/],
  ['flux', 'plain', /a\.yaml:5: spec\.renderer: Flux builds a kustomization\.yaml where there is one/],
  ['argocd', 'plain', /a\.yaml:5: spec\.renderer: Argo CD builds a kustomization\.yaml or a chart/],
])('a Source is not given back to %s where that would render %s in another way', async (tool, how, why) => {
  const source = `apiVersion: holdfast.dev/v1alpha1\nkind: Source\nmetadata: {name: shop, namespace: delivery}\nspec:\n  renderer: ${how}\n  url: https://git.example.com/a.git\n  ref: {branch: main}\n`;

  const [move] = await plan({ 'a.yaml': source }, tool, true);

  expect(move?.stops.join('\n')).toMatch(why);
  expect(move?.steps).toEqual([]);
});

it('what a Source leaves out is left out by Flux, too, whose patterns begin at the root', async () => {
  const source = `apiVersion: holdfast.dev/v1alpha1\nkind: Source\nmetadata: {name: shop, namespace: delivery}\nspec:\n  url: https://git.example.com/a.git\n  ref: {branch: main}\n  path: ./prod/shop/\n  ignore: ['*.md', /ci, '!docs/a.yaml', tmp/, '# a/b']\n`;

  const [back] = await plan({ 'a.yaml': source }, 'flux', true);
  const lines = moveLines(back ? [back] : [], { columns: 100, colour: false }).join('\n');

  expect(back?.stops).toEqual([]);
  const rules = ['*.md', '/prod/shop/ci', '!/prod/shop/docs/a.yaml', 'tmp/', '# a/b', '.sops.yaml'];
  expect(lines).toContain(`+  ignore: |\n${rules.map((rule) => `+    ${rule}`).join('\n')}\n`);
});

it('a chart is given back to Argo CD with the namespace that its objects are in', async () => {
  const source = `apiVersion: holdfast.dev/v1alpha1\nkind: Source\nmetadata: {name: shop, namespace: delivery}\nspec: {url: "https://git.example.com/a.git", ref: {branch: main}, helm: {values: {replicas: 2}}}\n`;

  const moves = await plan({ 'a.yaml': source }, 'argocd', true);

  const [, destination] = moveLines(moves, { columns: 100, colour: false })
    .join('\n')
    .split('+  destination:\n');
  expect(destination).toMatch(/^\+ {4}server: .*\n\+ {4}namespace: delivery\n/);
});

it.each([
  ['without a line feed at its end', (text: string) => text.trimEnd()],
  ['with line ends of Windows', (text: string) => text.replaceAll('\n', '\r\n')],
])('git applies the first commit to a file %s', async (_, written) => {
  const text = `${repository}---\n${head('Kustomization', 'web')}spec:\n  ${from}\n  prune: true\n`;
  const [move] = await plan({ 'a.yaml': written(text) });
  const changes = move?.steps[0]?.changes ?? [];
  const patch = changes.flatMap(unifiedDiff).join('\n').replaceAll(`${folder}/`, '');

  execFileSync('git', ['apply', '-'], { cwd: folder, input: `${patch}\n`, stdio: 'pipe' });

  expect(await readFile(join(folder, 'a.yaml'), 'utf8')).toBe(changes[0]?.after);
});

it.each([
  ['dependsOn:', alertNaming('')],
  ['dependsOn: [{name: base}]', alertNaming('  eventSources:\n')],
])('a list without a value is an empty one, in the cluster, too: %s', async (field, alert) => {
  const client = {
    find: async () => undefined,
    get: async () => undefined,
    list: async () => ({ items: [] }),
  };
  const compare = async () => ({ missing: [], created: [], changed: [], refused: [] });
  const text = `${head('Kustomization', 'web')}spec:\n  ${from}\n  prune: true\n  ${field}\n---\n${repository}---\n${alert}`;
  await writeFile(join(folder, 'a.yaml'), text);

  const [move] = await planMoves({
    ...{ tool: 'flux', path: folder, isBack: false },
    cluster: { connection: { client } as unknown as Connection, compare },
  });

  expect(move?.stops).toEqual([]);
});

function alertNaming(sources: string): string {
  return `apiVersion: notification.toolkit.fluxcd.io/v1beta3\nkind: Alert\nmetadata: {name: all, namespace: flux-system}\nspec:\n  providerRef: {name: chat}\n${sources}`;
}

it.each(['flux', 'argocd'] as const)(
  'a Source that is not valid is refused with its line on the way back: %s',
  async (tool) => {
    const source =
      'apiVersion: holdfast.dev/v1alpha1\nkind: Source\nmetadata: {name: shop, namespace: delivery}\nspec:\n  url: https://git.example.com/a.git\n  ref:\n';

    const [move] = await plan({ 'a.yaml': source }, tool, true);

    expect(move?.stops).toEqual([expect.stringMatching(/a\.yaml:6: spec\.ref: /)]);
  },
);

type Json = Record<string, unknown>;

/** The object with each of its fields in turn, at any depth, set to a value of another type. */
function* withOddFields(object: Json): Generator<Json> {
  for (const [key, value] of Object.entries(object)) {
    for (const odd of [0, 'x', true, null, {}, [null], ['x']]) yield { ...object, [key]: odd };
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      for (const inner of withOddFields(value as Json)) yield { ...object, [key]: inner };
  }
}

it.each<['flux' | 'argocd', Json, string]>([
  [
    'flux',
    {
      ...{ apiVersion: 'kustomize.toolkit.fluxcd.io/v1', kind: 'Kustomization' },
      metadata: { name: 'web', namespace: 'flux-system', annotations: { a: 'b' } },
      spec: {
        ...{
          prune: true,
          path: './web',
          interval: '1m',
          wait: true,
          targetNamespace: 'web',
          healthChecks: [],
        },
        sourceRef: { kind: 'GitRepository', name: 'apps' },
        dependsOn: [{ name: 'base' }],
        postBuild: { substitute: { a: 'b' }, substituteFrom: [{ kind: 'ConfigMap', name: 'x' }] },
        decryption: { provider: 'sops', secretRef: { name: 'age' } },
      },
    },
    repository,
  ],
  [
    'argocd',
    {
      ...{ apiVersion: 'argoproj.io/v1alpha1', kind: 'Application' },
      metadata: { name: 'web', namespace: 'argocd', finalizers: ['a'], annotations: { a: 'b' } },
      spec: {
        project: 'default',
        source: {
          ...{ repoURL: 'https://git.example.com/a.git', path: 'web', targetRevision: 'main' },
          ...{
            directory: { recurse: true },
            helm: { releaseName: 'web', valueFiles: ['a.yaml'], values: 'a: 1' },
          },
        },
        destination: { server: 'https://kubernetes.default.svc', namespace: 'web' },
        syncPolicy: { automated: { prune: true }, syncOptions: ['A=b'] },
      },
    },
    '',
  ],
])(
  'a field of %s with a value of another type never ends in an error of the runtime',
  async (tool, object, more) => {
    for (const odd of withOddFields(object)) {
      const text = `${JSON.stringify(odd)}\n---\n${more}`;
      await plan({ 'a.yaml': text }, tool).catch((error: Error) => {
        expect(`${error.name} ${text}`).toMatch(/^InputError /);
      });
    }
  },
);

it.each<['flux' | 'argocd', string, string]>([
  [
    'flux',
    `${head('Kustomization', 'web')}spec: {prune: true, ${from}, postBuild: {substituteFrom: 0}}\n---\n${repository}`,
    'spec.postBuild.substituteFrom',
  ],
  [
    'flux',
    `${head('Kustomization', 'web')}spec: {prune: true, ${from}, dependsOn: base}\n---\n${repository}`,
    'spec.dependsOn',
  ],
])('a list of %s that is none stops the move: %s', async (tool, text, field) => {
  const [move] = await plan({ 'a.yaml': text }, tool);
  expect(move?.stops).toEqual([expect.stringContaining(`${field}: must be a list`)]);
});
