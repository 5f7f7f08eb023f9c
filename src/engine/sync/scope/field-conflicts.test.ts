import { describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import { isInPointer, withoutFields } from './field-conflicts.ts';

const object: KubernetesObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', annotations: { 'example.com/a': 'x' } },
  spec: {
    replicas: 2,
    template: {
      spec: {
        containers: [
          { name: 'app', image: 'a:1', ports: [{ containerPort: 80, protocol: 'TCP' }] },
          { name: 'side', image: 'b:1' },
        ],
      },
    },
  },
};

describe('fields as the API server names them', () => {
  it.each([
    ['.spec.replicas', ['spec', 'replicas']],
    ['.metadata.annotations.example.com/a', ['metadata', 'annotations', 'example.com/a']],
  ])('%s is taken out, and nothing else', (field, path) => {
    const expected = structuredClone(object);
    const holder = path.slice(0, -1).reduce<Record<string, unknown>>((at, step) => {
      return at[step] as Record<string, unknown>;
    }, expected);
    delete holder[path.at(-1) ?? ''];
    expect(withoutFields(object, [field])).toEqual(expected);
  });

  it('leads into elements of lists by their keys', () => {
    const at = '.spec.template.spec.containers';
    const fields = [`${at}[name="app"].image`, `${at}[name="app"].ports[containerPort=80,protocol="TCP"]`];
    const { spec } = withoutFields(object, fields) as unknown as { spec: { template: { spec: unknown } } };
    expect(spec.template.spec).toEqual({
      containers: [
        { name: 'app', ports: [] },
        { name: 'side', image: 'b:1' },
      ],
    });
  });

  it('leads to a port whose protocol is not named', () => {
    const service = { ...object, kind: 'Service', spec: { ports: [{ port: 80, targetPort: 8080 }] } };
    const field = '.spec.ports[port=80,protocol="TCP"].targetPort';
    expect(isInPointer(service, '/spec/ports/0/targetPort', field)).toBe(true);
    expect(withoutFields(service, [field]).spec).toEqual({ ports: [{ port: 80 }] });
  });

  it('leave the object as it is where they lead nowhere', () => {
    expect(
      withoutFields(object, ['.spec.paused', '.spec.template.spec.containers[name="no"].image']),
    ).toEqual(object);
  });
});

describe('JSON pointers', () => {
  it.each([
    ['/spec/replicas', '.spec.replicas', true],
    ['/spec', '.spec.replicas', true],
    ['/spec/template/spec/containers/0/image', '.spec.template.spec.containers[name="app"].image', true],
    ['/spec/template/spec/containers/1', '.spec.template.spec.containers[name="app"].image', false],
    [
      '/spec/template/spec/containers/0/ports/0',
      '.spec.template.spec.containers[name="app"].ports[containerPort=80,protocol="TCP"].hostPort',
      true,
    ],
    ['/spec/repl', '.spec.replicas', false],
    ['', '.spec.replicas', false],
    ['no pointer', '.spec.replicas', false],
  ])('%s and %s: %s', (pointer, field, expected) => {
    expect(isInPointer(object, pointer, field)).toBe(expected);
  });
});
