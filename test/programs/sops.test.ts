import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import { memoryTree } from '../../src/render/memory-tree.test-support.ts';
import { type Decryption, decryptionWith } from '../../src/render/sops/decrypt.ts';
import { programs } from './programs.ts';
import { objectsIn, renderTree, sourceWith } from './rendering.ts';

const secret = `# what it is for
apiVersion: v1
kind: Secret
metadata:
  name: keys
  namespace: shop
stringData:
  password: hunter2-ÄÖ "quoted" # why
  number: 5
  float: 1.50
  small: 0.00001
  flag: true
  none: null
  empty: ""
  date: 2024-01-02
  lines: |
    one
    two
  list:
    - x
    - y: 0777
      yes: no
`;

const small = 'apiVersion: v1\nkind: Secret\nmetadata: {name: keys}\nstringData: {password: hunter2}\n';

let folder: string;
let decryption: Decryption;
let recipient: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-sops-'));
  execFileSync(programs['age-keygen'], ['-o', join(folder, 'key.txt')], { stdio: 'ignore' });
  const key = readFileSync(join(folder, 'key.txt'), 'utf8');
  recipient = /public key: (\S+)/.exec(key)?.[1] ?? '';
  decryption = await decryptionWith({ 'prod.agekey': Buffer.from(key) });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function sops(args: readonly string[], name: string, content: string | Buffer): string {
  const file = join(folder, name);
  writeFileSync(file, content);
  const env = { PATH: '', HOME: folder, SOPS_AGE_KEY_FILE: join(folder, 'key.txt') };
  return execFileSync(programs.sops, [...args, file], {
    env,
    encoding: 'latin1',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

function encrypt(name: string, content: string | Buffer, ...more: string[]): Buffer {
  return Buffer.from(sops(['encrypt', '--age', recipient, ...more], name, content), 'latin1');
}

async function open(name: string, bytes: Uint8Array, by = decryption) {
  const opened = await by.open({ path: name, bytes }, limits);
  return opened?.bytes ? Buffer.from(opened.bytes).toString('utf8') : opened?.problem;
}

describe('what sops encrypted is read as sops reads it', () => {
  it.each([
    ['whole', []],
    ['by name of field', ['--encrypted-regex', '^(data|stringData)$']],
    ['but some fields', ['--unencrypted-suffix', 'er']],
  ])('YAML, %s', async (_, args) => {
    const sealed = encrypt('secret.yaml', secret, ...args);
    const opened = await open('secret.yaml', sealed);
    const bySops = Buffer.from(sops(['decrypt'], 'sealed.yaml', sealed), 'latin1').toString('utf8');
    expect(objectsIn(String(opened))).toEqual(objectsIn(bySops));
    expect(opened).not.toContain('sops');
  });

  it('YAML of several documents, every value on its line', async () => {
    const sealed = encrypt('two.yaml', `${secret}---\n${secret.replace('name: keys', 'name: more')}`);
    const opened = String(await open('two.yaml', sealed));
    expect(objectsIn(opened)).toHaveLength(2);
    const lineOf = (text: string, part: string) => text.split('\n').findIndex((line) => line.includes(part));
    expect(lineOf(opened, 'password')).toBe(lineOf(sealed.toString(), 'password'));
  });

  it.each([
    ['a.json', '{"a": 1, "b": {"c": "x", "d": [1.5, true, null, "é"]}}\n'],
    ['a.env', 'A=1\n# note\nB=two words=3\n'],
    ['a.crt', 'plain text\nof any kind\n'],
  ])('%s', async (name, content) => {
    const opened = await open(name, encrypt(name, content));
    const same = extname(name) === '.json' ? JSON.parse(String(opened)) : opened;
    expect(same).toEqual(name === 'a.json' ? JSON.parse(content) : content.replace('# note\n', ''));
  });

  it('bytes that are no text', async () => {
    const bytes = Buffer.from([0, 255, 128, 10, 200]);
    const opened = await decryption.open({ path: 'a.bin', bytes: encrypt('a.bin', bytes) }, limits);
    expect(opened?.bytes).toEqual(bytes);
  });
});

describe('what was changed is refused, and never shown', () => {
  const change = (edit: (text: string) => string, ...args: string[]) => {
    const sealed = encrypt('secret.yaml', secret, ...args).toString('latin1');
    return open('secret.yaml', Buffer.from(edit(sealed), 'latin1'));
  };
  const regex = ['--encrypted-regex', '^(data|stringData)$'];

  it.each([
    ['a value beside the encrypted ones', (text: string) => text.replace('name: keys', 'name: other')],
    [
      'a value that was added',
      (text: string) => text.replace('    name: keys', '    name: keys\n    more: x'),
    ],
    ['a value that was taken out', (text: string) => text.replace(/ +password: .*\n/, '')],
    [
      'a plain value in the place of an encrypted one',
      (text: string) => text.replace(/number: ENC.*/, 'number: 6'),
    ],
  ])('%s', async (_, edit) => {
    expect(await change(edit, ...regex)).toMatchObject({
      line: 0,
      message: expect.stringContaining('MAC mismatch'),
    });
  });

  it('an encrypted value, with its line', async () => {
    const changed = await change((text) =>
      text.replace(/(?<=password: ENC\[AES256_GCM,data:)./, (first) => (first === '+' ? '0' : '+')),
    );
    expect(changed).toMatchObject({
      line: 9,
      message: 'stringData.password was changed, or moved from another place, after SOPS encrypted it',
    });
  });

  it('an encrypted value in another place', async () => {
    const swapped = await change((text) => text.replace('password:', 'other:'));
    expect(swapped).toMatchObject({
      message: expect.stringContaining('stringData.other was changed, or moved'),
    });
  });

  it('a file for other keys', async () => {
    execFileSync(programs['age-keygen'], ['-o', join(folder, 'other.txt')], { stdio: 'ignore' });
    const other = await decryptionWith({ 'a.agekey': readFileSync(join(folder, 'other.txt')) });
    expect(await open('secret.yaml', encrypt('secret.yaml', secret), other)).toMatchObject({
      message: `is encrypted with SOPS for ${recipient}, and no key of spec.decryption opens it`,
    });
  });

  it('a file for PGP alone', async () => {
    const sealed = encrypt('secret.yaml', secret).toString('latin1');
    const pgp = sealed.replace(/ {4}age:\n( {8}.*\n)+/, '    pgp:\n        - fp: ABCD\n          enc: x\n');
    expect(await open('secret.yaml', Buffer.from(pgp, 'latin1'))).toMatchObject({
      message: expect.stringContaining('is encrypted with SOPS and PGP; only age is supported'),
    });
  });
});

describe('in a Source', () => {
  const text = (bytes: Buffer) => bytes.toString('utf8');

  test('without a key, encrypted files are refused and never applied', async () => {
    const tree = memoryTree({ 'app/secret.yaml': text(encrypt('secret.yaml', secret)) });
    const { objects, problems } = await renderTree(sourceWith(), tree, 'app');
    expect(objects).toEqual([]);
    expect(problems).toEqual([
      'app/secret.yaml: is encrypted with SOPS; set spec.decryption to the Secret with its age key',
    ]);
  });

  test('kustomize gets what was decrypted, generators too, and what it says is freed of it', async () => {
    const files = {
      'app/kustomization.yaml': 'resources: [secret.yaml]\nsecretGenerator: [{name: made, envs: [a.env]}]\n',
      'app/secret.yaml': text(encrypt('small.yaml', small, '--encrypted-regex', '^stringData$')),
      'app/a.env': text(encrypt('a.env', 'TOKEN=hunter3\n')),
    };
    const { objects, problems } = await renderTree(sourceWith(), memoryTree(files), 'app', { decryption });
    expect(problems).toEqual([]);
    expect(JSON.stringify(objects)).toContain('hunter2');
    expect(JSON.stringify(objects)).toContain(Buffer.from('hunter3').toString('base64'));
    const nameless = text(encrypt('nameless.yaml', 'apiVersion: v1\nkind: Hunter5\n'));
    const broken = { ...files, 'app/secret.yaml': nameless };
    const failed = await renderTree(sourceWith(), memoryTree(broken), 'app', { decryption });
    expect(failed.objects).toEqual([]);
    expect(failed.problems.join()).toMatch(/kustomize failed: .*\*\*\*/);
    expect(failed.problems.join()).not.toContain('Hunter5');
  });

  test('values of a chart may be encrypted', async () => {
    const files = {
      'web/Chart.yaml': 'apiVersion: v2\nname: web\nversion: 1.0.0\n',
      'web/templates/a.yaml':
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: {{ .Values.key | quote }}}\n',
      'prod.yaml': text(encrypt('values.yaml', 'key: hunter4\n')),
    };
    const source = sourceWith({ helm: { valuesFiles: ['../prod.yaml'] } });
    const { objects, problems } = await renderTree(source, memoryTree(files), 'web', { decryption });
    expect(problems).toEqual([]);
    expect(objects[0]?.data).toEqual({ x: 'hunter4' });
    const failing = { ...files, 'web/templates/a.yaml': '{{ fail (printf "no %s" .Values.key) }}' };
    const failed = await renderTree(source, memoryTree(failing), 'web', { decryption });
    expect(failed.problems.join()).toMatch(/no \*\*\*/);
  });
});
