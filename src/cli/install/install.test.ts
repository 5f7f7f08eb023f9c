import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { imageOf, installObjects, runInstall } from './install.ts';

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
    for (const { apiGroups, resources, verbs } of rulesIn(installObjects(options))) {
      expect([...apiGroups, ...resources, ...verbs]).not.toContain('*');
      for (const verb of ['escalate', 'bind', 'impersonate', 'deletecollection'])
        expect(verbs).not.toContain(verb);
      expect(apiGroups).not.toContain('rbac.authorization.k8s.io');
    }
  });

  it('may write as service accounts only where that is asked for', () => {
    const rules = (more: object) => JSON.stringify(rulesIn(installObjects({ ...options, ...more })));
    expect(rules({})).not.toContain('impersonate');
    expect(rules({ impersonation: true })).toContain(
      '"resources":["serviceaccounts"],"verbs":["impersonate"]',
    );
    const locked = installObjects({ ...options, defaultServiceAccount: 'deployer' });
    expect(JSON.stringify(rulesIn(locked))).toContain('impersonate');
    expect(JSON.stringify(find(locked, 'Deployment').spec)).toContain('--default-service-account=deployer');
  });

  it('binds cluster-wide unless it is confined to namespaces', () => {
    const everywhere = installObjects(options);
    const confined = installObjects({ ...options, watchNamespaces: ['shop', 'cart'] });
    expect(everywhere.filter(({ kind }) => kind === 'ClusterRoleBinding')).toHaveLength(2);
    expect(confined.filter(({ kind }) => kind === 'ClusterRoleBinding')).toEqual([]);
    const where = confined
      .filter(({ kind }) => kind === 'RoleBinding')
      .map(({ metadata }) => metadata.namespace);
    expect(where.sort()).toEqual(['cart', 'cart', 'holdfast-system', 'shop', 'shop']);
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

  it.each([{ namespace: 'Not_A_Name' }, { watchNamespaces: ['shop', 'a b'] }, { image: 'x\ny' }])(
    'refuses %j',
    (wrong) => {
      const result = runInstall({ ...options, ...wrong }, 'yaml');
      expect(result).toMatchObject({ exitCode: 2, stdout: '' });
      expect(result.stderr).toMatch(/^error: .+\n$/);
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
