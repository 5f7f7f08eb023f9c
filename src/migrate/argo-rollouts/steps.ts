/** The steps of the migration of a Rollout, without their commits: what each needs, and how it shows that it has ended. Pure. */
import {
  describe,
  isSuspended,
  type KubernetesObject,
  listOf,
  numberOf,
  present,
  recordOf,
  recordsOf,
  textOf,
} from '../../api/kubernetes.ts';
import { listNames } from '../../api/limits.ts';
import type { FileChange } from '../edit.ts';
import { shellLine } from '../kubectl.ts';
import { type Finding, finding, type Step } from '../steps.ts';
import type { Placed } from '../tree.ts';
import type { ConvertedRollout } from './convert.ts';
import type { RolloutFacts } from './facts.ts';

/** What else of the tree belongs to a Rollout. */
export interface Known {
  readonly canary: Placed | undefined;
  readonly deployment: Placed | undefined;
  readonly scaler: Placed | undefined;
  /** Everything that names the Rollout as what it scales. */
  readonly scalers: readonly Placed[];
}

/** A Rollout on its way. */
export interface Subject extends Known {
  readonly placed: Placed;
  readonly namespace: string | undefined;
  readonly made: ConvertedRollout | undefined;
  readonly facts: RolloutFacts | undefined;
}

function names({ placed, namespace }: Subject): {
  rollout: string;
  canary: string;
  place: string[];
  name: string;
} {
  const { name } = placed.object.metadata;
  const metadata = { name, ...(namespace ? { namespace } : {}) };
  return {
    rollout: describe({ ...placed.object, metadata }),
    canary: describe({ apiVersion: '', kind: 'Canary', metadata }),
    place: namespace ? ['-n', namespace] : [],
    name,
  };
}

/** A tool applies what a step changes, or else a person does. */
function applied({ placed, facts }: Subject, changes: readonly FileChange[]): string[] {
  if (!facts || facts.appliedBy) return [];
  const files = changes.flatMap(({ file, after }) => (after === undefined ? [] : [file]));
  return [...new Set([placed.origin.file, ...files])].map((file) =>
    shellLine('kubectl', 'apply', '-f', file),
  );
}

/** Argo Rollouts lets go of Services and routes. */
export function letGoStep(subject: Subject, changes: readonly FileChange[]): Step {
  const { facts } = subject;
  const { canary, place, name } = names(subject);
  return {
    title: 'let Argo Rollouts let go of Services and routes, and add the suspended Canary',
    requires: [
      finding(
        facts,
        'the CRDs of Canary and MetricTemplate are installed',
        ({ hasKinds }) => hasKinds || 'run holdfast install first',
      ),
      ...inSource(subject),
      // Once it was applied, Argo Rollouts has to see it.
      ...(stillNamed(facts?.rollout)?.length === 0 ? [] : [atRest(subject)]),
    ],
    ends: [
      lettingGo(subject),
      finding(facts, `${canary} is in the cluster`, ({ canary: live }) => live !== undefined || 'it is not'),
    ],
    changes,
    commands: applied(subject, changes),
    verify: [
      shellLine('kubectl', ...place, 'get', 'services', '-o', 'wide'),
      shellLine('kubectl', ...place, 'get', 'rollouts.argoproj.io', name),
    ],
  };
}

/** Of the Canary that is written now, or that is in the tree since the first step. */
function canarySpec({ made, canary }: Subject): Record<string, unknown> {
  return recordOf((made?.objects[0] ?? canary?.object)?.spec);
}

/** Pods are stepped in place by who writes the template. */
function inSource(subject: Subject): Finding[] {
  const { facts } = subject;
  const { provider } = canarySpec(subject);
  if (provider !== 'native') return [];
  return [
    finding(
      facts,
      'a Source applies the Rollout, which provider native needs',
      ({ isInSource, appliedBy }) =>
        isInSource ||
        `${appliedBy ?? 'no Source'} does: move its objects to a Source first (guides from Flux and from Argo CD)`,
    ),
  ];
}

/** What Holdfast writes of an object that Git keeps; Argo CD would set it back. */
function leftAlone(subject: Subject): Finding[] {
  const { facts, placed } = subject;
  const spec = canarySpec(subject);
  const { name } = recordOf(spec.service);
  const route = recordOf(spec.routeRef);
  const target = textOf(recordOf(spec.targetRef).name) ?? placed.object.metadata.name;
  const written: ReadonlyArray<readonly [kind: string, name: string, field: string]> = [
    ...(spec.service ? [['Service', textOf(name) ?? target, 'spec.selector'] as const] : []),
    ...(spec.routeRef ? [[String(route.kind), String(route.name), 'spec'] as const] : []),
  ];
  return written.map(([kind, own, field]) =>
    finding(facts, `Argo CD leaves ${field} of ${kind} ${own} alone, if it applies it`, ({ application }) => {
      if (!application || isIgnored(application, { kind, name: own, field })) return true;
      return `Application ${application.metadata.name} needs ignoreDifferences for it, with jsonPointers [/${field.replace('.', '/')}], and the sync option RespectIgnoreDifferences=true`;
    }),
  );
}

function isIgnored(
  { spec }: KubernetesObject,
  wanted: { readonly kind: string; readonly name: string; readonly field: string },
): boolean {
  const { ignoreDifferences, syncPolicy } = recordOf(spec);
  const { syncOptions } = recordOf(syncPolicy);
  const isRespected = Array.isArray(syncOptions) && syncOptions.includes('RespectIgnoreDifferences=true');
  const entry = recordsOf(ignoreDifferences).find(({ kind, name, jsonPointers, jqPathExpressions }) => {
    const isMeant = [wanted.kind, '*'].includes(String(kind)) && (!name || name === wanted.name);
    const pointers = [jsonPointers, jqPathExpressions].flatMap(listOf);
    const paths = pointers.map((pointer) => String(pointer).replace(/^[./]/, '').replaceAll('/', '.'));
    return isMeant && paths.some((path) => path === 'spec' || path === wanted.field);
  });
  return isRespected && entry !== undefined;
}

const unseen = 'Argo Rollouts has not seen its newest change yet';

function isSeen({ metadata, status }: KubernetesObject): boolean {
  const { observedGeneration } = recordOf(status);
  return observedGeneration === undefined || observedGeneration === String(metadata.generation);
}

/** A release under way would be rolled out at once without its steps. */
function atRest(subject: Subject): Finding {
  return finding(subject.facts, `${names(subject).rollout} has nothing to roll out`, ({ rollout }) => {
    if (!rollout) return 'it is not in the cluster';
    const status = recordOf(rollout.status);
    const { phase, stableRS, currentPodHash } = status;
    if (!isSeen(rollout)) return unseen;
    if (phase !== 'Healthy')
      return `it is ${textOf(phase) ?? 'without a phase'}: let it finish, or abort it and undo the change in Git`;
    if (stableRS !== currentPodHash) return 'its newest template is not the stable one';
    const earlier = (numberOf(status.replicas) ?? 0) - (numberOf(status.updatedReplicas) ?? 0);
    return (
      earlier <= 0 ||
      `${earlier} pods of earlier releases are kept, to which the Services would lead as well: wait for scaleDownDelaySeconds, or scale their ReplicaSets to zero`
    );
  });
}

/** What the strategy in the cluster names that Argo Rollouts must let go of; undefined: there is no such strategy. */
function stillNamed(rollout: KubernetesObject | undefined): string[] | undefined {
  const { canary } = recordOf(recordOf(rollout?.spec).strategy);
  if (!canary) return undefined;
  const { canaryService, stableService, trafficRouting, pingPong, steps } = recordOf(canary);
  return Object.keys(present({ canaryService, stableService, trafficRouting, pingPong, steps }));
}

/** Argo Rollouts takes its hash out of the selector of a Service that no Rollout names any more. */
function lettingGo(subject: Subject): Finding {
  const { name } = names(subject);
  return finding(
    subject.facts,
    'Argo Rollouts has taken its hash out of the selectors of the Services',
    ({ rollout, services, canary }) => {
      const isOver = !rollout && canary !== undefined;
      const named = stillNamed(rollout);
      if (!isOver && !named)
        return rollout ? 'the strategy in the cluster is blueGreen' : 'it is not in the cluster';
      if (named && named.length > 0) return `the strategy in the cluster has ${listNames(named)}`;
      if (rollout && !isSeen(rollout)) return unseen;
      const held = services.filter(({ metadata, spec }) => {
        const owner = metadata.annotations?.['argo-rollouts.argoproj.io/managed-by-rollouts'];
        return (
          recordOf(recordOf(spec).selector)['rollouts-pod-template-hash'] !== undefined &&
          (!owner || owner === name)
        );
      });
      return held.length === 0 || `not yet: ${listNames(held.map(describe))}`;
    },
  );
}

/** The Canary has taken over, and no release is under way. */
function initialized(subject: Subject): Finding {
  return finding(subject.facts, `${names(subject).canary} has taken over`, ({ canary }) => {
    if (!canary) return 'it is not in the cluster';
    if (isSuspended(canary)) return 'it is suspended';
    const { phase, conditions } = recordOf(canary.status);
    if (phase === 'Initialized' || phase === 'Succeeded') return true;
    const message = recordsOf(conditions).find(({ type }) => type === 'Ready')?.message;
    return `it is ${textOf(phase) ?? 'without a phase'}${message ? `: ${message}` : ''}`;
  });
}

/** Holdfast takes over. */
export function takeOverStep(subject: Subject, changes: readonly FileChange[]): Step {
  const { place, name } = names(subject);
  const live = subject.facts?.canary;
  return {
    title: 'add the Deployment, and let Holdfast take over; the pods of the Rollout serve until then',
    requires: [...leftAlone(subject), atRest(subject), lettingGo(subject)],
    ends: [initialized(subject)],
    changes,
    // Applied again, a Service in the file would lose the selector that Holdfast has written.
    commands: changes.length === 0 && live && !isSuspended(live) ? [] : applied(subject, changes),
    verify: [shellLine('holdfast', 'status', `canary/${name}`, ...place)],
  };
}

/** The Rollout goes. */
export function removalStep(subject: Subject, changes: readonly FileChange[]): Step {
  const { facts } = subject;
  const { rollout, place, name } = names(subject);
  const deletion = shellLine('kubectl', ...place, 'delete', 'rollouts.argoproj.io', name);
  const isHere = (appliedBy: string | undefined) =>
    appliedBy && changes.length === 0
      ? `it still exists; if ${appliedBy} does not prune, ${deletion}`
      : 'it still exists';
  return {
    title: 'remove the Rollout with its pods, which nobody is sent to any more',
    requires: [lettingGo(subject), initialized(subject)],
    ends: [
      finding(facts, `${rollout} is gone`, ({ rollout: live, appliedBy }) => !live || isHere(appliedBy)),
    ],
    changes,
    commands: facts?.rollout && !facts.appliedBy ? [deletion] : [],
    verify: [shellLine('kubectl', ...place, 'get', 'rollouts.argoproj.io,pods')],
  };
}
