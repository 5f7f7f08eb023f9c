/** What a forge offers, and what the file of each forge implements. */
import type { CommitStatus, NewPullRequest, PullRequest } from '../../api/forge.ts';
import type { Forge } from '../../contracts/git.ts';
import type { HttpAuth, HttpTls } from '../../http/types.ts';

/** The contract's forge, and what `holdfast check` asks of one besides. Methods throw ForgeError. */
export interface ForgeClient extends Forge {
  /** `github`, which includes GitHub Enterprise; `gitea`, which includes Forgejo; and the others of the table by their names. */
  readonly kind: string;
  /** Whether the credentials may write to the repository; undefined when the forge does not report it. */
  mayWrite(): Promise<boolean | undefined>;
}

/** How to sign in at a forge. Holds secrets: never log or serialise it. */
export type ForgeCredentials =
  | { readonly kind: 'none' }
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'password'; readonly username: string; readonly password: string }
  | GithubApp;

/** A GitHub App and where it is installed. Holds a secret: never log or serialise it. */
export interface GithubApp {
  readonly kind: 'githubApp';
  readonly appId: string;
  /** By its number, or by the organisation or user who installed it. */
  readonly installation: { readonly id: string } | { readonly owner: string };
  /** RSA, PEM. */
  readonly privateKey: string;
  /** Base address of the API of a GitHub Enterprise Server, without a trailing slash; undefined: by the repository's host. */
  readonly api?: string;
}

/** How a forge is reached: as the Source's Git server is. Holds secrets: never log or serialise it. */
export interface ForgeNetworkSettings {
  readonly tls?: HttpTls;
  /** Address of a proxy, with its credentials as user info. */
  readonly proxy?: string;
}

/** Where a repository's API is. */
export interface ForgePlace {
  /** Base address of the API, without a trailing slash. */
  readonly api: string;
  /** `owner/name`; on GitLab with all groups. */
  readonly repository: string;
}

/** One request to a forge's API. */
export interface ForgeCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  /** Below the API's base address; its parts are encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly json?: unknown;
}

/** A pull request with fields that do not leave this folder. */
export interface ReadPullRequest extends PullRequest {
  /** The branch is in another repository, so it is not our branch, whatever its name. */
  readonly fromFork: boolean;
}

/** An answer to a request without credentials. */
interface AnonymousAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Its JSON; empty where it is no object. */
  readonly json: Readonly<Record<string, unknown>>;
}

/** One forge's API as data: which request does what, and how an answer is read. Pure; `send.ts` sends. */
export interface ForgeDialect {
  /** Its name in the key `forge` of a Secret, and in messages. */
  readonly kind: string;
  /** Other names in that key. */
  readonly aliases?: readonly string[];
  /** Its public hosts. */
  readonly hosts: readonly string[];
  /** How a host is recognized: a page below the API that needs no credentials. Absent: there are only public hosts. */
  readonly fingerprint?: { readonly path: string; fits(answer: AnonymousAnswer): boolean };
  readonly headers: Readonly<Record<string, string>>;
  /** How drafts are marked: by a field of the request, or by a prefix of the title. */
  readonly draft: 'field' | { readonly prefix: string };
  /** Rows of one page of `list`; fewer rows mean that it was the last one. Absent: servers may give fewer, and the last page is an empty one. */
  readonly pageSize?: number;
  /** `path` is that of the repository's URL, without slashes around it and without `.git`. */
  place(url: URL, path: string): ForgePlace;
  /** Where it is else, if the forge is below a path that its repositories' URLs do not tell from a group; found by the fingerprint. */
  placeBelow?(url: URL, path: string): ForgePlace | undefined;
  /** A GitHub App is a token by then. */
  auth(credentials: Exclude<ForgeCredentials, { kind: 'githubApp' }>): HttpAuth | undefined;
  /** Pull requests in every state, newest first, at least those of the branch. Pages count from 1. */
  list(repository: string, branch: string, page: number): ForgeCall;
  rows(answer: unknown): readonly unknown[];
  /** Throws when the answer is not a pull request of this forge. */
  read(answer: unknown): ReadPullRequest;
  get(repository: string, number: number): ForgeCall;
  create(repository: string, request: NewPullRequest): ForgeCall;
  comment(repository: string, number: number, body: string): ForgeCall;
  close(repository: string, number: number): ForgeCall;
  status(repository: string, commit: string, status: CommitStatus): ForgeCall;
  /** Says the forge's refusal that this status is there already. */
  isSameStatus?(message: string, status: CommitStatus): boolean;
  repositoryOf(repository: string): ForgeCall;
  /** Reads `repositoryOf`. */
  mayWrite(answer: unknown): boolean | undefined;
  /** Makes text harmless that the forge would take for commands. */
  safeText?(text: string): string;
}
