/** Splunk Observability: a SignalFlow program, whose results come as server-sent events (flagger-behaviour.md 4; Flagger uses the websocket). */
import * as z from 'zod';
import { askedMs, groupedBy, newestReading, onlyOne } from '../points.ts';
import { failedReading } from '../provider.ts';
import { below, restProvider, secretValue } from '../rest.ts';

const messageSchema = z.object({
  data: z.array(z.object({ tsId: z.string(), value: z.unknown() })).optional(),
  logicalTimestampMs: z.number().optional(),
  /** Of an error, with its number. */
  error: z.unknown().optional(),
  message: z.unknown().optional(),
  /** Of a program that could not start. */
  errors: z.array(z.object({ code: z.union([z.string(), z.number()]).optional() })).optional(),
  /** Of the stream itself: how the program ended. */
  event: z.unknown().optional(),
  abortInfo: z.object({ sf_job_abortReason: z.string().optional() }).optional(),
});
type Message = z.infer<typeof messageSchema>;

/** Its entry of the table. The address is that of the API (`https://api.REALM.signalfx.com`) or of the stream. */
export const splunk = restProvider({
  type: 'splunk',
  title: 'a stream of SignalFlow',
  answer: z.array(messageSchema),
  decode: messagesOf,
  question(request, base) {
    const { query, nowMs } = request;
    const url = below(base, '/v2/signalflow/execute', {
      start: String(nowMs - askedMs(request)),
      stop: String(nowMs),
      immediate: 'true',
    });
    url.protocol = url.protocol.replace('ws', 'http');
    url.hostname = url.hostname.replace(/^api\./, 'stream.');
    return {
      url,
      method: 'POST',
      headers: {
        'x-sf-token': secretValue(request, 'sf_token_key'),
        accept: 'text/event-stream',
        'content-type': 'text/plain',
      },
      body: query,
    };
  },
  reading(messages, request) {
    const problem = messages.map(problemIn).find((words) => words !== undefined);
    if (problem) return failedReading(problem);
    if (!messages.some(({ event }) => event === 'END_OF_CHANNEL'))
      return failedReading('the stream ended before the program did');
    const values = messages.flatMap(({ data = [], logicalTimestampMs = Number.NaN }) =>
      data.map(({ tsId, value }) => ({ tsId, point: { atMs: logicalTimestampMs, value } })),
    );
    return onlyOne(
      groupedBy(values, ({ tsId }) => tsId),
      '.mean() or .sum()',
      (one) =>
        newestReading(
          one.map(({ point }) => point),
          request,
        ),
    );
  },
});

/** What a message says about the end of the program; undefined where it did not fail. */
function problemIn({ error, message, errors, event, abortInfo }: Message): string | undefined {
  if (event === 'CHANNEL_ABORT')
    return `the program was aborted: ${abortInfo?.sf_job_abortReason ?? 'it says no reason'}`;
  if (error !== undefined) return `the program failed: ${message ?? 'it says no reason'}`;
  return errors && `the program failed: ${errors.map(({ code }) => code).join(', ')}`;
}

/** The messages of a stream of server-sent events. Throws for anything else. */
function messagesOf(text: string): Message[] {
  const events = text.split(/\r?\n\r?\n/).filter((event) => event.trim() !== '');
  if (events.some((event) => !/^(event|data|id|retry|):/.test(event.trimStart())))
    throw new Error('no stream');
  return events.map((event): Message => {
    const data = [...event.matchAll(/^data:(.*)$/gm)].map(([, line = '']) => line.trim()).join('\n');
    return data === '' ? {} : (JSON.parse(data) as Message);
  });
}
