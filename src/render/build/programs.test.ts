import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { findBuilders } from './programs.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-programs-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a tenant with one thing to render does not wait for everything of one with many, and who gave up is not waited for', async () => {
  const kustomize = join(folder, 'kustomize');
  writeFileSync(kustomize, `#!${process.execPath}\nsetTimeout(() => {}, 20);\n`);
  chmodSync(kustomize, 0o755);
  const { kustomize: builder } = findBuilders({ kustomize }, join(folder, 'work'));
  const { signal } = new AbortController();
  const ended: string[] = [];
  const run = async (tenant: string) => {
    await builder?.run([], new Map(), signal, tenant);
    ended.push(tenant);
  };
  const many = Array.from({ length: 12 }, () => run('large'));
  const given = AbortSignal.abort(new Error('given up'));
  const vain = builder?.run([], new Map([['../outside', new Uint8Array()]]), given, 'large');

  await Promise.all([...many, run('small'), expect(vain).rejects.toThrow('given up')]);

  expect(ended.indexOf('small')).toBeLessThan(6);
  expect(ended.filter((tenant) => tenant === 'large')).toHaveLength(12);
});
