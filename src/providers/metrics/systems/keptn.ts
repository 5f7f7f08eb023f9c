/** Keptn: the value of a KeptnMetric, or the outcome of an Analysis (flagger-behaviour.md 4). */
import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import * as z from 'zod';
import type { MetricReading } from '../../../api/observed.ts';
import { timedReading } from '../points.ts';
import {
  clusterFor,
  failedReading,
  type MetricAccess,
  type MetricProvider,
  type MetricRequest,
  unanswered,
} from '../provider.ts';

const apiVersion = 'metrics.keptn.sh/v1beta1';
const metricSchema = z.object({
  status: z.object({ value: z.string().max(64), lastUpdated: z.string().nullish() }).optional(),
});
const analysisSchema = z.object({
  status: z.object({ state: z.string().optional(), pass: z.boolean().optional() }).optional(),
});

/** Longest time for an Analysis to complete, and between two reads of it. Flagger waits 10 s. */
const analysisMs = 20_000;
const lookAgainMs = 1_000;

/** Its entry of the table: `keptnmetric/NAMESPACE/NAME` or `analysis/NAMESPACE/DEFINITION/DURATION/key=value;key=value`. */
export const keptn: MetricProvider = {
  type: 'keptn',
  async query(request, access) {
    // Flagger reads the query in small letters, and takes the plural too.
    const parts = request.query.trim().toLowerCase().split('/');
    const [kind = '', namespace = '', name = '', ...rest] = parts;
    try {
      if (/^keptnmetrics?$/.test(kind) && name && rest.length === 0)
        return await metricReading({ namespace, name }, request, access);
      if (/^analys[ei]s$/.test(kind) && name && rest.length <= 2)
        return await analysisReading({ namespace, name, rest }, request, access);
      return failedReading(
        'the query must be like keptnmetric/NAMESPACE/NAME or analysis/NAMESPACE/DEFINITION/5m/key=value',
      );
    } catch (error) {
      return unanswered(error);
    }
  },
};

interface Named {
  readonly namespace: string;
  readonly name: string;
}

async function metricReading(
  { namespace, name }: Named,
  request: MetricRequest,
  access: MetricAccess,
): Promise<MetricReading> {
  const cluster = clusterFor(namespace, request, access);
  const object = await cluster.get({ apiVersion, kind: 'KeptnMetric', namespace, name });
  if (!object) return failedReading(`KeptnMetric ${namespace}/${name} does not exist`);
  const { data } = metricSchema.safeParse(object);
  if (!data?.status?.value)
    return { kind: 'noData', detail: `KeptnMetric ${namespace}/${name} has no value yet` };
  return timedReading(data.status.value, data.status.lastUpdated, request);
}

/** 1 for an Analysis that passed, 0 for one that did not. It is deleted in either case. */
async function analysisReading(
  { namespace, name, rest }: Named & { readonly rest: readonly string[] },
  request: MetricRequest,
  access: MetricAccess,
): Promise<MetricReading> {
  const cluster = clusterFor(namespace, request, access);
  const [recent = '1m', given = ''] = rest;
  const args = given
    .split(';')
    .filter(Boolean)
    .map((pair) => pair.split(/=(.*)/s).slice(0, 2));
  const reference = {
    apiVersion,
    kind: 'Analysis',
    namespace,
    name: `${name}-${randomBytes(3).toString('hex')}`,
  };
  const created = await cluster.create({
    apiVersion,
    kind: 'Analysis',
    metadata: { namespace, name: reference.name },
    spec: { timeframe: { recent }, args: Object.fromEntries(args), analysisDefinition: { name } },
  });
  try {
    for (let waitedMs = 0; waitedMs < analysisMs; waitedMs += lookAgainMs) {
      const { data } = analysisSchema.safeParse(await cluster.get(reference));
      if (data?.status?.state === 'Completed') return { kind: 'value', value: data.status.pass ? 1 : 0 };
      await wait(lookAgainMs);
    }
    return failedReading(
      `Analysis ${namespace}/${reference.name} was not complete after ${analysisMs / 1_000} s`,
    );
  } finally {
    const { uid } = created.metadata;
    await cluster.delete(reference, uid ? { uid } : {});
  }
}
