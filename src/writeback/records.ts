import { syncAnnotation } from '../api/annotations.ts';
import { shortHash } from '../api/kubernetes.ts';
import type { Source } from '../api/source/source.ts';

/**
 * What is in Git already. It is stored as text in a condition of the Canary, readable for people and for the next process: so nothing is written
 * twice after a restart, and no request is needed to find out.
 */
export type GitRecord = { readonly text: string } & (
  | { readonly kind: 'ledger'; readonly commit: string }
  | { readonly kind: 'status'; readonly state: string; readonly commit: string; readonly about: string }
  | { readonly kind: 'revert'; readonly branch: string; readonly outcome: string }
  | { readonly kind: 'bump'; readonly commit: string }
  | { readonly kind: 'refused'; readonly write: string; readonly request: string; readonly times: number }
);

const SEPARATOR = '; ';
const COMMIT = '([0-9a-f]{40})';

/** The ledger's ref points at this commit. */
export function ledgerRecord(commit: string): GitRecord {
  return { kind: 'ledger', commit, text: `ledger at ${commit}` };
}

/** This commit status was set; `about` is the stage of the release, if its state alone does not say it. */
export function statusRecord(state: string, commit: string, about = ''): GitRecord {
  const words = about ? `${state} (${about})` : state;
  return { kind: 'status', state, commit, about, text: `commit status ${words} on ${commit}` };
}

/** The revert of a branch exists: `open URL`, `closing URL` (closed, its comment is to come), `merged URL`, `closed URL`, `commit SHA`, or `pushed`. */
export function revertRecord(branch: string, outcome: string): GitRecord {
  return { kind: 'revert', branch, outcome, text: `revert ${branch} ${outcome}` };
}

/** It was reported that this commit brings a rejected release. */
export function bumpRecord(commit: string): GitRecord {
  return { kind: 'bump', commit, text: `rejected again in ${commit}` };
}

/** This write was refused so many times; `request` is what asked for it (`requestOf`): for another one the count starts again. */
export function refusalRecord(write: string, request: string, times: number): GitRecord {
  return { kind: 'refused', write, request, times, text: `refused ${times}x at ${request}: ${write}` };
}

/** A short id of what a Source asks for now: its generation, and the last request to sync. */
export function requestOf({ metadata }: Pick<Source, 'metadata'>): string {
  const sync = metadata.annotations?.[syncAnnotation];
  const hash = sync && shortHash(sync, 8);
  return `generation ${metadata.generation ?? 0}${hash ? ` sync ${hash}` : ''}`;
}

/** The message of the condition; `words` of a server are no record, whatever they say. */
export function formatGitRecords(records: readonly GitRecord[], words = ''): string {
  const said = words.replaceAll(SEPARATOR, ', ');
  return [...records.map(({ text }) => text), ...(said ? [said] : [])].join(SEPARATOR);
}

/** Reads the message back; unknown parts are left out. */
export function parseGitRecords(message: string): GitRecord[] {
  return message.split(SEPARATOR).flatMap(parsed);
}

/** The rest of the message: why something is not in Git. */
export function messageWithoutRecords(message: string): string {
  return message
    .split(SEPARATOR)
    .filter((text) => parsed(text).length === 0)
    .join(SEPARATOR);
}

function parsed(text: string): GitRecord[] {
  const ledger = new RegExp(`^ledger at ${COMMIT}$`).exec(text);
  if (ledger?.[1]) return [ledgerRecord(ledger[1])];
  const status = new RegExp(`^commit status (\\w+)(?: \\((\\w+)\\))? on ${COMMIT}$`).exec(text);
  if (status?.[1] && status[3]) return [statusRecord(status[1], status[3], status[2])];
  const revert = /^revert (\S+) (\S.*)$/.exec(text);
  if (revert?.[1] && revert[2]) return [revertRecord(revert[1], revert[2])];
  const bump = new RegExp(`^rejected again in ${COMMIT}$`).exec(text);
  if (bump?.[1]) return [bumpRecord(bump[1])];
  const refused = /^refused (\d{1,6})x at (generation \d+(?: sync [0-9a-f]{8})?): (\S.*)$/.exec(text);
  return refused?.[1] && refused[2] && refused[3]
    ? [refusalRecord(refused[3], refused[2], Number(refused[1]))]
    : [];
}

/** A commit status that says that something is still to come: where another commit takes the release's place, that is set there, too. */
export function isUnfinished({ state, about }: Extract<GitRecord, { kind: 'status' }>): boolean {
  return state === 'pending' || about !== '';
}

/** With one more record at the end, in place of an earlier one about the same thing. */
export function withGitRecord(before: readonly GitRecord[], added: GitRecord): GitRecord[] {
  const isReplaced = (entry: GitRecord): boolean => {
    if (entry.kind === 'revert') return added.kind === 'revert' && entry.branch === added.branch;
    if (entry.kind === 'refused') return added.kind === 'refused' && entry.write === added.write;
    if (entry.kind === 'status' && added.kind === 'status')
      return entry.commit === added.commit || (added.state !== 'error' && !isUnfinished(entry));
    // A Canary has one ledger.
    return entry.kind === added.kind;
  };
  return [...before.filter((entry) => !isReplaced(entry)), added];
}

/** The pull request was closed by Holdfast, and still gets the comment that says why. */
export function owesComment(outcome: string): boolean {
  return outcome.startsWith('closing ');
}

/** Reverts whose pull request was open when it was read last, or still gets its last comment. */
export function openRequests(records: readonly GitRecord[]): Array<Extract<GitRecord, { kind: 'revert' }>> {
  return records
    .filter((entry) => entry.kind === 'revert')
    .filter(({ outcome }) => outcome.startsWith('open ') || owesComment(outcome));
}
