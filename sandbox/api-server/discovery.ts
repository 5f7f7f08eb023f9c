import { unknownPath } from './errors.ts';
import type { JsonRecord } from './json.ts';
import { apiVersionOf, type KindInfo, type KindRegistry } from './kinds.ts';
import type { ApiRequest } from './request.ts';

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const SUBRESOURCE_VERBS = ['get', 'patch', 'update'];
const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** A discovery document and its content type. */
interface DiscoveryAnswer {
  readonly contentType: string;
  readonly body: JsonRecord;
}

/** Answers /api, /apis, /api/v1, /apis/GROUP and /apis/GROUP/VERSION; undefined for paths that are no discovery. */
export function discover(kinds: KindRegistry, request: ApiRequest): DiscoveryAnswer | undefined {
  const parts = request.path.split('/').filter(Boolean);
  const [root, first, second] = parts;
  const core = root === 'api';
  if ((!core && root !== 'apis') || parts.length > (core ? 2 : 3)) return undefined;
  if (parts.length === 1) return rootDocument(kinds, core, request.accept);
  if (core) return plain(resourceList(kinds, '', first ?? ''));
  return plain(second ? resourceList(kinds, first ?? '', second) : groupDocument(kinds, first ?? ''));
}

function plain(body: JsonRecord): DiscoveryAnswer {
  return { contentType: 'application/json', body };
}

function rootDocument(kinds: KindRegistry, core: boolean, accept: string): DiscoveryAnswer {
  const served = kinds.all().filter((kind) => (kind.group === '') === core);
  if (/g=apidiscovery\.k8s\.io;v=v2;as=APIGroupDiscoveryList/.test(accept)) {
    const items = groupsOf(served).map((group) => aggregatedGroup(served, group));
    return {
      contentType: AGGREGATED,
      body: { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {}, items },
    };
  }
  if (core) return plain({ kind: 'APIVersions', versions: ['v1'] });
  const groups = groupsOf(served).map((group) => groupBody(served, group));
  return plain({ kind: 'APIGroupList', apiVersion: 'v1', groups });
}

function groupsOf(kinds: readonly KindInfo[]): string[] {
  return [...new Set(kinds.map((kind) => kind.group))];
}

function versionsOf(kinds: readonly KindInfo[], group: string): string[] {
  return [...new Set(kinds.filter((kind) => kind.group === group).map((kind) => kind.version))];
}

function groupBody(kinds: readonly KindInfo[], group: string): JsonRecord {
  const versions = versionsOf(kinds, group).map((version) => ({
    groupVersion: `${group}/${version}`,
    version,
  }));
  return { name: group, versions, preferredVersion: versions[0] };
}

function groupDocument(kinds: KindRegistry, group: string): JsonRecord {
  if (!groupsOf(kinds.all()).includes(group)) throw unknownPath();
  return { kind: 'APIGroup', apiVersion: 'v1', ...groupBody(kinds.all(), group) };
}

function inVersion(kinds: readonly KindInfo[], group: string, version: string): KindInfo[] {
  const found = kinds.filter((kind) => kind.group === group && kind.version === version);
  return found.sort((left, right) => (left.plural < right.plural ? -1 : 1));
}

function resourceList(kinds: KindRegistry, group: string, version: string): JsonRecord {
  const found = inVersion(kinds.all(), group, version);
  const [first] = found;
  if (!first) throw unknownPath();
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: apiVersionOf(first),
    resources: found.flatMap((kind) => [
      resource(kind),
      ...subresourcesOf(kind).map((name) => subresource(kind, name)),
    ]),
  };
}

function resource(kind: KindInfo): JsonRecord {
  const { plural: name, singular: singularName, namespaced, shortNames } = kind;
  return {
    name,
    singularName,
    namespaced,
    kind: kind.kind,
    verbs: VERBS,
    ...(shortNames.length > 0 ? { shortNames } : {}),
  };
}

function subresourcesOf(kind: KindInfo): string[] {
  return [...(kind.scale ? ['scale'] : []), ...(kind.hasStatus ? ['status'] : [])];
}

function subresource(kind: KindInfo, name: string): JsonRecord {
  const scale =
    name === 'scale' ? { group: 'autoscaling', version: 'v1', kind: 'Scale' } : { kind: kind.kind };
  return {
    name: `${kind.plural}/${name}`,
    singularName: '',
    namespaced: kind.namespaced,
    ...scale,
    verbs: SUBRESOURCE_VERBS,
  };
}

function aggregatedGroup(kinds: readonly KindInfo[], group: string): JsonRecord {
  const versions = versionsOf(kinds, group).map((version) => ({
    version,
    resources: inVersion(kinds, group, version).map(aggregatedResource),
    freshness: 'Current',
  }));
  return { metadata: { ...(group ? { name: group } : {}), creationTimestamp: null }, versions };
}

function aggregatedResource(kind: KindInfo): JsonRecord {
  // A real server names group and version of custom resources only; built-in kinds leave both empty.
  const { group, version } = kind.schema ? kind : { group: '', version: '' };
  const responseKind = { group, version, kind: kind.kind };
  const scaleKind = { group: 'autoscaling', version: 'v1', kind: 'Scale' };
  const subresources = subresourcesOf(kind).map((name) => ({
    subresource: name,
    responseKind: name === 'scale' ? scaleKind : responseKind,
    verbs: SUBRESOURCE_VERBS,
  }));
  return {
    resource: kind.plural,
    responseKind,
    scope: kind.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: kind.singular,
    verbs: VERBS,
    ...(kind.shortNames.length > 0 ? { shortNames: kind.shortNames } : {}),
    ...(subresources.length > 0 ? { subresources } : {}),
  };
}
