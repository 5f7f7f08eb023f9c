import { expect, test } from 'vitest';
import { configMap } from './bodies.ts';
import type { Suite } from './suite.ts';
import { freshNamespace, type Json, type Target } from './target.ts';

const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

async function createThree(target: Target, namespace: string): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  for (const [name, tier] of [
    ['a', 'x'],
    ['b', 'x'],
    ['c', 'y'],
  ] as const) {
    await target.request('POST', path, {
      body: configMap(namespace, name, { k: name }, { labels: { tier, set: 'three' } }),
    });
  }
  return path;
}

function names(body: Json): string[] {
  return body.items.map((item: Json) => item.metadata.name);
}

/** Lists, selectors, pages, metadata only, discovery. */
export function listTests({ target }: Suite): void {
  test('selects by label', async () => {
    const path = await createThree(target(), await freshNamespace(target()));
    const list = async (selector: string) => {
      return names(
        (await target().request('GET', `${path}?labelSelector=${encodeURIComponent(`set,${selector}`)}`))
          .body,
      );
    };
    expect(await list('tier=x')).toEqual(['a', 'b']);
    expect(await list('tier!=x')).toEqual(['c']);
    expect(await list('tier in (x, y)')).toEqual(['a', 'b', 'c']);
    expect(await list('tier notin (x)')).toEqual(['c']);
    expect(await list('!missing')).toEqual(['a', 'b', 'c']);
  });

  test('selects by name, and refuses fields it cannot select on', async () => {
    const path = await createThree(target(), await freshNamespace(target()));
    const byName = await target().request('GET', `${path}?fieldSelector=metadata.name%3Db`);
    expect(names(byName.body)).toEqual(['b']);
    expect((await target().request('GET', `${path}?fieldSelector=data.k%3Db`)).code).toBe(400);
  });

  test('pages through a list as of one moment', async () => {
    const namespace = await freshNamespace(target());
    const path = await createThree(target(), namespace);
    const first = await target().request('GET', `${path}?limit=2&labelSelector=set`);
    expect([names(first.body), typeof first.body.metadata.continue]).toEqual([['a', 'b'], 'string']);
    await target().request('POST', path, {
      body: configMap(namespace, 'd', {}, { labels: { set: 'three' } }),
    });
    const token = encodeURIComponent(first.body.metadata.continue);
    const second = await target().request('GET', `${path}?limit=2&labelSelector=set&continue=${token}`);
    expect([names(second.body), second.body.metadata.continue]).toEqual([['c'], undefined]);
    expect(second.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
  });

  test('lists a kind over all namespaces', async () => {
    const namespace = await freshNamespace(target());
    await createThree(target(), namespace);
    const { body } = await target().request('GET', '/api/v1/configmaps?labelSelector=set');
    const here = body.items.filter((item: Json) => item.metadata.namespace === namespace);
    expect([body.kind, body.apiVersion, here.length]).toEqual(['ConfigMapList', 'v1', 3]);
  });

  test('answers with metadata only where that is asked for', async () => {
    const path = await createThree(target(), await freshNamespace(target()));
    const list = await target().request('GET', `${path}?labelSelector=set`, { accept: METADATA_LIST });
    expect([list.body.kind, list.body.apiVersion]).toEqual(['PartialObjectMetadataList', 'meta.k8s.io/v1']);
    expect([names(list.body), list.body.items[0].data]).toEqual([['a', 'b', 'c'], undefined]);
    const one = await target().request('GET', `${path}/a`, { accept: METADATA });
    expect(one.body).toMatchObject({ kind: 'PartialObjectMetadata', metadata: { name: 'a' } });
  });

  test('refuses a version that does not exist yet', async () => {
    const path = await createThree(target(), await freshNamespace(target()));
    const { code, body } = await target().request(
      'GET',
      `${path}?resourceVersion=999999999&resourceVersionMatch=NotOlderThan`,
    );
    expect([code, body.reason]).toEqual([504, 'Timeout']);
  });

  test('describes its kinds in one aggregated document a root', async () => {
    const core = await target().request('GET', '/api', { accept: AGGREGATED });
    expect([core.body.kind, core.body.apiVersion]).toEqual([
      'APIGroupDiscoveryList',
      'apidiscovery.k8s.io/v2',
    ]);
    const services = core.body.items[0].versions[0].resources.find(
      (each: Json) => each.resource === 'services',
    );
    expect(services).toMatchObject({
      scope: 'Namespaced',
      responseKind: { group: '', version: '', kind: 'Service' },
    });
    const { body } = await target().request('GET', '/apis', { accept: AGGREGATED });
    const apps = body.items.find((each: Json) => each.metadata.name === 'apps');
    const deployments = apps.versions[0].resources.find((each: Json) => each.resource === 'deployments');
    expect(deployments.subresources.map((each: Json) => each.subresource).sort()).toEqual([
      'scale',
      'status',
    ]);
    expect(deployments.responseKind).toEqual({ group: '', version: '', kind: 'Deployment' });
    const scale = deployments.subresources.find((each: Json) => each.subresource === 'scale');
    expect(scale.responseKind).toEqual({ group: 'autoscaling', version: 'v1', kind: 'Scale' });
    expect(deployments.verbs).toEqual(expect.arrayContaining(['get', 'list', 'patch', 'watch']));
  });

  test('describes its kinds in the old documents too', async () => {
    const { body: groups } = await target().request('GET', '/apis');
    expect([groups.kind, groups.groups.map((each: Json) => each.name)]).toEqual([
      'APIGroupList',
      expect.arrayContaining(['apps']),
    ]);
    const { body: apps } = await target().request('GET', '/apis/apps/v1');
    const entry = apps.resources.find((each: Json) => each.name === 'deployments/scale');
    expect([apps.kind, apps.groupVersion]).toEqual(['APIResourceList', 'apps/v1']);
    expect(entry).toMatchObject({ group: 'autoscaling', version: 'v1', kind: 'Scale', namespaced: true });
    expect((await target().request('GET', '/apis/no.such.group/v1')).code).toBe(404);
  });
}
