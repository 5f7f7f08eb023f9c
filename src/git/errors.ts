/** Why Git work failed; `who` in the message says who must act. */
export type GitErrorCode =
  | 'Unreachable'
  | 'Unauthorized'
  | 'NotFound'
  | 'RefNotFound'
  | 'PathNotFound'
  | 'TooLarge'
  | 'Timeout'
  | 'Redirected'
  | 'Corrupt'
  | 'Refused'
  | 'Storage'
  | 'Conflict'
  | 'Rejected'
  | 'NotVerified'
  | 'SignersUnusable'
  | 'ReadingSkipped'
  | 'Aborted';

/**
 * Who must act: `author` changes the repository or the Source, `operator` changes Holdfast's or the Git
 * server's setup or credentials, `nobody` means that the next poll may simply succeed.
 */
type GitErrorActor = 'author' | 'operator' | 'nobody';

const ACTORS: Record<GitErrorCode, GitErrorActor> = {
  Unreachable: 'nobody',
  Unauthorized: 'operator',
  NotFound: 'author',
  RefNotFound: 'author',
  PathNotFound: 'author',
  TooLarge: 'author',
  Timeout: 'nobody',
  Redirected: 'author',
  Corrupt: 'nobody',
  Refused: 'author',
  Storage: 'operator',
  Conflict: 'nobody',
  Rejected: 'operator',
  NotVerified: 'author',
  SignersUnusable: 'operator',
  ReadingSkipped: 'author',
  Aborted: 'nobody',
};

/** A failed Git operation. The message names repository and cause, never credentials or answer bodies. */
export class GitError extends Error {
  readonly code: GitErrorCode;
  readonly actor: GitErrorActor;
  /** For so long the server wants no requests. */
  readonly pauseMs: number | undefined;

  constructor(code: GitErrorCode, message: string, cause?: unknown, pauseMs?: number) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'GitError';
    this.code = code;
    this.actor = ACTORS[code];
    this.pauseMs = pauseMs;
  }
}
