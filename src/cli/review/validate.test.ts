import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { validate } from '../../review/validate/validate.ts';
import { reportData, reportText } from './validate.ts';

const screen = { columns: 80, colour: false };
const canary = `apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: web, namespace: shop}
spec:
  provider: kubernetes
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  service: {port: 80}
  analysis:
    interval: 30s
    threshold: 2
    iterations: 5
    metrics:
      - name: request-success-rate
        thresholdRange: {min: 99}
`;
const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "example.com/web:1"}]}
`;
const source = `apiVersion: holdfast.dev/v1alpha1
kind: Source
metadata: {name: shop, namespace: delivery}
spec:
  url: https://git.example.com/shop.git
  ref: {branch: main}
`;
const role = (namespace: string) => `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader, namespace: ${namespace}}
rules: []
`;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-validate-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

/** Lines of the report without the folder's name. */
async function report(
  files: Record<string, string>,
  options: { strict?: boolean; selectorLabels?: string[]; defaultProvider?: string } = {},
) {
  write(files);
  const result = reportText(await validate({ paths: [folder], ...options }), screen);
  const lines = result.stdout.replaceAll(`${folder}/`, '').trim().split('\n');
  return { exitCode: result.exitCode, lines, summary: lines.pop() };
}

describe('validate', () => {
  it('has nothing to say about sound manifests', async () => {
    const { exitCode, lines, summary } = await report({
      'a.yaml': `${canary}---\n${deployment}`,
      's.yaml': source,
    });
    expect(lines).toEqual([]);
    expect(summary).toBe('no problems in 3 objects of 2 files');
    expect(exitCode).toBe(0);
  });

  it('warns of what selects the pods of a target and not those of its primary', async () => {
    const service = (name: string, labels: string) =>
      `---\napiVersion: v1\nkind: Service\nmetadata: {name: ${name}, namespace: shop}\nspec: {selector: ${labels}, ports: [{port: 80}]}\n`;
    const budget = (selector: string) =>
      `---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web, namespace: shop}\nspec:\n  maxUnavailable: 1\n  selector: ${selector}\n`;
    const labelled = deployment.replace('labels: {app: web}', 'labels: {app: web, team: a}');
    const files = (selector: string) => ({
      'a.yaml': `${canary}---\n${labelled}${service('web', '{app: web}')}${service('web-metrics', '{team: a}')}`,
      'b.yaml': budget(selector),
      'c.yaml': service('web-headless', '{app: web}'),
    });

    const { exitCode, lines } = await report(files('{matchLabels: {app: web}}'));

    expect(exitCode).toBe(0);
    const message =
      'selects the pods of Deployment web, of which there are none between releases, and not those of its primary, which have app=web-primary';
    expect(lines.join(' ').replace(/\s+/g, ' ').split(message)).toHaveLength(3);
    expect(lines[0]).toContain('b.yaml:7');
    for (const selector of ['{}', '{matchLabels: {team: a}}', '{matchLabels: {app: other}}'])
      expect((await report({ ...files(selector), 'c.yaml': '' })).lines).toEqual([]);
    const ofPrimary = budget('{matchLabels: {app: web-primary}}').replace('name: web', 'name: web-primary');
    const ofBoth = { ...files('{matchLabels: {app: web}}'), 'c.yaml': ofPrimary };
    expect((await report(ofBoth)).lines).toEqual([]);
    const alone = files('{matchLabels: {app: web}}');
    const withoutProvider = { ...alone, 'a.yaml': alone['a.yaml'].replace('  provider: kubernetes\n', '') };
    const inPlace = await report(withoutProvider, { defaultProvider: 'native' });
    expect(inPlace.lines.join(' ')).not.toContain('selects the pods');
  });

  it('warns of scalers that name a target and neither its primary nor its Canary', async () => {
    const scaler = (kind: string, field: string) => (workload: string) =>
      `---\napiVersion: ${kind.replace(' ', '\nkind: ')}\nmetadata: {name: ${workload}, namespace: shop}\nspec:\n  maxReplicas: 4\n  ${field}: {apiVersion: apps/v1, kind: Deployment, name: ${workload}}\n`;
    const horizontal = scaler('autoscaling/v2 HorizontalPodAutoscaler', 'scaleTargetRef');
    const vertical = scaler('autoscaling.k8s.io/v1 VerticalPodAutoscaler', 'targetRef');
    const findings = async (scalers: string, ofCanary = canary) =>
      (await report({ 'a.yaml': `${ofCanary}---\n${deployment}`, 'b.yaml': scalers })).lines
        .join(' ')
        .replace(/\s+/g, ' ');
    const reference = 'autoscalerRef: {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, name: web}';

    expect(await findings(horizontal('web'))).toMatch(
      /b.yaml:7: warning: spec.scaleTargetRef.name: scales Deployment web, which has no pods between releases, and not its primary; name it in spec.autoscalerRef of Canary web/,
    );
    expect(await findings(vertical('web'))).toMatch(
      /b.yaml:7: warning: spec.targetRef.name: scales Deployment web, which has no pods between releases, and not its primary; name web-primary here/,
    );
    for (const scalers of [horizontal('other'), vertical('web') + vertical('web-primary')])
      expect(await findings(scalers)).not.toContain('scales');
    expect(await findings(horizontal('web'), canary.replace('spec:', `spec:\n  ${reference}`))).toBe('');
  });

  it('warns of a volume of one node that the pods of both sides mount', async () => {
    const claim = (modes: string) =>
      `apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: shop}\nspec:\n  accessModes: ${modes}\n  resources: {requests: {storage: 1Gi}}\n`;
    const mounting = deployment.replace(
      'containers:',
      'volumes: [{name: data, persistentVolumeClaim: {claimName: data}}], containers:',
    );
    const findings = async (modes: string, options = {}) => {
      const ofDefault = canary.replace('  provider: kubernetes\n', '');
      const files = { 'a.yaml': mounting, 'b.yaml': claim(modes), 'c.yaml': ofDefault };
      return (await report(files, options)).lines.join(' ').replace(/\s+/g, ' ');
    };

    expect(await findings('[ReadWriteOnce]')).toMatch(
      /^a.yaml:8: warning: spec.template.spec.volumes\[0\].persistentVolumeClaim.claimName: PersistentVolumeClaim data is ReadWriteOnce: pods of the canary cannot start on other nodes than those of the primary; use a claim that is ReadWriteMany, or roll out in place with provider native/,
    );
    for (const modes of ['[ReadWriteMany]', '[ReadWriteOnce, ReadOnlyMany]'])
      expect(await findings(modes)).toBe('');
    expect(await findings('[ReadWriteOnce]', { defaultProvider: 'native' })).not.toContain('claim');
  });

  it('warns of pods of other workloads that the Services of a Canary would select', async () => {
    const worker = (labels: string) =>
      deployment
        .replace('name: web,', 'name: worker,')
        .replace('matchLabels: {app: web}', `matchLabels: ${labels}`)
        .replace('labels: {app: web}', `labels: ${labels}`);
    const files = (other: string) => ({ 'a.yaml': `${canary}---\n${deployment}`, 'b.yaml': other });

    const shared = await report(files(worker('{app: web, component: worker}')));

    expect(shared.exitCode).toBe(0);
    expect(shared.lines.join(' ').replace(/\s+/g, ' ')).toMatch(
      /^a\.yaml:\d+: warning: spec\.selector\.matchLabels: the pods of Deployment worker have app=web, too, and the Services of Canary web select by this label alone/,
    );
    const parts = {
      'a.yaml': `${canary}---\n${deployment.replaceAll('{app: web}', '{app: web, part: web}')}`,
    };
    const options = { selectorLabels: ['part', 'app'] };
    expect((await report({ ...parts, 'b.yaml': worker('{app: web, part: worker}') }, options)).lines).toEqual(
      [],
    );
    const elsewhere = worker('{app: web}').replace('namespace: shop', 'namespace: other');
    for (const other of [worker('{app: worker}'), worker('{component: web}'), elsewhere])
      expect((await report(files(other))).lines).toEqual([]);
  });

  it.each([
    ['invalid YAML', { 'a.yaml': 'kind: [Deployment\n' }, /^a\.yaml:\d+: is not valid YAML/],
    [
      'a duplicate object',
      { 'a.yaml': deployment, 'b.yaml': deployment },
      /^a\.yaml:1: Deployment shop\/web is also in .*b\.yaml:1/,
    ],
    [
      'an object without a namespace that two files put in different ones',
      { 'a.yaml': role('a'), 'b.yaml': role('b') },
      /^a\.yaml:1: ClusterRole reader is also in .*b\.yaml:1/,
    ],
    [
      'an unknown provider',
      { 'a.yaml': canary.replace('provider: kubernetes', 'provider: contuor'), 'd.yaml': deployment },
      /^a\.yaml:5: spec\.provider: "contuor" is not one of .*did you mean contour/,
    ],
    [
      'a provider without what it needs',
      { 'a.yaml': canary.replace('provider: kubernetes', 'provider: appmesh'), 'd.yaml': deployment },
      /^a\.yaml:7: spec\.service\.meshName: is missing; provider appmesh needs it/,
    ],
    [
      'a metric without values',
      { 'a.yaml': canary.replace('name: request-success-rate', 'name: latency'), 'd.yaml': deployment },
      /^a\.yaml:13: spec\.analysis\.metrics\[0\]: "latency" is not built in/,
    ],
    [
      'two Canaries on one target',
      { 'a.yaml': `${canary}---\n${canary.replace('name: web,', 'name: other,')}`, 'd.yaml': deployment },
      /^a\.yaml:6: spec\.targetRef\.name: Canary shop\/web has the same target as Canary shop\/other/,
    ],
    [
      'a target that cannot be told from its primary',
      { 'a.yaml': canary, 'd.yaml': deployment.replaceAll('app: web', 'tier: web') },
      /^d\.yaml:5: spec\.selector\.matchLabels: Deployment shop\/web of Canary shop\/web: needs one of the labels/,
    ],
    [
      'a targetPort whose name the template lacks',
      {
        'a.yaml': canary.replace('{port: 80}', '{port: 80, targetPort: web}'),
        'd.yaml': deployment.replace('image:', 'ports: [{name: http, containerPort: 8080}], image:'),
      },
      /^a\.yaml:7: spec\.service\.targetPort: Canary shop\/web: "web" is not the name of a TCP port of Deployment shop\/web, .*its ports: http \(8080\)/,
    ],
    [
      'a scaler whose version and name are no texts',
      {
        'a.yaml': `${canary}  autoscalerRef: {apiVersion: 2, kind: HorizontalPodAutoscaler, name: {web: 1}}\n`,
        'd.yaml': deployment,
      },
      /^a\.yaml:15: spec\.autoscalerRef\.apiVersion: (?!.*\[object)/,
    ],
    [
      'a large file',
      { 'a.yaml': `# ${'x'.repeat(20 * 1024 * 1024)}` },
      /^a\.yaml: has 20971522 bytes; at most 6291456 are read/,
    ],
    [
      'a kustomization',
      { 'kustomization.yaml': 'resources:\n  - https://example.com/a.yaml\n' },
      /^kustomization\.yaml:(?:2: resources\[0\]: is remote| needs kustomize)/,
    ],
    [
      'a Source with credentials in its address',
      { 's.yaml': source.replace('https://', 'https://me:hunter2@') },
      /^s\.yaml:5: spec\.url: holds credentials/,
    ],
    [
      'a Source with a schedule that cannot be read',
      { 's.yaml': `${source}  schedule: every day\n` },
      /^s\.yaml:7: spec\.schedule: schedule "every day": /,
    ],
    [
      'a Source with a range of versions that cannot be read',
      { 's.yaml': source.replace('branch: main', 'semver: release-1.x') },
      /^s\.yaml:6: spec\.ref\.semver: "release-1\.x" is not a version range/,
    ],
    [
      'a MetricTemplate without a query',
      {
        'm.yaml':
          'apiVersion: flagger.app/v1beta1\nkind: MetricTemplate\nmetadata: {name: m, namespace: shop}\nspec: {provider: {type: prometheus}}\n',
      },
      /^m\.yaml:4: spec\.query: is missing/,
    ],
    [
      'an AlertProvider without an address',
      {
        'p.yaml':
          'apiVersion: flagger.app/v1beta1\nkind: AlertProvider\nmetadata: {name: p, namespace: shop}\nspec: {type: slack}\n',
      },
      /^p\.yaml:4: spec/,
    ],
    ['no manifest at all', { 'readme.md': '# shop' }, /contains no \.yaml, \.yml or \.json file/],
  ])('names %s with its place and ends with 2', async (_, files, expected) => {
    const { exitCode, lines } = await report(files as Record<string, string>);
    expect(lines.join('\n')).toMatch(new RegExp(expected.source, 'm'));
    expect(lines.join('\n')).not.toContain('hunter2');
    expect(exitCode).toBe(2);
  });

  it('doubts a targetPort by number that the template declares nowhere, and takes it', async () => {
    const { exitCode, lines } = await report({
      'a.yaml': canary.replace('{port: 80}', '\n    port: 80\n    targetPort: 9999'),
      'd.yaml': deployment.replace('image:', 'ports: [{name: http, containerPort: 8080}], image:'),
    });
    expect(lines).toEqual([
      expect.stringMatching(
        /^a\.yaml:9: warning: spec\.service\.targetPort: sends requests to port 9999, which no container of Deployment shop\/web declares/,
      ),
    ]);
    expect(exitCode).toBe(0);
  });

  it('doubts a missing target, and is certain of it where a Source is among the files', async () => {
    const alone = await report({ 'a.yaml': canary });
    expect(alone.lines).toEqual([
      expect.stringMatching(/^a\.yaml:6: warning: spec\.targetRef\.name: .*must come from elsewhere$/),
    ]);
    expect(alone.exitCode).toBe(0);
    const whole = await report({ 's.yaml': source });
    expect(whole.lines).toEqual([
      expect.stringMatching(/^a\.yaml:6: spec\.targetRef\.name: .*is in no file of this Source$/),
    ]);
    expect(whole.exitCode).toBe(2);
  });

  it('refuses a scaler of a version that cannot be copied, and says what to write', async () => {
    const scaler = `apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 3
  targetCPUUtilizationPercentage: 80
`;
    const reference =
      '  autoscalerRef: {apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, name: web}\n  service:';
    const files = {
      'a.yaml': canary.replace('  service:', reference),
      'd.yaml': deployment,
      'h.yaml': scaler,
    };
    const alone = await report(files);
    expect(alone.lines[0]).toMatch(
      /^h\.yaml:1: warning: apiVersion: .*must be autoscaling\/v2; in place of targetCPUUtilizationPercentage, spec\.metrics/,
    );
    expect(alone.exitCode).toBe(0);
    expect((await report({ 's.yaml': source })).exitCode).toBe(2);
    const newer = await report({
      'h.yaml': scaler.replace('autoscaling/v1', 'autoscaling/v2').replace(/ {2}targetCPU.*\n/, ''),
    });
    expect(newer.exitCode).toBe(0);
  });

  it('doubts a Job that Kubernetes deletes by itself: it would run again and again', async () => {
    const job = `apiVersion: batch/v1
kind: Job
metadata: {name: setup, namespace: shop}
spec:
  ttlSecondsAfterFinished: 60
  template: {spec: {restartPolicy: Never, containers: [{name: setup, image: setup}]}}
`;
    const { exitCode, lines } = await report({ 'j.yaml': job });
    expect(lines).toEqual([
      expect.stringMatching(/^j\.yaml:5: warning: spec\.ttlSecondsAfterFinished: .*runs again/),
    ]);
    expect(exitCode).toBe(0);
  });

  it.each([
    [
      'until: tomorrow',
      /^f\.yaml:4: data: until "tomorrow" is not a time such as .*; .* everything in its scope is frozen$/,
    ],
    ['holds: start', /data: holds "start" is neither all nor starts/],
    ['selector: "team in (a"', /data: /],
    [
      'windows: \'[{"kind": "deny", "schedule": "0 18 * *", "duration": "2h"}]\'',
      /data: windows\[0\]\.schedule: must be a cron expression/,
    ],
  ])('refuses a freeze that would hold everything since it cannot be read: %s', async (data, expected) => {
    const freeze = `apiVersion: v1
kind: ConfigMap
metadata: {name: holdfast-freeze, namespace: shop, labels: {holdfast.dev/freeze: "true"}}
data: {${data}, reason: sale}
`;
    const { exitCode, lines } = await report({ 'f.yaml': freeze });
    expect(lines).toEqual([expect.stringMatching(expected)]);
    expect(exitCode).toBe(2);
  });

  it('refuses what spec.allow of the Source refuses, and kube-system without it', async () => {
    const files = {
      's.yaml': `${source}  allow: {namespaces: [shop, delivery], kinds: [Source]}\n`,
      'd.yaml': deployment,
    };
    expect((await report(files)).lines).toEqual([
      'd.yaml:1: Deployment shop/web: kind Deployment is not in spec.allow.kinds of the Source',
    ]);
    const elsewhere = deployment.replace('namespace: shop', 'namespace: kube-system');
    expect((await report({ 's.yaml': source, 'd.yaml': elsewhere })).lines).toEqual([
      'd.yaml:1: Deployment kube-system/web: namespace kube-system is closed to Sources without spec.allow.namespaces; name it there with every other namespace that the Source writes, and if some of its kinds are in no namespace, all its kinds in spec.allow.kinds',
    ]);
  });

  it('doubts an annotation of a Canary that looks like a request and is none', async () => {
    const misspelt = canary.replace(
      'namespace: shop}',
      'namespace: shop, annotations: {holdfast.dev/pasue: "true"}}',
    );
    const { exitCode, lines } = await report({ 'a.yaml': misspelt, 'd.yaml': deployment });
    expect(lines).toEqual([
      'a.yaml:3: warning: metadata.annotations["holdfast.dev/pasue"]: is not an annotation that Holdfast knows, and is ignored; did you mean holdfast.dev/pause?',
    ]);
    expect(exitCode).toBe(0);
  });

  it('refuses a manifest in UTF-16, as Windows PowerShell writes it, instead of leaving it alone as other YAML', async () => {
    write({ 'a.yaml': deployment });
    writeFileSync(join(folder, 'b.yaml'), Buffer.from(`\ufeff${canary}`, 'utf16le'));
    const { stdout, exitCode } = reportText(await validate({ paths: [folder] }), screen);
    expect(stdout).toMatch(/b\.yaml:1: is not UTF-8 text/);
    expect(exitCode).toBe(2);
  });

  it('doubts a pause that pauses nothing', async () => {
    const paused = canary.replace(
      'namespace: shop}',
      'namespace: shop, annotations: {holdfast.dev/pause: "yes"}}',
    );
    const { lines } = await report({ 'a.yaml': paused, 'd.yaml': deployment });
    expect(lines).toEqual([
      'a.yaml:3: warning: metadata.annotations["holdfast.dev/pause"]: is ignored: only "true" pauses',
    ]);
  });

  it('notes valid fields that have no effect, without failing', async () => {
    const withMesh = canary.replace('service: {port: 80}', 'service: {port: 80, meshName: global}');
    const { exitCode, lines, summary } = await report({ 'a.yaml': withMesh, 'd.yaml': deployment });
    expect(lines).toEqual([
      'a.yaml:7: note: spec.service.meshName: is valid, but has no effect with provider kubernetes and a Deployment',
    ]);
    const unnamed = withMesh.replace(/ +provider: kubernetes\n/, '');
    expect((await report({ 'a.yaml': unnamed, 'd.yaml': deployment })).lines).toContain(
      'a.yaml:6: note: spec.service.meshName: is valid, but has no effect with provider kubernetes (the default) and a Deployment',
    );
    expect(summary).toBe('no problems, 1 note in 2 objects of 2 files');
    expect(exitCode).toBe(0);
  });

  it('takes an unknown field for a problem, with --no-strict for a slip of the pen', async () => {
    const files = {
      'a.yaml': canary.replace('interval: 30s', 'interval: 30s\n    stepWieght: 5'),
      'd.yaml': deployment,
    };
    const lax = await report(files, { strict: false });
    expect(lax.lines).toEqual([
      expect.stringMatching(/^a\.yaml:10: warning: spec\.analysis\.stepWieght: .*did you mean stepWeight/),
    ]);
    expect(lax.exitCode).toBe(0);
    expect((await report({})).exitCode).toBe(2);
  });

  it('applies the default namespace of the Source', async () => {
    const bare = (text: string) => text.replace(', namespace: shop', '');
    const files = { 'a.yaml': `${bare(canary)}---\n${bare(deployment)}` };
    const without = await report({ ...files, 's.yaml': source });
    expect(without.lines).toContainEqual(expect.stringContaining('Canary web has no namespace'));
    const { lines } = await report({ 's.yaml': `${source}  defaultNamespace: shop\n` });
    expect(lines).toEqual([]);
  });

  it('follows no link and enters no other repository', async () => {
    write({
      'real/d.yaml': deployment,
      '.git/config.yaml': '[',
      'vendor/.git': 'gitdir: x',
      'vendor/bad.yaml': '[',
    });
    symlinkSync(join(folder, 'real/d.yaml'), join(folder, 'link.yaml'));
    symlinkSync(join(folder, 'real'), join(folder, 'folder'));
    const { lines } = await report({});
    expect(lines).toEqual([
      expect.stringMatching(/^folder: symbolic links are not followed/),
      expect.stringMatching(/^link\.yaml: symbolic links are not followed/),
      expect.stringMatching(/^.*vendor: is a repository of its own \(a submodule\)/),
    ]);
  });

  it('names a template and a config that must come from elsewhere', async () => {
    const { lines, exitCode } = await report({
      'a.yaml': canary.replace(
        'name: request-success-rate',
        'name: latency\n        templateRef: {name: latency}',
      ),
      'd.yaml': deployment.replace(
        'image: "example.com/web:1"',
        'image: "w:1", envFrom: [{configMapRef: {name: settings}}]',
      ),
    });
    expect(lines).toEqual([
      'a.yaml:14: warning: spec.analysis.metrics[0].templateRef: MetricTemplate shop/latency is in none of these files; it must come from elsewhere',
      expect.stringMatching(
        /^d\.yaml:1: warning: ConfigMap settings, which the pod template names, is in none of these files/,
      ),
    ]);
    expect(exitCode).toBe(0);
  });

  it('reads a repository by the Sources in it, each with its settings, and leaves other YAML alone', async () => {
    const bare = (text: string) => text.replaceAll(', namespace: shop', '');
    const settings = (path: string, rest: string) => `${source}  path: ${path}\n${rest}`;
    const { lines, summary } = await report({
      'clusters/shop.yaml': `${settings('apps/shop', '  defaultNamespace: shop\n  ignore: ["ci.yaml"]\n')}---\n${settings('apps/web', '').replace('name: shop', 'name: web')}`,
      'apps/shop/a.yaml': `${bare(canary)}---\n${bare(deployment)}`,
      'apps/shop/ci.yaml': 'steps: []\n',
      'apps/web/values.yaml': 'replicas: 2\n',
      'apps/web/a.yaml': deployment,
      '.github/workflows/ci.yaml': 'on: push\n',
    });
    expect(lines).toEqual([
      expect.stringMatching(/^apps\/web\/values\.yaml:1: apiVersion: is missing/),
      expect.stringMatching(/^apps\/web\/values\.yaml:1: kind: is missing/),
      expect.stringMatching(/^apps\/web\/values\.yaml:1: metadata: is missing/),
    ]);
    expect(summary).toBe('3 problems in 5 objects of 4 files; 2 other files ignored');
  });

  it('takes no Source for that of these files where they follow several repositories', async () => {
    const other = source.replace('shop.git', 'other.git').replace('name: shop', 'name: other');
    const { lines } = await report({
      's.yaml': `${source}---\n${other}`,
      'a.yaml': deployment,
      'compose.yaml': 'services: {}\n',
    });
    expect(lines).toEqual([]);
  });

  it('builds overlays, and bases only as parts of them', async () => {
    const kustomization = (resource: string) => `resources: ["${resource}"]\n`;
    const { lines } = await report({
      'base/kustomization.yaml': kustomization('deployment.yaml'),
      'base/deployment.yaml': deployment,
      'overlays/prod/kustomization.yaml': kustomization('../../base'),
      'overlays/test/kustomization.yaml': kustomization('../../base'),
    });
    // Without kustomize on this machine both say so; with it there is nothing to say.
    expect(
      lines.filter((line) => !/^overlays\/(prod|test)\/kustomization\.yaml: needs kustomize/.test(line)),
    ).toEqual([]);
  });

  it('puts objects without a namespace into that of -n', async () => {
    const bare = (text: string) => text.replaceAll(', namespace: shop', '');
    write({ 'a.yaml': `${bare(canary)}---\n${bare(deployment)}` });
    const { findings } = await validate({ paths: [folder], namespace: 'shop' });
    expect(findings).toEqual([]);
  });

  it('gives programs one list for each severity', async () => {
    write({ 'a.yaml': canary.replace('name: web}', 'name: wbe}'), 'b.json': '{"kind": ' });
    const report = JSON.parse(reportData(await validate({ paths: [folder] }), 'json').stdout);
    expect(report).toMatchObject({ files: 2, problems: [{ file: join(folder, 'b.json') }], notes: [] });
  });

  it('names a path that is not there', async () => {
    const { stdout, exitCode } = reportText(await validate({ paths: [join(folder, 'nowhere')] }), screen);
    expect(stdout).toMatch(/nowhere: does not exist/);
    expect(exitCode).toBe(2);
  });
});
