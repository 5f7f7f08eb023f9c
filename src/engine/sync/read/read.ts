import { createPause } from '../../../api/clock.ts';
import type { CommitInfo } from '../../../api/commit.ts';
import {
  canonicalJson,
  type KubernetesObject,
  namespacedName,
  objectKey,
  partOfLabel,
} from '../../../api/kubernetes.ts';
import { polledRef, type Source } from '../../../api/source/source.ts';
import type { PreviousPlan } from '../../../release/plan.ts';
import { selectPlans } from '../../../release/select.ts';
import type { FileProblem } from '../../../render/rendered-object.ts';
import { renderSource } from '../../../render/source.ts';
import { isKustomization } from '../../../render/tree.ts';
import { releaseNamespace } from '../../../render/units.ts';
import { applySetId } from '../../apply-set.ts';
import {
  folderOf,
  type Snapshot,
  type SourceContext,
  type SourceParts,
  type SourceState,
  type SyncContext,
} from '../context/context.ts';
import { heldBytes } from '../context/room.ts';
import { objectsOfCanary } from '../scope/canary-objects.ts';
import { type CommitReader, isOutsideUnchanged, treeAt } from './commit-files.ts';
import { unignored, withoutIgnored } from './ignore-rules.ts';
import { placeObjects, servesNewKinds } from './kinds.ts';
import { inputsOf, type RenderInputs } from './render-inputs.ts';

/** What reading one commit takes of the context. */
interface ReadingContext extends Pick<SourceContext, 'source'> {
  readonly parts: ReadingParts;
  readonly state: Pick<SourceState, 'key' | 'rendered'> & {
    readonly repository: CommitReader;
    readonly previous: ReadonlyMap<string, PreviousPlan>;
  };
}

/** What reading one commit takes of the loop. */
export interface ReadingParts
  extends Pick<
    SourceParts,
    'builders' | 'builds' | 'canaries' | 'canary' | 'onRendered' | 'secretKey' | 'tracksConfig'
  > {
  readonly cluster: Pick<SourceParts['cluster'], 'get' | 'kindOf' | 'capabilities'>;
  readonly heads: Pick<SourceParts['heads'], 'sourceOf'>;
  readonly claims: Pick<SourceParts['claims'], 'sourceOf' | 'holdersOf'>;
}

/** Reads a commit into the state. Where the spec and all files are those of the snapshot before, only the commit has another name. */
export async function readCommit(
  context: SyncContext,
  commit: CommitInfo,
  isSameSpec: boolean,
): Promise<void> {
  const { source, state, signal } = context;
  const before = state.snapshot;
  // With problems, what is missing outside the path may have come; so may a kind that was not served, or not in this scope.
  const isSettled =
    before && !isProvisional(before) && before.problems.length + before.unknownKinds.length === 0;
  if (isSettled && isSameSpec && !(await servesNewKinds(context.parts.cluster, before))) {
    const treeOid = await state.repository.treeOidAt(commit.commit, folderOf(source), signal);
    if (
      treeOid === before.treeOid &&
      (await isOutsideUnchanged(state.repository, commit.commit, before.outside, signal))
    ) {
      state.snapshot = { ...before, commit };
      state.isRenamed = true;
      return;
    }
  }
  state.isRenamed = false;
  const behind = otherBehind(context, commit.commit);
  const snapshot = await readSnapshot(context, { commit, signal, behind });
  await takeRoom(context, snapshot);
  state.snapshot = snapshot;
}

/** Throws EngineError TooLarge where there is no room for the snapshot; then nothing of it is held. */
async function takeRoom(
  { parts, state, signal }: SyncContext,
  { all }: Pick<Snapshot, 'all'>,
): Promise<void> {
  const pause = createPause(signal);
  let bytes = 0;
  for (const object of all) {
    await pause();
    bytes += heldBytes(object);
  }
  try {
    parts.room.take(state.key, bytes);
  } catch (error) {
    state.rendered.keepOnly([]);
    throw error;
  }
}

/** A Source of the namespace that polls the same ref and has yet to read this commit: what left here may have moved there. */
export function otherBehind(
  { parts, source, state }: SourceContext,
  commit: string | undefined,
): string | undefined {
  const refOf = ({ metadata, spec }: KubernetesObject) => {
    const { secretRef, ...polled } = (spec ?? {}) as Partial<Source['spec']>;
    return canonicalJson({ namespace: metadata.namespace, polled: polledRef(polled), secretRef });
  };
  const keys = parts.sources().flatMap((one) => (refOf(one) === refOf(source) ? namespacedName(one) : []));
  return keys.find((key) => key !== state.key && parts.claims.isBehind(key, commit));
}

/** The same commit may be read otherwise with the next poll: rendering was given up, or what left the files may have moved to a Source that is behind. */
export function isProvisional({ isFleeting, plans }: Pick<Snapshot, 'isFleeting' | 'plans'>): boolean {
  return isFleeting || plans.some((plan) => plan.state === 'frozen' && plan.waitsFor !== undefined);
}

/** Which commit is read. */
interface Reading {
  readonly commit: CommitInfo;
  readonly signal: AbortSignal;
  /** A Source that what left the files may have moved to, and that has yet to read the commit. */
  readonly behind?: string | undefined;
  /** What it is rendered with besides Git; absent: what the cluster holds. */
  readonly inputs?: RenderInputs;
}

/** Reads, renders and sorts one commit. Problems of files are in the snapshot; only Git's own errors are thrown. */
export async function readSnapshot(context: ReadingContext, reading: Reading): Promise<Snapshot> {
  const { repository } = context.state;
  const work = () => snapshotAt(context, reading);
  return repository.rendering ? repository.rendering(reading.commit.commit, work, reading.signal) : work();
}

async function snapshotAt(
  { parts, source, state }: ReadingContext,
  { commit, signal, inputs, behind }: Reading,
): Promise<Snapshot> {
  const folder = folderOf(source);
  const treeOid = await state.repository.treeOidAt(commit.commit, folder, signal);
  const read = await state.repository.readFiles(commit.commit, folder, { signal, alsoRead: isKustomization });
  const leftOut = { folder, rules: source.spec.ignore, signal };
  const tree = withoutIgnored(treeAt(state.repository, commit.commit, signal), leftOut);
  const { files, problems: refused } = await unignored(read, leftOut);
  const unread = refused.map(({ path, message }): FileProblem => {
    // A problem names its file by itself.
    return { file: path, line: 0, message: message.replace(`${path}: `, '') };
  });
  const { builders, builds } = parts;
  const { variables, decryption, capabilities } = inputs ?? (await inputsOf(parts.cluster, source));
  const written = await renderSource(
    source,
    { folder, files, problems: unread, tree },
    { builders, builds, cache: state.rendered, signal, variables, decryption, capabilities },
  );
  if (written.renderedCount > 0) parts.onRendered?.(state.key, written.renderedCount);
  // A chart always has one: that of its release.
  const isChart = written.read.some((part) => part.isChart);
  const defaultNamespace = isChart ? releaseNamespace(source) : source.spec.defaultNamespace;
  const { placed, problems, objects, unknownKinds, scopes } = await placeObjects(
    parts.cluster,
    written.read,
    defaultNamespace,
  );
  const selection = selectPlans({
    objects: placed,
    problems,
    tracksConfig: parts.tracksConfig !== false,
    liveCanaries: parts.canaries().filter((canary) => {
      // No other Source speaks for it.
      const owner = parts.heads.sourceOf(namespacedName(canary));
      return owner === undefined || owner === state.key;
    }),
    isHeld: (canary) =>
      canary.metadata.labels?.[partOfLabel] === applySetId(source) ||
      parts.heads.sourceOf(namespacedName(canary)) === state.key,
    isElsewhere: (canary) => {
      const owner = parts.claims.sourceOf(canary.metadata.labels?.[partOfLabel] ?? '');
      const { target = '' } = objectsOfCanary(canary);
      const isMoved = parts.claims.holdersOf(target, state.key).length > 0;
      return owner === undefined ? isMoved : owner !== state.key;
    },
    behind,
    previous: state.previous,
    lineOf: written.lineOf,
  });
  const all = placed.map(({ object }) => object);
  return {
    commit,
    treeOid,
    all,
    entries: placed,
    keys: new Set(all.map(objectKey)),
    rest: selection.rest,
    plans: selection.plans,
    problems: [...problems, ...selection.problems],
    objects,
    lineOf: written.lineOf,
    outside: written.outside,
    isWhole: problems.length === 0 && !written.isFleeting,
    isFleeting: written.isFleeting,
    unknownKinds,
    scopes,
  };
}
