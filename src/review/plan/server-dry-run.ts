/** What the API server would say to the objects of head, asked as a dry run: nothing is stored. */
import { describe, type KubernetesObject, objectKey, recordOf, referenceOf } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source/source.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { ApiError, isApiError } from '../../cluster/errors.ts';
import { dryApply, type ListSources } from '../../engine/sync/apply/apply-object.ts';
import { inParallel } from '../../engine/sync/apply/apply-order.ts';
import { createDryCluster, createDryRun } from '../../server/cluster.ts';
import { counted } from '../../terminal/output.ts';
import { compareApplied, isObjectRefusal } from '../diff/source-difference.ts';
import type { DryRunAnswer, DryRunFinding } from './report.ts';
import type { RenderedSource } from './request.ts';

type Client = Pick<ClusterClient, 'get' | 'apply' | 'create'>;

/**
 * Asks about every object of a Source at head: what it applies itself is compared with what is there, what rollouts write is only asked whether
 * it would be taken. `changed`: `objectKey` of what the commit changes; anything else that differs is not this commit's doing.
 */
export async function serverDryRun(
  client: Client,
  { source, side, changed }: { source: Source; side: RenderedSource; changed: ReadonlySet<string> },
  listSources?: ListSources,
): Promise<DryRunAnswer> {
  const why = whyNotAsked(source);
  if (why !== undefined) return { findings: [], notes: [why] };
  const own = new Set(side.rest.map(({ object }) => objectKey(object)));
  const context: Context = { client, source, coming: comingWith(side), changed, listSources };
  const answers: Answer[] = new Array(side.entries.length);
  await inParallel([...side.entries.entries()], async ([index, { object }]) => {
    // What rollouts write differs until its release is admitted, so that it is not compared.
    const isOwn = own.has(objectKey(object));
    const asked = isOwn
      ? askOwn(context, object)
      : createDryRun(client)
          .apply(object)
          .then((): Answer => ({}));
    answers[index] = await asked.catch((error: unknown) => failed(context, object, error));
  });
  const notAsked = answers.flatMap((answer) => (answer?.notAsked ? [answer.notAsked] : []));
  return {
    findings: answers.flatMap((answer) => (answer?.finding ? [answer.finding] : [])),
    notes: notAsked.length > 0 ? [`no dry run of ${counted(notAsked.length, 'object')}: ${notAsked[0]}`] : [],
  };
}

interface Context {
  readonly client: Client;
  readonly source: Source;
  readonly coming: Coming;
  readonly changed: ReadonlySet<string>;
  readonly listSources: ListSources | undefined;
}

interface Answer {
  readonly finding?: DryRunFinding;
  readonly notAsked?: string;
}

/** A plan does not read values from the cluster, and without them the objects would differ. */
function whyNotAsked({ spec }: Source): string | undefined {
  if (spec.apply === false) return 'no dry run: spec.apply is false, so another tool applies these objects';
  if (spec.decryption) return 'no dry run: the Source is encrypted, and a plan does not read the key';
  return (spec.substitute?.from ?? []).length > 0
    ? 'no dry run: variables of the Source come from the cluster, and a plan does not read them'
    : undefined;
}

async function askOwn(
  { client, source, changed, listSources }: Context,
  object: KubernetesObject,
): Promise<Answer> {
  const live = await client.get(referenceOf(object));
  const applied = await dryApply(createDryCluster(client), source, { object, live, listSources });
  const name = describe(object);
  const isOurs = changed.has(objectKey(object));
  const elsewhere = isOurs ? {} : { message: 'not caused by this commit: the cluster differs from base' };
  if (!live) return isOurs ? {} : { finding: { object: name, state: 'missing', fields: [], ...elsewhere } };
  const { state, fields, changedBy } = compareApplied(live, applied);
  if (state === 'same') return {};
  const lines = fields.map(({ path, expected, actual }) => `${path}: ${actual ?? '(absent)'} -> ${expected}`);
  const by =
    changedBy && !isOurs ? { message: `${elsewhere.message ?? ''}; last changed by ${changedBy}` } : {};
  return { finding: { object: name, state, fields: lines, ...elsewhere, ...by } };
}

/** Namespaces and kinds that head brings itself. */
interface Coming {
  readonly namespaces: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
}

function comingWith({ entries }: RenderedSource): Coming {
  const objects = entries.map(({ object }) => object);
  const of = (kind: string) => objects.filter((object) => object.kind === kind);
  return {
    namespaces: new Set(of('Namespace').map(({ metadata }) => metadata.name)),
    kinds: new Set(
      of('CustomResourceDefinition').map(({ spec }) => {
        const { group, names } = recordOf(spec);
        return `${String(group)}/${String(recordOf(names).kind)}`;
      }),
    ),
  };
}

/** A refusal is a finding; after any other error there is none for this object. */
function failed({ coming }: Context, object: KubernetesObject, error: unknown): Answer {
  const name = describe(object);
  const [group = ''] = object.apiVersion.split('/');
  if (isApiError(error, 'unknownKind') && coming.kinds.has(`${group}/${object.kind}`)) return {};
  const isMissingPlace = isApiError(error, 'notFound');
  if (isMissingPlace && coming.namespaces.has(object.metadata.namespace ?? '')) return {};
  if (isMissingPlace || isObjectRefusal(error))
    return { finding: { object: name, state: 'refused', fields: [], message: (error as Error).message } };
  if (error instanceof ApiError) return { notAsked: `${name}: ${error.message}` };
  throw error;
}
