/** Metric providers of Argo Rollouts as MetricTemplates: one row each. Pure. */
import {
  type KubernetesObject,
  numberOf,
  present,
  recordOf,
  recordsOf,
  textOf,
} from '../../api/kubernetes.ts';
import { formatIntervalMs, parseDurationMs } from '../../api/time.ts';
import { jsonPointer } from './condition.ts';
import { type Rule, unlessFalse, type Verdict } from './report.ts';

/** A MetricTemplate's spec, or why there is none. */
type MadeQuery =
  | {
      readonly spec: { readonly provider: object; readonly query: string };
      /** Of the metric. */
      readonly interval?: string;
      readonly job?: Pick<KubernetesObject, 'spec'>;
    }
  | { readonly field: string; readonly problem: string };

/** How one provider is carried over. */
interface MetricSystem {
  /** Every field of it. */
  readonly rules: Readonly<Record<string, Rule | undefined>>;
  /** The answer is a list, of which `result[0]` is the value. */
  readonly hasList: boolean;
  /** `pointer`: from its conditions, what they compare. `name`: of the MetricTemplate, and of what it needs. */
  readonly make: (
    given: Readonly<Record<string, unknown>>,
    at: { pointer: string; name: string },
  ) => MadeQuery;
}

const same: Verdict = ['converted', 'is in the MetricTemplate'];
const byHand = 'write its MetricTemplate by hand, and take the metric out of the AnalysisTemplate first';
const stopped = (message: string): Verdict => ['stop', `${message}; ${byHand}`];
const ownTimeout: Rule = ['differs', 'a query takes at most 5 s'];
const secret = (name: string, keys: string): Rule => [
  'differs',
  `its credentials are in a Secret beside the MetricTemplate: create Secret ${name} with ${keys} there`,
];
const needsAddress = (field: string): MadeQuery => ({
  field,
  problem:
    'is missing, and was set for the controller of Argo Rollouts alone; write it into the AnalysisTemplate first',
});

const requestRules = {
  headers: same,
  insecure: unlessFalse(same),
  authentication: verdictOfLogin,
};

function verdictOfLogin(value: unknown): Verdict {
  const isEmpty = Object.values(recordOf(value)).every((one) => Object.keys(recordOf(one)).length === 0);
  if (isEmpty) return ['converted', 'is empty'];
  const message = `holds credentials, and a MetricTemplate has them in a Secret (token, or username and password); ${byHand}`;
  return ['stop', message];
}

function requestFields(given: Readonly<Record<string, unknown>>) {
  const headers = recordsOf(given.headers).map(({ key, value }) => [String(key), [String(value)]] as const);
  return {
    headers: headers.length > 0 ? Object.fromEntries(headers) : undefined,
    insecureSkipVerify: given.insecure === true ? true : undefined,
  };
}

/** By the name of the field in `provider`. */
export const metricSystems: Readonly<Record<string, MetricSystem>> = {
  prometheus: {
    hasList: true,
    rules: {
      address: same,
      query: same,
      timeout: ownTimeout,
      ...requestRules,
      rangeQuery: stopped('has many values, and a check compares one'),
    },
    make: (given) => {
      const address = textOf(given.address);
      if (!address) return needsAddress('address');
      const provider = present({ type: 'prometheus' as const, address, ...requestFields(given) });
      return { spec: { provider, query: textOf(given.query) ?? '' } };
    },
  },
  web: {
    hasList: false,
    rules: {
      url: same,
      method: (value) => (value === 'GET' ? same : stopped('a MetricTemplate sends GET alone')),
      jsonPath: ['converted', 'is jsonPointer of the MetricTemplate'],
      timeoutSeconds: ownTimeout,
      body: stopped('is sent with POST and PUT alone'),
      jsonBody: stopped('is sent with POST and PUT alone'),
      ...requestRules,
    },
    make: (given, { pointer }) => {
      const url = URL.canParse(String(given.url)) ? new URL(String(given.url)) : undefined;
      if (!url) return { field: 'url', problem: `is no address; ${byHand}` };
      if (url.username || url.password)
        return { field: 'url', problem: `has a login, which a MetricTemplate has in a Secret; ${byHand}` };
      const [, steps = ''] = /^\{?\$?(.*?)\}?$/.exec(textOf(given.jsonPath) ?? '') ?? [];
      const base = jsonPointer(steps);
      if (base === undefined) return { field: 'jsonPath', problem: `may name several places; ${byHand}` };
      const provider = present({
        type: 'web' as const,
        address: url.origin,
        jsonPointer: base + pointer || undefined,
        ...requestFields(given),
      });
      return { spec: { provider, query: `${url.pathname}${url.search}` } };
    },
  },
  job: {
    hasList: false,
    rules: {
      metadata: ['converted', 'is that of the Jobs of the CronJob'],
      spec: [
        'differs',
        'is the jobTemplate of a suspended CronJob, of which each check runs a Job as the account of the Source (without a Source there are no Jobs)',
      ],
    },
    make: (given, { name }) => ({
      spec: { provider: { type: 'job' }, query: `cronjob/${name}` },
      job: {
        spec: {
          schedule: '@yearly',
          suspend: true,
          jobTemplate: present({ metadata: given.metadata, spec: recordOf(given.spec) }),
        },
      },
    }),
  },
  datadog: {
    hasList: false,
    rules: {
      query: same,
      interval: [
        'differs',
        'is interval of the metric; the query covers ten of them, and the newest complete bucket counts',
      ],
      apiVersion: (value) =>
        String(value).toLowerCase() === 'v1' ? same : ['differs', 'the query is sent to v1 of the API'],
      queries: stopped('are several queries'),
      formula: stopped('combines several queries'),
      aggregator: stopped('is of v2 of the API'),
      secretRef: secret('datadog', 'datadog_api_key and datadog_application_key'),
    },
    make: (given) => {
      const name = textOf(recordOf(given.secretRef).name) ?? 'datadog';
      const query = textOf(given.query);
      if (!query) return { field: 'query', problem: `is missing; ${byHand}` };
      const text = textOf(given.interval) ?? '5m';
      const ms = parseDurationMs(text);
      // What cannot be read is refused with the Canary that has it.
      const interval = ms === undefined ? text : formatIntervalMs(ms);
      return { spec: { provider: { type: 'datadog', secretRef: { name } }, query }, interval };
    },
  },
  newRelic: {
    hasList: false,
    rules: {
      query: ['differs', 'must have one function and no SINCE: the interval of the metric is added'],
      profile: secret('newrelic', 'newrelic_account_id and newrelic_query_key'),
      timeout: ownTimeout,
    },
    make: (given) => {
      const query = textOf(given.query) ?? '';
      if (/\bsince\b/i.test(query))
        return { field: 'query', problem: 'has SINCE, which is added here; take it out first' };
      return { spec: { provider: { type: 'newrelic', secretRef: { name: 'newrelic' } }, query } };
    },
  },
  cloudWatch: {
    hasList: true,
    rules: {
      interval: ['differs', 'is interval of the metric; the query covers ten of them'],
      metricDataQueries: stopped('needs a region, which only the controller of Argo Rollouts knows'),
    },
    make: () => ({ field: 'metricDataQueries', problem: byHand }),
  },
  graphite: {
    hasList: true,
    rules: { address: same, query: same },
    make: (given) => {
      const address = textOf(given.address);
      if (!address) return needsAddress('address');
      const query = textOf(given.query) ?? '';
      return {
        spec: {
          provider: { type: 'graphite', address },
          query: /(^|&)target=/.test(query) ? query : `target=${query}`,
        },
      };
    },
  },
  influxdb: {
    hasList: true,
    rules: { profile: stopped('holds the address, which only Argo Rollouts reads there'), query: same },
    make: () => ({ field: 'query', problem: byHand }),
  },
  ...Object.fromEntries(
    ['kayenta', 'skywalking', 'wavefront', 'plugin'].map((name) => [name, withoutCounterpart(name)]),
  ),
};

function withoutCounterpart(name: string): MetricSystem {
  const problem = `Holdfast does not ask ${name}: use another metric system, or type web, and take the metric out of the AnalysisTemplate first`;
  return { hasList: false, rules: {}, make: () => ({ field: '', problem }) };
}

/** Whole numbers, also as texts: where a template has an argument in it. */
export function wholeNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : numberOf(value);
  return number !== undefined && Number.isInteger(number) ? number : undefined;
}
