import { GitError } from '../errors.ts';
import { type AllowedSigner, parseAllowedSigners } from './allowed-signers.ts';
import { pgpBlocksIn, verifyPgp } from './pgp-signature.ts';
import type { Signed } from './signed-object.ts';
import { verifySsh } from './ssh-signature.ts';

/** Whose signatures count. */
export interface Signers {
  readonly ssh: readonly AllowedSigner[];
  /** Armoured blocks of public keys. */
  readonly pgp: readonly string[];
}

const maxEntryBytes = 262_144;

/**
 * Reads a Secret of signers: each entry is a file of armoured PGP public keys or of allowed SSH signers, whatever its name. Throws GitError
 * SignersUnusable with the entry that cannot be read, or when the Secret has no signers.
 */
export async function readSigners(
  where: string,
  values: Readonly<Record<string, Uint8Array>>,
): Promise<Signers> {
  const ssh: AllowedSigner[] = [];
  const pgp: string[] = [];
  for (const [name, bytes] of Object.entries(values)) {
    const refuse = (why: string) =>
      new GitError('SignersUnusable', `spec.verify.secretRef: ${name} of Secret ${where}: ${why}`);
    if (bytes.length > maxEntryBytes) throw refuse(`is larger than ${maxEntryBytes} bytes`);
    const text = new TextDecoder().decode(bytes);
    try {
      const blocks = await pgpBlocksIn(text);
      if (blocks) pgp.push(...blocks);
      else ssh.push(...parseAllowedSigners(text));
    } catch (error) {
      throw refuse(error instanceof Error ? error.message : 'cannot be read');
    }
  }
  if (ssh.length + pgp.length > 0) return { ssh, pgp };
  throw new GitError('SignersUnusable', `spec.verify.secretRef: Secret ${where} contains no keys`);
}

/** Who signed it. Throws Error that says why its signature does not count. */
export async function signerOf({ payload, signature, timeMs }: Signed, signers: Signers): Promise<string> {
  if (signature === undefined) throw new Error('it is not signed');
  if (signature.startsWith('-----BEGIN SSH SIGNATURE-----'))
    return verifySsh(payload, signature, { signers: signers.ssh, timeMs });
  if (signature.startsWith('-----BEGIN PGP SIGNATURE-----'))
    return verifyPgp(payload, signature, signers.pgp);
  throw new Error('its signature is neither SSH nor PGP');
}
