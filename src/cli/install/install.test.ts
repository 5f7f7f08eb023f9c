import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { imageOf, installObjects, runInstall } from './install.ts';
import { destinationOf } from './policies.ts';

const options = { namespace: 'holdfast-system', image: 'registry.example.com/holdfast:v1' };
const root = join(import.meta.dirname, '../../..');

function find(objects: readonly KubernetesObject[], kind: string, name = 'holdfast'): KubernetesObject {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  if (!found) throw new Error(`no ${kind} ${name}`);
  return found;
}

interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
  resourceNames?: string[];
}

function rulesIn(objects: readonly KubernetesObject[]): Rule[] {
  return objects.flatMap((object) => (object.rules as Rule[] | undefined) ?? []);
}

describe('install', () => {
  it('gives the same bytes for the same options', () => {
    const again = { ...options, watchNamespaces: ['b', 'a', 'b'] };
    expect(runInstall(again, 'yaml')).toEqual(
      runInstall({ ...options, watchNamespaces: ['a', 'b'] }, 'yaml'),
    );
  });

  it('prints YAML and JSON of the same objects', () => {
    const yaml = parseAllDocuments(runInstall(options, 'yaml').stdout).map((document) => document.toJS());
    const json = JSON.parse(runInstall(options, 'json').stdout) as { items: unknown[] };
    expect(yaml).toEqual(json.items);
  });

  it('prints the CRDs alone when asked', () => {
    const kinds = installObjects({ ...options, crdsOnly: true }).map(({ kind }) => kind);
    expect(new Set(kinds)).toEqual(new Set(['CustomResourceDefinition']));
  });

  it('asks for no wildcard and no way to give itself more rights', () => {
    const trusting = { ...options, trustedSourceNamespaces: ['delivery'], impersonation: true };
    for (const { apiGroups, resources, verbs, resourceNames } of [
      ...rulesIn(installObjects(options)),
      ...rulesIn(installObjects(trusting)),
    ]) {
      expect([...apiGroups, ...resources, ...verbs]).not.toContain('*');
      for (const verb of ['escalate', 'deletecollection']) expect(verbs).not.toContain(verb);
      if (verbs.includes('bind')) expect([resources, resourceNames]).toEqual([['clusterroles'], ['edit']]);
      if (resources.includes('rolebindings') && !verbs.includes('create'))
        expect(resourceNames).toEqual(['holdfast-source']);
    }
  });

  it('may act as the account of Sources that name none, and as others only where that is asked for', () => {
    const mayActAs = (more: object) =>
      rulesIn(installObjects({ ...options, ...more }))
        .filter(({ verbs }) => verbs.includes('impersonate'))
        .map(({ resources, resourceNames }) => [resources, resourceNames]);
    expect(mayActAs({})).toEqual([[['serviceaccounts'], ['holdfast-source']]]);
    expect(mayActAs({ impersonation: true })).toEqual([[['serviceaccounts'], undefined]]);
    const locked = { ...options, defaultServiceAccount: 'deployer' };
    expect(mayActAs(locked)).toEqual([[['serviceaccounts'], undefined]]);
    expect(JSON.stringify(rulesIn(installObjects(locked)))).not.toContain('bind');
    expect(JSON.stringify(find(installObjects(locked), 'Deployment').spec)).toContain(
      '--default-service-account=deployer',
    );
  });

  it('lets the role edit, which Sources are written with, own what is generated for a Canary where the cluster guards owner references', () => {
    const [edit] = installObjects(options).filter(({ metadata }) => metadata.name === 'holdfast-edit');
    expect(rulesIn(edit ? [edit] : [])).toContainEqual({
      apiGroups: ['flagger.app'],
      resources: ['canaries/finalizers'],
      verbs: ['update'],
    });
  });

  it('writes what Sources hold with its own rights only where an administrator trusts some', () => {
    const verbsOn = (resource: string, more: object) =>
      rulesIn(installObjects({ ...options, ...more })).find(
        ({ resources, verbs }) => resources.includes(resource) && verbs.includes('watch'),
      )?.verbs;
    for (const resource of ['cronjobs', 'serviceaccounts', 'namespaces', 'metrictemplates'])
      expect(verbsOn(resource, {}), resource).toEqual(['get', 'list', 'watch']);
    expect(verbsOn('canaries', {})).toEqual(['get', 'list', 'watch', 'patch', 'gate', 'rollback-gate']);
    const trusting = { trustedSourceNamespaces: ['delivery'] };
    for (const resource of ['cronjobs', 'namespaces', 'metrictemplates'])
      expect(verbsOn(resource, trusting), resource).toContain('delete');
    expect(verbsOn('sources', trusting)).toContain('approve');
    expect(JSON.stringify(find(installObjects({ ...options, ...trusting }), 'Deployment').spec)).toContain(
      '--trusted-source-namespaces=delivery',
    );
  });

  it('asks for the kinds of the routing providers that are used', () => {
    const resources = rulesIn(installObjects({ ...options, providers: ['kubernetes', 'contour'] })).flatMap(
      (rule) => rule.resources,
    );
    expect(resources).toContain('httpproxies');
    expect(resources).not.toContain('httproutes');
    expect(resources).not.toContain('revisions');
  });

  it('runs several copies apart from each other, of which one may be evicted at a time', () => {
    const one = installObjects(options);
    const two = installObjects({ ...options, replicas: 2 });
    expect(one.map(({ kind }) => kind)).not.toContain('PodDisruptionBudget');
    expect(find(two, 'PodDisruptionBudget').spec).toMatchObject({ maxUnavailable: 1 });
    expect(find(two, 'Deployment').spec).toMatchObject({
      replicas: 2,
      template: { spec: { topologySpreadConstraints: [{ topologyKey: 'kubernetes.io/hostname' }] } },
    });
  });

  it('serves the dashboard at a port of its own when asked, and only then may it make the requests of people', () => {
    const mayRequest = (objects: readonly KubernetesObject[]) =>
      rulesIn(objects.filter(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === 'holdfast'))
        .filter(({ resources }) => resources.includes('canaries') || resources.includes('sources'))
        .flatMap(({ verbs }) => verbs)
        .filter((verb) => ['promote', 'abort', 'pause', 'sync'].includes(verb))
        .sort();
    const portsOf = (objects: readonly KubernetesObject[]) => {
      const { ports } = find(objects, 'Service').spec as { ports: Array<{ name: string; port: number }> };
      return ports.map(({ name, port }) => `${name} ${port}`);
    };
    const without = installObjects(options);
    const served = installObjects({ ...options, dashboard: true });
    expect([portsOf(without), mayRequest(without)]).toEqual([['http 80'], []]);
    expect(portsOf(served)).toEqual(['http 80', 'dashboard 8082']);
    expect(mayRequest(served)).toEqual(['abort', 'pause', 'promote', 'sync']);
    expect(find(served, 'NetworkPolicy').spec).toMatchObject({
      ingress: [{ ports: [{ port: 'http' }, { port: 'dashboard' }] }],
    });
    expect(JSON.stringify(find(served, 'Deployment').spec)).toContain('--dashboard-listen=0.0.0.0:8082');
    // Reviews belong to no namespace: confined to some, it gets the role that Kubernetes has for this.
    const confined = installObjects({ ...options, dashboard: true, watchNamespaces: ['shop'] });
    expect(find(confined, 'ClusterRoleBinding', 'holdfast-reviews').roleRef).toMatchObject({
      name: 'system:auth-delegator',
    });
  });

  it('lets connections out to what is named and to name servers, once something is named', () => {
    const open = find(installObjects(options), 'NetworkPolicy').spec as { policyTypes: string[] };
    expect(open.policyTypes).toEqual(['Ingress']);
    const egress = ['192.0.2.10/32:6443', 'monitoring:9090'].map((text) => destinationOf(text)!);
    const { policyTypes, egress: rules } = find(installObjects({ ...options, egress }), 'NetworkPolicy')
      .spec as { policyTypes: string[]; egress: Array<{ to: unknown[]; ports: unknown[] }> };
    expect(policyTypes).toEqual(['Ingress', 'Egress']);
    expect(rules.map(({ ports }) => ports)).toEqual([
      [
        { protocol: 'UDP', port: 53 },
        { protocol: 'TCP', port: 53 },
      ],
      [{ protocol: 'TCP', port: 6443 }],
      [{ protocol: 'TCP', port: 9090 }],
    ]);
    expect(rules[1]?.to).toEqual([{ ipBlock: { cidr: '192.0.2.10/32' } }]);
    expect(JSON.stringify(rules[2]?.to)).toContain('"kubernetes.io/metadata.name":"monitoring"');
    for (const text of ['192.0.2.10/33:1', '10.0.0.1/8', 'a b:1', 'x:0', 'x:70000', '::1/129:5'])
      expect(destinationOf(text), text).toBeUndefined();
  });

  it('binds cluster-wide unless it is confined to namespaces', () => {
    const everywhere = installObjects(options);
    const confined = installObjects({ ...options, watchNamespaces: ['shop', 'cart'] });
    expect(everywhere.filter(({ kind }) => kind === 'ClusterRoleBinding')).toHaveLength(2);
    expect(confined.filter(({ kind }) => kind === 'ClusterRoleBinding')).toEqual([]);
    const where = confined
      .filter(({ kind }) => kind === 'RoleBinding')
      .map(({ metadata }) => metadata.namespace);
    expect(where.sort()).toEqual(['cart', 'cart', 'cart', 'holdfast-system', 'shop', 'shop', 'shop']);
    expect(JSON.stringify(confined)).not.toContain('"bind"');
    const namespaces = find(confined, 'ClusterRole', 'holdfast-apply-defaults');
    expect(JSON.stringify(namespaces.rules)).not.toContain('"namespaces"');
    expect(JSON.stringify(everywhere)).toContain('"tokenreviews"');
    expect(JSON.stringify(confined)).not.toContain('"tokenreviews"');
    expect(JSON.stringify(find(confined, 'Deployment').spec)).toContain('--watch-namespaces=cart,shop');
  });

  it('meets the restricted pod security standard', () => {
    const spec = find(installObjects(options), 'Deployment').spec as {
      template: {
        spec: { securityContext: object; containers: Array<Record<string, unknown>>; volumes: unknown };
      };
    };
    const pod = spec.template.spec;
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    for (const container of pod.containers) {
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(container.resources).toMatchObject({
        limits: { cpu: expect.anything(), memory: expect.anything() },
      });
    }
    expect(pod.volumes).toEqual([{ name: 'data', emptyDir: { sizeLimit: expect.any(String) } }]);
  });

  it.each([
    [undefined, '1792Mi', '2Gi'],
    ['500', '1792Mi', '2Gi'],
    ['2000', '4256Mi', '4512Mi'],
  ])('gives repositories of %s MiB a volume of %s in a pod that may use %s', (mib, volume, limit) => {
    const flags = mib === undefined ? {} : { 'git-disk-mib': mib };
    const { spec } = find(installObjects({ ...options, flags }), 'Deployment');
    expect(spec).toMatchObject({
      template: {
        spec: {
          containers: [{ resources: { limits: { 'ephemeral-storage': limit } } }],
          volumes: [{ name: 'data', emptyDir: { sizeLimit: volume } }],
        },
      },
    });
  });

  it.each([{ namespace: 'Not_A_Name' }, { watchNamespaces: ['shop', 'a b'] }, { image: 'x\ny' }])(
    'refuses %j',
    (wrong) => {
      expect(() => runInstall({ ...options, ...wrong }, 'yaml')).toThrow(/^.+ is not a valid .+$/);
    },
  );

  it('names no registry it cannot know', () => {
    expect(imageOf('1.2.3')).toBe('holdfast:v1.2.3');
  });

  it('deploy/base/install.yaml is its output (UPDATE_DOCS=1 writes it)', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    const text = runInstall({ namespace: 'holdfast-system', image: imageOf(version) }, 'yaml').stdout;
    const path = join(root, 'deploy/base/install.yaml');
    if (process.env.UPDATE_DOCS === '1') {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
    expect(readFileSync(path, 'utf8'), 'renew with UPDATE_DOCS=1').toBe(text);
  });
});
