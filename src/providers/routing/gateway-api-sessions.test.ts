import { describe, expect, it } from 'vitest';
import type { RouteTarget, SessionCookies } from '../../api/observed.ts';
import { aCanary, aContext, acceptedBy, initialTraffic } from './fixtures.test-support.ts';
import { gatewayApi } from './gateway-api.ts';

const settings = { cookieName: 'side', primaryCookieName: 'other' };
const keep: SessionCookies = { kind: 'keep', canary: 'side=abc', primary: 'other=xyz' };

interface Rule {
  matches: Array<{ headers?: Array<{ name: string; type: string; value: string }> }>;
  backendRefs: Array<{
    name: string;
    weight: number;
    filters?: Array<{ responseHeaderModifier: { add: Array<{ name: string; value: string }> } }>;
  }>;
}

function context(sessionAffinity: object = settings, service = {}) {
  return aContext(
    aCanary({
      service: { port: 9898, gatewayRefs: [{ name: 'public', namespace: 'infra' }], ...service },
      analysis: { interval: '30s', threshold: 2, stepWeight: 20, sessionAffinity } as never,
    }),
  );
}

function at(canaryWeight: number, sessions: SessionCookies): RouteTarget {
  return { ...initialTraffic, primaryWeight: 100 - canaryWeight, canaryWeight, sessions };
}

function rulesOf(target: RouteTarget, asked = context()): Rule[] {
  const [route] = gatewayApi.objects(asked, target, []);
  return (route?.spec as { rules?: Rule[] } | undefined)?.rules ?? [];
}

const weights = ({ backendRefs }: Rule) => backendRefs.map(({ weight }) => weight);
const cookies = ({ backendRefs }: Rule) =>
  backendRefs.map(({ filters }) => filters?.[0]?.responseHeaderModifier.add[0]?.value);
const cookieMatch = ({ matches }: Rule) => matches[0]?.headers?.find(({ name }) => name === 'Cookie')?.value;

describe('session affinity in an HTTPRoute', () => {
  it('leaves users with a cookie on their side, and sets one for all others', () => {
    const [canary, primary, weighted, ...others] = rulesOf(at(20, keep));

    expect(others).toEqual([]);
    expect(canary && [cookieMatch(canary), weights(canary)]).toEqual(['^(.*; ?)?side=abc(;.*)?$', [0, 100]]);
    expect(primary && [cookieMatch(primary), weights(primary)]).toEqual([
      '^(.*; ?)?other=xyz(;.*)?$',
      [100, 0],
    ]);
    expect(weighted && weights(weighted)).toEqual([80, 20]);
    expect(weighted && cookies(weighted)).toEqual(['other=xyz; Max-Age=30', 'side=abc; Max-Age=86400']);
  });

  it('lasts a day with a maxAge of 0, as in Flagger, and is not forgotten at once', () => {
    const rules = rulesOf(
      at(20, { kind: 'keep', canary: 'side=abc' }),
      context({ cookieName: 'side', maxAge: 0 }),
    );

    expect(rules.map(cookies).at(-1)).toEqual([undefined, 'side=abc; Max-Age=86400']);
  });

  it('needs no cookie for the primary', () => {
    const rules = rulesOf(at(20, { kind: 'keep', canary: 'side=abc' }));

    expect(rules.map(weights)).toEqual([
      [0, 100],
      [80, 20],
    ]);
    expect(rules.map(cookies).at(-1)).toEqual([undefined, 'side=abc; Max-Age=86400']);
  });

  it('leaves no session on the primary when all traffic is for the canary', () => {
    const rules = rulesOf(at(100, keep));

    expect(rules.map(weights)).toEqual([[0, 100]]);
    expect(rules.map(cookieMatch)).toEqual([undefined]);
  });

  it('takes the cookie back from who still has it', () => {
    const [had, others] = rulesOf(at(0, { kind: 'end', previous: 'side=abc' }));

    expect(had && [cookieMatch(had), weights(had)]).toEqual(['^(.*; ?)?side=abc(;.*)?$', [100, 0]]);
    expect(had && cookies(had)).toEqual(['side=abc; Max-Age=-1', 'side=abc; Max-Age=-1']);
    expect(others && [cookieMatch(others), weights(others), cookies(others)]).toEqual([
      undefined,
      [100, 0],
      [undefined, undefined],
    ]);
  });

  it("writes the cookie's attributes in Flagger's order", () => {
    const asked = context({
      cookieName: 'side',
      maxAge: 60,
      domain: 'example.com',
      httpOnly: true,
      partitioned: true,
      path: '/shop',
      sameSite: 'None',
      secure: true,
    });

    const rules = rulesOf(at(20, { kind: 'keep', canary: 'side=abc' }), asked);

    expect(rules.map(cookies).at(-1)?.[1]).toBe(
      'side=abc; Max-Age=60; Domain=example.com; HttpOnly; Partitioned; Path=/shop; SameSite=None; Secure',
    );
  });

  it('adds the cookie to the matches of the service, as plain text', () => {
    const asked = context(settings, {
      match: [{ uri: { prefix: '/a' }, headers: { 'x-user': { exact: 'kim' } } }],
    });

    const [rule] = rulesOf(at(20, { kind: 'keep', canary: 'si.de=abc' }), asked);

    expect(rule?.matches).toEqual([
      {
        path: { type: 'PathPrefix', value: '/a' },
        headers: [
          { type: 'Exact', name: 'x-user', value: 'kim' },
          { type: 'RegularExpression', name: 'Cookie', value: '^(.*; ?)?si\\.de=abc(;.*)?$' },
        ],
      },
    ]);
  });

  it.each([
    [1, keep],
    [50, keep],
    [100, keep],
    [0, { kind: 'end', previous: 'side=abc' }],
  ] as const)('is read back as the %i %% of who has no cookie', (weight, sessions) => {
    const live = gatewayApi.objects(context(), at(weight, sessions), []).map((object) => acceptedBy(object));

    expect(gatewayApi.read(context(), live)).toMatchObject({ canaryWeight: weight, matched: false });
  });
});
