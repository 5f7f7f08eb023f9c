import { describe } from '../api/kubernetes.ts';
import type { Source } from '../api/source.ts';
import { credentialsOf } from '../forge/secret.ts';
import type { Forge } from '../forge/types.ts';
import { checkPushRight } from '../git/receive-pack.ts';
import type { SecretValues } from '../git/secret-values.ts';
import { sshSigner } from '../git/ssh-signature.ts';
import type { TransportOptions } from '../git/transport.ts';
import { bad, type CheckLine, guarded, ok } from './check-report.ts';

/** What asking for rights takes. */
export interface WritingChecks {
  readonly openForge: () => Promise<Forge | undefined>;
  readonly transport: TransportOptions;
  /** Of the Source's Secret; undefined when it names none. */
  readonly values: SecretValues | undefined;
}

const rights = 'give the rights that docs/guides/forges.md lists';
/** A branch that nobody has: asking for its pull request shows whether pull requests can be read. */
const nobodysBranch = 'holdfast/check';

/** Whether the Source's credentials suffice for what its spec.write asks for. Writes nothing, so that a branch is protected does not show. */
export async function checkWriting(source: Source, checks: WritingChecks): Promise<CheckLine[]> {
  const { ledger = false, revert = 'none', status = false } = source.spec.write ?? {};
  const pushes = ledger || revert !== 'none';
  if (!pushes && !status) return [];
  const lines = await Promise.all([
    ...(pushes ? [checkPush(source, checks), checkSigningKey(source, checks)] : []),
    status || revert !== 'none' ? checkForge(source, checks) : checkUser(source, checks),
  ]);
  return lines.flat();
}

function checkPush(source: Source, { transport }: WritingChecks): Promise<readonly CheckLine[]> {
  const subject = `${describe(source)}, push`;
  const { ref, url, write } = source.spec;
  if ((write?.revert ?? 'none') !== 'none' && !ref.branch) {
    const detail =
      'spec.write.revert needs spec.ref.branch: nothing can be pushed to a tag or a fixed commit';
    return Promise.resolve([bad('failed', subject, detail, { actor: 'author', act: 'change the Source' })]);
  }
  return guarded(subject, async () => {
    await checkPushRight(transport);
    return [
      ok(subject, `the credentials may push to ${url}; that a branch is protected shows only at a push`),
    ];
  });
}

function checkSigningKey(source: Source, { values }: WritingChecks): Promise<readonly CheckLine[]> {
  const subject = `${describe(source)}, signingKey`;
  const key = values?.signingKey;
  if (!key) return Promise.resolve([]);
  return guarded(subject, async () => {
    sshSigner(new TextDecoder().decode(key));
    return [ok(subject, 'the key can sign')];
  });
}

function checkForge(
  source: Source,
  { openForge, values = {} }: WritingChecks,
): Promise<readonly CheckLine[]> {
  const subject = `${describe(source)}, forge`;
  return guarded(subject, async () => {
    const forge = await openForge();
    if (!forge) return [unknownForge(source, subject)];
    if (credentialsOf(values).kind === 'none') {
      const detail = `the Secret of spec.secretRef holds nothing to sign in with at ${forge.kind}`;
      return [bad('failed', subject, detail, { actor: 'administrator', act: rights })];
    }
    return [await checkToken(source, subject, forge)];
  });
}

/** For a push alone no forge is needed, but it may know better: Gitea lets readers begin a push, and refuses it later. */
async function checkUser(
  source: Source,
  { openForge, values = {} }: WritingChecks,
): Promise<readonly CheckLine[]> {
  const subject = `${describe(source)}, forge`;
  if (credentialsOf(values).kind === 'none') return [];
  try {
    const forge = await openForge();
    return forge && (await forge.mayWrite()) === false ? [readOnly(subject, forge)] : [];
  } catch {
    return [];
  }
}

function readOnly(subject: string, forge: Forge): CheckLine {
  const detail = `${forge.kind} takes the credentials, and they may only read`;
  return bad('failed', subject, detail, { actor: 'administrator', act: rights });
}

function unknownForge({ spec }: Source, subject: string): CheckLine {
  const { host } = new URL(spec.url);
  const detail = `${host} is no forge that is known`;
  const todo = { actor: 'author', act: 'name it under the key forge of the Secret, if it is one' } as const;
  return spec.write?.status
    ? bad('failed', subject, `${detail}, and spec.write.status needs one`, todo)
    : bad('warning', subject, `${detail}: of a revert only the branch is pushed`, todo);
}

async function checkToken({ spec }: Source, subject: string, forge: Forge): Promise<CheckLine> {
  const may = await forge.mayWrite();
  if (may === false) return readOnly(subject, forge);
  if ((spec.write?.revert ?? 'none') !== 'none') await forge.findPullRequest(nobodysBranch);
  const words = may ? 'their user may write here' : 'it does not tell whether they may write';
  return ok(
    subject,
    `${forge.kind} takes the credentials, and ${words}; a token's scopes show only at a write`,
  );
}
