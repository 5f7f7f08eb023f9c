import { flaggerSelectors, isAvailable } from '../../api/flagger.ts';
import { objectSchemaOf, type StructuralSchema } from '../../api/kinds/crd.ts';
import { apiVersionOf, type KindName, kindNames, kinds } from '../../api/kinds/kinds.ts';
import { applyCrds, describe, type KubernetesObject } from '../../api/kubernetes.ts';
import { listNames } from '../../api/limits.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { isApiError, onApiError } from '../../cluster/errors.ts';
import type { Transport } from '../../cluster/transport/transport.ts';
import { bad, type CheckLine, guarded, ok } from '../../terminal/check-report.ts';
import { readLeader } from '../leader.ts';

const installCrds = `run: ${applyCrds}`;
/** From here on the admission policy that install prints is served. */
const oldestMinor = 30;
const fieldsNamed = 4;

/** The API server answers, and how old it is. Throws ApiError when it does not. */
export async function checkServer(transport: Transport, server: string): Promise<CheckLine> {
  const asked = { verb: 'get', path: '/version', object: 'the version' } as const;
  const answer = await transport.request(asked).catch((error: unknown) => {
    if (!isApiError(error, 'unauthorized', 'forbidden')) throw error;
    return error;
  });
  if (isApiError(answer, 'forbidden')) {
    const act =
      'allow /version to this user; every user may read it by the ClusterRole system:public-info-viewer';
    return bad('warning', server, 'answers; you may not read its version', { actor: 'administrator', act });
  }
  if (answer instanceof Error) {
    const act = 'log in again: it does not accept the credentials of the kubeconfig, or they have expired';
    return bad('failed', server, answer.message, { actor: 'administrator', act });
  }
  const {
    gitVersion = 'unknown',
    major,
    minor,
  } = answer as {
    gitVersion?: string;
    major?: string;
    minor?: string;
  };
  if (major === '1' && Number.parseInt(minor ?? '', 10) < oldestMinor) {
    const act = `upgrade to 1.${oldestMinor} or newer; the admission policy for holdfast.dev annotations needs it`;
    return bad('warning', server, `answers, version ${gitVersion}`, { actor: 'administrator', act });
  }
  return ok(server, `answers, version ${gitVersion}`);
}

/** Whether a controller runs: without one every object stays as it was left. A cluster where none was installed yet is only warned of. */
export async function checkController(
  client: Pick<ClusterClient, 'get'>,
  namespace: string,
  serverNowMs: () => number,
): Promise<CheckLine> {
  const subject = `controller in namespace ${namespace}`;
  try {
    const leader = await readLeader(client, namespace, serverNowMs);
    if (leader.state === 'known') return ok(subject, `${leader.holder} runs version ${leader.version}`);
    if (leader.state === 'unversioned') return ok(subject, leader.reason);
    const act =
      leader.state === 'absent'
        ? 'apply the output of holdfast install, or name the namespace of Holdfast with --namespace'
        : `find out why: kubectl get deployment,pods -n ${namespace} -l app.kubernetes.io/name=holdfast`;
    const severity = leader.state === 'absent' ? 'warning' : 'failed';
    return bad(severity, subject, leader.reason, { actor: 'administrator', act });
  } catch (error) {
    if (!isApiError(error, 'forbidden')) throw error;
    const act = 'run this as a user who may get Leases there';
    return bad('warning', subject, 'cannot be checked: you may not read its Lease', {
      actor: 'administrator',
      act,
    });
  }
}

/** Namespaces to watch that are not there, most often for a typing error. No line where they may not be read. */
export async function checkNamespaces(
  client: Pick<ClusterClient, 'get'>,
  watchNamespaces: readonly string[],
): Promise<CheckLine[]> {
  const lines = watchNamespaces.map(async (name) => {
    const subject = `namespace ${name}`;
    const found = await client
      .get({ apiVersion: 'v1', kind: 'Namespace', name })
      .catch(onApiError(['forbidden'], () => true));
    const act = 'create it, or name another one with --watch-namespaces';
    return found ? [] : [bad('warning', subject, 'does not exist', { actor: 'administrator', act })];
  });
  return (await Promise.all(lines)).flat();
}

/** Whether our CRDs are installed, serve our version and keep all our fields (condition SchemaOutdated, design section 2.5). */
export async function checkCrds(client: Pick<ClusterClient, 'get' | 'resolve'>): Promise<CheckLine[]> {
  const all = await Promise.all(
    kindNames.map((kind) => guarded(kind, async () => [await checkCrd(client, kind)])),
  );
  return all.flat();
}

async function checkCrd(client: Pick<ClusterClient, 'get' | 'resolve'>, kind: KindName): Promise<CheckLine> {
  const { plural, group } = kinds[kind];
  const name = `${plural}.${group}`;
  const reference = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', name };
  try {
    const crd = await client.get(reference);
    if (!crd)
      return bad('failed', kind, `the cluster has no ${name}`, { actor: 'administrator', act: installCrds });
    return schemaLine(kind, crd);
  } catch (error) {
    if (!isApiError(error, 'forbidden')) throw error;
    await client.resolve(`${group}/${kinds[kind].version}`, kind);
    const act = 'run this as a user who may get CustomResourceDefinitions';
    return bad('warning', kind, 'is served; its schema could not be checked', {
      actor: 'administrator',
      act,
    });
  }
}

interface CrdSpec {
  readonly versions?: ReadonlyArray<{
    readonly name: string;
    readonly served: boolean;
    readonly schema?: { readonly openAPIV3Schema?: StructuralSchema };
  }>;
}

/** Fields that every object has, independent of its schema. */
const common: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

function schemaLine(kind: KindName, crd: KubernetesObject): CheckLine {
  const { version } = kinds[kind];
  const installed = (crd.spec as CrdSpec | undefined)?.versions?.find(({ name }) => name === version);
  if (!installed?.served) {
    const detail = `${crd.metadata.name} does not serve ${version}`;
    return bad('failed', kind, detail, { actor: 'administrator', act: installCrds });
  }
  const own = Object.entries(objectSchemaOf(kind).properties ?? {}).filter(([name]) => !common.has(name));
  const schema = installed.schema?.openAPIV3Schema ?? {};
  const missing = pruned({ properties: Object.fromEntries(own) }, schema, '');
  if (missing.length === 0) return ok(kind, `${version} is served with all fields`);
  const detail = `SchemaOutdated: the installed CRD is not the one of this version and drops ${listNames(missing, fieldsNamed)}`;
  return bad('warning', kind, detail, { actor: 'administrator', act: installCrds });
}

/** Paths of fields that ours has and theirs would prune; below a missing field nothing more is named. */
function pruned(ours: StructuralSchema, theirs: StructuralSchema, path: string): string[] {
  if (theirs['x-kubernetes-preserve-unknown-fields'] || theirs.additionalProperties) return [];
  const inList = ours.items ? pruned(ours.items, theirs.items ?? {}, `${path}[]`) : [];
  const fields = Object.entries(ours.properties ?? {}).flatMap(([name, schema]) => {
    const at = path ? `${path}.${name}` : name;
    const known = theirs.properties?.[name];
    return known ? pruned(schema, known, at) : [at];
  });
  return [...inList, ...fields];
}

/** Flagger that runs next to Holdfast: both would write the same objects. No line where Deployments may not be listed. */
export async function checkConflictingControllers(client: Pick<ClusterClient, 'list'>): Promise<CheckLine[]> {
  const found = new Map<string, KubernetesObject>();
  for (const labelSelector of flaggerSelectors) {
    const { items } = await client
      .list('apps/v1', 'Deployment', { labelSelector })
      .catch(onApiError(['forbidden'], () => ({ items: [] })));
    for (const item of items) found.set(describe(item), item);
  }
  return [...found.values()].filter(isAvailable).map((deployment) =>
    bad('failed', describe(deployment), 'Flagger is running and acts on the same Canaries', {
      actor: 'administrator',
      act: 'scale Flagger to zero before Holdfast runs; scale it up again to go back',
    }),
  );
}

/** Objects of one kind, and a line where they cannot be listed. */
interface Listed {
  readonly objects: readonly KubernetesObject[];
  readonly lines: readonly CheckLine[];
}

/** All objects of a kind, in these namespaces or in all. A missing kind is reported by the CRDs already. */
export async function listObjects(
  client: Pick<ClusterClient, 'list'>,
  watchNamespaces: readonly string[],
  kind: KindName,
): Promise<Listed> {
  const namespaces = watchNamespaces.length > 0 ? watchNamespaces : [undefined];
  const objects: KubernetesObject[] = [];
  const lines = await guarded(`list of ${kind}`, async () => {
    for (const namespace of namespaces) {
      const { items } = await client
        .list(apiVersionOf(kind), kind, namespace ? { namespace } : {})
        .catch(onApiError(['unknownKind'], () => ({ items: [] })));
      objects.push(...items);
    }
    return [];
  });
  return { objects, lines };
}
