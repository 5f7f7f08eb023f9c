/** The outcome of a Kubernetes Job, made from the template of a CronJob of the namespace (issue 14). */
import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import * as z from 'zod';
import { describe, type KubernetesObject, type ObjectReference } from '../../../api/kubernetes.ts';
import { limits, shorten, singleLine } from '../../../api/limits.ts';
import type { MetricReading } from '../../../api/observed.ts';
import {
  failedReading,
  type JobAccess,
  type MetricProvider,
  type MetricRequest,
  pendingReading,
  unanswered,
} from '../provider.ts';

const apiVersion = 'batch/v1';
/** A check waits this long for its Job, and looks this often; a longer one is answered in a later check. */
const waitsMs = 20_000;
const lookAgainMs = 500;
/** Seconds for which Kubernetes keeps a finished Job at least: its outcome may be read an interval later, and Holdfast deletes it then. */
const keptSeconds = 3_600;
const defaultSeconds = 600;
const longestWords = 200;

const jobSpecSchema = z.looseObject({
  activeDeadlineSeconds: z.number().optional(),
  ttlSecondsAfterFinished: z.number().optional(),
  template: z.looseObject({
    spec: z.looseObject({
      containers: z.array(z.looseObject({ env: z.array(z.looseObject({ name: z.string() })).optional() })),
    }),
  }),
});
const cronJobSchema = z.object({
  spec: z.object({
    jobTemplate: z.object({
      metadata: z.object({ labels: z.record(z.string(), z.string()).optional() }).optional(),
      spec: jobSpecSchema,
    }),
  }),
});
const conditionSchema = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.string().optional(),
  message: z.string().optional(),
});
const jobSchema = z.object({
  spec: z.object({ suspend: z.boolean().optional() }).optional(),
  status: z.object({ conditions: z.array(conditionSchema).optional() }).optional(),
});
const endSchema = z.object({
  exitCode: z.number(),
  reason: z.string().optional(),
  message: z.string().optional(),
});
const podSchema = z.object({
  status: z.object({
    phase: z.string().optional(),
    conditions: z.array(conditionSchema).optional(),
    containerStatuses: z
      .array(
        z.object({
          name: z.string(),
          state: z
            .object({
              terminated: endSchema.optional(),
              waiting: z.object({ reason: z.string().optional(), message: z.string().optional() }).optional(),
            })
            .optional(),
          lastState: z.object({ terminated: endSchema.optional() }).optional(),
        }),
      )
      .optional(),
  }),
});

/**
 * Its entry of the table: `cronjob/NAME?VARIABLE=value`. 1 for a Job that completed, 0 for one that failed; until then there is no result. The
 * name of the Job identifies rollout and metric; it is deleted after its outcome was read.
 */
export const job: MetricProvider = {
  type: 'job',
  encode: encodeURIComponent,
  async query(request, { jobs }) {
    const { name, variables } = questionIn(request.query);
    if (!name) return failedReading('the query must be like cronjob/NAME or cronjob/NAME?VARIABLE=value');
    const where = `CronJob ${request.namespace}/${name}`;
    if (jobs === 'notHere') return pending(`at each check the controller runs a Job of ${where}`);
    if (!jobs)
      return failedReading(
        'Jobs run as the service account of the Source that holds the Canary, and no Source holds it',
      );
    if (jobs.canary.metadata.namespace !== request.namespace)
      return failedReading('a MetricTemplate of type job must be in the namespace of the Canary');
    try {
      const cronJob = await jobs.cluster.get({
        apiVersion,
        kind: 'CronJob',
        namespace: request.namespace,
        name,
      });
      if (!cronJob) return failedReading(`${where} does not exist`);
      const wanted = jobOf(cronJob, request, variables, jobs);
      return wanted ? await outcomeOf(wanted, jobs) : failedReading(`${where} has no job template`);
    } catch (error) {
      return unanswered(error);
    }
  },
};

function questionIn(query: string): { name: string | undefined; variables: Map<string, string> } {
  const [path = '', parameters = ''] = query
    .replace(/\s+/g, ' ')
    .trim()
    .split(/\?(.*)/s);
  const name = /^cronjobs?\/([a-z0-9]([-a-z0-9.]{0,50}[a-z0-9])?)$/.exec(path)?.[1];
  return { name, variables: new Map(new URLSearchParams(parameters)) };
}

/** The Job of this rollout and metric. Its name contains everything that it depends on, so that the next leader finds it and creates no second one. */
function jobOf(
  cronJob: KubernetesObject,
  { query, namespace }: MetricRequest,
  variables: ReadonlyMap<string, string>,
  { canary, check }: JobAccess,
): KubernetesObject | undefined {
  const { data } = cronJobSchema.safeParse(cronJob);
  if (!data) return undefined;
  const { metadata = {}, spec } = data.spec.jobTemplate;
  const { name, uid = '' } = canary.metadata;
  const about = createHash('sha256').update(JSON.stringify([uid, check, query, spec]));
  const added = [...variables].map(([variable, value]) => ({ name: variable, value }));
  const containers = spec.template.spec.containers.map((container) => ({
    ...container,
    env: [...(container.env ?? []).filter(({ name: known }) => !variables.has(known)), ...added],
  }));
  const { activeDeadlineSeconds = defaultSeconds, ttlSecondsAfterFinished = 0 } = spec;
  return {
    apiVersion,
    kind: 'Job',
    metadata: {
      name: `${cronJob.metadata.name}-${about.digest('hex').slice(0, 10)}`,
      namespace,
      labels: metadata.labels ?? {},
      annotations: { 'cronjob.kubernetes.io/instantiate': 'manual' },
      ownerReferences: [{ apiVersion: canary.apiVersion, kind: canary.kind, name, uid }],
    },
    spec: {
      ...spec,
      activeDeadlineSeconds: Math.min(activeDeadlineSeconds, limits.checkJobSeconds),
      ttlSecondsAfterFinished: Math.max(ttlSecondsAfterFinished, keptSeconds),
      template: { ...spec.template, spec: { ...spec.template.spec, containers } },
    },
  };
}

async function outcomeOf(wanted: KubernetesObject, jobs: JobAccess): Promise<MetricReading> {
  const { cluster, signal } = jobs;
  const { namespace = '', name } = wanted.metadata;
  const reference = { apiVersion, kind: 'Job', namespace, name };
  const live = await found(wanted, reference, jobs);
  if (!live) return failedReading(`${describe(wanted)} exists and has another owner`);
  for (let waitedMs = 0; waitedMs < waitsMs && !signal.aborted; waitedMs += lookAgainMs) {
    const seen = await cluster.get(reference);
    if (seen?.metadata.uid !== live.metadata.uid)
      return pending(`${describe(wanted)} was deleted before its end; the next check runs it again`);
    const { data } = jobSchema.safeParse(seen);
    const end = data?.status?.conditions?.find(
      ({ type, status }) => status === 'True' && (type === 'Complete' || type === 'Failed'),
    );
    if (end) return readEnd(end, live, cluster);
    if (data?.spec?.suspend) return pending(`${describe(wanted)} is suspended`);
    await wait(lookAgainMs);
  }
  return pending(`${describe(wanted)} runs: ${await whatPodSays(reference, cluster)}`);
}

/** The outcome, after which the Job is deleted with its pods. */
async function readEnd(
  { type, reason = 'Failed', message = '' }: z.infer<typeof conditionSchema>,
  live: KubernetesObject,
  cluster: JobAccess['cluster'],
): Promise<MetricReading> {
  const { uid, namespace = '', name } = live.metadata;
  const reference = { apiVersion, kind: 'Job', namespace, name };
  const said = type === 'Failed' ? await whatPodSays(reference, cluster).catch(() => '') : '';
  await cluster.delete(reference, uid ? { uid } : {});
  if (type === 'Complete') return { kind: 'value', value: 1, detail: `${describe(live)} completed` };
  const why = [`${reason}: ${words(message)}`, said].filter(Boolean).join('; ');
  return { kind: 'value', value: 0, detail: `${describe(live)} failed: ${why}` };
}

/** The Job of that name, created unless it is there; undefined: it is not of this Canary. Throws what the API server says, as of a quota. */
async function found(
  wanted: KubernetesObject,
  reference: ObjectReference,
  { cluster, canary }: JobAccess,
): Promise<KubernetesObject | undefined> {
  const before = await cluster.get(reference);
  const live =
    before ??
    (await cluster.create(wanted).catch(async (error: unknown) => {
      const other = await cluster.get(reference);
      if (!other) throw error;
      return other;
    }));
  const owners = live.metadata.ownerReferences ?? [];
  return owners.some(({ uid }) => uid === canary.metadata.uid) ? live : undefined;
}

/** A result that is still to come, and never counts as a failure. */
function pending(detail: string): MetricReading {
  return pendingReading(shorten(detail, longestWords * 2));
}

/** How the newest pod of a Job ended, with its termination message, or what it waits for. */
async function whatPodSays(
  { namespace = '', name }: ObjectReference,
  cluster: JobAccess['cluster'],
): Promise<string> {
  const kind = { apiVersion: 'v1', kind: 'Pod', namespace };
  const listed = await cluster.list({ ...kind, labelSelector: `batch.kubernetes.io/job-name=${name}` });
  const ageOf = ({ metadata }: KubernetesObject) => metadata.creationTimestamp ?? '';
  const [newest] = listed.toSorted((left, right) => ageOf(right).localeCompare(ageOf(left)));
  if (!newest) return `it has no pod; see its Events (kubectl -n ${namespace} describe job ${name})`;
  const pod = await cluster.get({ ...kind, name: newest.metadata.name });
  const { data } = podSchema.safeParse(pod);
  const containers = data?.status.containerStatuses ?? [];
  for (const { name: container, state, lastState } of containers) {
    const end = state?.terminated ?? lastState?.terminated;
    if (end && end.exitCode !== 0)
      return `container ${container} ended with ${end.exitCode} (${words(end.message || end.reason || 'Error')})`;
    if (state?.waiting)
      return `container ${container} waits: ${words([state.waiting.reason, state.waiting.message].filter(Boolean).join(': '))}`;
  }
  const unmet = data?.status.conditions?.find(({ status, message }) => status === 'False' && message);
  return words(`its pod is ${data?.status.phase ?? 'unknown'}${unmet ? `: ${unmet.message}` : ''}`);
}

/** What others wrote, in one line. */
function words(text: string): string {
  return singleLine(text, longestWords);
}
