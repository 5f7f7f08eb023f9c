/** InfluxDB 2: a Flux query, answered as annotated CSV (flagger-behaviour.md 4). */
import * as z from 'zod';
import type { MetricReading } from '../../../api/observed.ts';
import { groupedBy, newestReading, onlyOne, valueReading } from '../points.ts';
import { failedReading, type MetricRequest } from '../provider.ts';
import { below, restProvider, secretValue } from '../rest.ts';

/** A record by column. */
type FluxRecord = Readonly<Record<string, string>>;

/** Its entry of the table. Flagger reads 0 where there is no record; here that is no data. */
export const influxdb = restProvider({
  type: 'influxdb',
  // Flux reads hours of data; Flagger's bound.
  timeoutMs: 15_000,
  title: 'the annotated CSV of a Flux query',
  answer: z.array(z.record(z.string(), z.string())),
  decode: recordsOf,
  // A server of version 1.8 may need neither an organization nor a login.
  question: (request, base) => ({
    url: below(base, '/api/v2/query', { org: request.secret ? secretValue(request, 'org') : '' }),
    method: 'POST',
    headers: {
      ...(request.secret ? { authorization: `Token ${secretValue(request, 'token')}` } : {}),
      accept: 'application/csv',
      'content-type': 'application/vnd.flux',
    },
    body: request.query,
  }),
  reading(records, request) {
    // Its table has no number, unlike one with a tag of that name.
    const problem = records.find(({ error, table }) => error && table === undefined)?.error;
    if (problem) return failedReading(`the query failed: ${problem}`);
    const tables = groupedBy(records, ({ result, table }) => `${result} ${table}`);
    return onlyOne(tables, '|> group() |> sum()', (table) => readingOf(table, request));
  },
});

/** The newest record of a table; of several without a time none is the newest. */
function readingOf(records: readonly FluxRecord[], request: MetricRequest): MetricReading {
  const [first] = records;
  if (first && !('_value' in first)) return failedReading('the records have no column _value');
  // What is summed up has no time of its own.
  if (records.length === 1 && !first?._time) return valueReading(first?._value || null);
  const points = records.map(({ _time = '', _value }) => ({
    atMs: Date.parse(_time),
    value: _value || null,
  }));
  if (points.some(({ atMs }) => Number.isNaN(atMs)))
    return failedReading(`the query returns ${records.length} records; add |> last() or |> mean()`);
  return newestReading(points, request);
}

/**
 * Records of annotated CSV: tables are divided by empty lines, and each has annotations (`#datatype`, `#group`, `#default`), then the names of its
 * columns.
 */
function recordsOf(text: string): FluxRecord[] {
  const records: FluxRecord[] = [];
  let header: readonly string[] | undefined;
  let defaults: readonly string[] = [];
  for (const row of rowsOf(text)) {
    const [first = ''] = row;
    if (first === '#default') defaults = row;
    if (first.startsWith('#') || (row.length === 1 && first === '')) header = undefined;
    else if (header) records.push(recordOf(row, header, defaults));
    else header = headerIn(row);
  }
  return records;
}

/** Throws for what names the columns of neither a table nor an error: it is a page of something else. */
function headerIn(row: readonly string[]): readonly string[] {
  if (row.includes('table') || row.includes('error')) return row;
  throw new Error('no header');
}

/** Throws for a row of another length than its header. */
function recordOf(
  row: readonly string[],
  header: readonly string[],
  defaults: readonly string[],
): FluxRecord {
  if (row.length !== header.length) throw new Error('a row of another length');
  const cells = header.map((name, index) => [name, row[index] || defaults[index] || ''] as const);
  return Object.fromEntries(cells.filter(([name]) => name !== ''));
}

/** Cells by row (RFC 4180); an empty line is a row of one empty cell. */
function* rowsOf(text: string): Generator<string[]> {
  const cell = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r?\n|$)/gy;
  let row: string[] = [];
  while (cell.lastIndex < text.length) {
    const [, content = '', end] = cell.exec(text) ?? [];
    if (end === undefined) throw new Error('an open quote');
    row.push(content.startsWith('"') ? content.slice(1, -1).replaceAll('""', '"') : content);
    if (end === ',') continue;
    yield row;
    row = [];
  }
}
