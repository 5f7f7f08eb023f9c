import { systemClock } from '../../api/clock.ts';
import { describe, type KubernetesObject, partOfLabel, present } from '../../api/kubernetes.ts';
import { InputError } from '../../api/problems.ts';
import { isApiError } from '../../cluster/errors.ts';
import { applySetId } from '../../engine/apply-set.ts';
import { inventoryOf } from '../../engine/sync/scope/inventory.ts';
import type { Connection } from '../../server/connection.ts';
import {
  type CommandResult,
  type DataFormat,
  formatAge,
  formatOutput,
  formatOutputLine,
  formatSpan,
  formatTable,
  printable,
  printed,
  type Screen,
  screenOf,
  type TableColumn,
} from '../../terminal/output.ts';
import { type CliCommand, emit, untilAborted, untilInterrupted, withConnection } from '../command.ts';
import { outputOption, type SubjectFlags, withSubjectFlags } from '../flags.ts';
import { noneFound, readAll } from '../objects.ts';
import { reportSilence } from '../watch-canary.ts';
import { type Concern, concernOf, type EventLine, eventLine, inOrder } from './event-lines.ts';
import { readSubjects } from './subjects.ts';

interface EventFlags extends SubjectFlags {
  readonly watch?: boolean;
  readonly output: 'text' | DataFormat;
}

/** `holdfast events`: what was reported about Canaries and Sources and what belongs to them. */
export const eventsCommand: CliCommand = {
  register(command, context) {
    withSubjectFlags(
      command
        .description(
          'list the Events of Canaries with their workloads, pods, Services, scalers and routes, and of Sources with their Canaries, the newest last',
        )
        .argument(
          '[subject]',
          'canary/NAME or source/NAME; NAME alone is a Canary (default: all of the namespace)',
        ),
    )
      .option('-w, --watch', 'go on with new Events until you press Ctrl-C')
      .addOption(outputOption())
      .action(async (subject: string | undefined, flags: EventFlags) => {
        if (flags.watch && flags.output === 'yaml')
          throw new InputError('--watch has no -o yaml; use -o json');
        if (flags.watch)
          return untilInterrupted(context, (signal) =>
            withConnection(flags, context, async (connection) => {
              const scope = await scopeOf(connection, subject, flags);
              return watchEvents(connection, scope, {
                flags,
                signal,
                print: (text) => void process.stdout.write(text),
                warn: (text) => void process.stderr.write(text),
              });
            }),
          );
        const result = await withConnection(flags, context, async (connection) => {
          const scope = await scopeOf(connection, subject, flags);
          if (scope.isEmpty && flags.output === 'text')
            return {
              ...printed(''),
              stderr: noneFound('Canaries or Sources', flags) + scope.unread.join(''),
            };
          const screen = screenOf(process.stdout, process.env);
          return events(connection, scope, { format: flags.output, screen, nowMs: Date.now() });
        });
        emit(result, context);
      });
  },
};

/** Whose Events, and where they are. */
interface EventScope {
  readonly concern: Concern;
  /** Undefined: all namespaces. */
  readonly namespaces: readonly string[] | undefined;
  readonly isEmpty: boolean;
  /** What may not be read, a line for each. */
  readonly unread: readonly string[];
}

/** Namespaces that are listed one by one. */
const mostPlaces = 50;

/** The objects that the command line means, and what belongs to them: of Sources their Canaries, which may be in other namespaces. Throws ApiError and InputError. */
export async function scopeOf(
  connection: Pick<Connection, 'access' | 'client'>,
  subject: string | undefined,
  flags: SubjectFlags,
): Promise<EventScope> {
  const unread: string[] = [];
  const objects = await readSubjects(connection, subject, flags, ['Canary', 'Source'], () =>
    unread.push(notListed('Sources')),
  );
  const sources = objects.filter(({ kind }) => kind === 'Source');
  const own = flags.allNamespaces ? undefined : (flags.namespace ?? connection.access.namespace);
  const places = [own, ...sources.flatMap((source) => [...inventoryOf(source).namespaces])];
  const isWide = own === undefined || new Set(places).size > mostPlaces;
  const canaries: KubernetesObject[] = [];
  // Who may not list all namespaces has those of the own one.
  for (const namespace of sources.length === 0 ? [] : new Set(isWide ? [own, undefined] : places))
    canaries.push(
      ...(await orNote(
        unread,
        namespace === own ? undefined : canariesOf(namespace),
        readAll(connection.client, 'Canary', { namespace, labelSelector: partOfLabel }),
      )),
    );
  const sets = new Set(sources.map(applySetId));
  const members = canaries.filter(({ metadata }) => sets.has(metadata.labels?.[partOfLabel] ?? ''));
  const namespacesOf = members.map(({ metadata }) => metadata.namespace ?? '');
  const namespaces = own === undefined ? undefined : new Set([own, ...namespacesOf]);
  return {
    concern: concernOf([...objects, ...members]),
    namespaces: namespaces && [...namespaces],
    isEmpty: objects.length === 0,
    unread,
  };
}

function canariesOf(namespace: string | undefined): string {
  return namespace === undefined ? 'Canaries of other namespaces' : `Canaries of namespace ${namespace}`;
}

/** What may not be listed is noted, where it has a name here; else that is the error. */
async function orNote<T>(
  unread: string[],
  what: string | undefined,
  list: Promise<readonly T[]>,
): Promise<readonly T[]> {
  return list.catch((error: unknown) => {
    if (what === undefined || !isApiError(error, 'forbidden')) throw error;
    unread.push(notListed(what));
    return [];
  });
}

function notListed(what: string): string {
  return `not shown: ${what}: you may not list them\n`;
}

/** How Events are printed. */
interface EventOptions {
  readonly format: EventFlags['output'];
  readonly screen: Screen;
  readonly nowMs: number;
}

/** The Events of a scope, the newest last. Throws ApiError. */
async function events(
  { client }: Pick<Connection, 'client'>,
  scope: EventScope,
  { format, screen, nowMs }: EventOptions,
): Promise<CommandResult> {
  const { concern } = scope;
  const { items, unread } = await eventsIn(client, scope);
  const lines = inOrder(items.filter(concern).map(eventLine));
  const stderr = unread.join('');
  if (format !== 'text')
    return { ...printed(formatOutput('ReportedEvents', { events: lines }, format)), stderr };
  if (lines.length === 0) {
    const none = 'No Events found; Kubernetes keeps them for an hour by default.\n';
    return { ...printed(''), stderr: none + stderr };
  }
  return { ...printed(`${formatTable(columns(nowMs), lines, screen, false).join('\n')}\n`), stderr };
}

/** All Events of the namespaces that may be read, which of them that are, and a line for each other one. */
async function eventsIn(client: Pick<Connection['client'], 'list'>, scope: EventScope) {
  const found = await Promise.all(
    (scope.namespaces ?? [undefined]).map(async (namespace, index) => {
      const unread: string[] = [];
      const what = index === 0 ? undefined : `Events of namespace ${namespace}`;
      const list = client.list('v1', 'Event', present({ namespace })).then(({ items }) => items);
      return { namespace, items: await orNote(unread, what, list), unread };
    }),
  );
  return {
    items: found.flatMap(({ items }) => items),
    places: found.flatMap(({ namespace, unread }) => (unread.length > 0 ? [] : [namespace])),
    unread: [...scope.unread, ...found.flatMap(({ unread }) => unread)],
  };
}

function columns(nowMs: number): ReadonlyArray<TableColumn<EventLine>> {
  return [
    { title: 'LAST SEEN', value: (line) => ageOf(line, nowMs) },
    { title: 'TYPE', value: ({ type }) => type, tone: ({ type }) => (type === 'Warning' ? 'bad' : 'none') },
    { title: 'REASON', value: ({ reason }) => reason },
    { title: 'OBJECT', value: ({ object }) => object },
    { title: 'MESSAGE', value: ({ message }) => message, least: 30 },
  ];
}

function ageOf({ firstTime, lastTime, count }: EventLine, nowMs: number): string {
  const spanMs = Date.parse(lastTime) - Date.parse(firstTime);
  const often = count > 1 ? ` (x${count}${spanMs > 0 ? ` over ${formatSpan(spanMs)}` : ''})` : '';
  return `${formatAge(lastTime, nowMs)}${often}`;
}

/** Where watched Events go, and until when. */
interface WatchEventsOptions {
  readonly flags: Pick<EventFlags, 'output'>;
  readonly signal: AbortSignal;
  readonly print: (text: string) => void;
  /** Takes what is no Event: that none arrive. */
  readonly warn: (text: string) => void;
}

/** Prints those that are there, and each further one as it comes, or as its count rises. Rejects with the signal's reason. Throws ApiError. */
export async function watchEvents(
  { client, caches }: Pick<Connection, 'client' | 'caches'>,
  scope: EventScope,
  { flags, signal, print, warn }: WatchEventsOptions,
): Promise<never> {
  const { concern } = scope;
  // A cache would wait for ever for what may not be read.
  const { items, places, unread } = await eventsIn(client, scope);
  for (const line of unread) warn(line);
  const handles = places.map((namespace) =>
    caches.ensure({ apiVersion: 'v1', kind: 'Event', ...present({ namespace }) }),
  );
  const printedCounts = new Map<string, number>();
  const printNew = (event: KubernetesObject) => {
    const line = eventLine(event);
    const { uid = describe(event) } = event.metadata;
    if (!concern(event) || printedCounts.get(uid) === line.count) return;
    printedCounts.set(uid, line.count);
    print(flags.output === 'json' ? formatOutputLine('ReportedEvent', line) : `${textOf(line)}\n`);
  };
  const byTime = (left: KubernetesObject, right: KubernetesObject) =>
    Date.parse(eventLine(left).lastTime) - Date.parse(eventLine(right).lastTime);
  const stops = handles.map((handle) =>
    reportSilence(systemClock, handle, ({ message }) => warn(`${message}\n`)),
  );
  try {
    for (const event of [...items].sort(byTime)) printNew(event);
    for (const { store } of handles)
      store.subscribe((change, event) => {
        if (change !== 'deleted') printNew(event);
      });
    return await untilAborted(signal);
  } finally {
    for (const stop of stops) stop();
    await Promise.all(handles.map((handle) => handle.release()));
  }
}

/** One in a line, for a pipe or a terminal that shows them as they come. */
function textOf({ lastTime, type, reason, object, message, count }: EventLine): string {
  const often = count > 1 ? ` (x${count})` : '';
  return printable(`${lastTime}  ${type}  ${reason}${often}  ${object}  ${message}`);
}
