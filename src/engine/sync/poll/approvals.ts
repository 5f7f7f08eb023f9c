/** Approvals by people at a Source: each opens one thing, named by a verb and by the hash of what it opens (docs/adr/0039-approvals-open-one-thing.md). */
import { approveAnnotation } from '../../../api/annotations.ts';
import { conditionOf, type KubernetesObject, objectKey, shortHash } from '../../../api/kubernetes.ts';
import type { Source, SourceStatus } from '../../../api/source/source.ts';
import type { SourceState } from '../context/context.ts';

type Approval = NonNullable<SourceStatus['approval']>;

/** Something that waits for an approval. */
interface Waiting {
  readonly verb: Approval['verb'];
  /** Any of them names it. */
  readonly hashes: readonly string[];
  /** The commit that people know it by. */
  readonly commit: string;
}

/**
 * Whether the Source's annotation approves this. `VERB:HASH` names it; a plain commit opens the one thing that waits at this commit, and nothing
 * while things of both kinds wait. What a value has opened is kept in the status, so that it opens nothing else, also after a restart.
 */
export function isApproved(
  source: Source,
  state: Pick<SourceState, 'approval' | 'problem' | 'pruned'>,
  thing: Waiting,
): boolean {
  const request = source.metadata.annotations?.[approveAnnotation];
  if (request === undefined) return false;
  const { verb, hash } = approvalOf(source, state) ?? readRequest(request);
  const names = verb ? thing.hashes : [thing.commit];
  if ((verb ?? thing.verb) !== thing.verb || !names.includes(hash)) return false;
  if (!verb && doBothWait(source, state, thing.verb)) return false;
  state.approval = { request, verb: thing.verb, hash: verb ? hash : (thing.hashes[0] ?? hash) };
  return true;
}

/** The rewritten history that was approved is followed now: the annotation, which stays, opens no return to that commit once history has gone on. */
export function usedUpAt(source: Source, state: Pick<SourceState, 'approval'>, followed: string): void {
  const approval = approvalOf(source, state);
  if (approval?.verb === 'rewrite' && approval.hash === followed) state.approval = { ...approval, hash: '' };
}

/** The command by which a person approves this; it contains names of Kubernetes objects and hexadecimal digits only. */
export function approveCommand({ metadata }: Pick<Source, 'metadata'>, request: string): string {
  return `kubectl -n ${metadata.namespace} annotate --overwrite source/${metadata.name} ${approveAnnotation}=${request}`;
}

/** What the value of the annotation has opened; undefined: nothing yet. */
export function approvalOf(
  { metadata, status }: Source,
  state: Pick<SourceState, 'approval'>,
): Approval | undefined {
  const request = metadata.annotations?.[approveAnnotation];
  return [state.approval, status?.approval].find((approval) => approval?.request === request);
}

/** Verb and hash in a value, without what follows `@`; a plain commit has no verb. */
export function readRequest(request: string): { readonly verb?: Approval['verb']; readonly hash: string } {
  const value = request.split('@')[0] ?? '';
  const [, verb, hash = ''] = /^(rewrite|prune):(.*)$/.exec(value) ?? [];
  return verb === 'rewrite' || verb === 'prune' ? { verb, hash } : { hash: value };
}

/** True while a rewritten history and deletions wait, so that a commit alone does not say which is meant. `verb`: this one does anyway. */
export function doBothWait(
  source: Source,
  { problem, pruned }: Pick<SourceState, 'problem' | 'pruned'>,
  verb?: Approval['verb'],
): boolean {
  const isRewritten = verb === 'rewrite' || problem?.reason === 'HistoryRewritten';
  const before = conditionOf(source.status, 'Pruned');
  const asks = pruned ? pruned.plan.toApprove.length > 0 : before?.reason === 'PruneNeedsApproval';
  return isRewritten && (verb === 'prune' || asks);
}

/** Names a set of live objects. */
export function hashOf(objects: readonly KubernetesObject[]): string {
  return shortHash(objects.map(idOf).sort().join('\n'), 12);
}

/** Names one live object. */
export function idOf(object: KubernetesObject): string {
  return `${objectKey(object)} ${object.metadata.uid ?? ''}`;
}
