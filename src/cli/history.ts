import type { CanaryStatus } from '../api/canary/status.ts';
import { canaryStatus, shortCommit } from '../api/canary/summary.ts';
import { canaryLabel, type KubernetesObject, labelValue, namespacedName } from '../api/kubernetes.ts';
import { isApiError } from '../cluster/errors.ts';
import { recordViews } from '../engine/records/records.ts';
import { labelRecord } from '../release/record.ts';
import { newestFirst, type RecordView } from '../rollout/world.ts';
import {
  type CommandResult,
  formatAge,
  formatOutput,
  formatTable,
  type Screen,
  screenOf,
  type TableColumn,
  type Tone,
} from '../terminal/output.ts';
import type { CliCommand } from './command.ts';
import { readOne } from './objects.ts';
import {
  type ObjectFlags,
  type ObjectOptions,
  onTargets,
  type RequestClient,
  withObjectFlags,
} from './requests/request.ts';
import { commitSubject } from './status/rows.ts';

/** One release that Holdfast remembers. */
export interface PastRelease {
  readonly digest: string;
  readonly commit: string;
  readonly author?: string | undefined;
  readonly subject?: string | undefined;
  /** When it was found good; absent for one that never was, or of which no record is kept. */
  readonly promotedTime?: string | undefined;
  readonly endTime?: string | undefined;
  /** LastKnownGood, Kept (a rollback can go there), UnderWay, NotProven (its checks did not end), or how it ended. */
  readonly state: string;
  readonly reason?: string | undefined;
  /** Why it is not tried again. */
  readonly rejected?: string | undefined;
}

/** What the history is printed with. */
interface HistoryOptions extends ObjectOptions {
  readonly screen: Screen;
  readonly nowMs: number;
}

/** `holdfast history`: what ran, what is kept to go back to, and what is not tried again. */
export const historyCommand: CliCommand = {
  register(command, context) {
    withObjectFlags(command, 'Canary').action((subject: string | undefined, flags: ObjectFlags) =>
      onTargets(context, 'Canary', { subject, flags }, (client, target) =>
        history(client, {
          ...target,
          screen: screenOf(process.stdout, process.env),
          nowMs: Date.now(),
        }),
      ),
    );
  },
};

/** The releases of a Canary from its records and its status, the newest first. Throws ApiError and InputError. */
export async function history(client: RequestClient, options: HistoryOptions): Promise<CommandResult> {
  const canary = await readOne(client, 'Canary', options);
  const { records, stderr } = await readRecords(client, canary);
  const releases = pastReleases(canary, records);
  const { format, screen, nowMs } = options;
  if (format !== 'text') {
    const body = { canary: namespacedName(canary), releases };
    return { stdout: formatOutput('History', body, format), stderr, exitCode: 0 };
  }
  if (releases.length === 0) return { stdout: 'No releases found.\n', stderr, exitCode: 0 };
  const lines = formatTable(columns(nowMs), releases, screen, false);
  return { stdout: `${lines.join('\n')}\n`, stderr, exitCode: 0 };
}

/** Who may not list Secrets still sees what the status says. */
async function readRecords(
  client: RequestClient,
  canary: KubernetesObject,
): Promise<{ records: RecordView[]; stderr: string }> {
  try {
    return { records: await storedReleases(client, canary), stderr: '' };
  } catch (error) {
    if (!isApiError(error, 'forbidden')) throw error;
    return {
      records: [],
      stderr: 'stored releases are not shown: you cannot list Secrets in this namespace\n',
    };
  }
}

/** The stored releases and those of the status by digest; the newest first. */
function pastReleases(canary: KubernetesObject, records: readonly RecordView[]): PastRelease[] {
  const status = canaryStatus(canary);
  const digests = [
    status.run?.digest,
    status.lastKnownGood?.digest,
    ...(status.history ?? []).map(({ digest }) => digest),
    ...records.map(({ digest }) => digest),
    ...(status.rejected ?? []).map(({ digest }) => digest),
  ].filter((digest) => digest !== undefined);
  return [...new Set(digests)]
    .map((digest) => {
      const release = pastRelease(digest, status, records);
      return { ...release, subject: release.subject ?? commitSubject(canary, release.commit) };
    })
    .sort((left, right) => timeOf(right) - timeOf(left));
}

function pastRelease(digest: string, status: CanaryStatus, records: readonly RecordView[]): PastRelease {
  const record = records.find((entry) => entry.digest === digest);
  const past = status.history?.find((entry) => entry.digest === digest);
  const rejection = status.rejected?.find((entry) => entry.digest === digest);
  const good = status.lastKnownGood?.digest === digest ? status.lastKnownGood : undefined;
  return {
    digest,
    commit:
      record?.commit.commit ?? past?.commit ?? rejection?.commit ?? good?.commit ?? status.run?.commit ?? '',
    author: record?.commit.author,
    subject: record?.commit.subject ?? past?.subject,
    promotedTime: record?.promotedTime ?? good?.promotedTime,
    endTime: past?.endTime ?? rejection?.time,
    state: stateOf(digest, status, { record, past: past?.result ?? (rejection && 'Failed') }),
    reason: past?.reason,
    rejected: rejection?.reason,
  };
}

function stateOf(
  digest: string,
  status: CanaryStatus,
  { record, past }: { record: RecordView | undefined; past: string | undefined },
): string {
  if (status.run?.digest === digest) return 'UnderWay';
  if (status.lastKnownGood?.digest === digest) return 'LastKnownGood';
  // Of a release whose place another one took before its checks had ended no more is known than its record.
  return record?.promotedTime ? 'Kept' : (past ?? 'NotProven');
}

function timeOf({ state, promotedTime, endTime }: PastRelease): number {
  if (state === 'UnderWay') return Number.POSITIVE_INFINITY;
  return Math.max(Date.parse(promotedTime ?? '') || 0, Date.parse(endTime ?? '') || 0);
}

const tones: Readonly<Record<string, Tone>> = { LastKnownGood: 'good', UnderWay: 'busy', Failed: 'bad' };

function columns(nowMs: number): ReadonlyArray<TableColumn<PastRelease>> {
  return [
    { title: 'COMMIT', value: ({ commit }) => shortCommit(commit) || '-' },
    { title: 'STATE', value: ({ state }) => state, tone: ({ state }) => tones[state] ?? 'none' },
    {
      title: 'REASON',
      value: ({ rejected, reason }) => (rejected ? `rejected: ${rejected}` : (reason ?? '')),
    },
    { title: 'GOOD SINCE', value: ({ promotedTime }) => formatAge(promotedTime, nowMs) || '-' },
    { title: 'AUTHOR', value: ({ author }) => author ?? '', least: 6 },
    { title: 'SUBJECT', value: ({ subject }) => subject ?? '', least: 12 },
    { title: 'DIGEST', value: ({ digest }) => digest.slice(0, 15) },
  ];
}

/** The releases of a Canary that are kept in Secrets, the newest good one first; their content is not read. Throws ApiError. */
export async function storedReleases(
  client: Pick<RequestClient, 'list'>,
  { metadata: { name, namespace = '' } }: KubernetesObject,
): Promise<RecordView[]> {
  const labelSelector = `${canaryLabel}=${labelValue(name)},${labelRecord}=release`;
  const { items } = await client.list('v1', 'Secret', { namespace, labelSelector, metadataOnly: true });
  const kept = recordViews(items, { namespace, name }).sort(newestFirst);
  return [
    ...kept.filter(({ promotedTime }) => promotedTime !== undefined),
    ...kept.filter(({ promotedTime }) => promotedTime === undefined),
  ];
}
