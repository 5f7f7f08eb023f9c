/** What a move between Argo CD and a Source changes in an Application. Pure. */
import { type Document, isSeq } from 'yaml';
import { describe, type KubernetesObject } from '../../api/kubernetes.ts';
import { commonInstanceLabel, isListedAs } from '../../engine/tracks.ts';
import { managedFieldsOf } from '../../workload/compare/managed-fields.ts';
import { deleteField, setField } from '../edit.ts';
import { pruneAfterAnnotation } from '../facts.ts';
import type { FromSourceTool } from '../from-source.ts';
import { applyCommands, resources, shellLine, showCommands } from '../kubectl.ts';
import { finding, isSameField, missingInFile, whyMissingInFile } from '../steps.ts';
import type { HoldStep, ToSourceInput, ToSourceTool } from '../to-source.ts';
import { type Placed, withPlacedEdited } from '../tree.ts';
import { noPrune, prunesByItself, type SyncPolicy } from './source.ts';

/** With it, deleting the Application deletes everything that it applied. */
const cascade = /^resources-finalizer\.argocd\.argoproj\.io(?:\/|$)/;

interface ApplicationSpec {
  readonly source?: unknown;
  readonly sources?: unknown;
  readonly ignoreDifferences?: unknown;
  readonly syncPolicy?: SyncPolicy | null;
}

/** Argo CD, which hands objects over to a Source. */
export const argoToSource: ToSourceTool = {
  hold: (input) => [suspendStep(input)],
  safe: ({ facts, former }) => [
    finding(facts, `${describe(former)} neither applies nor deletes`, ({ owner }) => {
      return whyItActs(owner) ?? true;
    }),
  ],
  also: () => [],
  // `argocd app delete` would put the finalizer back.
  remove: ({ kind, namespace, name }) =>
    shellLine('kubectl', '-n', namespace, 'delete', resources[kind], name),
};

function suspendStep(input: ToSourceInput): HoldStep {
  const { facts, former, owner } = input;
  return {
    title: 'stop Argo CD from applying and deleting',
    requires: [
      finding(facts, 'Argo CD has applied it', ({ owner: live, members }) => {
        if (!live) return 'it is not in the cluster';
        return members.length > 0 || 'its list of resources is empty';
      }),
      finding(facts, 'no ApplicationSet generates it', ({ owner: live }) => {
        const set = live?.metadata.ownerReferences?.find(({ kind }) => kind === 'ApplicationSet');
        if (!set) return true;
        return `ApplicationSet ${set.name} generates it; take the Application out of it first (spec.syncPolicy.preserveResourcesOnDeletion: true), and keep its manifest in Git`;
      }),
      finding(facts, 'the repository matches the cluster', ({ owner: live }) => {
        const of = (object: KubernetesObject): unknown[] => {
          const { source, destination } = (object.spec ?? {}) as Record<string, unknown>;
          const { repoURL, path, targetRevision } = (source ?? {}) as Record<string, unknown>;
          return [repoURL, path, targetRevision, destination];
        };
        if (!live || !owner) return true;
        const there = of(live);
        const isSame = of(owner.object).every((value, index) => isSameField(there[index], value));
        if (!isSame) return 'another spec.source or spec.destination';
        const { source, sources, ignoreDifferences } = specOf(live);
        return whyMissingInFile(
          missingInFile({ source, sources, ignoreDifferences }, specOf(owner.object), 'spec'),
        );
      }),
    ],
    edit: (files) => withPlacedEdited(files, owner, hold),
    ends: [
      finding(
        facts,
        'automated sync and pruning are off, and deleting it deletes no other object',
        ({ owner: live }) => {
          return whyItActs(live) ?? true;
        },
      ),
    ],
    commands: [...applyCommands(facts, owner?.origin.file), ...patchCommands(input)],
    verify: showCommands(facts, former, '-o', 'yaml'),
  };
}

/** What is not in Git is not removed by a commit, nor by `kubectl apply`, which takes away only what it wrote itself. */
function patchCommands({ facts, former, owner }: ToSourceInput): string[] {
  const live = facts?.owner;
  const isLeft = (acts: (object: KubernetesObject) => boolean) =>
    live !== undefined && acts(live) && !(owner && acts(owner.object));
  const finalizers = live?.metadata.finalizers?.filter((one) => !cascade.test(one));
  const patch = {
    ...(isLeft(cascades) ? { metadata: { finalizers } } : {}),
    ...(isLeft(isAutomated) ? { spec: { syncPolicy: { automated: null } } } : {}),
  };
  if (Object.keys(patch).length === 0) return [];
  const { kind, namespace, name } = former;
  const which = ['-n', namespace, 'patch', resources[kind], name];
  return [shellLine('kubectl', ...which, '--type=merge', '-p', JSON.stringify(patch))];
}

function cascades({ metadata }: KubernetesObject): boolean {
  return metadata.finalizers?.some((one) => cascade.test(one)) === true;
}

function isAutomated(object: KubernetesObject): boolean {
  const { automated } = specOf(object).syncPolicy ?? {};
  return automated != null && automated.enabled !== false;
}

function whyItActs(live: KubernetesObject | undefined): string | undefined {
  if (!live) return undefined;
  if (isAutomated(live)) return 'spec.syncPolicy.automated is set';
  if (!specOf(live).syncPolicy?.syncOptions?.includes(noPrune))
    return `spec.syncPolicy.syncOptions has no ${noPrune}`;
  if (cascades(live))
    return `it has the finalizer ${live.metadata.finalizers?.find((one) => cascade.test(one))}`;
  const { operationState } = statusOf(live);
  const isBusy =
    live.operation !== undefined || ['Running', 'Terminating'].includes(operationState?.phase ?? '');
  return isBusy ? 'a sync is in progress' : undefined;
}

function specOf(object: KubernetesObject): ApplicationSpec {
  return (object.spec ?? {}) as ApplicationSpec;
}

function hold(document: Document, { object }: Placed): void {
  const { syncPolicy } = specOf(object);
  const syncOptions = syncPolicy?.syncOptions ?? [];
  if (prunesByItself(syncPolicy))
    setField(document, ['metadata', 'annotations', pruneAfterAnnotation], 'true');
  deleteField(document, ['spec', 'syncPolicy', 'automated']);
  if (!syncOptions.includes(noPrune)) {
    withoutOptions(document, (option) => option.startsWith('Prune='));
    const list = document.getIn(optionsPath);
    if (isSeq(list)) list.add(noPrune);
    else setField(document, optionsPath, document.createNode([noPrune]));
  }
  const finalizers = object.metadata.finalizers ?? [];
  for (const [index, one] of [...finalizers.entries()].reverse())
    if (cascade.test(one)) deleteField(document, ['metadata', 'finalizers', index]);
}

const optionsPath = ['spec', 'syncPolicy', 'syncOptions'];

/** Without some of the sync options; comments at the others stay. */
function withoutOptions(document: Document, isGone: (option: string) => boolean): void {
  const list = document.getIn(optionsPath);
  const options = isSeq(list) ? (list.toJSON() as unknown[]).map(String) : [];
  for (const [index, option] of [...options.entries()].reverse())
    if (isGone(option)) deleteField(document, [...optionsPath, index]);
}

/** Argo CD, which takes objects back from a Source. */
export const argoFromSource: FromSourceTool = {
  resume(document) {
    if (!document.hasIn(['spec', 'syncPolicy', 'automated']))
      setField(document, ['spec', 'syncPolicy', 'automated'], document.createNode({}));
  },
  prune(document) {
    setField(document, ['spec', 'syncPolicy', 'automated', 'prune'], true);
    withoutOptions(document, (option) => option === noPrune);
  },
  applies(live) {
    const { sync, operationState } = statusOf(live);
    if (sync?.status !== 'Synced') return `it is ${sync?.status ?? 'not compared yet'}; sync it`;
    if (operationState === undefined) return 'it was not synced yet; sync it';
    return operationState.phase === 'Succeeded' || `its last sync: ${operationState.phase}`;
  },
  // Where Argo CD tracks by this label, which the object had already, its sync leaves no trace on the object.
  hasApplied(live, member) {
    const { namespace, name } = live.metadata;
    const instance = member.metadata.labels?.[commonInstanceLabel];
    if (instance !== name && instance !== `${namespace}_${name}`) return false;
    const { finishedAt = '', syncResult } = statusOf(live).operationState ?? {};
    const isWrittenSince = managedFieldsOf(member).some(
      ({ manager, time = '' }) => manager === 'holdfast' && time > finishedAt,
    );
    const isSynced = (one: Readonly<Record<string, unknown>>) =>
      one.status === 'Synced' && isListedAs(member, one);
    return !isWrittenSince && (syncResult?.resources ?? []).some(isSynced);
  },
  prunes(live) {
    return prunesByItself(specOf(live).syncPolicy);
  },
};

interface ApplicationStatus {
  readonly sync?: { readonly status?: string };
  readonly operationState?: {
    readonly phase?: string;
    readonly finishedAt?: string;
    readonly syncResult?: { readonly resources?: ReadonlyArray<Readonly<Record<string, unknown>>> };
  };
}

function statusOf(live: KubernetesObject): ApplicationStatus {
  return (live.status ?? {}) as ApplicationStatus;
}
