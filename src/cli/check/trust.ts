import { describe } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source/source.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { onApiError } from '../../cluster/errors.ts';
import type { Transport } from '../../cluster/transport/transport.ts';
import { secretsOf } from '../../engine/sync/poll/source-object.ts';
import { decryptionOf } from '../../engine/sync/read/render-inputs.ts';
import { readSigners } from '../../git/sign/signers.ts';
import { createClusterPort } from '../../server/cluster.ts';
import { bad, type CheckLine, guarded, ok } from '../../terminal/check-report.ts';
import { counted } from '../../terminal/output.ts';
import { type Asker, type InstalledChoice, mayI } from './rights.ts';

/** What asking takes. */
interface TrustChecks
  extends Pick<Asker, 'asUser'>,
    Pick<InstalledChoice, 'defaultServiceAccount' | 'trustedSourceNamespaces'> {
  readonly client: ClusterClient;
  readonly transport: Transport;
}

/**
 * The account that each Source writes as, the signatures that it trusts, and its keys: whether the account exists and may be impersonated, and
 * whether the Secrets hold what the controller reads in them. No content is shown.
 */
export async function checkTrust(checks: TrustChecks, sources: readonly Source[]): Promise<CheckLine[]> {
  const lines = await Promise.all(
    sources.map((source) =>
      guarded(describe(source), async () => [
        ...(await checkAccount(checks, source)),
        ...(await checkSigners(checks, source)),
        ...(await checkDecryption(checks, source)),
      ]),
    ),
  );
  return lines.flat();
}

async function checkAccount(
  { client, transport, asUser, defaultServiceAccount, trustedSourceNamespaces }: TrustChecks,
  source: Source,
): Promise<CheckLine[]> {
  const { namespace = 'default' } = source.metadata;
  const own = source.spec.serviceAccountName;
  const name = own ?? (trustedSourceNamespaces.includes(namespace) ? undefined : defaultServiceAccount);
  if (!name) return [];
  const said = own ? 'spec.serviceAccountName' : '--default-service-account';
  const subject = describe(source);
  const account = `service account ${namespace}/${name}`;
  const isThere = await client.get({ apiVersion: 'v1', kind: 'ServiceAccount', namespace, name });
  const attributes = { group: '', resource: 'serviceaccounts', verb: 'impersonate', namespace, name };
  const may = await mayI(transport, attributes, asUser).catch(
    onApiError(['unknownKind', 'notFound'], () => undefined),
  );
  const actor = 'administrator';
  if (!isThere)
    return [
      bad('failed', subject, `${account} of ${said} does not exist`, {
        actor,
        act: 'create it, with a role',
      }),
    ];
  if (may) return [ok(subject, `is applied as ${account}`)];
  if (may === undefined)
    return [
      bad('warning', subject, `could not check whether ${account} may be impersonated`, {
        actor: 'nobody',
      }),
    ];
  return [
    bad('failed', subject, `${asUser ?? 'you'} cannot impersonate ${account}`, {
      actor,
      act: howToImpersonate,
    }),
  ];
}

const howToImpersonate =
  'apply the output of holdfast install --impersonation, or check the user that Holdfast runs as with holdfast check --as USER';

async function checkSigners({ client }: TrustChecks, source: Source): Promise<CheckLine[]> {
  const { verify } = source.spec;
  if (!verify) return [];
  const where = `${source.metadata.namespace ?? 'default'}/${verify.secretRef.name}`;
  const subject = describe(source);
  try {
    const values = await secretsOf({ cluster: createClusterPort(client) }, source).signers();
    const { ssh, pgp } = await readSigners(where, values ?? {});
    return [
      ok(subject, `trusts signatures of ${counted(ssh.length + pgp.length, 'key')} in Secret ${where}`),
    ];
  } catch (error) {
    return [refused(subject, error, 'add SSH allowed signers or armoured PGP public keys to the Secret')];
  }
}

async function checkDecryption({ client }: TrustChecks, source: Source): Promise<CheckLine[]> {
  if (!source.spec.decryption) return [];
  const subject = describe(source);
  try {
    await decryptionOf(createClusterPort(client), source);
    return [ok(subject, 'has an age key to decrypt files')];
  } catch (error) {
    return [refused(subject, error, 'add the age key to the Secret, under a name that ends in .agekey')];
  }
}

function refused(subject: string, error: unknown, act: string): CheckLine {
  const message = error instanceof Error ? error.message : String(error);
  return bad('failed', subject, message, { actor: 'administrator', act });
}
