import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import { measureEffort } from '../../../../test/effort.ts';
import { fingerprintOf } from '../../ssh-fields.ts';
import { createTestKeys } from '../../testing/signing.ts';
import { parseKnownHosts } from './known-hosts.ts';

const keys = createTestKeys();
afterAll(() => keys.close());
const [old, now] = [keys.make('old', 'ed25519'), keys.make('now', 'ed25519')];
const rsa = keys.make('rsa', 'rsa', 2048);
const bytes = (line: string) => Buffer.from(line.split(' ')[1] ?? '', 'base64');

/** The file as ssh-keygen -H leaves it. */
function hashed(text: string): string {
  const file = keys.path('known_hosts');
  writeFileSync(file, text);
  execFileSync('ssh-keygen', ['-q', '-H', '-f', file], { stdio: 'ignore' });
  return readFileSync(file, 'utf8');
}

test.each([
  ['a name', `git.example.com ${now}`, 'git.example.com', 22],
  [
    'one of several names, with a comment',
    `a.example.com,Git.example.com ${now} added 2026`,
    'GIT.example.com',
    22,
  ],
  ['a pattern', `*.example.com ${now}`, 'git.example.com', 22],
  ['a port of its own', `[git.example.com]:2222 ${now}`, 'git.example.com', 2222],
  ['a hashed name', hashed(`git.example.com ${now}\n`), 'git.example.com', 22],
  ['a hashed port', hashed(`[git.example.com]:2222 ${now}\n`), 'git.example.com', 2222],
  ['an address of IPv6', `[fd00::1]:2222 ${now}`, 'fd00::1', 2222],
  ['the second of two keys', `git.example.com ${old}\r\ngit.example.com ${now}\r\n`, 'git.example.com', 22],
])('a host is known by %s', (_what, text, host, port) => {
  expect(parseKnownHosts(`# comment\n\n${text}`).judge(host, port, bytes(now))).toBe('known');
});

test.each([
  ['unknown', 'another name', `git.example.com ${now}`, 'evil.example.com', 22],
  ['unknown', 'another port', `git.example.com ${now}`, 'git.example.com', 2222],
  ['unknown', 'a pattern that leaves it out', `!git.example.com,*.example.com ${now}`, 'git.example.com', 22],
  ['unknown', 'a hash of another name', hashed(`git.example.org ${now}\n`), 'git.example.com', 22],
  ['changed', 'another key', `git.example.com ${old}`, 'git.example.com', 22],
  ['changed', 'a key of another type', `git.example.com ${rsa}`, 'git.example.com', 22],
  ['authority', 'an authority', `@cert-authority *.example.com ${now}`, 'git.example.com', 22],
  ['revoked', 'a revocation', `git.example.com ${now}\n@revoked * ${now}`, 'git.example.com', 22],
  [
    'revoked',
    'a revocation elsewhere',
    `git.example.com ${now}\n@revoked other ${now}`,
    'git.example.com',
    22,
  ],
])('a host is %s by %s', (verdict, _what, text, host, port) => {
  expect(parseKnownHosts(text).judge(host, port, bytes(now))).toBe(verdict);
});

test.each([
  'git.example.com',
  'git.example.com ssh-ed25519',
  'git.example.com ssh-ed25519 AAAA',
  `git.example.com ssh-rsa ${now.split(' ')[1]}`,
  `@unknown git.example.com ${now}`,
  `|2|YQ==|YQ== ${now}`,
])('%s is reported with its line', (line) => {
  expect(() => parseKnownHosts(`# first\n${line}\n`)).toThrow('line 2 is not a line of known_hosts');
});

test('types that are known decide which key the server is asked for', () => {
  const known = parseKnownHosts(`git.example.com ${rsa}\ngit.example.com ${now}\nother ${old}`);
  expect(known.typesOf('git.example.com', 22)).toEqual(['ssh-rsa', 'ssh-ed25519']);
  expect(known.typesOf('git.example.com', 2222)).toEqual([]);
});

test('fingerprints are those that ssh-keygen prints', () => {
  const printed = execFileSync('ssh-keygen', ['-lf', keys.path('now.pub')], { encoding: 'utf8' });
  expect(printed.split(' ')[1]).toBe(fingerprintOf(bytes(now)));
});

test('a file of hostile patterns is matched quickly, and a larger one is refused', () => {
  const pattern = '*a'.repeat(100_000);
  const effort = measureEffort();
  const host = 'a'.repeat(250);
  expect(parseKnownHosts(`${pattern} ${now}`).judge(host, 22, bytes(now))).toBe('unknown');
  expect(effort()).toBeLessThan(500);
  expect(() => parseKnownHosts('#'.repeat(300_000))).toThrow('is larger than 256 KiB');
});
