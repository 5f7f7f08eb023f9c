/** What a move between Flux and a Source changes in a Kustomization. Pure. */
import { describe, isRecord, type KubernetesObject, liveCondition } from '../../api/kubernetes.ts';
import { listNames } from '../../api/limits.ts';
import { setField } from '../edit.ts';
import { pruneAfterAnnotation } from '../facts.ts';
import type { FromSourceTool } from '../from-source.ts';
import { applyCommands, resources, shellLine, showCommands } from '../kubectl.ts';
import { type Finding, finding, isObserved, isSameField, missingInFile, whyMissingInFile } from '../steps.ts';
import type { HoldStep, ToSourceInput, ToSourceTool } from '../to-source.ts';
import { type Placed, withPlacedEdited } from '../tree.ts';

type Spec = Readonly<Record<string, unknown>>;

interface KustomizationSpec extends Spec {
  readonly prune?: boolean;
  readonly suspend?: boolean;
  readonly deletionPolicy?: string;
}

/** Flux, which hands objects over to a Source. `repository`: the GitRepository in the tree. */
export function fluxToSource(repository: Placed | undefined): ToSourceTool {
  return {
    hold: (input) => [pruningOffStep(input, repository), suspendStep(input)],
    // The Kustomization may be deleted then: Flux deletes nothing with it.
    safe: (input) => [
      finding(input.facts, `${describe(input.former)} neither applies nor deletes`, ({ owner }) => {
        if (!owner) return true;
        return whyItDeletes(owner) ?? (specOf(owner).suspend === true || 'it is not suspended');
      }),
      // One that never pruned has passed the first step without it.
      sameFinding(input, repository),
    ],
    also: ({ facts }) => (repository && facts && facts.repositoryUsers.length === 0 ? [repository] : []),
    remove: ({ kind, namespace, name }) =>
      shellLine('kubectl', '-n', namespace, 'delete', resources[kind], name),
  };
}

function pruningOffStep(input: ToSourceInput, repository: Placed | undefined): HoldStep {
  const { facts, former, owner } = input;
  return {
    title: 'stop Flux from deleting',
    requires: [
      finding(facts, 'Flux has applied it', ({ owner: live, members }) => {
        if (!live) return 'it is not in the cluster';
        return members.length > 0 || 'its inventory is empty';
      }),
      sameFinding(input, repository),
      finding(facts, 'it does not apply itself', ({ members }) => {
        const own = members.some(({ reference }) => {
          const { kind, namespace, name } = reference;
          return kind === 'Kustomization' && namespace === former.namespace && name === former.name;
        });
        return !own || 'it applies Flux itself: migrate what it applies, and keep it until Flux is removed';
      }),
    ],
    edit: (files) =>
      withPlacedEdited(files, owner, (document, { object }) => {
        const { prune, deletionPolicy } = specOf(object);
        if (prune === true) setField(document, ['metadata', 'annotations', pruneAfterAnnotation], 'true');
        document.setIn(['spec', 'prune'], false);
        if (deletionPolicy !== undefined) document.setIn(['spec', 'deletionPolicy'], 'Orphan');
      }),
    ends: [
      finding(
        facts,
        'Flux has observed prune: false, and deletionPolicy does not delete',
        ({ owner: live }) => {
          if (!live) return true;
          const deletes = whyItDeletes(live);
          if (deletes) return deletes;
          return hasRun(live) || specOf(live).suspend === true || 'Flux has not observed the change yet';
        },
      ),
    ],
    commands: applyCommands(facts, owner?.origin.file),
    verify: showCommands(facts, former),
  };
}

function suspendStep(input: ToSourceInput): HoldStep {
  const { facts, former, owner } = input;
  return {
    title: 'stop Flux from applying',
    requires: [],
    edit: (files) => withPlacedEdited(files, owner, (document) => document.setIn(['spec', 'suspend'], true)),
    ends: [
      finding(facts, 'it is suspended, and no apply is in progress', ({ owner: live }) => {
        if (!live) return true;
        if (specOf(live).suspend !== true) return 'it is not suspended';
        return !isApplying(live) || 'an apply is in progress';
      }),
    ],
    commands: applyCommands(facts, owner?.origin.file),
    verify: showCommands(facts, former),
  };
}

/** The last run of Flux began with it as it is: `observedGeneration` counts only those that succeeded, not one that waits for a dependency or whose objects do not work. */
function hasRun(live: KubernetesObject): boolean {
  return isObserved(live) || liveCondition(live, 'Ready')?.observedGeneration === live.metadata.generation;
}

/** Between tries Flux leaves this condition True, also for as long as it is suspended. */
function isApplying(live: KubernetesObject): boolean {
  const reconciling = liveCondition(live, 'Reconciling');
  return reconciling?.status === 'True' && reconciling.reason !== 'ProgressingWithRetry';
}

function whyItDeletes(live: KubernetesObject): string | undefined {
  const { prune, deletionPolicy } = specOf(live);
  if (prune !== false) return 'spec.prune is not false';
  const isHarmless = [undefined, '', 'Orphan', 'MirrorPrune'].includes(deletionPolicy);
  return isHarmless ? undefined : `spec.deletionPolicy is ${deletionPolicy}`;
}

/** False for the wrong cluster, and for a tree that is not applied. */
function sameFinding({ facts, owner }: ToSourceInput, repository: Placed | undefined): Finding {
  return finding(facts, 'the repository matches the cluster', (seen) => {
    if (!seen.owner || !owner) return true;
    // What the move changes itself, and what has no counterpart.
    const { prune, suspend, deletionPolicy, interval, ...carried } = specOf(seen.owner);
    const fields = ['path', 'sourceRef', 'targetNamespace', 'serviceAccountName'];
    const found = whyNotAsInFile(carried, specOf(owner.object), { path: 'spec', fields });
    return found === true && repository && seen.repository
      ? sameRepository(seen.repository, repository)
      : found;
  });
}

function sameRepository(live: KubernetesObject, { object }: Placed): true | string {
  // The API server has defaults of the timeout, and of what is verified.
  const { interval, timeout, ...carried } = specOf(live);
  const { verify, ...others } = specOf(object);
  const tree = isRecord(verify) ? { ...others, verify: { mode: 'HEAD', ...verify } } : specOf(object);
  const fields = ['url', 'ref', 'ignore', 'secretRef', 'proxySecretRef', 'verify'];
  return whyNotAsInFile(carried, tree, { path: 'GitRepository spec', fields });
}

/** `fields`: those that may not have another value. */
function whyNotAsInFile(
  live: Spec,
  tree: Spec,
  { path, fields }: { readonly path: string; readonly fields: readonly string[] },
): true | string {
  const other = fields.filter((field) => tree[field] !== undefined && !isSameField(live[field], tree[field]));
  if (other.length > 0) return `another ${listNames(other.map((field) => `${path}.${field}`))}`;
  return whyMissingInFile(missingInFile(live, tree, path));
}

function specOf(object: KubernetesObject): KustomizationSpec {
  return (object.spec ?? {}) as KustomizationSpec;
}

/** Flux, which takes objects back from a Source. */
export const fluxFromSource: FromSourceTool = {
  // One that was just made is not suspended: it would be another commit for nothing.
  resume(document) {
    if (document.getIn(['spec', 'suspend']) === true) document.setIn(['spec', 'suspend'], false);
  },
  prune: (document) => document.setIn(['spec', 'prune'], true),
  applies(live) {
    if (specOf(live).suspend === true) return 'it is suspended';
    if (!hasRun(live)) return 'Flux has not observed the change yet';
    const ready = liveCondition(live, 'Ready');
    return ready?.status === 'True' || (ready?.message ?? 'it is not Ready');
  },
  hasApplied: () => false,
  prunes: (live) => specOf(live).prune === true,
};
