import { isRecord, type KubernetesObject, recordOf, recordsOf } from '../../src/api/kubernetes.ts';
import { asString, at, type JsonRecord, sameJson } from './json.ts';
import type { KindInfo, ScalePaths } from './kinds.ts';
import { mergeFromSchema } from './merge-schema.ts';
import { type ApiWorld, timestamp, updateObject } from './object-writer.ts';

const CRD_KEY = 'apiextensions.k8s.io/customresourcedefinitions';

/** By the spec, which is never changed once it is stored, and is the same after a write of the status. */
const known = new WeakMap<object, readonly KindInfo[]>();

/** The kinds a CustomResourceDefinition serves, one a served version. */
function kindsOf(definition: KubernetesObject): readonly KindInfo[] {
  const spec = recordOf(definition.spec);
  const kinds = known.get(spec) ?? kindsIn(spec);
  known.set(spec, kinds);
  return kinds;
}

function kindsIn(spec: JsonRecord): readonly KindInfo[] {
  const names = recordOf(spec.names);
  const group = asString(spec.group);
  const plural = asString(names.plural);
  return recordsOf(spec.versions)
    .filter((version) => version.served === true)
    .map((version) => {
      const schema = at(version, 'schema', 'openAPIV3Schema');
      const scale = scalePaths(at(version, 'subresources', 'scale'));
      return {
        group,
        version: asString(version.name),
        kind: asString(names.kind),
        plural,
        singular: asString(names.singular, asString(names.kind).toLowerCase()),
        shortNames: Array.isArray(names.shortNames) ? names.shortNames.map(String) : [],
        namespaced: spec.scope !== 'Cluster',
        storageKey: `${group}/${plural}`,
        hasStatus: isRecord(at(version, 'subresources', 'status')),
        hasGeneration: true,
        ...(scale ? { scale } : {}),
        merge: mergeFromSchema(schema),
        ...(isRecord(schema) ? { schema } : {}),
      };
    });
}

function scalePaths(scale: unknown): ScalePaths | undefined {
  if (!isRecord(scale)) return undefined;
  const path = (text: unknown) => asString(text).split('.').slice(1);
  return {
    replicas: path(scale.specReplicasPath),
    statusReplicas: path(scale.statusReplicasPath),
    ...(scale.labelSelectorPath ? { selector: path(scale.labelSelectorPath) } : {}),
  };
}

/** Updates the registry from the stored definitions, and marks new ones Established. */
export function serveCustomResources(world: ApiWorld): void {
  world.store.subscribe((event) => {
    if (event.storageKey !== CRD_KEY) return;
    const before = event.previous ? kindsOf(event.previous) : [];
    const [first] = before;
    if (first && !sameJson(event.previous?.spec, event.object.spec))
      world.kinds.remove(first.group, first.plural);
    if (event.type === 'DELETED') return forgetKind(world, event.object);
    for (const kind of kindsOf(event.object)) world.kinds.add(kind);
  });
}

function forgetKind(world: ApiWorld, definition: KubernetesObject): void {
  for (const kind of kindsOf(definition)) {
    world.kinds.remove(kind.group, kind.plural);
    for (const object of world.store.list(kind.storageKey)) world.store.remove(kind.storageKey, object);
  }
}

/** Writes the status a real server gives an accepted definition. Does nothing when it is there already. */
export function establish(world: ApiWorld, name: string): void {
  const definition = world.store.get(CRD_KEY, undefined, name);
  const kind = world.kinds.byPath('apiextensions.k8s.io', 'v1', 'customresourcedefinitions');
  if (!definition || !kind || definition.metadata.deletionTimestamp) return;
  const names = recordOf(at(definition, 'spec', 'names'));
  const stored = recordsOf(at(definition, 'spec', 'versions')).filter((version) => version.storage === true);
  const lastTransitionTime = recordsOf(at(definition, 'status', 'conditions'))[0]?.lastTransitionTime;
  const since = { lastTransitionTime: lastTransitionTime ?? timestamp(world.clock.nowMs()) };
  const accepted = { reason: 'NoConflicts', message: 'no conflicts found', ...since };
  const established = {
    reason: 'InitialNamesAccepted',
    message: 'the initial names have been accepted',
    ...since,
  };
  const status = {
    conditions: [
      { type: 'NamesAccepted', status: 'True', ...accepted },
      { type: 'Established', status: 'True', ...established },
    ],
    acceptedNames: {
      listKind: `${asString(names.kind)}List`,
      singular: asString(names.kind).toLowerCase(),
      ...names,
    },
    storedVersions: stored.map((version) => version.name),
  };
  if (sameJson(definition.status, status)) return;
  updateObject(world, kind, { ...definition, status }, { manager: 'kube-apiserver', subresource: 'status' });
}
