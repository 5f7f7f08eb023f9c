/** Bitbucket Cloud's REST API, version 2.0. Bitbucket Data Center has another one and is not supported. */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { ForgeDialect } from './types.ts';

const KEY_LIMIT = 40;
/** The user name that goes with a repository's access token in Git. */
const TOKEN_USER = 'x-token-auth';
const API_TOKEN = /^(?<address>[^:@]+@[^:@]+):(?<apiToken>.+)$/;

const repositorySchema = z.object({ full_name: z.string() }).nullish();
const pullRequestSchema = z.object({
  id: z.number().int().positive(),
  links: z.object({ html: z.object({ href: z.string() }) }),
  state: z.enum(['OPEN', 'MERGED', 'DECLINED', 'SUPERSEDED']),
  title: z.string(),
  description: z.string().nullish(),
  source: z.object({
    branch: z.object({ name: z.string() }),
    commit: z.object({ hash: z.string() }).nullish(),
    repository: repositorySchema,
  }),
  destination: z.object({ repository: repositorySchema }),
});
const pageSchema = z.object({ values: z.array(z.unknown()) });
const states = { OPEN: 'open', MERGED: 'merged', DECLINED: 'closed', SUPERSEDED: 'closed' } as const;
const statusStates = {
  pending: 'INPROGRESS',
  success: 'SUCCESSFUL',
  failure: 'FAILED',
  error: 'FAILED',
} as const;

/** The `bitbucket` entry of the table of forges. */
export const bitbucket: ForgeDialect = {
  kind: 'bitbucket',
  hosts: ['bitbucket.org'],
  headers: {},
  draft: 'field',
  pageSize: 30,
  place: (_url, path) => ({ api: 'https://api.bitbucket.org/2.0', repository: path }),
  auth(credentials) {
    if (credentials.kind === 'none') return undefined;
    if (credentials.kind === 'password') {
      const { username, password } = credentials;
      return username === TOKEN_USER
        ? { kind: 'bearer', token: password }
        : { kind: 'basic', username, password };
    }
    // An API token of a person counts with the address of that account alone, which Git does not take as its user name.
    const { address, apiToken } = API_TOKEN.exec(credentials.token)?.groups ?? {};
    return address && apiToken
      ? { kind: 'basic', username: address, password: apiToken }
      : { kind: 'bearer', token: credentials.token };
  },
  list: (repository, branch, page) => ({
    method: 'GET',
    path: `/repositories/${repository}/pullrequests`,
    query: {
      q: `source.branch.name = "${branch.replace(/[\\"]/g, '\\$&')}" AND (state = "OPEN" OR state = "MERGED" OR state = "DECLINED" OR state = "SUPERSEDED")`,
      sort: '-created_on',
      pagelen: 30,
      page,
    },
  }),
  rows: (answer) => pageSchema.parse(answer).values,
  read(answer) {
    const pull = pullRequestSchema.parse(answer);
    return {
      number: pull.id,
      url: pull.links.html.href,
      state: states[pull.state],
      branch: pull.source.branch.name,
      head: pull.source.commit?.hash ?? '',
      title: pull.title,
      body: pull.description ?? '',
      fromFork: pull.source.repository?.full_name !== pull.destination.repository?.full_name,
    };
  },
  get: (repository, number) => ({ method: 'GET', path: pullRequest(repository, number) }),
  create: (repository, { branch, base, title, body, draft }) => ({
    method: 'POST',
    path: `/repositories/${repository}/pullrequests`,
    json: {
      title,
      description: body,
      source: { branch: { name: branch } },
      destination: { branch: { name: base } },
      ...(draft ? { draft } : {}),
    },
  }),
  comment: (repository, number, body) => ({
    method: 'POST',
    path: `${pullRequest(repository, number)}/comments`,
    json: { content: { raw: body } },
  }),
  close: (repository, number) => ({ method: 'POST', path: `${pullRequest(repository, number)}/decline` }),
  status: (repository, commit, { state, context, description, targetUrl }) => ({
    method: 'POST',
    path: `/repositories/${repository}/commit/${commit}/statuses/build`,
    json: {
      // A context that is too long for a key becomes its hash; `name` stays readable.
      key: context.length <= KEY_LIMIT ? context : createHash('sha1').update(context).digest('hex'),
      state: statusStates[state],
      name: context,
      description,
      // An address is obligatory; the commit's own page does no harm.
      url: targetUrl ?? `https://bitbucket.org/${repository}/commits/${commit}`,
    },
  }),
  repositoryOf: (repository) => ({ method: 'GET', path: `/repositories/${repository}` }),
  mayWrite: () => undefined,
};

function pullRequest(repository: string, number: number): string {
  return `/repositories/${repository}/pullrequests/${number}`;
}
