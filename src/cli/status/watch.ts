import { systemClock } from '../../api/clock.ts';
import { apiVersionOf, type KindName } from '../../api/kinds/kinds.ts';
import { describe, type KubernetesObject, present } from '../../api/kubernetes.ts';
import { InputError } from '../../api/problems.ts';
import type { CacheHandle } from '../../cluster/caches/caches.ts';
import type { Connection } from '../../server/connection.ts';
import { formatOutputLine, paint, printable, wrap } from '../../terminal/output.ts';
import { canRedraw, createLivePage } from '../../terminal/timeline/live-screen.ts';
import { untilAborted } from '../command.ts';
import { readKinds } from '../objects.ts';
import { clean, type StatusOptions, type StatusReader, status } from './report.ts';
import { canaryRow, sourceRow } from './rows.ts';

/** At most so often a page is drawn; ages move on without any change. */
const redrawMs = 250;
const ageMs = 1_000;

/** Where to show it, and until when. */
interface WatchStatusOptions extends Omit<StatusOptions, 'nowMs'> {
  readonly stream: NodeJS.WriteStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** Called where lines are printed: when no changes arrive any more, and when they do again. */
  readonly onSilence: (line: string) => void;
}

/**
 * `holdfast status --watch`: on a terminal the page of `holdfast status`, drawn again as things change; elsewhere a line for each change,
 * with -o json an object a line. Rejects with the signal's reason. Throws ApiError for what cannot be read at the beginning.
 */
export async function watchStatus(
  connection: Pick<Connection, 'client' | 'caches'>,
  options: WatchStatusOptions,
): Promise<never> {
  const { stream, env, signal, format } = options;
  const { kind: asked, namespace, labelSelector, name } = options;
  // For one that is not there, the error that `holdfast status` has for it.
  if (name !== undefined) await status(connection.client, { ...options, nowMs: systemClock.nowMs() });
  // A cache would wait for ever for what may not be read.
  const query = { namespace, labelSelector, metadataOnly: true };
  let note = '';
  const readable = await readKinds(
    connection.client,
    asked ? [asked] : ['Canary', 'Source'],
    query,
    (error) => {
      note = `no Sources are shown: ${error.message}`;
    },
  );
  const handles = new Map<string, CacheHandle>(
    (Object.keys(readable) as KindName[]).map((kind) => [
      kind,
      connection.caches.ensure({
        apiVersion: apiVersionOf(kind),
        kind,
        ...present({ namespace, labelSelector, name }),
      }),
    ]),
  );
  const isTable = format === 'table' || format === 'wide';
  try {
    const show = isTable && canRedraw(stream, env) ? onPage : inLines;
    if (note && show === inLines) options.onSilence(note);
    return await show(handles, { ...options, note }, signal);
  } finally {
    await Promise.all([...handles.values()].map((handle) => handle.release()));
  }
}

async function onPage(
  handles: ReadonlyMap<string, CacheHandle>,
  options: WatchStatusOptions & { readonly note: string },
  signal: AbortSignal,
): Promise<never> {
  await untilAborted(signal, Promise.all([...handles.values()].map((handle) => handle.synced())));
  const reader: StatusReader = {
    get: async ({ kind, namespace, name }) => handles.get(kind)?.store.get(namespace, name),
    list: async (_, kind, { namespace } = {}) => ({
      items: handles.get(kind)?.store.list(namespace) ?? [],
      resourceVersion: '',
    }),
  };
  const page = createLivePage(options.stream, options.screen);
  let drawnMs = 0;
  let isNews = true;
  const onNews = () => {
    isNews = true;
  };
  const stops = [...handles.values()].map((handle) => handle.store.subscribe(onNews));
  const draw = async () => {
    const nowMs = Date.now();
    if (!isNews && nowMs - drawnMs < ageMs) return;
    isNews = false;
    drawnMs = nowMs;
    const screen = { ...options.screen };
    // The object that is shown may be deleted and created again.
    const { stdout, stderr } = await status(reader, { ...options, screen, nowMs }).catch((error: unknown) => {
      if (error instanceof InputError) return { stdout: error.message, stderr: '' };
      throw error;
    });
    const silence = silenceOf(handles);
    const warnings = [
      ...(silence ? [paint(screen, 'bad', printable(silence))] : []),
      ...wrap(options.note, screen.columns, '').map((line) => paint(screen, 'busy', line)),
    ];
    page.draw([...warnings, ...(stdout || stderr).trimEnd().split('\n')]);
  };
  const timer = setInterval(() => void draw(), redrawMs);
  try {
    await draw();
    return await untilAborted(signal);
  } finally {
    clearInterval(timer);
    for (const stop of stops) stop();
    page.close();
  }
}

async function inLines(
  handles: ReadonlyMap<string, CacheHandle>,
  { stream, format, onSilence }: WatchStatusOptions,
  signal: AbortSignal,
): Promise<never> {
  const printedLines = new Map<string, string>();
  const lineOf = format === 'json' ? jsonLine : summary;
  const stops = [...handles.values()].map((handle) =>
    handle.store.subscribe((type, object) => {
      const line = lineOf(object, type === 'deleted');
      if (printedLines.get(describe(object)) === line) return;
      printedLines.set(describe(object), line);
      const time = format === 'json' ? '' : `${new Date(systemClock.nowMs()).toISOString()}  `;
      stream.write(`${time}${line}\n`);
    }),
  );
  let silence = '';
  const timer = setInterval(() => {
    const now = silenceOf(handles);
    if (now === silence) return;
    onSilence(now || 'changes arrive again');
    silence = now;
  }, ageMs);
  try {
    return await untilAborted(signal);
  } finally {
    clearInterval(timer);
    for (const stop of stops) stop();
  }
}

/** Why no changes arrive; empty while they do. */
function silenceOf(handles: ReadonlyMap<string, CacheHandle>): string {
  const failing = [...handles.values()].map((handle) => handle.health()).find(({ failures }) => failures > 0);
  return failing ? `no changes arrive: ${failing.lastError}` : '';
}

function jsonLine(object: KubernetesObject, isDeleted: boolean): string {
  if (!isDeleted) return JSON.stringify(clean(object));
  const { apiVersion, kind, metadata } = object;
  const { namespace, name, uid } = metadata;
  return formatOutputLine('DeletedObject', { object: { apiVersion, kind, namespace, name, uid } }).trimEnd();
}

/** One object in a line that changes only with what it says. */
function summary(object: KubernetesObject, isDeleted: boolean): string {
  if (isDeleted) return `${describe(object)} deleted`;
  if (object.kind === 'Source') {
    const { ready, reason, commit, message } = sourceRow(object);
    return printable(`${describe(object)} ready ${ready} (${reason}) ${commit} ${message}`.trimEnd());
  }
  const { phase, weight, step, reason, message } = canaryRow(object, 0);
  const parts = [`weight ${weight}`, ...(step === '-' ? [] : [`step ${step}`]), reason];
  return printable(`${describe(object)} ${phase} (${parts.join(', ')}) ${message}`.trimEnd());
}
