import { type Command, Option } from 'commander';
import { freezeLabel, readFreeze } from '../../api/freeze.ts';
import {
  describe,
  type KubernetesObject,
  type ObjectReference,
  parseLabelSelector,
  referenceOf,
  shortHash,
} from '../../api/kubernetes.ts';
import { InputError } from '../../api/problems.ts';
import type { SourceWindow } from '../../api/source/source.ts';
import { parseDurationMs, parseTimeMs } from '../../api/time.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { isApiError, onApiError } from '../../cluster/errors.ts';
import { windowProblems } from '../../engine/windows.ts';
import {
  type CommandResult,
  counted,
  formatAge,
  formatOutput,
  printable,
  printed,
} from '../../terminal/output.ts';
import { whySetBack } from '../../workload/compare/managed-fields.ts';
import { type CliCommand, emit, withConnection } from '../command.ts';
import { holdfastNamespaceOption, outputOption, type SubjectFlags, withSubjectFlags } from '../flags.ts';
import { readLeader } from '../leader.ts';
import { readAll } from '../objects.ts';
import { manager, type ObjectFlags } from './request.ts';

/** The part of the client that freezing takes. */
type FreezeClient = Pick<ClusterClient, 'apply' | 'delete' | 'get' | 'list' | 'patch'>;

/** Which Canaries. */
interface FreezeScope {
  /** That of Holdfast freezes those of all namespaces. */
  readonly namespace: string;
  /** Where Holdfast runs. */
  readonly ownNamespace: string;
  /** Labels of the Canaries; undefined: all of them. */
  readonly selector: string | undefined;
  readonly format: ObjectFlags['output'];
}

interface UnfreezeScope extends FreezeScope {
  /** Those that come back by a schedule, or the others. */
  readonly scheduled: boolean;
  /** Those that cover the whole cluster are meant; default false. */
  readonly isForAll?: boolean;
}

interface ScopeFlags extends SubjectFlags {
  readonly holdfastNamespace: string;
  readonly output: ObjectFlags['output'];
}

interface FreezeFlags {
  readonly until?: string;
  readonly schedule?: string;
  readonly duration?: string;
  readonly timeZone?: string;
  readonly startsOnly?: boolean;
  readonly reason: string;
}

type FreezeData = { readonly selector?: string; readonly windows?: string } | undefined;

function withScope(command: Command): Command {
  return withSubjectFlags(command)
    .addOption(holdfastNamespaceOption('--holdfast-namespace'))
    .addOption(outputOption());
}

function scopeOf(flags: ScopeFlags, access: { readonly namespace: string }): FreezeScope {
  if (flags.allNamespaces && flags.namespace !== undefined)
    throw new InputError('-A and -n exclude each other');
  const namespace = flags.allNamespaces ? flags.holdfastNamespace : (flags.namespace ?? access.namespace);
  return {
    namespace,
    ownNamespace: flags.holdfastNamespace,
    selector: flags.selector,
    format: flags.output,
  };
}

/** `holdfast freeze`: no release of these Canaries starts, takes a step or is promoted. */
export const freezeCommand: CliCommand = {
  register(command, context) {
    withScope(
      command
        .description(
          'hold the rollouts of all Canaries of a namespace (-n), of all namespaces (-A), or of those with certain labels (-l): nothing starts, takes a step or is promoted; reverts continue',
        )
        .addOption(
          new Option(
            '--until <time>',
            'end of the freeze: 18:00, 2h or 2026-12-27T08:00:00Z (default: until holdfast unfreeze)',
          ),
        )
        .addOption(
          new Option(
            '--schedule <cron>',
            'repeat the freeze: cron expression of each beginning, for example "0 18 * * 5"; needs --duration',
          ),
        )
        .addOption(new Option('--duration <span>', 'length of each freeze of --schedule, for example 62h'))
        .addOption(
          new Option(
            '--time-zone <name>',
            'time zone of --schedule, for example Europe/Oslo (default: that of this machine)',
          ),
        )
        .option('--starts-only', 'hold starts only; releases that have started continue')
        .requiredOption('--reason <text>', 'why; shown in the status of every Canary'),
    ).action(async (flags: ScopeFlags & FreezeFlags) => {
      const { until, reason, startsOnly = false } = flags;
      const windows = windowsOf(flags, Date.now());
      // What cannot be read is refused before anything is asked.
      if (until !== undefined) endOf(until, 0);
      const result = await withConnection(flags, context, ({ access, client, transport }) =>
        freeze(client, {
          ...scopeOf(flags, access),
          until,
          reason,
          windows,
          startsOnly,
          serverNowMs: transport.serverNowMs,
        }),
      );
      emit(result, context);
    });
  },
};

/** `holdfast unfreeze`: deletes the freezes of a place. */
export const unfreezeCommand: CliCommand = {
  register(command, context) {
    withScope(
      command
        .description(
          'end the freezes of a namespace (-n), or those that cover the whole cluster (-A), except those with a schedule; with -l only the one for these labels',
        )
        .option('--scheduled', 'end those with a schedule instead'),
    ).action(async (flags: ScopeFlags & { scheduled?: boolean }) => {
      const result = await withConnection(flags, context, ({ access, client }) =>
        unfreeze(client, {
          ...scopeOf(flags, access),
          isForAll: flags.allNamespaces === true,
          scheduled: flags.scheduled === true,
        }),
      );
      emit(result, context);
    });
  },
};

/** Writes the freeze of this scope, or changes its end and reason. Throws ApiError and InputError. */
export async function freeze(
  client: FreezeClient,
  options: FreezeScope & {
    readonly until: string | undefined;
    readonly reason: string;
    /** When it freezes; undefined: from now on. */
    readonly windows: readonly SourceWindow[] | undefined;
    readonly startsOnly: boolean;
    /** The end counts by the controller's clock, which is near that of the API server; this machine's may be wrong. */
    readonly serverNowMs: () => number;
  },
): Promise<CommandResult> {
  const { namespace, ownNamespace, selector, until, reason, windows, startsOnly, format } = options;
  const metadata = { name: nameOf(selector, windows), namespace, labels: { [freezeLabel]: 'true' } };
  const before = await freezeBefore(client, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
  const nowMs = options.serverNowMs();
  const untilMs = until === undefined ? undefined : endOf(until, nowMs);
  const end = untilMs === undefined ? undefined : new Date(untilMs).toISOString();
  const object: KubernetesObject = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata,
    data: {
      ...(selector ? { selector } : {}),
      ...(end ? { until: end } : {}),
      ...(windows ? { windows: JSON.stringify(windows) } : {}),
      ...(startsOnly ? { holds: 'starts' } : {}),
      reason,
    },
  };
  await write(client, object);
  const { count, warning } = await heldBy(client, options);
  const stderr = `${replacedNote(before, nowMs)}${warning}`;
  const holds = startsOnly ? 'starts' : 'all';
  const data = {
    freeze: `${namespace}/${object.metadata.name}`,
    selector,
    windows,
    holds,
    until: end,
    reason,
    canaries: count,
  } as const;
  if (format !== 'text') return { ...printed(formatOutput('Freeze', data, format)), stderr };
  const unfreeze = unfreezeCommandOf(object, ownNamespace);
  const span = untilMs === undefined ? `until ${unfreeze}` : `until ${end}, ${formatAge(end, nowMs)}`;
  const times = (windows ?? []).map(
    ({ schedule, duration, timeZone }) =>
      `for ${duration} each time at ${JSON.stringify(schedule)} (${timeZone}), `,
  );
  const more = startsOnly
    ? 'what has begun, reverts and rollbacks continue'
    : 'reverts and rollbacks continue';
  const canaries = count === undefined ? '' : `${counted(count, 'Canary', 'Canaries')} `;
  const stdout = `${describe(object)}: ${canaries}frozen ${times.join('')}${span}; ${more}\n`;
  return { ...printed(stdout), stderr };
}

/** What was typed, or means the same: a freeze in the namespace of Holdfast is one of all. */
function placeFlags(namespace: string, ownNamespace: string): string {
  if (namespace !== ownNamespace) return `-n ${namespace}`;
  const { defaultValue } = holdfastNamespaceOption('--holdfast-namespace');
  return ownNamespace === defaultValue ? '-A' : `-A --holdfast-namespace ${ownNamespace}`;
}

/** What a label selector consists of. */
const isPlain = /^[\w./=!,() -]{1,1000}$/;

/** What ends it; without labels of its own, also the other freezes of the place. */
function unfreezeCommandOf(freeze: KubernetesObject, ownNamespace: string): string {
  const { name, namespace = '' } = freeze.metadata;
  const selector = (freeze.data as FreezeData)?.selector;
  // Whoever may write ConfigMaps writes it: nothing that a shell would run is printed to be run.
  if (selector && !isPlain.test(selector)) return `kubectl -n ${namespace} delete configmap ${name}`;
  const labels = selector ? ` -l "${selector}"` : '';
  const place = placeFlags(namespace, ownNamespace);
  return `holdfast unfreeze ${place}${labels}${comesBack(freeze) ? ' --scheduled' : ''}`;
}

/** Fields that somebody changed by hand are theirs, so that applying the freeze without them would leave them in force. */
async function write(client: FreezeClient, freeze: KubernetesObject): Promise<void> {
  const applied = await client.apply(freeze, { manager, force: true });
  const data = (object: KubernetesObject) => (object.data ?? {}) as Readonly<Record<string, string>>;
  const left = ['selector', 'until', 'windows', 'holds'].filter(
    (field) => field in data(applied) && !(field in data(freeze)),
  );
  if (left.length === 0) return;
  const body = { data: Object.fromEntries(left.map((field) => [field, null])) };
  await client.patch(referenceOf(freeze), body, { type: 'merge', manager });
}

/** The freeze that is there already; undefined: none, or who may freeze may not read it. Throws InputError for one that another tool applies. */
async function freezeBefore(
  client: FreezeClient,
  object: KubernetesObject,
): Promise<KubernetesObject | undefined> {
  const before = await client.get(referenceOf(object)).catch(onApiError(['forbidden'], () => undefined));
  const applied = before && whyComesBack(before);
  if (applied) throw new InputError(applied);
  return before;
}

/** What the freeze takes the place of, which somebody else may count on; empty: nothing in force. */
function replacedNote(before: KubernetesObject | undefined, nowMs: number): string {
  if (!before) return '';
  const { reason, untilMs } = readFreeze(before);
  if (untilMs !== undefined && untilMs <= nowMs) return '';
  const end = untilMs === undefined ? 'it is lifted' : new Date(untilMs).toISOString();
  return `note: this replaces a freeze until ${end}: ${printable(reason)}\n`;
}

/** How many Canaries a freeze is for, and what to be warned of: one for none is a mistake, most often of the namespace. */
async function heldBy(
  client: FreezeClient,
  { namespace, selector, ownNamespace }: FreezeScope,
): Promise<{ readonly count: number | undefined; readonly warning: string }> {
  const isForAll = namespace === ownNamespace;
  try {
    const items = await readAll(client, 'Canary', {
      namespace: isForAll ? undefined : namespace,
      labelSelector: selector,
      metadataOnly: true,
    });
    const where = isForAll ? '' : ` of namespace ${namespace}`;
    const labels = selector === undefined ? '' : ` with labels ${selector}`;
    const none = `warning: there is no Canary${where}${labels} now; -n NAMESPACE or -A freezes others\n`;
    const isElsewhere = isForAll && (await readLeader(client, namespace, Date.now)).state === 'absent';
    const elsewhere = `warning: no controller keeps its Lease in namespace ${namespace}; where Holdfast runs in another one, name it with --holdfast-namespace, else only Canaries of ${namespace} are frozen\n`;
    return {
      count: items.length,
      warning: `${items.length === 0 ? none : ''}${isElsewhere ? elsewhere : ''}`,
    };
  } catch (error) {
    // Who may freeze need not be allowed to read Canaries or the Lease.
    if (!isApiError(error)) throw error;
    const warning = `warning: this cluster has no Canaries: ${printable(error.message)} --context names another cluster\n`;
    return { count: undefined, warning: isApiError(error, 'unknownKind') ? warning : '' };
  }
}

/** The flags that make it come back; undefined without them. Throws InputError. */
function windowsOf({ schedule, duration, timeZone }: FreezeFlags, nowMs: number): SourceWindow[] | undefined {
  if (schedule === undefined) {
    if (duration !== undefined || timeZone !== undefined)
      throw new InputError('--duration and --time-zone go with --schedule; --until 2h freezes once');
    return undefined;
  }
  if (duration === undefined || !parseDurationMs(duration))
    throw new InputError(
      '--schedule needs --duration, the length of each freeze in hours, minutes or seconds, for example 62h',
    );
  const ofMachine = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  const windows = [{ kind: 'deny' as const, schedule, duration, timeZone: timeZone ?? ofMachine }];
  const [problem] = windowProblems(windows, nowMs);
  if (problem) throw new InputError(`--schedule ${problem.message}`);
  return windows;
}

/**
 * Deletes the freezes of this scope, those that come back by a schedule or the others, warns of those that Git would bring back, and names those that
 * are left. Throws ApiError, and InputError where there is none to delete.
 */
export async function unfreeze(client: FreezeClient, scope: UnfreezeScope): Promise<CommandResult> {
  const { namespace, ownNamespace, selector, format, scheduled } = scope;
  const elsewhere = await elsewhereNote(client, scope);
  const { items } = await client.list('v1', 'ConfigMap', { namespace, labelSelector: freezeLabel });
  const meant = items.filter(
    (object) =>
      comesBack(object) === scheduled &&
      (selector === undefined || (object.data as FreezeData)?.selector === selector),
  );
  if (meant.length === 0) throw new InputError(noFreeze(items, scope, elsewhere));
  const kept: string[] = [];
  const names: string[] = [];
  for (const object of meant) {
    const { name } = object.metadata;
    const reference = { apiVersion: 'v1', kind: 'ConfigMap', name, namespace };
    const why = whyComesBack(object) ?? (await refusalOf(client, reference, meant.length > 1));
    if (why) kept.push(why);
    else names.push(`${namespace}/${name}`);
  }
  if (names.length === 0) throw new InputError(kept.join('; '));
  const stdout =
    format === 'text'
      ? names.map((name) => `ConfigMap ${name}: the freeze is lifted\n`).join('')
      : formatOutput('FreezesLifted', { lifted: names }, format);
  const left = items.filter((object) => !meant.includes(object) && isInForce(object));
  const stderr = [
    ...kept.map((why) => `warning: still frozen: ${printable(why)}\n`),
    ...left.map((object) => leftNote(object, ownNamespace)),
    elsewhere,
  ].join('');
  return { stdout, stderr, exitCode: kept.length > 0 ? 1 : 0 };
}

function comesBack({ data }: KubernetesObject): boolean {
  return (data as FreezeData)?.windows !== undefined;
}

/** Why there is nothing to delete in a namespace, with what is there, and elsewhere. */
function noFreeze(
  items: readonly KubernetesObject[],
  { namespace, selector, scheduled, isForAll }: UnfreezeScope,
  elsewhere: string,
): string {
  const others = items.map((object) => {
    const hint = comesBack(object) && !scheduled ? ', which has a schedule: use --scheduled' : '';
    const of = (object.data as FreezeData)?.selector;
    const labels = of && isPlain.test(of) ? `-l "${of}", ` : '';
    return `${object.metadata.name} (${labels}${readFreeze(object).reason}${hint})`;
  });
  const labels = selector === undefined ? '' : ` for ${selector}`;
  const hint = isForAll ? '' : '; -A means those that cover the whole cluster';
  const there = others.length > 0 ? `; there are: ${others.join(', ')}` : hint;
  return `no freeze${labels} in namespace ${namespace}${there}\n${elsewhere}`.trimEnd();
}

/** The freezes of other places that cover the same Canaries: of single namespaces, or of the whole cluster. Empty: none, or they cannot be listed. */
async function elsewhereNote(
  client: FreezeClient,
  { namespace, ownNamespace, isForAll }: UnfreezeScope,
): Promise<string> {
  const { items } = await client
    .list('v1', 'ConfigMap', {
      labelSelector: freezeLabel,
      ...(isForAll ? {} : { namespace: ownNamespace }),
    })
    .catch((error: unknown) => {
      // What is there says no more than that: the freeze that is meant is lifted all the same.
      if (isApiError(error)) return { items: [] };
      throw error;
    });
  return items
    .filter((object) => object.metadata.namespace !== namespace && isInForce(object))
    .map((object) => leftNote(object, ownNamespace))
    .join('');
}

function isInForce(object: KubernetesObject): boolean {
  const { untilMs } = readFreeze(object);
  return untilMs === undefined || untilMs > Date.now();
}

/** One that is left, and how to end it. */
function leftNote(object: KubernetesObject, ownNamespace: string): string {
  const { namespace = '', name } = object.metadata;
  const what = namespace === ownNamespace ? 'all namespaces' : `namespace ${namespace}`;
  const selector = (object.data as FreezeData)?.selector;
  const labels = selector && isPlain.test(selector) ? `${selector} in ` : '';
  const command = unfreezeCommandOf(object, ownNamespace);
  return `note: ConfigMap ${namespace}/${name} still freezes ${labels}${what} (${printable(readFreeze(object).reason)}); to end it, run: ${command}\n`;
}

/** Deletes it; resolves with why the API server refuses that, where others are to be deleted, too. Throws ApiError. */
async function refusalOf(
  client: FreezeClient,
  reference: ObjectReference,
  hasOthers: boolean,
): Promise<string | undefined> {
  try {
    await client.delete(reference);
    return undefined;
  } catch (error) {
    if (hasOthers && isApiError(error)) return error.message;
    throw error;
  }
}

/** Why deleting or changing a freeze would be undone: it is in Git, for instance. Undefined for those of `holdfast freeze`. */
function whyComesBack(object: KubernetesObject): string | undefined {
  return whySetBack(object, ['metadata', 'labels', freezeLabel], manager);
}

/** One for each set of labels, and for each schedule. Throws InputError for labels that cannot be read. */
function nameOf(selector: string | undefined, windows: readonly SourceWindow[] | undefined): string {
  if (selector === undefined && windows === undefined) return 'holdfast-freeze';
  try {
    parseLabelSelector(selector ?? '');
  } catch (error) {
    throw new InputError(error instanceof Error ? error.message : String(error));
  }
  const schedules = (windows ?? []).map(({ schedule }) => `\n${schedule}`).join('');
  return `holdfast-freeze-${shortHash(`${selector ?? ''}${schedules}`, 8)}`;
}

/** `18:00` of this machine's day, or of the next one; `2h`; or RFC 3339. Milliseconds since the epoch. Throws InputError. */
export function endOf(until: string, nowMs: number): number {
  const clock = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(until);
  if (clock) {
    const end = new Date(nowMs);
    end.setHours(Number(clock[1]), Number(clock[2]), 0, 0);
    if (end.getTime() <= nowMs) end.setDate(end.getDate() + 1);
    return end.getTime();
  }
  const spanMs = parseDurationMs(until);
  const endMs = spanMs === undefined ? parseTimeMs(until) : nowMs + spanMs;
  if (endMs === undefined)
    throw new InputError(
      `--until ${JSON.stringify(until)} is neither a time (18:00), nor a span (2h), nor a date with time (2026-12-27T08:00:00Z)`,
    );
  if (endMs <= nowMs) throw new InputError(`--until ${until} is in the past`);
  return endMs;
}
