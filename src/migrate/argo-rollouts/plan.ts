/** Migration of Rollouts of Argo Rollouts: the steps of each, and where it stands. */
import { dirname } from 'node:path';
import type { Document } from 'yaml';
import {
  describe,
  type KubernetesObject,
  numberOf,
  present,
  recordOf,
  textOf,
} from '../../api/kubernetes.ts';
import { isKustomization } from '../../render/tree.ts';
import { writeYaml } from '../../render/yaml/values.ts';
import type { Connection } from '../../server/connection.ts';
import {
  changesBetween,
  deleteField,
  edited,
  type Files,
  identityOf,
  setField,
  withFollowing,
} from '../edit.ts';
import { type Move, placeSteps, type Step, unreadMoves } from '../steps.ts';
import { type MoveTree, type Placed, readMoveTree, rolloutInterest, withoutPlaced } from '../tree.ts';
import { convertRollout, isOfRollouts } from './convert.ts';
import { readRollout, readRolloutFacts } from './facts.ts';
import { newReport, type Report, tell } from './report.ts';
import { type Known, letGoStep, removalStep, type Subject, takeOverStep } from './steps.ts';

const group = 'argoproj.io/';

/** Plans the migration of every Rollout of a tree. Writes nothing. Throws InputError for a tree that cannot be read, and ApiError. */
export async function planRollouts(query: {
  readonly path: string;
  /** Undefined: nothing is read back. */
  readonly connection: Connection | undefined;
}): Promise<Move[]> {
  const tree = await readMoveTree(query.path, rolloutInterest);
  const rollouts = tree.objects.filter(
    ({ object }) => object.kind === 'Rollout' && object.apiVersion.startsWith(group),
  );
  const moves: Move[] = [];
  for (const placed of rollouts) moves.push(await planRollout(tree, placed, query.connection));
  return [...moves, ...(await leftovers(tree, rollouts, query.connection)), ...unreadMoves(tree)];
}

/** Rollouts of the cluster that left the tree, where a Canary of their name is: the last step has not ended. */
async function leftovers(
  tree: MoveTree,
  rollouts: readonly Placed[],
  connection: Connection | undefined,
): Promise<Move[]> {
  const moves: Move[] = [];
  if (!connection) return moves;
  const namespaceOf = (one: Placed) => namespaceIn(tree, one) ?? connection.access.namespace ?? 'default';
  for (const canary of tree.objects.filter(({ object }) => object.kind === 'Canary')) {
    const { name } = canary.object.metadata;
    const namespace = namespaceOf(canary);
    const isPlanned = rollouts.some(
      (one) => one.object.metadata.name === name && namespaceOf(one) === namespace,
    );
    const object = isPlanned ? undefined : await readRollout(connection, { namespace, name });
    if (!object) continue;
    const facts = await readRolloutFacts(connection, { namespace, name });
    const placed = { object, origin: canary.origin };
    const known = { canary, deployment: undefined, scaler: undefined, scalers: [] };
    const step = removalStep({ placed, namespace, made: undefined, facts, ...known }, []);
    moves.push({
      name: describe({ kind: 'Rollout', apiVersion: group, name, namespace }),
      stops: [],
      notes: ['is in none of these files; if it is in others, name a folder that has both'],
      steps: placeSteps([step]),
    });
  }
  return moves;
}

async function planRollout(
  tree: MoveTree,
  placed: Placed,
  connection: Connection | undefined,
): Promise<Move> {
  const report = newReport(tree);
  const { name } = placed.object.metadata;
  const namespace = namespaceIn(tree, placed) ?? connection?.access.namespace;
  const title = describe({ kind: 'Rollout', apiVersion: group, name, ...(namespace ? { namespace } : {}) });
  sayWhereItIs(report, placed, namespace);
  if (report.said.stop.length > 0) return { name: title, stops: report.said.stop, notes: [], steps: [] };
  const facts =
    connection && (await readRolloutFacts(connection, { name, namespace: namespace ?? 'default' }));
  const find = (kind: string, wanted: string) => nearest(tree, placed, namespace, kind, wanted);
  const known = knownParts(tree, placed, namespace, find);
  const made = known.canary
    ? undefined
    : convertRollout({
        ...{ report, placed, namespace, find, scaler: known.scaler },
        service: (wanted) =>
          find('Service', wanted)?.object ?? facts?.services.find(({ metadata }) => metadata.name === wanted),
      });
  const { stop, differs, converted } = report.said;
  const said = { name: title, stops: stop, notes: [...differs, ...othersFor(tree, placed)], converted };
  if (stop.length > 0) return { ...said, steps: [] };
  return { ...said, steps: placeSteps(rolloutSteps(tree, { placed, namespace, made, facts, ...known })) };
}

/** The file's own, else that of the kustomization beside it. */
function namespaceIn({ files }: MoveTree, { object, origin }: Placed): string | undefined {
  if (object.metadata.namespace) return object.metadata.namespace;
  const kustomization = [...files].find(
    ([file]) => isKustomization(file) && dirname(file) === dirname(origin.file),
  );
  const [, named] = /^namespace:[^\S\n]*["']?([\w-]+)/m.exec(kustomization?.[1] ?? '') ?? [];
  return named;
}

function isIn(tree: MoveTree, placed: Placed, namespace: string | undefined): boolean {
  return [namespace, undefined].includes(namespace && namespaceIn(tree, placed));
}

function sayWhereItIs(report: Report, placed: Placed, namespace: string | undefined): void {
  const { object, origin } = placed;
  const { template, workloadRef, strategy } = recordOf(object.spec);
  const stop = (message: string) => tell(report, placed, 'spec', ['stop', message]);
  if (origin.items.length > 0) stop('is inside a List; move it to a document of its own');
  if (origin.file.endsWith('.json')) stop('is JSON, where no document can follow; write it as YAML');
  if (!strategy || !(template || workloadRef))
    stop(
      'has no strategy, or neither template nor workloadRef: if it is a patch, change it by hand, as the file that it changes',
    );
  const { kind = 'Deployment' } = recordOf(workloadRef);
  if (kind !== 'Deployment')
    stop(
      `workloadRef names a ${kind}, and a Canary rolls out a Deployment; write the template into the Rollout first`,
    );
  if (!object.metadata.namespace && namespace)
    tell(report, placed, 'metadata', ['differs', `names no namespace; ${namespace} is meant here`]);
}

/** The object of this kind and name that is nearest to the Rollout: in its file, its folder, or a folder above or below. */
function nearest(
  tree: MoveTree,
  { origin }: Placed,
  namespace: string | undefined,
  kind: string,
  name: string,
): Placed | undefined {
  const isClusterWide = kind.startsWith('Cluster');
  const found = tree.objects.filter(
    (one) =>
      one.object.kind === kind &&
      one.object.metadata.name === name &&
      (isClusterWide || isIn(tree, one, namespace)),
  );
  const distance = (file: string) => {
    if (file === origin.file) return -1;
    const [left, right] = [file, origin.file].map((one) => dirname(one).split('/'));
    const shared = (left ?? []).findIndex((part, at) => part !== right?.[at]);
    const common = shared < 0 ? (left ?? []).length : shared;
    return (left ?? []).length + (right ?? []).length - 2 * common;
  };
  return found.sort((left, right) => distance(left.origin.file) - distance(right.origin.file))[0];
}

function knownParts(
  tree: MoveTree,
  { object, origin }: Placed,
  namespace: string | undefined,
  find: (kind: string, name: string) => Placed | undefined,
): Known {
  const { name } = object.metadata;
  const named = textOf(recordOf(recordOf(object.spec).workloadRef).name);
  const target = named ?? name;
  const isRollout = ({ kind, name: other }: Record<string, unknown>) => kind === 'Rollout' && other === name;
  const rollouts = tree.objects.filter(({ object: { kind, metadata } }) => isRollout({ ...metadata, kind }));
  const scalers = tree.objects.filter((one) => {
    const isHere = isRollout(scaled(one.object.spec) ?? {}) && isIn(tree, one, namespace);
    const isBesideOne = (rollout: Placed) => isBeside(one.origin.file, rollout.origin.file);
    return isHere && (isBeside(one.origin.file, origin.file) || !rollouts.some(isBesideOne));
  });
  // Without a namespace, what is in a folder to the side may be that of another cluster.
  const own = (kind: string) => {
    const found = find(kind, name);
    const isSure = found && namespace !== undefined && namespaceIn(tree, found) === namespace;
    return isSure || (found && isBeside(found.origin.file, origin.file)) ? found : undefined;
  };
  const canary = own('Canary');
  const isOurs = recordOf(recordOf(canary?.object.spec).targetRef).name === target;
  return {
    canary: isOurs ? canary : undefined,
    deployment: named ? find('Deployment', named) : own('Deployment'),
    scaler: scalers.find(({ object: { kind } }) =>
      ['HorizontalPodAutoscaler', 'ScaledObject'].includes(kind),
    ),
    scalers,
  };
}

/** In the same folder, or in one above or below. */
function isBeside(...files: readonly [string, string]): boolean {
  const [left, right] = files.map((file) => file.slice(0, file.lastIndexOf('/') + 1)) as [string, string];
  return left.startsWith(right) || right.startsWith(left);
}

function scaled(spec: unknown): Record<string, unknown> | undefined {
  const { scaleTargetRef, targetRef } = recordOf(spec);
  const found = scaleTargetRef ?? targetRef;
  return found ? recordOf(found) : undefined;
}

const namesRollouts = /\bkind:\s*["']?Rollout\b|rollout-transform|argo-rollouts/;

/** What else names the Rollout, or its pods. */
function othersFor({ files, objects, at }: MoveTree, { object }: Placed): string[] {
  const { name, namespace } = object.metadata;
  const labels = recordOf(recordOf(recordOf(object.spec).selector).matchLabels);
  const transformed = [...files].flatMap(([file, text]) => {
    const lines = isKustomization(file) ? text.split('\n') : [];
    return lines.flatMap((line, index) =>
      namesRollouts.test(line)
        ? [
            `${file}:${index + 1}: names Rollouts: let it name the Deployment from the second step on; fields of the strategy are in the Canary`,
          ]
        : [],
    );
  });
  const budgets = objects.filter(({ object: { kind, metadata, spec } }) => {
    const wanted = Object.entries(recordOf(recordOf(recordOf(spec).selector).matchLabels));
    const isHere = (metadata.namespace ?? namespace) === (namespace ?? metadata.namespace);
    const selects = wanted.length > 0 && wanted.every(([key, value]) => labels[key] === value);
    return kind === 'PodDisruptionBudget' && isHere && selects;
  });
  const told = budgets.map(({ object: { metadata }, origin }) => {
    return `${at(origin, 'spec.selector')}: PodDisruptionBudget ${metadata.name} selects the pods of Rollout ${name} by labels that the pods of a primary do not all have: with another provider than native select by a label of your own, in the pod template`;
  });
  return [...transformed, ...told];
}

// The steps: Argo Rollouts lets go of the Services, Holdfast takes over, the Rollout goes.

function rolloutSteps(tree: MoveTree, subject: Subject): Step[] {
  const { placed, made } = subject;
  const { file } = placed.origin;
  const which = identityOf(placed.object);
  const texts = made?.objects.map(writeYaml) ?? [];
  const released = edited(
    made ? made.editRoutes(withFollowing(tree.files, file, which, { texts })) : tree.files,
    file,
    which,
    letGo,
  );
  const taken = withDeployment(released, subject);
  const gone = withoutPlaced(taken, [placed]);
  return [
    letGoStep(subject, changesBetween(tree.files, released)),
    takeOverStep(subject, changesBetween(released, taken)),
    removalStep(subject, changesBetween(taken, gone)),
  ];
}

/** The Rollout keeps its pods, and nothing else: it names no Service, no route and no steps. */
function letGo(document: Document): void {
  const strategy = recordOf(document.toJS().spec.strategy);
  const { maxSurge, maxUnavailable } = recordOf(strategy.canary ?? strategy.blueGreen);
  const kept = present({ maxSurge, maxUnavailable });
  // Server-side apply makes null of a map that lost all of its fields. 25 % is what is meant without it, here and in a Deployment.
  const canary = Object.keys(kept).length > 0 ? kept : { maxSurge: '25%' };
  document.setIn(['spec', 'strategy'], document.createNode({ canary }));
  if (document.hasIn(['spec', 'workloadRef', 'scaleDown']))
    document.setIn(['spec', 'workloadRef', 'scaleDown'], 'never');
}

/** The Deployment beside the Rollout, the Canary no longer suspended, and scalers that scale the Deployment. */
function withDeployment(files: Files, { placed, namespace, deployment, scalers, scaler }: Subject): Files {
  const { object, origin } = placed;
  const { name } = object.metadata;
  const { workloadRef, replicas } = recordOf(object.spec);
  const target = textOf(recordOf(workloadRef).name) ?? name;
  let next = edited(files, origin.file, { kind: 'Canary', name, namespace }, (document) =>
    deleteField(document, ['spec', 'suspend']),
  );
  if (!workloadRef && !deployment)
    next = withFollowing(next, origin.file, identityOf(object), { copy: asDeployment });
  if (workloadRef && deployment)
    next = edited(next, deployment.origin.file, identityOf(deployment.object), (document) => {
      if (scaler) deleteField(document, ['spec', 'replicas']);
      else setField(document, ['spec', 'replicas'], numberOf(replicas) ?? 1);
    });
  return scalers.reduce((all, one) => {
    const field = recordOf(one.object.spec).scaleTargetRef ? 'scaleTargetRef' : 'targetRef';
    return edited(all, one.origin.file, identityOf(one.object), (document) => {
      setField(document, ['spec', field, 'apiVersion'], 'apps/v1');
      setField(document, ['spec', field, 'kind'], 'Deployment');
      setField(document, ['spec', field, 'name'], target);
    });
  }, next);
}

const onlyOfRollouts = [
  'workloadRef',
  'strategy',
  'progressDeadlineAbort',
  'rollbackWindow',
  'restartAt',
  'analysis',
  'paused',
];

function asDeployment(document: Document): void {
  const { metadata, spec } = document.toJS() as KubernetesObject;
  const { maxSurge, maxUnavailable } = recordOf(recordOf(recordOf(spec).strategy).canary);
  const rollingUpdate = present({ maxSurge, maxUnavailable });
  document.set('apiVersion', 'apps/v1');
  document.set('kind', 'Deployment');
  for (const key of Object.keys(metadata.annotations ?? {}))
    if (isOfRollouts(key)) deleteField(document, ['metadata', 'annotations', key]);
  for (const field of onlyOfRollouts) document.deleteIn(['spec', field]);
  if (Object.keys(rollingUpdate).length > 0)
    document.setIn(['spec', 'strategy'], document.createNode({ type: 'RollingUpdate', rollingUpdate }));
}
