import { createHash, createHmac } from 'node:crypto';
import type { KubernetesObject, PodTemplate } from '../api/kubernetes.ts';
import { canonicalJson, fromEntries, pointerSteps, recordOf, textOf, withoutPath } from './json.ts';
import type { ServicePort } from './release.ts';
import type { ServiceContent } from './service-content.ts';

/** Everything that makes a release what it is (design section 3). Replicas, strategy and labels of the workload are not among it. */
interface DigestInput {
  /** Of a target with pods. */
  template?: PodTemplate | undefined;
  /** Of a target of kind Service. */
  service?: ServiceContent | undefined;
  ports: readonly ServicePort[];
  /** Tracked ConfigMaps and Secrets; their order does not matter. */
  configs: readonly KubernetesObject[];
  /** JSON pointers into the target, left out: below `/spec/template/`, of a Service below `/spec/`. */
  revisionIgnore: readonly string[];
  /** Key of the cluster: values of Secrets enter only as HMAC, so that nobody can guess them from a digest. */
  secretKey: Uint8Array;
}

/** Version of the rules below. Changing any of them means a new prefix; older digests are then re-baselined, not rolled out. */
const version = 'v1';

/** Identity of a release: `v1:` and 64 hex digits. Throws TypeError when the input holds what JSON cannot say. */
export function digestOf(input: DigestInput): string {
  const body = canonicalJson({
    ...effective(input),
    ports: input.ports,
    configs: input.configs.map((object) => configEntry(object, input.secretKey)).sort(byKindAndName),
  });
  return `${version}:${createHash('sha256').update(body).digest('hex')}`;
}

/** Stands for the content of tracked config, as it enters a digest: 16 hex digits. Undefined without any. */
export function configKeyOf(configs: readonly KubernetesObject[], secretKey: Uint8Array): string | undefined {
  if (configs.length === 0) return undefined;
  const body = canonicalJson(configs.map((object) => configEntry(object, secretKey)).sort(byKindAndName));
  return createHash('sha256').update(body).digest('hex').slice(0, 16);
}

/** What is rolled out without what `revisionIgnore` names; the pointers lead into the target as it is in Git. */
function effective({ template, service, revisionIgnore }: DigestInput): Record<string, unknown> {
  let target: unknown = { spec: service ?? { template } };
  for (const pointer of revisionIgnore) target = withoutPath(target, pointerSteps(pointer) ?? []);
  const spec = recordOf(recordOf(target).spec);
  return service ? { service: spec } : { template: spec.template };
}

interface ConfigEntry {
  kind: string;
  name: string;
  content: unknown;
}

function configEntry(object: KubernetesObject, secretKey: Uint8Array): ConfigEntry {
  const content = object.kind === 'Secret' ? secretContent(object, secretKey) : configMapContent(object);
  return { kind: object.kind, name: object.metadata.name, content };
}

function configMapContent(object: KubernetesObject): unknown {
  return { data: recordOf(object.data), binaryData: recordOf(object.binaryData) };
}

/** `stringData` is write-only sugar over `data`: the API server merges it, so moving a value between them is no change. */
function secretContent(object: KubernetesObject, secretKey: Uint8Array): string {
  const plain = texts(object.stringData).map(([key, value]) => {
    return [key, Buffer.from(value).toString('base64')] as const;
  });
  const encoded = texts(object.data).map(([key, value]) => [key, value.replace(/[\r\n]/g, '')] as const);
  const data = fromEntries([...encoded, ...plain]);
  const type = textOf(object.type) ?? 'Opaque';
  return createHmac('sha256', secretKey).update(canonicalJson({ type, data })).digest('hex');
}

/** Keys without a value (null) are dropped, as the API server does. */
function texts(map: unknown): Array<readonly [string, string]> {
  return Object.entries(recordOf(map)).flatMap(([key, value]) => {
    return value === null ? [] : [[key, String(value)] as const];
  });
}

function byKindAndName(left: ConfigEntry, right: ConfigEntry): number {
  const a = `${left.kind}/${left.name}`;
  const b = `${right.kind}/${right.name}`;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
