/** Flux and Argo CD as far as a move sees them: small kinds of ours, and what these tools leave on objects, played over any API server. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';

/** Requests to an API server, sandbox or real. */
export interface Api {
  send(
    method: string,
    path: string,
    body?: unknown,
    contentType?: string,
  ): Promise<{ status: number; body: unknown }>;
}

function crd(group: string, kind: string, version: string, hasStatus: boolean): KubernetesObject {
  const plural = `${kind.toLowerCase().replace(/y$/, 'ie')}s`;
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const schema = {
    openAPIV3Schema: { type: 'object', properties: { spec: open, status: open, operation: open } },
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema,
          ...(hasStatus ? { subresources: { status: {} } } : {}),
        },
      ],
    },
  };
}

/** The kinds of both tools. */
export const toolCrds: readonly KubernetesObject[] = [
  crd('kustomize.toolkit.fluxcd.io', 'Kustomization', 'v1', true),
  crd('source.toolkit.fluxcd.io', 'GitRepository', 'v1', true),
  crd('argoproj.io', 'Application', 'v1alpha1', false),
];

const plurals: Readonly<Record<string, string>> = {
  GitRepository: 'gitrepositories',
  Canary: 'canaries',
};

/** Path of an object. */
export function pathOf({ apiVersion, kind, metadata }: KubernetesObject): string {
  const prefix = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  const plural = plurals[kind] ?? `${kind.toLowerCase()}s`;
  return `${prefix}/namespaces/${metadata.namespace}/${plural}/${metadata.name}`;
}

/** The object as it is; undefined when it is not there. */
export async function read(api: Api, object: KubernetesObject): Promise<KubernetesObject | undefined> {
  const { status, body } = await api.send('GET', pathOf(object));
  return status === 200 ? (body as KubernetesObject) : undefined;
}

/** Server-side apply by force. Throws when it is refused. */
export async function applyAs(
  api: Api,
  manager: string,
  object: KubernetesObject,
): Promise<KubernetesObject> {
  const path = `${pathOf(object)}?fieldManager=${manager}&force=true`;
  const { status, body } = await api.send('PATCH', path, object, 'application/apply-patch+yaml');
  if (status > 201) throw new Error(`${object.kind} ${object.metadata.name}: ${JSON.stringify(body)}`);
  return body as KubernetesObject;
}

/** The manifests of a folder, without kustomizations. */
export function manifestsIn(folder: string): KubernetesObject[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml')
    .flatMap((name) => parseAllDocuments(readFileSync(join(folder, name), 'utf8')))
    .map((document) => document.toJS() as KubernetesObject | null)
    .filter((object) => object !== null);
}

/** What a step changes in the tree, as the command says it. */
export interface Change {
  readonly file: string;
  readonly after?: string;
}

/** Commits a step. */
export function commitChanges(changes: readonly Change[]): void {
  for (const { file, after } of changes) {
    if (after === undefined) rmSync(file);
    else writeFileSync(file, after);
  }
}

/** A tool that follows a folder of its own objects, and what each of them names. */
export interface PlayedTool {
  /** One look at everything; objects that it deleted are told. */
  look(wanted: readonly KubernetesObject[]): Promise<void>;
  /** `Kind/name` of what was deleted by the tool, its own kinds left out. */
  readonly deleted: readonly string[];
}

/** Flux: a root Kustomization that prunes applies the folder, and the Kustomization in it applies `wanted`. */
export function playFlux(api: Api, folder: string, owner: KubernetesObject): PlayedTool {
  const deleted: string[] = [];
  const manager = 'kustomize-controller';
  const marks = (name: string) => ({
    'kustomize.toolkit.fluxcd.io/name': name,
    'kustomize.toolkit.fluxcd.io/namespace': owner.metadata.namespace ?? '',
  });
  const root = { ...owner, metadata: { ...owner.metadata, name: 'flux-system' }, spec: { prune: true } };
  let before: readonly KubernetesObject[] = [];

  async function removed(object: KubernetesObject): Promise<void> {
    const live = await read(api, object);
    if (live?.kind === 'Kustomization') {
      const { prune, suspend } = live.spec as { prune?: boolean; suspend?: boolean };
      if (prune && !suspend) for (const one of entriesOf(live)) await remove(api, one, deleted);
    }
    await api.send('DELETE', pathOf(object));
  }

  async function reconcile(wanted: readonly KubernetesObject[]): Promise<void> {
    const live = await read(api, owner);
    const { suspend, prune } = (live?.spec ?? {}) as { suspend?: boolean; prune?: boolean };
    if (!live || suspend) return;
    for (const object of wanted) await applyAs(api, manager, labelled(object, marks(owner.metadata.name)));
    if (prune)
      for (const one of entriesOf(live))
        if (!wanted.some((object) => pathOf(object) === pathOf(one))) await remove(api, one, deleted);
    const entries = wanted.map(({ apiVersion, kind, metadata }) => {
      const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
      return { id: `${metadata.namespace}_${metadata.name}_${group}_${kind}`, v: version };
    });
    const status = {
      observedGeneration: live.metadata.generation,
      conditions: [{ type: 'Ready', status: 'True', reason: 'ReconciliationSucceeded', message: 'Applied' }],
      lastAppliedRevision: 'main@sha1:0',
      inventory: { entries },
    };
    await api.send(
      'PATCH',
      `${pathOf(owner)}/status?fieldManager=${manager}`,
      { status },
      'application/merge-patch+json',
    );
  }

  return {
    deleted,
    async look(wanted) {
      await applyAs(api, manager, root);
      const now = manifestsIn(folder);
      for (const object of now) await applyAs(api, manager, labelled(object, marks('flux-system')));
      for (const object of before)
        if (!now.some((one) => pathOf(one) === pathOf(object))) await removed(object);
      before = now;
      await reconcile(wanted);
    },
  };
}

/** Argo CD: a root Application that prunes applies the folder; the Application in it applies `wanted` on the client's side. */
export function playArgo(api: Api, folder: string, owner: KubernetesObject): PlayedTool {
  const deleted: string[] = [];
  const manager = 'argocd-controller';
  const tracked = (object: KubernetesObject, name: string): KubernetesObject => {
    const { apiVersion, kind, metadata } = object;
    const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : '';
    const id = `${name}:${group}/${kind}:${metadata.namespace}/${metadata.name}`;
    const annotations = { ...metadata.annotations, 'argocd.argoproj.io/tracking-id': id };
    return { ...object, metadata: { ...metadata, annotations } };
  };
  const root = {
    ...owner,
    metadata: { namespace: owner.metadata.namespace ?? '', name: 'root' },
    spec: { syncPolicy: { automated: { prune: true } } },
  };
  let before: readonly KubernetesObject[] = [];

  /** As client-side apply does: an update, and the whole manifest in an annotation. */
  async function applyOnClient(object: KubernetesObject): Promise<void> {
    const last = { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(object) };
    const annotations = { ...object.metadata.annotations, ...last };
    const whole = { ...object, metadata: { ...object.metadata, annotations } };
    const path = `${pathOf(object)}?fieldManager=${manager}`;
    const update = await api.send('PATCH', path, whole, 'application/merge-patch+json');
    if (update.status !== 404) return;
    const collection = pathOf(object).replace(/\/[^/]+$/, '');
    const { status, body } = await api.send('POST', `${collection}?fieldManager=${manager}`, whole);
    if (status > 201) throw new Error(`${object.kind} ${object.metadata.name}: ${JSON.stringify(body)}`);
  }

  async function removed(object: KubernetesObject): Promise<void> {
    const live = await read(api, object);
    const cascades = live?.metadata.finalizers?.some((one) => one.startsWith('resources-finalizer.'));
    if (live && cascades) for (const one of resourcesOf(live)) await remove(api, one, deleted);
    await api.send('DELETE', pathOf(object));
  }

  async function sync(wanted: readonly KubernetesObject[]): Promise<void> {
    const live = await read(api, owner);
    const { syncPolicy } = (live?.spec ?? {}) as { syncPolicy?: { automated?: { prune?: boolean } } };
    if (!live || !syncPolicy?.automated) return;
    for (const object of wanted) await applyOnClient(tracked(object, owner.metadata.name));
    if (syncPolicy.automated.prune)
      for (const one of resourcesOf(live))
        if (!wanted.some((object) => pathOf(object) === pathOf(one))) await remove(api, one, deleted);
    const resources = wanted.map(({ apiVersion, kind, metadata: { namespace, name } }) => {
      const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
      return { ...(group ? { group } : {}), version, kind, namespace, name, status: 'Synced' };
    });
    const status = { sync: { status: 'Synced' }, operationState: { phase: 'Succeeded' }, resources };
    await api.send(
      'PATCH',
      `${pathOf(owner)}?fieldManager=${manager}`,
      { status },
      'application/merge-patch+json',
    );
  }

  return {
    deleted,
    async look(wanted) {
      await applyOnClient(root);
      const now = manifestsIn(folder);
      for (const object of now) await applyAs(api, 'argocd-controller', tracked(object, 'root'));
      for (const object of before)
        if (!now.some((one) => pathOf(one) === pathOf(object))) await removed(object);
      before = now;
      await sync(wanted);
    },
  };
}

function labelled(object: KubernetesObject, labels: Record<string, string>): KubernetesObject {
  return { ...object, metadata: { ...object.metadata, labels: { ...object.metadata.labels, ...labels } } };
}

async function remove(api: Api, object: KubernetesObject, deleted: string[]): Promise<void> {
  const { status } = await api.send('DELETE', pathOf(object));
  if (status < 300) deleted.push(`${object.kind}/${object.metadata.name}`);
}

function entriesOf({ status }: KubernetesObject): KubernetesObject[] {
  const { inventory } = (status ?? {}) as { inventory?: { entries?: Array<{ id: string; v: string }> } };
  return (inventory?.entries ?? []).map(({ id, v }) => {
    const [namespace = '', name = '', group = '', kind = ''] = id.split('_');
    return { apiVersion: group ? `${group}/${v}` : v, kind, metadata: { namespace, name } };
  });
}

function resourcesOf({ status }: KubernetesObject): KubernetesObject[] {
  const { resources = [] } = (status ?? {}) as { resources?: Array<Record<string, string>> };
  return resources.map(({ group, version = '', kind = '', namespace = '', name = '' }) => ({
    apiVersion: group ? `${group}/${version}` : version,
    kind,
    metadata: { namespace, name },
  }));
}
