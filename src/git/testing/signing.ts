import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Keys made by ssh-keygen in a folder of their own. */
export interface TestKeys {
  readonly folder: string;
  /** Makes a key; `bits` for RSA and ECDSA. Returns `type base64`. */
  make(name: string, type: 'ed25519' | 'ecdsa' | 'rsa', bits?: number): string;
  /** Path of a private key. */
  path(name: string): string;
  /** Signs as Git lets ssh-keygen sign. */
  sign(name: string, payload: string | Buffer, namespace?: string): string;
  close(): void;
}

/** An empty folder of keys. */
export function createTestKeys(): TestKeys {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-keys-'));
  const path = (name: string) => join(folder, name);
  const run = (...args: string[]) =>
    execFileSync('ssh-keygen', args, { stdio: ['ignore', 'pipe', 'ignore'] });
  return {
    folder,
    path,
    make(name, type, bits) {
      run('-q', '-t', type, ...(bits ? ['-b', String(bits)] : []), '-N', '', '-C', name, '-f', path(name));
      const [kind, key] = readFileSync(`${path(name)}.pub`, 'utf8').split(' ');
      return `${kind} ${key}`;
    },
    sign(name, payload, namespace = 'git') {
      const file = path('payload');
      writeFileSync(file, payload);
      rmSync(`${file}.sig`, { force: true });
      run('-q', '-Y', 'sign', '-f', path(name), '-n', namespace, file);
      return readFileSync(`${file}.sig`, 'utf8');
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}
