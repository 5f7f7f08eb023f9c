/** Any API that answers JSON: `query` is the path below the address, `jsonPointer` (RFC 6901) where the value is in the answer. */
import * as z from 'zod';
import { withoutLastSlashes } from '../../../api/limits.ts';
import type { MetricReading } from '../../../api/observed.ts';
import { valueReading } from '../points.ts';
import { failedReading, type MetricProvider } from '../provider.ts';
import { credentials, restProvider } from '../rest.ts';

/** Its entry of the table. */
export const web: MetricProvider = {
  ...restProvider({
    type: 'web',
    title: 'JSON',
    answer: z.unknown(),
    question: (request, base) => ({
      url: urlBelow(base, request.query.replace(/\s+/g, ' ').trim()),
      auth: credentials(request),
    }),
    reading: (answer, { jsonPointer = '' }) => readingAt(answer, jsonPointer),
  }),
  encode(value) {
    if (/^\.\.?$/.test(value)) throw new Error(`${value} is no part of a path`);
    return encodeURIComponent(value);
  },
};

/** The address with the path and the parameters of the query after it. Throws where `..` would leave the address. */
function urlBelow(base: URL, query: string): URL {
  const [path = '', ...parameters] = query.split('?');
  const url = new URL(base);
  const prefix = `${withoutLastSlashes(base.pathname)}/`;
  if (path !== '') url.pathname = `${prefix}${path.replace(/^\/+/, '')}`;
  if (!`${url.pathname}/`.startsWith(prefix)) throw new Error('the query leaves the path of the address');
  if (parameters.length > 0) url.search = parameters.join('?');
  url.hash = '';
  return url;
}

function readingAt(answer: unknown, pointer: string): MetricReading {
  const keys = pointer.split('/').slice(1);
  const value = keys.reduce<unknown>(
    (at, key) => childOf(at, key.replaceAll('~1', '/').replaceAll('~0', '~')),
    answer,
  );
  if (value === undefined || value === null)
    return {
      kind: 'noData',
      detail: `the answer has ${value === null ? 'null' : 'nothing'} at jsonPointer "${pointer}"`,
    };
  if (Array.isArray(value))
    return failedReading(
      `the answer has a list of ${value.length} at jsonPointer "${pointer}"; it must be one number`,
    );
  if (typeof value === 'object')
    return failedReading(`the answer has an object at jsonPointer "${pointer}"; it must be one number`);
  return valueReading(typeof value === 'boolean' ? Number(value) : value);
}

function childOf(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  if (Array.isArray(value) && !/^(0|[1-9]\d*)$/.test(key)) return undefined;
  return (value as Record<string, unknown>)[key];
}
