import { describe, expect, it } from 'vitest';
import { type KubernetesObject, objectKey } from '../../api/kubernetes.ts';
import { container, deployment, template } from '../../release/fixtures.test-support.ts';
import type { RenderedObject } from '../../render/rendered-object.ts';
import { sourceForPath } from '../offline.ts';
import { lostConfigKeys, oneWayChanges } from './one-way.ts';
import { removalsOf } from './removals.ts';

function entry(object: KubernetesObject): RenderedObject {
  return { object, origin: { file: 'a.yaml', line: 1, document: 0, items: [] } };
}

function object(kind: string, content: Record<string, unknown> = {}, annotations = {}): KubernetesObject {
  const apiVersion = kind === 'CustomResourceDefinition' ? 'apiextensions.k8s.io/v1' : 'v1';
  return { apiVersion, kind, metadata: { name: 'a', namespace: 'shop', annotations }, ...content };
}

/** `rule severity` of every finding. */
function found(
  before: KubernetesObject | undefined,
  after: KubernetesObject | undefined,
  spec = {},
  isOfRollout = false,
): string[] {
  const base = sourceForPath('');
  const source = { ...base, spec: { ...base.spec, prune: true, ...spec } };
  const sides = { before: before ? [entry(before)] : [], after: after ? [entry(after)] : [] };
  // Something stays, so that this is no empty commit.
  const other = entry({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'other', namespace: 'shop' },
  });
  const both = { before: [...sides.before, other], after: [...sides.after, other] };
  const removals = removalsOf({ source, ...both, isBroken: false, holderOf: () => undefined });
  const rest = isOfRollout ? [other] : both.after;
  return oneWayChanges({ source, ...both, rest, removals }).map(
    ({ rule, severity }) => `${rule} ${severity}`,
  );
}

const versions = (...list: Array<[name: string, served: boolean, storage: boolean]>) => ({
  spec: { versions: list.map(([name, served, storage]) => ({ name, served, storage })) },
});
const claim = (storage: string, more = {}) => ({ spec: { resources: { requests: { storage } }, ...more } });
const selector = (app: string) => ({ spec: { selector: { matchLabels: { app } } } });

describe('changes that cannot be taken back', () => {
  it.each<[string, string, Record<string, unknown>, Record<string, unknown>, string[]]>([
    ['selector', 'Deployment', selector('a'), selector('b'), ['immutableField refused']],
    [
      'claims',
      'StatefulSet',
      { spec: { volumeClaimTemplates: [{ a: 1 }] } },
      { spec: {} },
      ['immutableField refused'],
    ],
    [
      'a policy that was not named',
      'StatefulSet',
      { spec: {} },
      { spec: { podManagementPolicy: 'OrderedReady' } },
      [],
    ],
    [
      'template',
      'Job',
      { spec: { template: { a: 1 } } },
      { spec: { template: { a: 2 } } },
      ['immutableField refused'],
    ],
    [
      'completions',
      'Job',
      { spec: { completions: 3 } },
      { spec: { completions: 5 } },
      ['immutableField refused'],
    ],
    [
      'completions by index',
      'Job',
      { spec: { completionMode: 'Indexed', completions: 3, parallelism: 3 } },
      { spec: { completionMode: 'Indexed', completions: 5, parallelism: 5 } },
      [],
    ],
    [
      'preemption',
      'PriorityClass',
      { value: 1, preemptionPolicy: 'Never' },
      { value: 1, preemptionPolicy: 'PreemptLowerPriority' },
      ['immutableField refused'],
    ],
    ['handler', 'RuntimeClass', { handler: 'runc' }, { handler: 'gvisor' }, ['immutableField refused']],
    [
      'class',
      'PersistentVolumeClaim',
      claim('1Gi', { storageClassName: 'a' }),
      claim('1Gi', { storageClassName: 'b' }),
      ['immutableField refused'],
    ],
    ['growth', 'PersistentVolumeClaim', claim('1Gi'), claim('2Gi'), ['volumeSize oneWay']],
    ['shrinking', 'PersistentVolumeClaim', claim('1Gi'), claim('500Mi'), ['volumeSize refused']],
    ['another spelling', 'PersistentVolumeClaim', claim('1Gi'), claim('1024Mi'), []],
    [
      'storage version',
      'CustomResourceDefinition',
      versions(['v1', true, true]),
      versions(['v1', true, false], ['v2', true, true]),
      ['crdVersion oneWay'],
    ],
    [
      'lost version',
      'CustomResourceDefinition',
      versions(['v1', true, true], ['v0', true, false]),
      versions(['v1', true, true]),
      ['crdVersion oneWay'],
    ],
    [
      'unserved version',
      'CustomResourceDefinition',
      versions(['v1', true, true], ['v0', true, false]),
      versions(['v1', true, true], ['v0', false, false]),
      ['crdVersion note'],
    ],
    [
      'address',
      'Service',
      { spec: { clusterIP: '10.0.0.1' } },
      { spec: { clusterIP: '10.0.0.2' } },
      ['immutableField refused'],
    ],
    ['headless', 'Service', { spec: {} }, { spec: { clusterIP: 'None' } }, ['immutableField refused']],
    ['balancer', 'Service', { spec: { type: 'LoadBalancer' } }, { spec: {} }, ['serviceType oneWay']],
    ['more open', 'Service', { spec: {} }, { spec: { type: 'NodePort' } }, ['serviceType note']],
    [
      'frozen',
      'ConfigMap',
      { data: { a: '1' } },
      { data: { a: '1' }, immutable: true },
      ['frozenConfig oneWay'],
    ],
    [
      'content of a frozen one',
      'Secret',
      { data: { a: '1' }, immutable: true },
      { data: { a: '2' }, immutable: true },
      ['immutableField refused'],
    ],
    [
      'role',
      'RoleBinding',
      { roleRef: { name: 'a' } },
      { roleRef: { name: 'b' } },
      ['immutableField refused'],
    ],
    ['an ordinary one', 'ConfigMap', { data: { a: '1' } }, { data: { a: '2' } }, []],
  ])('%s of a %s', (_, kind, before, after, expected) => {
    expect(found(object(kind, before), object(kind, after))).toEqual(expected);
  });

  it('a Job that comes runs, and one that was there does not run again', () => {
    expect(found(undefined, object('Job'))).toEqual(['jobRuns oneWay']);
    expect(found(object('Job'), object('Job'))).toEqual([]);
  });

  it('are made by deleting and recreating where that is allowed', () => {
    const [before, after] = [object('Deployment', selector('a')), object('Deployment', selector('b'))];
    expect(found(before, after, { force: true })).toEqual(['recreated oneWay']);
    const forced = object('Deployment', selector('b'), { 'holdfast.dev/force': 'enabled' });
    expect(found(before, forced)).toEqual(['recreated oneWay']);
  });

  it('are refused of what a rollout writes, also where deleting and recreating is allowed', () => {
    const forced = { 'holdfast.dev/force': 'enabled' };
    const [before, after] = ['one', 'two'].map((mode) =>
      object('ConfigMap', { data: { mode }, immutable: true }, forced),
    );
    expect(found(before, after, {}, true)).toEqual(['immutableField refused']);
  });

  it.each(['Namespace', 'CustomResourceDefinition', 'PersistentVolumeClaim'])(
    'a %s that is pruned',
    (kind) => {
      const { namespace: _, ...metadata } = object(kind).metadata;
      const gone = { ...object(kind), metadata };
      expect(found(gone, undefined)).toEqual(['deletion oneWay']);
      expect(found(gone, undefined, { prune: false })).toEqual([]);
      const kept = { ...gone, metadata: { ...metadata, annotations: { 'holdfast.dev/prune': 'disabled' } } };
      expect(found(kept, undefined)).toEqual([]);
    },
  );
});

describe('keys that the last known good release reads', () => {
  const env = (key: string, more = {}) => ({
    env: [{ name: 'X', valueFrom: { configMapKeyRef: { name: 'a', key, ...more } } }],
  });
  const volume = (items?: Array<{ key: string; path: string }>) =>
    template({ volumes: [{ name: 'v', configMap: { name: 'a', ...(items ? { items } : {}) } }] });
  const reading = (extra: Record<string, unknown>) => template({ containers: [container(extra)] });
  const both = object('ConfigMap', { data: { one: '1', two: '2' } });
  const left = object('ConfigMap', { data: { two: '2' } });

  it.each([
    ['a variable of it', reading(env('one')), 1],
    ['a variable of another', reading(env('two')), 0],
    ['a variable that may be absent', reading(env('one', { optional: true })), 0],
    ['all variables', reading({ envFrom: [{ configMapRef: { name: 'a' } }] }), 1],
    ['the whole volume', volume(), 1],
    ['a file of it', volume([{ key: 'one', path: 'x' }]), 1],
    ['a file of another', volume([{ key: 'two', path: 'x' }]), 0],
    ['another object', reading({ envFrom: [{ configMapRef: { name: 'b' } }] }), 0],
  ])('by %s', (_, pods, count) => {
    const good = { target: deployment(pods) };
    expect(lostConfigKeys(good, [entry(both)], [entry(left)])).toHaveLength(count);
  });

  it('come back with a revert only where the config is part of releases', () => {
    const good = { target: deployment(volume()) };
    expect(lostConfigKeys(good, [entry(both)], [])).toMatchObject([{ severity: 'note' }]);
    const untracked = {
      ...both,
      metadata: { ...both.metadata, annotations: { 'flagger.app/config-tracking': 'disabled' } },
    };
    const [found] = lostConfigKeys(good, [entry(untracked)], []);
    expect(found).toMatchObject({ severity: 'oneWay', object: 'ConfigMap shop/a' });
    expect(found?.message).toContain('keys one, two');
    expect(objectKey(untracked)).toBe(objectKey(both));
  });
});
