import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { measureEffort } from '../../../test/effort.ts';
import { elementKey, pairingOf } from './list-keys.ts';
import { covers, differencesOf } from './semantic-compare.ts';

describe('covers', () => {
  it.each<[string, unknown, unknown]>([
    ['fields the server added', { replicas: 1, strategy: {} }, { replicas: 1 }],
    ['another spelling of a quantity', limits('500m'), limits('0.5')],
    ['a quantity written as a number', limits('500m'), limits(0.5)],
    ['binary units', limits('1Gi'), limits('1024Mi')],
    ['the amount of a metric', metric({ averageValue: '100' }), metric({ averageValue: 100 })],
    ['another spelling of it', metric({ value: '1' }), metric({ value: '1000m' })],
    ['a quota', { hard: { pods: '10', 'limits.cpu': '4' } }, { hard: { pods: 10, 'limits.cpu': '4000m' } }],
    ['the bounds of containers', range({ cpu: '2' }), range({ cpu: 2 })],
    [
      'empty fields the server drops',
      {},
      { hostNetwork: false, minReadySeconds: 0, args: [], securityContext: null },
    ],
    ['an annotation that is to be gone', { annotations: {} }, { annotations: { a: null } }],
    ['one of an object that has none', {}, { annotations: { a: null } }],
    ['what others put into a map that Git leaves empty', { annotations: { a: 'b' } }, { annotations: null }],
    ['an object that the server keeps empty', { securityContext: {} }, { securityContext: null }],
    [
      'a Secret of a ServiceAccount that its platform added',
      { secrets: [{ name: 'b' }, { name: 'a' }] },
      { secrets: [{ name: 'a' }] },
    ],
    [
      'containers in another order, with an injected one',
      containers('b', 'proxy', 'a'),
      containers('a', 'b'),
    ],
    [
      'a port whose protocol was filled in',
      ports({ containerPort: 80, protocol: 'TCP' }),
      ports({ containerPort: 80 }),
    ],
    ['a toleration that admission added', tolerations('added', 'ours'), tolerations('ours')],
  ])('ignores %s', (_, live, wanted) => {
    expect(covers(live, wanted)).toBe(true);
  });

  it.each<[string, unknown, unknown]>([
    ['another value', { replicas: 1 }, { replicas: 2 }],
    ['another amount', limits('500m'), limits('501m')],
    ['another amount of a metric', metric({ averageValue: '100' }), metric({ averageValue: 101 })],
    [
      'an amount that is no quantity',
      { env: [{ name: 'A', value: '1' }] },
      { env: [{ name: 'A', value: 1 }] },
    ],
    ['a missing container', containers('a'), containers('a', 'b')],
    ['an argument too many', { args: ['a', 'b'] }, { args: ['a'] }],
    ['arguments in another order', { args: ['a', 'b'] }, { args: ['b', 'a'] }],
    ['a missing label with an empty value', { labels: {} }, { labels: { a: '' } }],
    ['all labels, which had empty values', {}, { labels: { a: '' } }],
    [
      'the choice of nodes, which has an empty value',
      { spec: {} },
      { spec: { nodeSelector: { worker: '' } } },
    ],
    ['a quantity-like annotation', { annotations: { a: '500m' } }, { annotations: { a: '0.5' } }],
    ['an image', [{ name: 'a', image: 'x:1' }], [{ name: 'a', image: 'x:2' }]],
    ['a value that should be gone', { rollingUpdate: { maxSurge: 1 } }, { rollingUpdate: null }],
    ['text where an object is wanted', { a: 'x' }, { a: { b: 1 } }],
    ['a port that is UDP', ports({ containerPort: 53, protocol: 'UDP' }), ports({ containerPort: 53 })],
    ['inherited properties', {}, { constructor: { name: 'x' } }],
    ['a token that pods would get', {}, { automountServiceAccountToken: false }],
    ['a privilege that was forbidden', { name: 'a' }, secured({ allowPrivilegeEscalation: false })],
    ['root, which was asked for', secured({}), secured({ runAsUser: 0 })],
    [
      'a toleration without its end',
      tolerations('a'),
      { tolerations: [{ key: 'a', operator: 'Exists', tolerationSeconds: 0 }] },
    ],
    ['a budget without its bound', { minAvailable: 1 }, { minAvailable: 1, maxUnavailable: 0 }],
  ])('sees %s', (_, live, wanted) => {
    expect(covers(live, wanted)).toBe(false);
  });

  it('always holds after an apply, and for the object itself', () => {
    fc.assert(
      fc.property(podSpec(), podSpec(), (live, wanted) => {
        expect(covers(apply(live, wanted, ''), wanted)).toBe(true);
        expect(covers(wanted, wanted)).toBe(true);
      }),
    );
  });

  it('never holds when a wanted image differs', () => {
    fc.assert(
      fc.property(podSpec(), (spec) => {
        const wanted = structuredClone(spec);
        wanted.containers[0]!.image = `${wanted.containers[0]!.image}-new`;
        expect(covers(spec, wanted)).toBe(false);
      }),
    );
  });
});

function limits(cpu: unknown): object {
  return { resources: { limits: { cpu } } };
}
function metric(target: object): object {
  return { metrics: [{ type: 'Resource', resource: { name: 'memory', target } }] };
}
function range(max: object): object {
  return { limits: [{ type: 'Container', max }] };
}
function containers(...names: string[]): object {
  return { containers: names.map((name) => ({ name })) };
}
function secured(securityContext: object): object {
  return { name: 'a', securityContext };
}
function ports(port: object): object {
  return { containers: [{ name: 'a', ports: [port] }] };
}
it('compares thousands of tolerations at once', () => {
  const keys = Array.from({ length: 3_000 }, (_, index) => `k${index}`);
  const wanted = { tolerations: keys.map((key) => ({ key, operator: 'Exists', value: '' })) };
  const effort = measureEffort();
  expect(covers(tolerations('added', ...keys), wanted)).toBe(true);
  expect(differencesOf(tolerations(...keys.slice(1)), wanted)).toHaveLength(1);
  expect(effort()).toBeLessThan(100);
});

function tolerations(...keys: string[]): object {
  return { tolerations: keys.map((key) => ({ key, operator: 'Exists' })) };
}

interface AnySpec {
  containers: Array<{ name: string; image: string }>;
}

function podSpec(): fc.Arbitrary<AnySpec> {
  const name = fc.constantFrom('a', 'b', 'c');
  const cpu = fc.constantFrom('500m', '0.5', '1', 1, '1000m', '2Gi');
  const container = fc.record(
    {
      name,
      image: fc.constantFrom('x:1', 'x:2'),
      args: fc.array(fc.constantFrom('-v', '-q'), { maxLength: 3 }),
      env: fc.uniqueArray(fc.record({ name, value: fc.string() }), { selector: (entry) => entry.name }),
      resources: fc.record({ limits: fc.dictionary(fc.constantFrom('cpu', 'memory'), cpu) }),
    },
    { requiredKeys: ['name', 'image'] },
  );
  return fc.record(
    {
      containers: fc.uniqueArray(container, { selector: (one) => one.name, minLength: 1 }),
      nodeSelector: fc.dictionary(name, fc.constantFrom('', 'x')),
      tolerations: fc.array(fc.record({ key: name })),
      hostNetwork: fc.boolean(),
    },
    { requiredKeys: ['containers'] },
  );
}

/** A model of server-side apply: maps are merged, associative lists by key, everything else is replaced; false and empty lists are dropped. */
function apply(live: unknown, wanted: unknown, field: string): unknown {
  if (Array.isArray(wanted)) return applyList(Array.isArray(live) ? live : [], wanted, field);
  if (typeof wanted !== 'object' || wanted === null) return wanted;
  const merged: Record<string, unknown> = typeof live === 'object' && live !== null ? { ...live } : {};
  for (const [key, value] of Object.entries(wanted)) {
    if (value === false || (Array.isArray(value) && value.length === 0)) delete merged[key];
    else merged[key] = apply(merged[key], value, key);
  }
  return merged;
}

function applyList(live: readonly unknown[], wanted: readonly unknown[], field: string): unknown {
  const pairing = pairingOf(field, wanted);
  if (pairing.kind !== 'key') return wanted;
  const merged = new Map(live.map((element) => [elementKey(element, pairing.fields), element]));
  for (const element of wanted) {
    const key = elementKey(element, pairing.fields);
    merged.set(key, apply(merged.get(key), element, ''));
  }
  return [...merged.values()];
}
