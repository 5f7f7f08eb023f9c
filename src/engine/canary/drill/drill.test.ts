import { expect, test } from 'vitest';
import { findingOf } from './drill.ts';

function failure(kind: string, message: string): Error {
  return Object.assign(new Error(message), { kind });
}

test('quota and pod security are findings, missing rights and webhooks without dry-run are not', () => {
  const of = (kind: string, message: string) => findingOf('Pod shop/web', failure(kind, message));
  expect(of('forbidden', 'pods "web" is forbidden: exceeded quota: small').finding?.reason).toBe('Forbidden');
  expect(of('forbidden', 'User "x" cannot create resource "pods" in API group ""').unseen?.why).toMatch(
    /not allowed/,
  );
  expect(of('invalid', 'admission webhook "w" does not support dry run').unseen?.why).toMatch(/webhook/);
  expect(of('unknownKind', 'no kind Foo').finding?.object).toBe('Pod shop/web');
});

test('a server that does not answer says nothing about the release', () => {
  for (const kind of ['timeout', 'transient', 'tooManyRequests', 'unauthorized'])
    expect(() => findingOf('Pod shop/web', failure(kind, 'later'))).toThrow('later');
});
