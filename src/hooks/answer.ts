import type { HookAnswer } from '../api/hooks.ts';
import { clip } from '../api/limits.ts';

/** What one attempt came to, and whether another one may come to something else. */
export interface Attempt {
  readonly verdict: HookAnswer['verdict'];
  readonly status?: number;
  readonly detail: string;
  readonly isWorthRetrying: boolean;
}

const MAX_DETAIL_CHARACTERS = 200;
/** Only the beginning of a body is looked at, and only to quote it. */
const QUOTED_BYTES = 1024;
/** Flagger takes these for yes; 203 and beyond are no. */
const LAST_GOOD_STATUS = 202;
/** Answers of a proxy or of a server that is overloaded: the hook itself was not heard. */
const NOT_HEARD = new Set([408, 429, 502, 503, 504]);

/** Reads an HTTP answer. Only 200 to 202 is yes; a 4xx or 5xx of the hook itself is no; everything else tells nothing. */
export function attemptOf(status: number, body: Uint8Array): Attempt {
  if (status >= 200 && status <= LAST_GOOD_STATUS) {
    return { verdict: 'approved', status, detail: `answered ${status}`, isWorthRetrying: false };
  }
  const isWorthRetrying = status === 429 || (status >= 500 && status !== 501);
  const isClear = status >= 400 && !NOT_HEARD.has(status);
  const said = isClear ? quote(body) : '';
  return {
    verdict: isClear ? 'refused' : 'unreachable',
    status,
    detail: clip(`answered ${status}${said ? `: ${said}` : ''}`, MAX_DETAIL_CHARACTERS),
    isWorthRetrying,
  };
}

/** Reads a failed request. The client's messages hold neither query strings nor bodies. */
export function failedAttempt(error: unknown): Attempt {
  const code = (error as { code?: unknown } | null)?.code;
  const detail = error instanceof Error ? error.message : 'the request failed';
  return {
    verdict: 'unreachable',
    detail: clip(detail, MAX_DETAIL_CHARACTERS),
    isWorthRetrying: code === 'Unreachable' || code === 'Closed' || code === 'Timeout',
  };
}

/** The first line of an answer, without anything a terminal or a log could stumble over. */
function quote(body: Uint8Array): string {
  const text = new TextDecoder().decode(body.subarray(0, QUOTED_BYTES));
  const [line = ''] = text.trim().split(/[\r\n]/);
  return line.replace(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, ' ').trim();
}
