/** Whether the credentials of a Source suffice for what its spec.write asks for. Writes nothing. */
import { describe, type SecretValues } from '../../api/kubernetes.ts';
import { isSshAddress } from '../../api/source/git-address.ts';
import type { Source } from '../../api/source/source.ts';
import { sshSigner } from '../../git/sign/ssh-signature.ts';
import type { GitTransport } from '../../git/wire/transport.ts';
import { checkPushRight } from '../../git/write/receive-pack.ts';
import { credentialsOf, forgeValuesOf } from '../../providers/forges/secret.ts';
import type { ForgeClient } from '../../providers/forges/types.ts';
import { bad, type CheckLine, guarded, ok } from '../../terminal/check-report.ts';

/** What asking for rights takes. */
interface WritingChecks {
  readonly openForge: () => Promise<ForgeClient | undefined>;
  readonly transport: GitTransport;
  /** Of the Source's Secret; undefined when it names none. */
  readonly values: SecretValues | undefined;
}

const rights = 'grant the rights that docs/guides/forges.md lists';

/** No branch of this name exists: asking for its pull request shows whether pull requests can be read. */
const unusedBranch = 'holdfast/check';

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
    const detail = 'spec.write.revert needs spec.ref.branch: a tag or a fixed commit cannot be pushed to';
    return Promise.resolve([bad('failed', subject, detail, { actor: 'author', act: 'fix the Source' })]);
  }
  return guarded(subject, async () => {
    await checkPushRight(url, transport);
    return [ok(subject, `the credentials may push to ${url}; branch protection is only checked by a push`)];
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
    if (!forge) {
      const { url, write } = source.spec;
      const isSsh = isSshAddress(url);
      const detail = isSsh
        ? 'the Secret of an SSH address has no credentials for a forge'
        : `${new URL(url).host} is not a known forge`;
      const act = isSsh ? 'add forgeToken to the Secret' : 'set the key forge in the Secret if it is one';
      const todo = { actor: 'author', act } as const;
      return write?.status
        ? [bad('failed', subject, `${detail}, and spec.write.status needs one`, todo)]
        : [bad('warning', subject, `${detail}: for a revert, only the branch is pushed`, todo)];
    }
    if (credentialsOf(forgeValuesOf(source, values)).kind === 'none') {
      const detail = `the Secret of spec.secretRef has no credentials for ${forge.kind}`;
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
  if (credentialsOf(forgeValuesOf(source, values)).kind === 'none') return [];
  try {
    const forge = await openForge();
    return forge && (await forge.mayWrite()) === false ? [readOnly(subject, forge)] : [];
  } catch {
    return [];
  }
}

function readOnly(subject: string, forge: ForgeClient): CheckLine {
  const detail = `${forge.kind} accepts the credentials, but they are read-only`;
  return bad('failed', subject, detail, { actor: 'administrator', act: rights });
}

async function checkToken({ spec }: Source, subject: string, forge: ForgeClient): Promise<CheckLine> {
  const may = await forge.mayWrite();
  if (may === false) return readOnly(subject, forge);
  if ((spec.write?.revert ?? 'none') !== 'none') await forge.findPullRequest(unusedBranch);
  const words = may
    ? 'the user may write to the repository'
    : 'it does not report whether the user may write';
  return ok(
    subject,
    `${forge.kind} accepts the credentials, and ${words}; token scopes are only checked by a write`,
  );
}
