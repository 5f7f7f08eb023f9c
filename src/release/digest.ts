import { createHash, createHmac } from 'node:crypto';
import {
  canonicalJson,
  fromEntries,
  type KubernetesObject,
  type PodTemplate,
  pointerSteps,
  recordOf,
  shortHash,
  textOf,
  withoutPath,
} from '../api/kubernetes.ts';
import type { ServiceContent, ServicePort } from './release.ts';

/** Everything that identifies a release (design section 3); not replicas, strategy and labels of the workload. */
interface DigestInput {
  /** If the target has pods. */
  template?: PodTemplate | undefined;
  /** If the target is a Service. */
  service?: ServiceContent | undefined;
  ports: readonly ServicePort[];
  /** Tracked ConfigMaps and Secrets; their order does not matter. */
  configs: readonly KubernetesObject[];
  /** JSON pointers to ignored fields of the target: below `/spec/template/`, of a Service below `/spec/`. */
  revisionIgnore: readonly string[];
  /** Key of the cluster: values of Secrets enter only as HMAC, so that they cannot be guessed from a digest. */
  secretKey: Uint8Array;
}

/** Version of the rules below. A change of any rule needs a new version; older digests are then replaced without a rollout. */
const version = 'v1';

/** Identity of a release: `v1:` and 64 hex digits. Throws TypeError if the input is not JSON. */
export function digestOf(input: DigestInput): string {
  const { template, service, revisionIgnore } = input;
  let target: unknown = { spec: service ?? { template } };
  for (const pointer of revisionIgnore) target = withoutPath(target, pointerSteps(pointer) ?? []);
  const spec = recordOf(recordOf(target).spec);
  const body = canonicalJson({
    ...(service ? { service: spec } : { template: spec.template }),
    ports: input.ports,
    configs: input.configs.map((object) => configEntry(object, input.secretKey)).sort(byKindAndName),
  });
  return `${version}:${createHash('sha256').update(body).digest('hex')}`;
}

/** Hash of the content of tracked config, as in a digest: 16 hex digits. Undefined: there is none. */
export function configKeyOf(configs: readonly KubernetesObject[], secretKey: Uint8Array): string | undefined {
  if (configs.length === 0) return undefined;
  const body = canonicalJson(configs.map((object) => configEntry(object, secretKey)).sort(byKindAndName));
  return shortHash(body, 16);
}

interface ConfigEntry {
  kind: string;
  name: string;
  content: unknown;
}

function configEntry(object: KubernetesObject, secretKey: Uint8Array): ConfigEntry {
  const { kind, metadata, data, binaryData } = object;
  const content =
    kind === 'Secret'
      ? secretContent(object, secretKey)
      : { data: recordOf(data), binaryData: recordOf(binaryData) };
  return { kind, name: metadata.name, content };
}

/** The API server merges `stringData` into `data`, so that a value moved between them is no change. */
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
