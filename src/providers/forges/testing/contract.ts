/** The contract of every forge; runs on a double of each and on a real Gitea. */
import { describe, expect, it } from 'vitest';
import type { CommitStatus, PullRequest } from '../../../api/forge.ts';
import type { ForgeClient } from '../types.ts';

/** A repository at a forge, with direct access besides the client. */
export interface ForgeFixture {
  readonly forge: ForgeClient;
  /** The same repository with a wrong token. */
  readonly stranger: ForgeClient;
  /** A repository that does not exist. */
  readonly missing: ForgeClient;
  /** Makes a branch with a new commit; returns the id of the commit. */
  pushBranch(name: string): Promise<string>;
  /** Removes a branch. */
  deleteBranch(name: string): Promise<void>;
  merge(number: number): Promise<void>;
  /** Opens a pull request from a branch of that name in a fork. */
  openFromFork(branch: string): Promise<void>;
  isDraft(number: number): Promise<boolean>;
  comments(number: number): Promise<readonly string[]>;
  /** The newest status of a context, in the forge's own words. */
  status(
    commit: string,
    context: string,
  ): Promise<
    | { readonly state: string; readonly description: string; readonly targetUrl: string | undefined }
    | undefined
  >;
  /** What the forge calls a failure. */
  readonly failedState: string;
}

let branchCount = 0;

/** Defines the suite; `fixture` is called by each test. */
export function describeForge(name: string, fixture: () => ForgeFixture): void {
  describe(`forge contract: ${name}`, () => {
    describePullRequests(fixture);
    describeStatuses(fixture);
    describeErrors(fixture);
  });
}

async function openOne(
  { forge, pushBranch }: ForgeFixture,
  fields: { title?: string; body?: string; draft?: boolean } = {},
): Promise<PullRequest & { readonly commit: string }> {
  branchCount += 1;
  const branch = `holdfast/revert-${branchCount}`;
  const commit = await pushBranch(branch);
  const request = {
    branch,
    base: 'main',
    title: 'Revert "Sell more"',
    body: 'The canary failed.',
    draft: false,
  };
  return { ...(await forge.createPullRequest({ ...request, ...fields })), commit };
}

function describePullRequests(fixture: () => ForgeFixture): void {
  it('finds no pull request where there is none', async () => {
    expect(await fixture().forge.findPullRequest('holdfast/nothing')).toBeUndefined();
  });

  it('opens one, finds it by its branch and gives all of it', async () => {
    const { commit, ...opened } = await openOne(fixture());
    const found = await fixture().forge.findPullRequest(opened.branch);
    expect(found).toEqual(opened);
    expect(found).toMatchObject({ state: 'open', title: 'Revert "Sell more"', body: 'The canary failed.' });
    expect(commit.startsWith(opened.head)).toBe(true);
    expect(opened.url).toMatch(/^https?:\/\/.*\d+$/);
  });

  it('opens no second one for the same branch', async () => {
    const { commit: _, ...first } = await openOne(fixture());
    const { branch, title, body } = first;
    const second = await fixture().forge.createPullRequest({
      branch,
      base: 'main',
      title,
      body,
      draft: false,
    });
    expect(second).toEqual(first);
  });

  it('opens a draft where one is asked for, whose title reads like any other', async () => {
    const { number, title } = await openOne(fixture(), { draft: true });
    expect(title).toBe('Revert "Sell more"');
    expect(await fixture().isDraft(number)).toBe(true);
    const ready = await openOne(fixture());
    expect(await fixture().isDraft(ready.number)).toBe(false);
  });

  it('comments', async () => {
    const { number } = await openOne(fixture());
    await fixture().forge.comment(number, 'Fixed by **9d2f**.');
    expect(await fixture().comments(number)).toEqual(['Fixed by **9d2f**.']);
  });

  it('closes one, and closing it again changes nothing', async () => {
    const { number, branch } = await openOne(fixture());
    expect(await fixture().forge.closePullRequest(number)).toBe('closed');
    expect(await fixture().forge.closePullRequest(number)).toBe('closed');
    expect(await fixture().forge.findPullRequest(branch)).toMatchObject({ number, state: 'closed' });
  });

  it('sees that one was merged, also after its branch is gone', async () => {
    const { number, branch } = await openOne(fixture());
    await fixture().merge(number);
    await fixture().deleteBranch(branch);
    expect(await fixture().forge.findPullRequest(branch)).toMatchObject({ number, branch, state: 'merged' });
    expect(await fixture().forge.closePullRequest(number)).toBe('merged');
    expect(await fixture().forge.findPullRequest(branch)).toMatchObject({ state: 'merged' });
  });

  it('takes the newest of several', async () => {
    const first = await openOne(fixture());
    await fixture().forge.closePullRequest(first.number);
    const { branch, title, body } = first;
    const second = await fixture().forge.createPullRequest({
      branch,
      base: 'main',
      title,
      body,
      draft: false,
    });
    expect(second.number).not.toBe(first.number);
    expect(await fixture().forge.findPullRequest(branch)).toEqual(second);
  });

  it('is not deceived by a branch of the same name in a fork', async () => {
    await fixture().openFromFork('holdfast/revert-of-mallory');
    expect(await fixture().forge.findPullRequest('holdfast/revert-of-mallory')).toBeUndefined();
  });

  it('cuts a body that no forge would take, and says so', async () => {
    const { body } = await openOne(fixture(), { body: 'é'.repeat(200_000) });
    expect(body.length).toBeLessThanOrEqual(30_000);
    expect(body).toMatch(/The rest was cut/);
  });

  it('opens one with a title of any length on one line', async () => {
    const { title } = await openOne(fixture(), { title: `Revert\n${'x'.repeat(400)}`, draft: true });
    expect(title).toMatch(/^Revert x+…$/);
  });
}

function describeStatuses(fixture: () => ForgeFixture): void {
  const status: CommitStatus = {
    state: 'pending',
    context: 'holdfast/prod/shop/frontend',
    description: 'Waiting for the canary',
    targetUrl: 'https://example.com/runbook',
  };

  it('sets a status and replaces it by the next one of the same context', async () => {
    const { commit } = await openOne(fixture());
    await fixture().forge.setCommitStatus(commit, status);
    await fixture().forge.setCommitStatus(commit, { ...status, state: 'failure', description: 'Reverted' });
    const found = await fixture().status(commit, status.context);
    expect(found).toMatchObject({ description: 'Reverted', targetUrl: 'https://example.com/runbook' });
    expect(found?.state).toBe(fixture().failedState);
  });

  it('sets the same status twice', async () => {
    const { commit } = await openOne(fixture());
    await fixture().forge.setCommitStatus(commit, status);
    await fixture().forge.setCommitStatus(commit, status);
    expect(await fixture().status(commit, status.context)).toMatchObject({ description: status.description });
  });

  it('cuts a long description and takes a long context', async () => {
    const { commit } = await openOne(fixture());
    const context = 'holdfast/production-europe-north/shop/frontend-with-a-long-name';
    const description = 'pod frontend-primary-0 does not become ready: '.repeat(10);
    await fixture().forge.setCommitStatus(commit, { state: 'error', context, description });
    const found = await fixture().status(commit, context);
    expect(found?.description.length).toBeLessThanOrEqual(140);
    expect(found?.description).toMatch(/…$/);
  });

  it('refuses an abbreviated commit', async () => {
    await expect(fixture().forge.setCommitStatus('9d2f1c4', status)).rejects.toMatchObject({
      code: 'Invalid',
    });
  });
}

function describeErrors(fixture: () => ForgeFixture): void {
  it('knows that it may write', async () => {
    expect(await fixture().forge.mayWrite()).not.toBe(false);
  });

  it('says Unauthorized for a wrong token, without quoting it', async () => {
    const refused = fixture().stranger.comment(1, 'hello');
    await expect(refused).rejects.toMatchObject({ code: 'Unauthorized' });
    await expect(refused).rejects.toThrow(/comment on #1: HTTP 401.*renew the token/);
    await expect(refused).rejects.not.toThrow(/wr0ng/);
  });

  it('says NotFound for a repository that is not there', async () => {
    await expect(fixture().missing.findPullRequest('main')).rejects.toMatchObject({ code: 'NotFound' });
    await expect(fixture().missing.findPullRequest('main')).rejects.toThrow(/acme\/nothing.*not exist/);
  });

  it('says NotFound for a pull request that is not there', async () => {
    await expect(fixture().forge.closePullRequest(999_999)).rejects.toMatchObject({ code: 'NotFound' });
  });

  it('fails to open one from a branch that is not there', async () => {
    const request = { branch: 'holdfast/gone', base: 'main', title: 'x', body: '', draft: false };
    const opened = fixture().forge.createPullRequest(request);
    await expect(opened).rejects.toSatisfy(({ code }) => code === 'Invalid' || code === 'NotFound');
  });
}
