import {
  describe,
  type KubernetesObject,
  type ObjectReference,
  secretBytes,
} from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import type { Cluster, OpenWatch, ServerCapabilities, WatchedSet } from '../../../contracts/cluster.ts';
import { type Decryption, decryptionWith } from '../../../render/sops/decrypt.ts';
import type { Variables } from '../../../render/substitute/expand.ts';
import { EngineError } from '../../failure.ts';
import type { SourceState } from '../context/context.ts';

/** A ConfigMap or Secret that a Source is rendered with. */
interface InputObject extends ObjectReference {
  readonly optional: boolean;
}

/** What a Source is rendered with besides its files. */
export interface RenderInputs {
  readonly variables: Variables | undefined;
  readonly decryption: Decryption | undefined;
  readonly capabilities: (() => Promise<ServerCapabilities>) | undefined;
}

/** All, read anew. Throws EngineError where an object or a key is missing. */
export async function inputsOf(
  cluster: Pick<Cluster, 'get' | 'capabilities'>,
  source: Source,
): Promise<RenderInputs> {
  const variables = await variablesOf(cluster, source);
  const decryption = await decryptionOf(cluster, source);
  return { variables, decryption, capabilities: () => cluster.capabilities() };
}

/** Every object outside Git that decides what a Source means. */
function inputObjects(source: Source): InputObject[] {
  const { spec, metadata } = source;
  const name = spec.decryption?.secretRef.name;
  const namespace = metadata.namespace ?? '';
  const key =
    name === undefined ? [] : [{ apiVersion: 'v1', kind: 'Secret', namespace, name, optional: false }];
  return [...variableObjects(source), ...key];
}

/** Where variables come from; a later one wins. */
function variableObjects({ spec, metadata }: Source): InputObject[] {
  const namespace = metadata.namespace ?? '';
  return (spec.substitute?.from ?? []).map(({ kind, name, optional }) => ({
    apiVersion: 'v1',
    kind,
    namespace,
    name,
    optional: optional === true,
  }));
}

/**
 * The variables of a Source, read anew; undefined where none are filled in: without `spec.substitute`, and, as in Flux, where there is no
 * variable at all and none is demanded. Line ends are left out of values, as in Flux. Throws EngineError where an object is missing.
 */
async function variablesOf(cluster: Pick<Cluster, 'get'>, source: Source): Promise<Variables | undefined> {
  const { substitute } = source.spec;
  if (!substitute) return undefined;
  const values = new Map<string, string>();
  const secrets: string[] = [];
  for (const reference of variableObjects(source)) {
    const object = await cluster.get(reference);
    if (!object && !reference.optional)
      throw new EngineError('VariablesNotFound', `spec.substitute: there is no ${describe(reference)}`, true);
    const texts = object ? textsOf(object) : [];
    const given = texts.map(([name, value]) => [name, value.replaceAll('\n', '')] as const);
    for (const [name, value] of given) values.set(name, value);
    if (reference.kind === 'Secret') secrets.push(...given.map(([, value]) => value));
  }
  for (const [name, value] of Object.entries(substitute.variables ?? {})) values.set(name, value);
  const strict = substitute.strict === true;
  return values.size > 0 || strict ? { values, secrets, strict } : undefined;
}

/**
 * What opens a Source's encrypted files, read anew; undefined without `spec.decryption`. Throws EngineError where the Secret or an age key in it
 * is missing.
 */
export async function decryptionOf(
  cluster: Pick<Cluster, 'get'>,
  { spec, metadata }: Source,
): Promise<Decryption | undefined> {
  if (!spec.decryption) return undefined;
  const { name } = spec.decryption.secretRef;
  const reference = { apiVersion: 'v1', kind: 'Secret', namespace: metadata.namespace ?? '', name };
  const secret = await cluster.get(reference);
  const wrong = (what: string) => new EngineError('DecryptionKeyNotFound', `spec.decryption: ${what}`, true);
  if (!secret) throw wrong(`there is no ${describe(reference)}`);
  try {
    return await decryptionWith(secretBytes(secret));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw wrong(`${describe(reference)} ${error.message}`);
  }
}

/** Keys and texts of a ConfigMap or Secret; keys that are no names of variables can never be asked for. */
function textsOf(object: KubernetesObject): Array<[string, string]> {
  if (object.kind !== 'Secret') return Object.entries((object.data ?? {}) as Record<string, string>);
  return Object.entries(secretBytes(object)).map(([key, value]) => [key, value.toString('utf8')]);
}

/**
 * Watches the objects outside Git that a Source is rendered with. Calls `onChange` when one of them changes, so that a new value is applied without a commit and without polling; and when one is seen for the first
 * time after the Source was read with it, since it may have changed in between.
 */
export function watchInputs(
  source: Source,
  openWatch: OpenWatch,
  { state, onChange }: { readonly state: Pick<SourceState, 'readUnder'>; readonly onChange: () => void },
): Pick<WatchedSet, 'close'> {
  const sets = inputObjects(source).map(({ apiVersion, kind, namespace = '', name }) => {
    const set = openWatch({ apiVersion, kind, namespace, name, metadataOnly: true });
    let known: string | undefined;
    set.onChange(() => {
      // Also called when the set is listed, and again after each relist.
      const version = set.get(namespace, name)?.metadata.resourceVersion ?? '';
      const isFirst = known === undefined;
      if (isFirst ? set.synced() && state.readUnder !== undefined : known !== version) onChange();
      if (set.synced()) known = version;
    });
    return set;
  });
  return {
    close() {
      for (const set of sets) set.close();
    },
  };
}

/** Both as one: they end together. */
export function withInputs<T extends Pick<WatchedSet, 'close'>>(
  watch: T,
  inputs: Pick<WatchedSet, 'close'>,
): T {
  return {
    ...watch,
    close() {
      watch.close();
      inputs.close();
    },
  };
}
