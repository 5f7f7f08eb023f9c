import { describe, expect, it } from 'vitest';
import { measureEffort } from '../../../test/effort.ts';
import { describeDifferences } from './difference-text.ts';
import { differencesOf } from './semantic-compare.ts';

function words(live: unknown, wanted: unknown, secret = false) {
  return describeDifferences(differencesOf(live, wanted), { isSecret: secret, mostCharacters: 80 });
}

describe('differences in words', () => {
  it('name the path by the keys of lists, with both values', () => {
    const pod = (image: string, args: string[]) => ({
      spec: { containers: [{ name: 'app', image, args, ports: [{ containerPort: 80 }] }] },
    });
    expect(words(pod('web:9', ['--a']), pod('web:1', ['--b']))).toEqual([
      { path: 'spec.containers[app].image', expected: 'web:1', actual: 'web:9' },
      { path: 'spec.containers[app].args[0]', expected: '--b', actual: '--a' },
    ]);
  });

  it('say what is not there at all, and lists of another length as a whole', () => {
    expect(words({ args: ['a', 'b'] }, { args: ['a'], labels: { 'example.com/team': 'x' } })).toEqual([
      { path: 'args', expected: '["a"]', actual: '["a","b"]' },
      { path: 'labels', expected: '{"example.com/team":"x"}', actual: undefined },
    ]);
    expect(words({ labels: {} }, { labels: { 'example.com/team': 'x' } })).toEqual([
      { path: 'labels[example.com/team]', expected: 'x', actual: undefined },
    ]);
  });

  it('show the first line that differs of a long text', () => {
    const text = (level: string) => `mode=safe\nlevel=${level}\nend\n`;
    expect(
      words({ data: { 'app.properties': text('debug') } }, { data: { 'app.properties': text('info') } }),
    ).toEqual([{ path: 'data[app.properties]:2', expected: 'level=info', actual: 'level=debug' }]);
    expect(words({ data: { a: 'x\ny' } }, { data: { a: 'x\ny\nz' } })).toEqual([
      { path: 'data.a:3', expected: 'z', actual: undefined },
    ]);
  });

  it('never show what a Secret holds, nor a variable that is named like one', () => {
    expect(words({ data: { password: 'b2xk' } }, { data: { password: 'bmV3', user: 'bWU=' } }, true)).toEqual(
      [
        { path: 'data.password', expected: '(hidden)', actual: '(hidden)' },
        { path: 'data.user', expected: '(hidden)', actual: undefined },
      ],
    );
    const env = (value: string) => ({ env: [{ name: 'DB_PASSWORD', value }] });
    expect(words(env('old'), env('new'))).toEqual([
      { path: 'env[DB_PASSWORD].value', expected: '(hidden)', actual: '(hidden)' },
    ]);
    const container = { name: 'app', ...env('new') };
    expect(JSON.stringify(words({ containers: [] }, { containers: [container] }))).not.toContain('new');
  });

  it('never show the password in an address, though a cut goes through it', () => {
    const url = (password: string, host = 'db') => `postgres://shop:${password}@${host}:5432/shop?ssl=1`;
    const env = (value: string) => ({ env: [{ name: 'DATABASE_URL', value }] });
    expect(words(env(url('old')), env(url('n@w', 'db-2')))).toEqual([
      {
        path: 'env[DATABASE_URL].value',
        expected: 'postgres://shop:(hidden)@db-2:5432/shop?ssl=1',
        actual: 'postgres://shop:(hidden)@db:5432/shop?ssl=1',
      },
    ]);
    const long = url('secret-'.repeat(20));
    expect(JSON.stringify(words({}, { args: [`--a=${long}`], text: `a\n${long}` }))).not.toContain('secret');
    expect(words({ a: 'http://web:80/a@b' }, { a: 'http://web/' })[0]?.actual).toBe('http://web:80/a@b');
    const effort = measureEffort();
    words({}, { a: '://a:'.repeat(200_000), b: `://${'a'.repeat(1_000_000)}` });
    expect(effort()).toBeLessThan(100);
  });

  it('are short and on one line', () => {
    const [difference] = words({ a: `${'y'.repeat(500)}` }, { a: 'x'.repeat(500) });
    expect(difference?.expected).toHaveLength(80);
    expect(words({ a: 'b' }, { a: 'c\td' })[0]?.expected).toBe('c d');
  });
});
