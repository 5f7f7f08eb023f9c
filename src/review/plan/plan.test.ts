import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { InputError } from '../../api/problems.ts';
import { openLocalRepository } from '../../git/store/local-repository.ts';
import {
  canaryText,
  configText,
  deploymentText,
  type PlanBed,
  planBed,
  sourceText,
} from './plan.test-support.ts';
import type { PlanReport, SourcePlanned } from './report.ts';
import { planMarkdown } from './report-markdown.ts';
import { planText } from './report-text.ts';

let bed: PlanBed;

beforeEach(() => {
  bed = planBed();
  bed.repository.commit({
    'sources/shop.yaml': sourceText(),
    'apps/web.yaml': deploymentText('shop/web:1'),
    'apps/canary.yaml': canaryText(),
    'apps/settings.json': configText('ConfigMap', 'settings', { level: 'info', mode: 'safe' }),
    'apps/vault.json': configText('Secret', 'vault', { password: 'hunter2', user: 'admin' }),
  });
});

afterEach(() => bed.close());

function only(report: PlanReport): SourcePlanned {
  expect(report.sources).toHaveLength(1);
  return report.sources[0] as SourcePlanned;
}

const objectsOf = (source: SourcePlanned) =>
  source.objects.map(({ change, kind, name, role }) => `${change} ${kind} ${name} ${role}`);

describe('a plan', () => {
  it.each([
    ['traefik.io/v1alpha1', 'IngressRoute'],
    ['hive.openshift.io/v1', 'ClusterDeployment'],
  ])('tells apart objects of one name in two namespaces, also of %s %s', async (apiVersion, kind) => {
    const route = (namespace: string) =>
      JSON.stringify({ apiVersion, kind, metadata: { name: 'web', namespace }, spec: {} });
    bed.repository.commit({ 'apps/a.json': route('shop'), 'apps/b.json': route('staging') });
    const source = only(await bed.plan());

    expect(source.problems).toEqual([]);
    expect(source.objects.map(({ namespace }) => namespace)).toEqual(['shop', 'staging']);
  });

  it('reads a Canary without a namespace as everywhere, though the CRDs are not in the cluster yet', async () => {
    const bare = (text: string) => text.replaceAll(/,? *"?namespace"?: "?shop"?/g, '');
    bed.repository.commit({
      'apps/web.yaml': bare(deploymentText('shop/web:1')),
      'apps/canary.yaml': bare(canaryText()),
    });
    bed.repository.commit({ 'apps/web.yaml': bare(deploymentText('shop/web:2')) });
    const withoutCrds = {
      kindOf: async (apiVersion: string) =>
        apiVersion.startsWith('flagger.app/') ? undefined : { namespaced: true },
      capabilities: async () => ({ kubeVersion: '1.36.0', apiVersions: [] }),
    };

    const source = only(await bed.plan({ paths: ['apps'] }, {}, withoutCrds));

    expect(source.problems).toEqual([]);
    expect(source.canaries).toMatchObject([{ canary: 'shop/web', change: 'release' }]);
  });

  it('of a new image is a rollout with its flight plan and the line that changes', async () => {
    bed.repository.commit({ 'apps/web.yaml': deploymentText('shop/web:2') }, 'Pay faster');
    const report = await bed.plan();
    const source = only(report);

    expect(source).toMatchObject({
      source: 'delivery/shop',
      path: 'apps',
      change: 'same',
      oneWay: [],
      notes: [],
    });
    expect(objectsOf(source)).toEqual(['changed Deployment web target']);
    expect(source.objects[0]?.diff.filter((line) => /^[+-]/.test(line))).toEqual([
      '-          image: shop/web:1',
      '+          image: shop/web:2',
    ]);
    expect(source.canaries).toMatchObject([
      {
        canary: 'shop/web',
        change: 'release',
        summary: 'a rollout starts: the pod template changes',
        flight: { strategy: 'canary', steps: [{ weight: 10 }, { weight: 50 }], shortestMs: 90_000 },
        revert: { possible: 'unknown', onFailure: 'auto', to: { from: 'base' } },
      },
    ]);
    expect(report.summary).toMatchObject({ changed: 1, rollouts: 1, oneWay: 0, problems: 0 });
    expect(report.head.commit).toMatchObject({ subject: 'Pay faster' });
  });

  it('of config that a release is made of is a rollout; replicas alone are none', async () => {
    bed.repository.commit({
      'apps/settings.json': configText('ConfigMap', 'settings', { level: 'debug', mode: 'safe' }),
    });
    const config = only(await bed.plan());
    expect(objectsOf(config)).toEqual(['changed ConfigMap settings config']);
    expect(config.canaries).toMatchObject([
      { change: 'release', summary: 'a rollout starts: config changes' },
    ]);

    bed.repository.commit({ 'apps/web.yaml': deploymentText('shop/web:1', { replicas: 5 }) });
    expect(only(await bed.plan()).canaries).toMatchObject([{ change: 'settings' }]);
  });

  it('of the Canary together with something else names both', async () => {
    const looser = canaryText().replace('threshold: 2', 'threshold: 50');
    const replicas = deploymentText('shop/web:1', { replicas: 5 });
    bed.repository.commit({ 'apps/canary.yaml': looser, 'apps/web.yaml': replicas });
    expect(only(await bed.plan()).canaries).toMatchObject([
      {
        change: 'settings',
        summary:
          'replicas, strategy or deadlines change: applied to the primary without analysis; the Canary changes, too: the next rollout uses the new spec',
      },
    ]);

    bed.repository.commit({
      'apps/canary.yaml': canaryText(),
      'apps/web.yaml': deploymentText('shop/web:2'),
    });
    expect(only(await bed.plan()).canaries).toMatchObject([
      { change: 'release', summary: 'a rollout starts: the pod template changes, the Canary changes' },
    ]);
  });

  it('of nothing that a Source reads says so', async () => {
    bed.repository.commit({ 'README.md': 'hello', 'apps/notes.txt': 'x' });
    const report = await bed.plan();
    expect(only(report)).toMatchObject({ objects: [], canaries: [], problems: [] });
    expect(planText(report, { columns: 80, colour: false })).toContain('nothing changes');
  });

  it('of the working tree holds what is not committed', async () => {
    writeFileSync(join(bed.folder, 'apps/web.yaml'), deploymentText('shop/web:3'));
    const report = await bed.plan({ base: 'HEAD', head: undefined });
    expect(only(report).objects[0]?.diff).toContain('+          image: shop/web:3');
    expect(report.head).toEqual({ revision: '' });
    rmSync(join(bed.folder, 'apps'), { recursive: true });
    const gone = only(await bed.plan({ base: 'HEAD', head: undefined }));
    expect(gone.problems).toEqual([expect.stringContaining('apps is not a folder in the working tree')]);
    expect(gone.objects).toEqual([]);
  });

  it.each(['missing', 'apps/web.yaml', '../shop', '/missing', ''])(
    'of a folder that is at neither commit is refused, and is no plan without changes: "%s"',
    async (path) => {
      bed.repository.commit({ 'apps/web.yaml': deploymentText('shop/web:2') });
      const refusal = new InputError(
        `--path: ${JSON.stringify(path)} is a folder neither at base nor at head`,
      );
      await expect(bed.plan({ paths: ['apps', path] })).rejects.toThrow(refusal);
      await expect(bed.plan({ paths: [path], head: undefined })).rejects.toThrow(refusal);
    },
  );

  it('of a folder that the change adds or removes is made', async () => {
    bed.repository.commit({ 'more/settings.json': configText('ConfigMap', 'more', { level: 'info' }) });
    expect(objectsOf(only(await bed.plan({ paths: ['./more/'] })))).toEqual(['added ConfigMap more other']);
    bed.repository.commit({ 'more/settings.json': null });
    expect(only(await bed.plan({ paths: ['more'] })).problems).toEqual([expect.stringContaining('more')]);
  });

  it('names what is deleted, what waits for a person, and what stays', async () => {
    bed.repository.commit({ 'apps/ns.yaml': 'apiVersion: v1\nkind: Namespace\nmetadata: {name: extra}\n' });
    bed.repository.commit({ 'apps/ns.yaml': null, 'apps/vault.json': null, 'apps/settings.json': null });
    const source = only(await bed.plan());
    expect(source.objects.map(({ name, fate }) => [name, fate])).toEqual([
      ['extra', 'waitsForApproval'],
      ['settings', 'stays'],
      ['vault', 'pruned'],
    ]);
    expect(source.oneWay.map(({ rule, severity, object }) => [rule, severity, object])).toEqual([
      ['deletion', 'oneWay', 'Namespace extra'],
      ['configKeys', 'note', 'ConfigMap shop/settings'],
    ]);
    const kept = only(await bed.plan({ sources: [], paths: ['apps'] }));
    expect(kept.objects.every(({ fate }) => fate === 'stays')).toBe(true);
  });

  it('never shows a value of a Secret, in any form', async () => {
    bed.repository.commit({
      'apps/vault.json': configText('Secret', 'vault', { password: 'swordfish', user: 'admin' }),
    });
    const report = await bed.plan();
    const texts = [
      JSON.stringify(report),
      planMarkdown(report, 65_000),
      planText(report, { columns: 80, colour: true }),
    ];
    for (const text of texts) {
      expect(text).toContain('(hidden, after)');
      expect(text).not.toMatch(/hunter2|swordfish|aHVudGVyMg|c3dvcmRmaXNo/);
    }
  });

  it('keeps what a broken file held, and says where it is broken', async () => {
    bed.repository.commit({ 'apps/web.yaml': 'kind: [Deployment\n', 'apps/vault.json': null });
    const report = await bed.plan();
    const source = only(report);
    expect(source.problems).toEqual([expect.stringMatching(/^apps\/web\.yaml:\d+: is not valid YAML/)]);
    expect(source.objects.map(({ name, fate }) => [name, fate])).toEqual([['vault', 'stays']]);
    expect(source.canaries).toMatchObject([{ change: 'frozen' }]);
  });

  it('of a Canary that becomes invalid shows what changes in it, and no new Canary', async () => {
    bed.repository.commit({ 'apps/canary.yaml': canaryText().replace('interval: 30s', 'intervl: 30s') });
    const source = only(await bed.plan());
    expect(source.problems).toEqual([expect.stringMatching(/^apps\/canary\.yaml:\d+: spec\.analysis/)]);
    expect(source.canaries).toMatchObject([{ change: 'frozen' }]);
    const changed = source.objects.map(({ change, name, diff }) => [
      change,
      name,
      diff.filter((line) => /^[+-]/.test(line)),
    ]);
    expect(changed).toEqual([['changed', 'web', ['-    interval: 30s', '+    intervl: 30s']]]);
  });

  it('of objects that spec.allow of the Source refuses starts no rollout and is a problem', async () => {
    bed.repository.commit({
      'sources/shop.yaml': sourceText('  allow: {namespaces: [other]}\n'),
      'apps/web.yaml': deploymentText('shop/web:2'),
    });
    const report = await bed.plan();
    const { problems, canaries } = only(report);
    expect(problems).toContainEqual(
      'apps/web.yaml:1: Deployment shop/web: namespace shop is not in spec.allow.namespaces of the Source',
    );
    expect(problems).toContainEqual(
      expect.stringMatching(/^apps\/canary\.yaml:1: Canary shop\/web: namespace/),
    );
    expect(canaries).toMatchObject([{ change: 'frozen' }]);
    expect(report.summary.rollouts).toBe(0);
  });

  it('refuses a targetPort whose name the template lacks, and doubts a number that it does not declare', async () => {
    const to = (port: string) => canaryText().replace('{port: 80}', `{port: 80, targetPort: ${port}}`);
    const ports = '          ports: [{name: http, containerPort: 8080}]\n';
    bed.repository.commit({
      'apps/web.yaml': `${deploymentText('shop/web:2')}${ports}`,
      'apps/canary.yaml': to('web'),
    });
    const refused = only(await bed.plan());
    const place =
      /^apps\/canary\.yaml:7: spec\.service\.targetPort: Canary shop\/web: "web" is not the name of/;
    expect(refused.problems).toEqual([expect.stringMatching(place)]);
    expect(refused.canaries).toMatchObject([{ change: 'frozen' }]);

    bed.repository.commit({ 'apps/canary.yaml': to('9999') });
    const doubtful = only(await bed.plan({ base: 'HEAD~2' }));
    expect(doubtful.problems).toEqual([]);
    expect(doubtful.notes).toEqual([
      expect.stringMatching(/^apps\/canary\.yaml:7: spec\.service\.targetPort: sends requests to port 9999,/),
    ]);
    expect(doubtful.canaries).toMatchObject([{ change: 'release' }]);
  });

  it('reports a selector that cannot be changed, and a Canary that comes first', async () => {
    bed.repository.commit({ 'apps/web.yaml': deploymentText('shop/web:2', { selector: 'shop' }) });
    const selector = only(await bed.plan());
    expect(selector.oneWay).toMatchObject([
      {
        rule: 'immutableField',
        severity: 'refused',
        object: 'Deployment shop/web',
        origin: 'apps/web.yaml:1',
      },
    ]);

    bed.repository.commit({ 'apps/canary.yaml': null, 'apps/web.yaml': deploymentText('shop/web:2') });
    expect(only(await bed.plan()).canaries).toMatchObject([
      { canary: 'shop/web', change: 'removed', summary: expect.stringContaining('takes the traffic back') },
    ]);
    expect(only(await bed.plan({ paths: ['apps'] })).canaries).toMatchObject([
      {
        change: 'removed',
        summary: 'removed from Git, stays in the cluster: spec.prune of the Source is false',
      },
    ]);
    bed.repository.commit({ 'apps/canary.yaml': canaryText() });
    expect(only(await bed.plan()).canaries).toMatchObject([
      { change: 'first', flight: { isAnalysed: false }, revert: { possible: 'no' } },
    ]);
  });

  it('reports a window that is closed and a policy that reverts nothing', async () => {
    const deny = '  windows: [{kind: deny, schedule: "* * * * *", duration: 48h}]\n';
    bed.repository.commit({
      'sources/shop.yaml': sourceText(deny),
      'apps/canary.yaml': canaryText('  postPromotion: {onFailure: halt}\n'),
      'apps/web.yaml': deploymentText('shop/web:2'),
    });
    const source = only(await bed.plan());
    expect(source.change).toBe('changed');
    expect(source.canaries).toMatchObject([
      {
        flight: { holds: [{ kind: 'window', effect: expect.stringContaining('closed now') }] },
        revert: { possible: 'no', onFailure: 'halt' },
      },
    ]);
  });
});

describe('the Sources of a plan', () => {
  it('are those whose address is a remote of the repository, on the branch that was asked for', async () => {
    bed.repository.git('remote', 'add', 'forge', 'git@git.example.com:acme/shop');
    bed.repository.commit({
      'sources/other.yaml': sourceText()
        .replace('acme/shop', 'acme/other')
        .replace('name: shop', 'name: other'),
      'sources/staging.yaml': sourceText()
        .replace('branch: main', 'branch: staging')
        .replace('name: shop', 'name: staging'),
      'sources/broken.yaml': sourceText()
        .replace('prune: true', 'prune: perhaps')
        .replace('name: shop', 'name: broken'),
    });
    const all = await bed.plan();
    expect(all.sources.map(({ source, change }) => [source, change])).toEqual([
      ['delivery/shop', 'same'],
      ['delivery/staging', 'added'],
    ]);
    expect(all.notes).toEqual([expect.stringMatching(/^a Source cannot be used: sources\/broken\.yaml:/)]);
    const main = await bed.plan({ branch: 'main' });
    expect(main.sources.map(({ source }) => source)).toEqual(['delivery/shop']);
    await expect(bed.plan({ branch: 'nowhere' })).rejects.toThrow(/no Source .* follows branch nowhere/);
  });

  it.each([
    [
      'invalid',
      sourceText().replace('branch: main', 'brnch: main'),
      /^sources\/shop\.yaml:6: spec\.ref: needs/,
    ],
    [
      'impossible to follow',
      sourceText().replace('{branch: main}', '{semver: release-1.x}'),
      /^sources\/shop\.yaml:6: spec\.ref\.semver: "release-1\.x" is not a version range/,
    ],
    [
      'broken YAML',
      sourceText().replace('{branch: main}', '{branch: main'),
      /^sources\/shop\.yaml:\d+: is not/,
    ],
  ])('stay as they are where head makes them %s, which is a problem', async (_, text, place) => {
    bed.repository.commit({ 'sources/shop.yaml': text, 'apps/web.yaml': deploymentText('shop/web:2') });

    const report = await bed.plan();

    expect(only(report)).toMatchObject({
      change: 'same',
      problems: [expect.stringMatching(place)],
      canaries: [{ change: 'release' }],
    });
    expect(report.summary).toMatchObject({ removed: 0, problems: 1 });
  });

  it('that come and cannot be used are a problem, but none of a change that leaves them alone', async () => {
    const broken = sourceText().replace('prune: true', 'prune: perhaps').replace('name: shop', 'name: new');
    bed.repository.commit({ 'sources/new.yaml': broken });
    expect((await bed.plan()).summary.problems).toBe(1);

    bed.repository.commit({ 'README.md': 'hello' });
    const later = await bed.plan();
    expect(later.summary.problems).toBe(0);
    expect(later.notes).toEqual([expect.stringMatching(/^a Source cannot be used: sources\/new\.yaml:8: /)]);
  });

  it('are the repository itself where there is none', async () => {
    bed.repository.commit({ 'sources/shop.yaml': null });
    bed.repository.commit({ 'apps/web.yaml': deploymentText('shop/web:2') });
    const report = await bed.plan();
    expect(only(report)).toMatchObject({ source: '.', path: '.', canaries: [{ change: 'release' }] });
    expect(report.notes[0]).toContain('no Source found');
  });

  it('are read from a bare repository as well, which needs both commits named', async () => {
    bed.repository.commit({ 'apps/web.yaml': deploymentText('shop/web:2') });
    const folder = join(bed.folder, '..', 'bare.git');
    bed.repository.git('clone', '-q', '--bare', bed.folder, folder);
    const repository = await openLocalRepository(folder);
    const report = await bed.plan({ repository });
    expect(only(report)).toMatchObject({ canaries: [{ change: 'release' }] });
    await expect(bed.plan({ repository, head: undefined })).rejects.toThrow(/no working tree; .* --head/);
    await repository.close();
  });

  it('give objects of a folder without a Source the namespace that was named', async () => {
    bed.repository.commit({ 'bare/a.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n' });
    const source = only(await bed.plan({ paths: ['bare'], namespace: 'cart' }));
    expect(source).toMatchObject({ source: 'bare', problems: [] });
    expect(source.objects).toMatchObject([{ change: 'added', namespace: 'cart', name: 'a' }]);
  });

  it('hand objects over to each other without a deletion', async () => {
    bed.repository.commit({
      'sources/other.yaml': sourceText().replace('./apps', './other').replace('name: shop', 'name: other'),
      'other/a.json': configText('ConfigMap', 'a', { x: '1' }),
    });
    bed.repository.commit({
      'apps/vault.json': null,
      'other/vault.json': configText('Secret', 'vault', { user: 'admin' }),
    });
    const report = await bed.plan();
    const fates = report.sources.flatMap(({ objects }) =>
      objects.map(({ name, fate, fateReason }) => [name, fate, fateReason]),
    );
    expect(fates).toContainEqual(['vault', 'stays', 'Source delivery/other holds it']);
  });
});
