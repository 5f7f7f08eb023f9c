import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';

/** A key with its certificate, PEM. */
export interface KeyPair {
  readonly key: string;
  readonly cert: string;
}

/** A throw-away certificate authority. */
interface Authority {
  readonly ca: string;
  issue(commonName: string): KeyPair;
  remove(): void;
}

/** Makes an authority with the openssl command; its certificates are good for 127.0.0.1 and for clients. */
export function createAuthority(): Authority {
  const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-ca-'));
  const file = (name: string) => path.join(directory, name);
  const openssl = (...parameters: string[]) => execFileSync('openssl', parameters, { stdio: 'pipe' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    file('ca.key'),
    '-out',
    file('ca.crt'),
    '-days',
    '2',
    '-subj',
    '/CN=test-ca',
  );
  writeFileSync(file('extensions'), 'subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n');
  const signing = [
    '-CA',
    file('ca.crt'),
    '-CAkey',
    file('ca.key'),
    '-CAcreateserial',
    '-days',
    '2',
    '-extfile',
    file('extensions'),
  ];
  return {
    ca: readFileSync(file('ca.crt'), 'utf8'),
    issue(commonName) {
      const [key, request, cert] = ['key', 'csr', 'crt'].map((end) => file(`${commonName}.${end}`)) as [
        string,
        string,
        string,
      ];
      openssl('req', '-new', ...newKey, '-keyout', key, '-out', request, '-subj', `/CN=${commonName}`);
      openssl('x509', '-req', '-in', request, '-out', cert, ...signing);
      return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
    },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** From now on: each time TLS is told an IP address for a server's name, which Node 26 refuses. */
export function nameWarnings(): readonly string[] {
  const warnings: string[] = [];
  const listen = ({ message }: Error) => {
    if (message.includes('ServerName')) warnings.push(message);
  };
  process.on('warning', listen);
  onTestFinished(() => void process.off('warning', listen));
  return warnings;
}
