/** Drift of a primary's copies of ConfigMaps and Secrets. */
import { type KubernetesObject, namespacedName } from '../../../api/kubernetes.ts';
import type { ConfigCopyView, ForeignChange } from '../../../health/workload-view.ts';
import { isFollowed } from '../../../release/release.ts';
import { describeDifferences, reportedDifferences } from '../../../workload/compare/difference-text.ts';
import { contentOf, driftOf } from '../../../workload/compare/drift.ts';
import { differencesOf } from '../../../workload/compare/semantic-compare.ts';
import { type ExpectedCopy, expectedCopies } from '../../../workload/expected-copies.ts';
import { configKey } from '../../../workload/shared/configs.ts';
import { copiedVersionAnnotation, digestAnnotation } from '../../../workload/shared/metadata.ts';
import { entryOf, type KnownCopies } from '../context/drift-memory.ts';
import type { ReadContext } from '../context/observation.ts';
import { bytesOf } from './releases.ts';

/** Who writes primaries and copies. */
export const manager = 'holdfast-rollout';

/**
 * The copies that the primary's pods need, as they are. The watch shows which exist; the content of one is read once per version, and the
 * release's bytes with it. Throws what reading throws.
 */
export async function observeCopies(
  context: ReadContext,
  primary: KubernetesObject,
): Promise<ConfigCopyView[]> {
  const known = await copiesOf(context, primary);
  let expected: readonly ExpectedCopy[] | undefined;
  const views: ConfigCopyView[] = [];
  for (const { kind, name, original } of known.copies) {
    const copy = context.observation.view.configCopy(kind, name);
    const version = copy && `${copy.metadata.uid} ${copy.metadata.resourceVersion}`;
    const key = configKey(kind, name);
    const before = known.found.get(key);
    if (version === undefined) views.push({ kind, name, state: 'missing', drift: undefined });
    else if (isOutdated(context, copy, { kind, name: original }))
      views.push({ kind, name, state: 'outdated', drift: undefined });
    else if (before?.version === version) views.push(before.view);
    else {
      expected ??= await expectedOf(context, primary);
      const written = expected.find((copy) => copy.kind === kind && copy.name === name)?.written;
      const view = await copyView(context, { kind, name, written }, digestOf(primary));
      known.found.set(key, { version, view });
      views.push(view);
    }
  }
  return views;
}

async function copiesOf(context: ReadContext, primary: KubernetesObject): Promise<KnownCopies> {
  const entry = entryOf(context.parts.drift, namespacedName(context.observation.canary));
  const { uid, generation } = primary.metadata;
  const id = `${uid} ${generation} ${digestOf(primary)}`;
  if (entry.copies?.id === id) return entry.copies;
  const copies = await expectedOf(context, primary);
  const named = copies.map(({ written: _, ...copy }) => copy);
  entry.copies = { id, copies: named, found: new Map() };
  return entry.copies;
}

async function expectedOf(context: ReadContext, primary: KubernetesObject): Promise<ExpectedCopy[]> {
  const { parts, observation } = context;
  const { release } = await bytesOf(context, digestOf(primary));
  const { includeLabelPrefixes } = parts.options;
  return expectedCopies(primary, { canary: observation.canary, release, includeLabelPrefixes });
}

async function copyView(
  { parts, observation }: ReadContext,
  { kind, name, written }: ExpectedCopy,
  digest: string,
): Promise<ConfigCopyView> {
  const view = (state: ConfigCopyView['state']): ConfigCopyView => ({ kind, name, state, drift: undefined });
  if (!written) return view('asWritten');
  const reference = { apiVersion: 'v1', kind, namespace: observation.view.namespace, name };
  const live = await parts.cluster.get(reference);
  if (!live) return view('missing');
  const drift = driftOf(live, written, manager);
  if (drift.kind === 'none') return view('asWritten');
  // What we wrote for this very release and differs was rewritten by a webhook of the cluster: writing it again changes nothing.
  if (drift.kind === 'own') return view(digestOf(live) === digest ? 'asWritten' : 'otherRelease');
  const changed = differencesOf(live, contentOf(written));
  return { kind, name, state: 'foreign', drift: foreignChangeOf(drift, changed, kind === 'Secret') };
}

/** Whether the copy follows its original outside Git, and that is newer. */
function isOutdated(
  { observation }: ReadContext,
  copy: KubernetesObject | undefined,
  { kind, name }: { kind: ExpectedCopy['kind']; name: string | undefined },
): boolean {
  const original = name === undefined ? undefined : observation.view.configOriginal(kind, name);
  if (!original || !isFollowed(original)) return false;
  return copy?.metadata.annotations?.[copiedVersionAnnotation] !== original.metadata.resourceVersion;
}

/** A change by another field manager, as the status reports it. */
export function foreignChangeOf(
  drift: ReturnType<typeof driftOf>,
  differences: ReturnType<typeof differencesOf>,
  isSecret: boolean,
): ForeignChange {
  const fields = describeDifferences(differences.slice(0, reportedDifferences.fields), {
    isSecret,
    mostCharacters: reportedDifferences.characters,
  });
  return { manager: drift.kind === 'foreign' ? drift.manager : 'unknown', fields };
}

function digestOf({ metadata }: KubernetesObject): string {
  return metadata.annotations?.[digestAnnotation] ?? '';
}
